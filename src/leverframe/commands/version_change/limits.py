"""The limits of a version: whether it can hold a setting, a rule or a schedule entry.

Commands check what they are sent; a backup brings settings without commands. The limits are those
of the command table: a row says of what type each setting is that it sets. A value is allowed if
its command could be sent: it is written as the command would have it, and reading that back must
give the same value. The default is always allowed.
"""

from functools import lru_cache
from typing import Any

from msgspec import Struct

from leverframe.commands.table import rules as rule_rows
from leverframe.commands.table import schedule as schedule_rows
from leverframe.commands.table.codes import RULE_ACTIONS
from leverframe.commands.table.matching import TABLE
from leverframe.commands.table.params import NOTHING_SEEN, Depends, Param, Seen, Trailing
from leverframe.commands.table.refusals import Refusal
from leverframe.commands.table.row import Row
from leverframe.engine.settings import Rule, ScheduleEntry
from leverframe.profile import Profile, Spans, is_offered


class Limit(Struct, frozen=True):
    """The type that a row gives the settings at some places."""

    row: Row
    #: The path's parts: names, places, `*` for any place, `{A}` for one that a field allows.
    steps: tuple[str, ...]
    param: Param

    def takes(self, steps: list[str], value: Any, profile: Profile) -> bool:
        seen = self.place(steps, profile)
        return seen is not None and is_sendable(self.param, value, profile, seen)

    def place(self, steps: list[str], profile: Profile) -> Seen | None:
        """Return the fields that say the place, None if the version has no such place here."""
        if not self.row.is_offered(profile):
            return None
        seen: dict[str, Any] = {}
        for own, step in zip(self.steps, steps, strict=True):
            if own in ("*", step):
                continue
            if not own.startswith("{"):
                return None
            letter, place = own[1], int(step)
            if not is_sendable(self.row.params[letter], place, profile, seen):
                return None
            seen[letter] = place
        return seen


@lru_cache(maxsize=1)
def _limits() -> dict[str, list[Limit]]:
    """Read the limits from the table, by path with `*` for every place."""
    limits: dict[str, list[Limit]] = {}
    for row in TABLE:
        fields = ((path, row.params[x]) for x, paths in row.sets.items() for path in paths)
        for path, param in (*fields, *row.limits.items()):
            steps = tuple(path.split("."))
            limits.setdefault(_key(steps), []).append(Limit(row, steps, param))
    return limits


def _key(steps: tuple[str, ...] | list[str]) -> str:
    return ".".join("*" if step.isdigit() or step.startswith("{") else step for step in steps)


def is_sendable(param: Param, value: Any, profile: Profile, seen: Seen = NOTHING_SEEN) -> bool:
    """Return whether a command could have set this value: written and read back it is the same."""
    if isinstance(param, Trailing) and not is_offered(param.when, profile):
        return bool(value == param.default)
    try:
        return bool(param.parse(param.format(value, profile, seen), profile, seen) == value)
    except (Refusal, ValueError, OverflowError, TypeError, StopIteration):
        return False


def is_allowed(path: str, value: Any, default: Any, profile: Profile) -> bool:
    """Return whether a version allows this value for the setting at this path."""
    if value == default:
        return True
    steps = path.split(".")
    if any(limit.takes(steps, value, profile) for limit in _limits().get(_key(steps), ())):
        return True
    # A list of which commands set one item at a time.
    is_list = isinstance(value, tuple) and isinstance(default, tuple)
    return (
        is_list
        and len(value) == len(default)
        and all(
            is_allowed(f"{path}.{place}", item, standard, profile)
            for place, (item, standard) in enumerate(zip(value, default, strict=True))
        )
    )


def types_at(path: str, profile: Profile) -> list[Param]:
    """Return the types that a version gives the setting at a path; none if it has no such one."""
    steps, found = path.split("."), list[Param]()
    for limit in _limits().get(_key(steps), ()):
        param, seen = limit.param, limit.place(steps, profile)
        if seen is not None and not (
            isinstance(param, Trailing) and not is_offered(param.when, profile)
        ):
            found.append(param.case(seen) if isinstance(param, Depends) else param)
    return found


def versions_with(path: str) -> Spans:
    """Return the versions in which some command sets the setting at a path."""
    limits = _limits().get(_key(path.split(".")), ())
    return tuple(dict.fromkeys(span for limit in limits for span in limit.row.when))


def has_setting(path: str, profile: Profile) -> bool:
    """Return whether a version has a command for a setting; without one it keeps its default."""
    # Of some lists commands set one item at a time.
    return bool(types_at(path, profile) or types_at(f"{path}.0", profile))


def missing_of_rule(rule: Rule, profile: Profile) -> list[str]:
    """List the settings of a rule that a version cannot hold."""
    params, seen = rule_rows.EVENT_ROW.params, {"B": rule.source, "H": rule.source2}
    missing = [
        name
        for letter, name in rule_rows.SETTINGS.items()
        if name not in ("action", "value")
        and not is_sendable(params[letter], getattr(rule, name), profile, seen)
    ]
    if not is_sendable(rule_rows.NAME, rule.name, profile):
        missing.append("name")
    return missing + missing_of_action(rule, profile)


def missing_of_action(rule: Rule, profile: Profile) -> list[str]:
    """Judge action and value together: older versions write 0 or 1 into the action."""
    words = {code.word for code in RULE_ACTIONS.of(profile)}
    if rule.action in words:
        value = rule_rows.EVENT_ROW.params["M"]
        return [] if is_sendable(value, rule.value, profile) else ["value"]
    if f"{rule.action}={rule.value}" in words:
        return []
    return ["value"] if f"{rule.action}=0" in words else ["action"]


def missing_of_schedule(entry: ScheduleEntry, profile: Profile) -> list[str]:
    """List the settings of a schedule entry that a version cannot hold.

    Name, days, date and period are either all as the command can say them, or `time` is missing.
    """
    try:
        fields = schedule_rows.fields_of_entry(entry)
        is_sound = schedule_rows.entry_from_fields(fields) == entry
    except (Refusal, ValueError, OverflowError):
        fields, is_sound = {"C": entry.action, "D": entry.value}, False
    unfit = {
        letter
        for letter, value in fields.items()
        if not is_sendable(schedule_rows.FIELDS[letter], value, profile)
    }
    missing = [name for letter, name in (("C", "action"), ("D", "value")) if letter in unfit]
    return missing if is_sound and not unfit - {"C", "D"} else [*missing, "time"]
