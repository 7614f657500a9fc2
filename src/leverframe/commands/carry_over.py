"""Settings of one version made into settings of another, with a list of what is left behind.

A restore goes through here, also when both versions are the same. First everything is checked: a
value that no version allows refuses the whole file. Then lists get the lengths of the new version,
a setting that it does not have or cannot hold goes back to its default, and an event or schedule
entry whose source or action it does not know is left out. An entry that loses a lesser part of what
it says comes over switched off: it would not do what was meant. A part that has no effect in it,
such as the second condition of an entry with one, may go without that.

Secrets that the file does not hold stay as they are on the controller, and so do the accounts,
whose passwords are secrets: a restore must neither lock the owner out nor open the door.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec.structs import replace

from leverframe.commands import rules as rule_rows
from leverframe.commands import schedule as schedule_rows
from leverframe.commands import user_interface as pages
from leverframe.commands.accounts import check_names
from leverframe.commands.availability import FAMILIES, software_versions
from leverframe.commands.codes import HOMEPAGES, RULE_ACTIONS
from leverframe.commands.refusals import BadValue, Refusal
from leverframe.commands.restored import NotCarriedOver, Restored
from leverframe.commands.setting_limits import is_allowed, is_sendable
from leverframe.engine.factory_settings import defaults
from leverframe.engine.live_rule import SWITCHED
from leverframe.engine.rules import rules_without
from leverframe.engine.settings import Rule, ScheduleEntry, Settings, Ui
from leverframe.engine.tree import (
    GONE,
    UnfitSettings,
    difference,
    is_secret,
    leaves,
    settings_from_leaves,
    value_at,
    with_value,
)
from leverframe.profile import Profile, Spans, offered

#: Checked entry by entry, or as a whole.
_ENTRIES = ("rules.", "schedule.")
_ACCESS = "access."
_PROFILE = "profile."
#: HW 3.0 has one e-mail, the others call it the first of four.
_SAME_ACTION = {"eMail": "eMail 1", "eMail 1": "eMail"}
#: The field of the event command that each setting of a rule goes to, in the order of its text.
_RULE_FIELDS = {
    "source": "B",
    "compare": "C",
    "reference": "D",
    "hysteresis": "E",
    "operator": "F",
    "action": "G",
    "source2": "H",
    "compare2": "I",
    "reference2": "J",
    "hysteresis2": "K",
    "off_delay": "L",
    "value": "M",
    "on_delay": "N",
    "depends": "O",
    "mode": "P",
}
_SECOND_CONDITION = frozenset({"source2", "compare2", "reference2", "hysteresis2"})
#: Without these an entry means nothing.
_ESSENTIAL = frozenset({"source", "source2", "action"})


class _Position(NamedTuple):
    """A position among the variables that some versions use for a page setting."""

    variables: str
    number: int
    when: Spans
    value: Callable[[Ui, Profile], int]


def _homepage(ui: Ui, target: Profile) -> int:
    return HOMEPAGES.number(ui.homepage, target) or 0


def _bit_2(ui: Ui, target: Profile) -> int:
    """The homepage at first, and later whether only names set by the user are shown."""
    return int(ui.names_only) if offered(pages.NAMES_ONLY, target) else _homepage(ui, target) & 1


_POSITIONS = (
    _Position("bits", 0, pages.AUTO_SIGN_IN, lambda ui, _: int(ui.auto_sign_in)),
    _Position("bits", 1, pages.FIRMWARE_CHECK, lambda ui, _: int(ui.firmware_check)),
    _Position("bits", 2, pages.NAMES_ONLY + pages.HOMEPAGE_OLDER, _bit_2),
    _Position("bits", 3, pages.READ_ONLY_USER, lambda ui, _: int(ui.user_read_only)),
    _Position("bytes", 0, pages.HOMEPAGE, _homepage),
)


@dataclass(frozen=True, slots=True)
class Content:
    """What a backup holds."""

    profile: Profile
    #: Values by path; of secrets only those that came along.
    settings: Mapping[str, Any]
    #: Secrets that were set and are not in the file.
    left_out: tuple[str, ...] = ()
    #: The file's secrets came along, so its accounts can be taken over.
    with_secrets: bool = False


def carry_over(content: Content, target: Profile, present: Settings) -> Restored:
    """The settings after a restore on a controller that has the present ones."""
    lost: list[NotCarriedOver] = []
    source = _checked(content, lost)
    settings = _at_length(source, content.profile, target, lost)
    settings = _without_unknown(settings, target, lost)
    settings = replace(
        settings,
        rules=_rules(source.rules, target, lost),
        schedule=_schedule(source.schedule, target, lost),
    )
    if content.profile != target:
        settings = _positions(settings, content.profile, target, lost)
    settings = _with_present_secrets(settings, content, present, lost)
    return Restored(settings, tuple(lost))


# --- checking -------------------------------------------------------------------------------------


def _checked(content: Content, lost: list[NotCarriedOver]) -> Settings:
    """The tree as the controller had it that made the backup."""
    stored = {
        path: value for path, value in content.settings.items() if not path.startswith(_PROFILE)
    }
    _check_rule_places(stored)
    try:
        tree, unknown = settings_from_leaves(content.profile, stored)
    except UnfitSettings as error:
        raise BadValue(f"The backup holds a value of the wrong kind: {error}") from None
    lost += (
        NotCarriedOver(path, None, "This program does not know the setting.") for path in unknown
    )
    _check_plain(tree, content.profile)
    _check_entries(tree, content.profile)
    if content.with_secrets:
        _check_accounts(tree)
    return tree


def _check_rule_places(stored: Mapping[str, Any]) -> None:
    places = {path.split(".")[1] for path in stored if path.startswith("rules.")}
    if places != {str(place) for place in range(len(places))}:
        raise BadValue("The event entries of the backup are not numbered from 0 on.")


def _check_plain(tree: Settings, profile: Profile) -> None:
    for path, value, default in _plain_leaves(tree, profile):
        if is_allowed(path, value, default, profile):
            continue
        if not any(is_allowed(path, value, default, version) for version in all_profiles()):
            shown = None if is_secret(path) else str(value)[:80]
            raise BadValue(
                f"The backup holds a value for {path} that no version allows.",
                field=path,
                value=shown,
            )


def _plain_leaves(tree: Settings, profile: Profile) -> Iterator[tuple[str, Any, Any]]:
    """(path, value, default) of every leaf that stands for itself and is not as delivered."""
    for path, default, value in difference(defaults(profile), tree):
        if not path.startswith((*_ENTRIES, _PROFILE)):
            yield path, value, None if default is GONE else default


@lru_cache(maxsize=1)
def all_profiles() -> tuple[Profile, ...]:
    """One of every version that differs from its neighbours, newest first."""
    return tuple(Profile(hw[-1], sw) for hw in FAMILIES for sw in reversed(software_versions()))


def _check_entries(tree: Settings, profile: Profile) -> None:
    for place, rule in enumerate(tree.rules):
        if not any(not missing_of_rule(rule, version) for version in (profile, *all_profiles())):
            raise BadValue(
                f"Event entry {place} of the backup says what no version allows.",
                field=f"rules.{place}",
            )
    for place, entry in enumerate(tree.schedule):
        if entry is not None and not any(
            not missing_of_schedule(entry, version) for version in (profile, *all_profiles())
        ):
            raise BadValue(
                f"Schedule entry {place} of the backup says what no version allows.",
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


# --- what a version lacks -------------------------------------------------------------------------


def missing_of_rule(rule: Rule, profile: Profile) -> list[str]:
    """The settings of a rule that a version cannot hold."""
    params, seen = rule_rows.ROWS[0].params, {"B": rule.source, "H": rule.source2}
    missing = []
    for name, letter in _RULE_FIELDS.items():
        if name in ("action", "value"):
            continue
        if not is_sendable(params[letter], getattr(rule, name), profile, seen):
            missing.append(name)
    return missing + _missing_of_action(rule, profile)


def _missing_of_action(rule: Rule, profile: Profile) -> list[str]:
    """Older versions write the value into the action, and only 0 and 1."""
    words = {code.word for code in RULE_ACTIONS.of(profile)}
    if rule.action in words:
        value = rule_rows.ROWS[0].params["M"]
        return [] if is_sendable(value, rule.value, profile) else ["value"]
    if f"{rule.action}={rule.value}" in words:
        return []
    return ["value"] if f"{rule.action}=0" in words else ["action"]


def missing_of_schedule(entry: ScheduleEntry, profile: Profile) -> list[str]:
    """The settings of a schedule entry that a version cannot hold."""
    params = schedule_rows.FIELDS
    missing = []
    if not is_sendable(params["C"], entry.action, profile):
        missing.append("action")
    if not is_sendable(params["D"], entry.value, profile):
        missing.append("value")
    return missing if _is_sound(entry, profile) else [*missing, "time"]


def _is_sound(entry: ScheduleEntry, profile: Profile) -> bool:
    """Whether name, time, date and days are what the command can say."""
    try:
        fields = {
            "B": entry.name,
            "C": entry.action,
            "D": entry.value,
            "E": entry.time,
            "F": schedule_rows.day_number(entry),
            "G": schedule_rows.days_mask(entry),
            "H": entry.active,
        }
        return schedule_rows.entry_from_fields(fields) == entry and all(
            is_sendable(schedule_rows.FIELDS[letter], fields[letter], profile) for letter in "BEFGH"
        )
    except (Refusal, ValueError, OverflowError):
        return False


# --- carrying over --------------------------------------------------------------------------------


def _at_length(
    source: Settings, made_on: Profile, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    """The same leaves in the lists of the new version."""
    if made_on == target:
        return source
    old = dict(leaves(source))
    settings, unfit = settings_from_leaves(
        target, {path: value for path, value in old.items() if not path.startswith(_ENTRIES)}
    )
    standard = dict(leaves(defaults(made_on)))
    for path in unfit:
        if old[path] != standard.get(path):
            lost.append(_lost(path, old[path], f"{target} does not have it."))
    for path, value in leaves(settings):
        before = old.get(path)
        if isinstance(before, tuple) and isinstance(value, tuple) and len(before) > len(value):
            tail, usual = before[len(value) :], standard[path][len(value) :]
            if tail != usual:
                lost.append(_lost(path, tail, f"{target} has {len(value)} places in this list."))
    return settings


def _without_unknown(settings: Settings, target: Profile, lost: list[NotCarriedOver]) -> Settings:
    for path, value, default in _plain_leaves(settings, target):
        if not path.startswith(_ACCESS) and not is_allowed(path, value, default, target):
            lost.append(_lost(path, value, f"{target} does not have it or not this value."))
            settings = with_value(settings, path, default)
    return settings


def _rules(
    rules: tuple[Rule, ...], target: Profile, lost: list[NotCarriedOver]
) -> tuple[Rule, ...]:
    dropped = []
    carried = []
    for place, rule in enumerate(rules):
        rule = _without_idle_parts(_with_known_action(rule, target), f"rules.{place}", target, lost)
        missing = missing_of_rule(rule, target)
        if _ESSENTIAL.intersection(missing):
            dropped.append(place)
            what = ", ".join(missing)
            reason = f"{target} does not know its {what}; the entry is left out."
            lost.append(_lost(f"rules.{place}", _said(rule), reason))
        elif missing:
            rule = _switched_off(rule, f"rules.{place}", missing, Rule(), target, lost)
        carried.append(rule)
    # No dependence breaks by this: versions with dependences know all sources and actions.
    left = tuple(carried)
    for place in reversed(dropped):
        left = rules_without(left, place)
    return left


def _without_idle_parts(rule: Rule, path: str, target: Profile, lost: list[NotCarriedOver]) -> Rule:
    """The rule without what the version cannot hold and what changes nothing in it."""
    idle = _idle_parts(rule).intersection(missing_of_rule(rule, target))
    reason = f"{target} does not have it; it has no effect in this entry."
    lost += (_lost(f"{path}.{name}", getattr(rule, name), reason) for name in sorted(idle))
    return replace(rule, **{name: getattr(Rule(), name) for name in idle})


def _idle_parts(rule: Rule) -> set[str]:
    idle: set[str] = set()
    if rule.operator == Rule().operator:
        idle |= _SECOND_CONDITION
    if rule.action not in SWITCHED:
        idle |= {"on_delay", "off_delay", "value"}
    return idle


def _with_known_action(rule: Rule, target: Profile) -> Rule:
    same = _SAME_ACTION.get(rule.action)
    if same is None or "action" not in _missing_of_action(rule, target):
        return rule
    return replace(rule, action=same)


def _schedule(
    schedule: tuple[ScheduleEntry | None, ...], target: Profile, lost: list[NotCarriedOver]
) -> tuple[ScheduleEntry | None, ...]:
    carried: list[ScheduleEntry | None] = []
    for place, entry in enumerate(schedule):
        path = f"schedule.{place}"
        missing = [] if entry is None else missing_of_schedule(entry, target)
        if entry is not None and "action" in missing:
            reason = f"{target} does not know its action; the entry is left out."
            lost.append(_lost(path, entry.action, reason))
            entry = None
        elif entry is not None and missing:
            entry = _switched_off(entry, path, missing, ScheduleEntry(), target, lost)
        carried.append(entry)
    return tuple(carried)


def _switched_off(
    entry: Any,
    path: str,
    missing: list[str],
    standard: Any,
    target: Profile,
    lost: list[NotCarriedOver],
) -> Any:
    """The entry without what the version cannot hold, and not acting."""
    reason = f"{target} does not have it; the entry is switched off."
    lost += (_lost(f"{path}.{name}", getattr(entry, name), reason) for name in missing)
    switch = "enabled" if isinstance(entry, Rule) else "active"
    return replace(entry, **{name: getattr(standard, name) for name in missing}, **{switch: False})


def _said(rule: Rule) -> str:
    return f"{rule.source} {rule.compare} {rule.reference:g}: {rule.action}"


def _positions(
    settings: Settings, made_on: Profile, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    """Positions among the variables follow the page settings that use them."""
    for position in _POSITIONS:
        path = f"variables.{position.variables}.{position.number}"
        # A position that held a page setting was no variable of its own.
        value = 0 if offered(position.when, made_on) else value_at(settings, path)
        if offered(position.when, target):
            if value:
                reason = f"{target} uses the position for a page setting."
                lost.append(_lost(path, value, reason))
            value = position.value(settings.ui, target)
        settings = with_value(settings, path, value)
    return settings


# --- secrets --------------------------------------------------------------------------------------


def _with_present_secrets(
    settings: Settings, content: Content, present: Settings, lost: list[NotCarriedOver]
) -> Settings:
    accounts = settings.access
    if not content.with_secrets:
        for path, _ in leaves(settings):
            if is_secret(path) and not path.startswith(_ACCESS):
                settings = with_value(settings, path, value_at(present, path))
        reason = "The backup was read without its secrets; it stays as it is on this controller."
        lost += (_lost(path, None, reason) for path in content.left_out)
    elif accounts.admin.password or not present.access.admin.password:
        return settings
    if _without_passwords(accounts) != _without_passwords(present.access):
        reason = "Accounts come only with their passwords; they stay as they are."
        lost.append(_lost("access", None, reason))
    return with_value(settings, "access", present.access)


def _without_passwords(accounts: Any) -> list[tuple[str, Any]]:
    return [(path, value) for path, value in leaves(accounts) if not path.endswith("password")]


def _lost(path: str, value: Any, reason: str) -> NotCarriedOver:
    return NotCarriedOver(path, None if is_secret(path) else value, reason)
