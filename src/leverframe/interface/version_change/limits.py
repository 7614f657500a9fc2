"""The limits of a version: which settings, rules and schedule entries it supports.

Commands check their own values, but settings in a backup are not set by commands. The limits are
those of the command table: a row defines the type of each setting that it sets. A value is allowed
if a command could set it: formatting and then parsing it must return the same value. The default is
always allowed.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from leverframe.core.profile import Profile, Spans, is_offered
from leverframe.core.settings import MAX_RULES, Rule, ScheduleEntry, Settings, number_rules
from leverframe.core.tree import (
    MISSING,
    UnfitSettings,
    defaults,
    difference,
    is_confidential,
    settings_from_leaves,
)
from leverframe.interface.table import rules as rule_rows
from leverframe.interface.table import schedule as schedule_rows
from leverframe.interface.table.accounts import check_names
from leverframe.interface.table.codes import RULE_ACTIONS
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.params import NOTHING_SEEN, Depends, Param, Seen, Trailing
from leverframe.interface.table.refusals import BadValue, NotCarriedOver, Refusal
from leverframe.interface.table.row import Row
from leverframe.interface.table.versions import all_profiles


class Limit(Struct, frozen=True):
    """The type that a row of the command table defines for settings whose path matches `steps`."""

    row: Row
    #: The parts of the path: names, indices, `*` for any index, `{A}` for an index that a field
    #: allows.
    steps: tuple[str, ...]
    param: Param

    def takes(self, steps: list[str], value: Any, profile: Profile) -> bool:
        seen = self.place(steps, profile)
        return seen is not None and is_sendable(self.param, value, profile, seen)

    def place(self, steps: list[str], profile: Profile) -> Seen | None:
        """Return the fields that select the place; None if the version has no such place."""
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
    """Collect the limits of the table, by path with `*` for every index."""
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
    """Return whether a command could set this value, so that parsing its text returns it."""
    if isinstance(param, Trailing) and not is_offered(param.when, profile):
        return bool(value == param.default)
    try:
        return bool(param.parse(param.format(value, profile, seen), profile, seen) == value)
    except (Refusal, ValueError, OverflowError, TypeError, StopIteration):
        return False


def is_allowed(path: str, value: Any, default: Any, profile: Profile) -> bool:
    """Return whether a version allows a value for the setting at a path."""
    if value == default:
        return True
    steps = path.split(".")
    if any(limit.takes(steps, value, profile) for limit in _limits().get(_key(steps), ())):
        return True
    # For example, a list whose items are set by separate commands.
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
    """Return the types that a version defines for the setting at a path, if any."""
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
    """Return whether a version has a command for a setting, which otherwise keeps its default."""
    # Some lists have commands for single items.
    return bool(types_at(path, profile) or types_at(f"{path}.0", profile))


def missing_of_rule(rule: Rule, profile: Profile) -> list[str]:
    """List the settings of a rule that a version does not support."""
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
    """Check action and value together: in older versions the action contains the 0 or 1."""
    words = {code.word for code in RULE_ACTIONS.of(profile)}
    if rule.action in words:
        value = rule_rows.EVENT_ROW.params["M"]
        return [] if is_sendable(value, rule.value, profile) else ["value"]
    if f"{rule.action}={rule.value}" in words:
        return []
    return ["value"] if f"{rule.action}=0" in words else ["action"]


def missing_of_schedule(entry: ScheduleEntry, profile: Profile) -> list[str]:
    """List the settings of a schedule entry that a version does not support.

    If the command cannot express name, days, date and period together, `time` stands for them.
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


# The content of a backup, and the check that a version could have created it.
#
# If a value is not allowed in any version, the file is rejected before any of it is restored.

#: Increased when the meaning of stored settings changes. Since edition 2, `< 1` of a digital source
#: is met at 0 and not at 1.
EDITION = 2
#: Paths that are checked by entry, or completely.
ENTRIES = ("rules.", "schedule.")
_PROFILE = "profile."


class Content(Struct, frozen=True):
    """The settings that were read from a backup."""

    profile: Profile
    #: Values by path; secrets only if the file contains them.
    settings: Mapping[str, Any]
    #: Secrets that were set but are not in the file.
    left_out: tuple[str, ...] = ()
    #: True if the file contains its secrets, so that its accounts can be restored.
    with_secrets: bool = False
    #: The edition of the program that created the file, which determines the meaning of its
    #: settings.
    edition: int = EDITION


def check_content(content: Content, lost: list[NotCarriedOver]) -> Settings:
    """Check a backup; return the tree that its controller had."""
    stored = {
        path: value for path, value in content.settings.items() if not path.startswith(_PROFILE)
    }
    _check_rule_places(stored)
    try:
        tree, unknown = settings_from_leaves(content.profile, stored)
    except UnfitSettings as error:
        raise BadValue(f"The backup contains a value of the wrong type: {error}") from None
    lost += (
        NotCarriedOver(path, None, "This program version does not have this setting.")
        for path in unknown
    )
    _check_plain(tree, content.profile)
    _check_entries(tree, content.profile)
    if content.with_secrets:
        _check_accounts(tree)
    return tree


def _check_rule_places(stored: Mapping[str, Any]) -> None:
    places = {path.split(".")[1] for path in stored if path.startswith("rules.")}
    if not places <= {str(place) for place in range(MAX_RULES)}:
        raise BadValue("The backup has an event entry outside 0 to 19.")


def _check_plain(tree: Settings, profile: Profile) -> None:
    for path, value, default in plain_leaves(tree, profile):
        if is_allowed(path, value, default, profile):
            continue
        if not any(is_allowed(path, value, default, version) for version in all_profiles()):
            shown = None if is_confidential(path) else str(value)[:80]
            raise BadValue(
                f"The backup contains a value for {path} that no version allows.",
                field=path,
                value=shown,
            )


def plain_leaves(tree: Settings, profile: Profile) -> Iterator[tuple[str, Any, Any]]:
    """Yield (path, value, default) of every leaf that differs from its default."""
    for path, default, value in difference(defaults(profile), tree):
        if not path.startswith((*ENTRIES, _PROFILE)):
            yield path, value, None if default is MISSING else default


def _check_entries(tree: Settings, profile: Profile) -> None:
    for number, rule in number_rules(tree.rules):
        place = number - 1
        if not any(not missing_of_rule(rule, version) for version in (profile, *all_profiles())):
            raise BadValue(
                f"Event entry {place} of the backup has values that no version allows.",
                field=f"rules.{place}",
            )
    for place, entry in enumerate(tree.schedule):
        if entry is not None and not any(
            not missing_of_schedule(entry, version) for version in (profile, *all_profiles())
        ):
            raise BadValue(
                f"Schedule entry {place} of the backup has values that no version allows.",
                field=f"schedule.{place}",
            )


def _check_accounts(tree: Settings) -> None:
    users = [user.name for user in tree.access.users if user is not None]
    check_names(tree.access.admin.name, tree.access.user.name, *users)
    if tree.access.required and not tree.access.admin.password:
        raise BadValue(
            "The backup requires sign-in, but its administrator has no password.",
            field="access.required",
        )
