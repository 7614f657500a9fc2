"""Keys: the entries of rules and schedule, one element per entry, with fields joined by `*`.

Each field has the form that the command for the entry accepts, with the codes of the version. Empty
places also have an element, so the position of an element is the number of its entry.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from leverframe.core.labels import DIGITAL
from leverframe.core.profile import Profile, is_offered
from leverframe.core.settings import (
    MAX_RULES,
    SCHEDULE_ENTRIES,
    Rule,
    ScheduleEntry,
    number_rules,
    without_trailing_gaps,
)
from leverframe.interface.status_files.forms import (
    ENCODED_STAR,
    STAR_LOSS,
    NotReadable,
    as_text,
    flag_in,
    parts_in,
    text_in,
)
from leverframe.interface.status_files.keys import (
    JOINED,
    Keys,
    View,
    code,
    join_texts,
    number_names,
)
from leverframe.interface.status_files.parsers import ReadSetting, SettingParser, UnreadSetting
from leverframe.interface.table import codes
from leverframe.interface.table import rules as rule_rows
from leverframe.interface.table import schedule as schedule_rows
from leverframe.interface.table.codes import HW35_ANY, HW35_SW
from leverframe.interface.table.params import has_field
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.schedule import day_number, days_mask

#: Fields of the `event` command between `enabled` and `permanent`.
_LETTERS = "BCDEFGHIJK"
#: Fields after `permanent`: off delay, value, on delay, dependence, action mode. HW 3.0 has none of
#: them, because its clients count fields from the end.
_LATE_LETTERS = {
    "L": HW35_ANY,
    "M": HW35_SW["1.45"],
    "N": HW35_SW["1.57"],
    "O": HW35_SW["1.57"],
    "P": HW35_SW["1.57"],
}
_FIELDS_OF_ALL = 3 + len(_LETTERS)
EMPTY_ENTRY = "0*0**0*0*0*0*0"


def _condition(source: str, compare: str, reference: float, hysteresis: float) -> list[int]:
    factor = 1 if source in DIGITAL else 100
    return [int(compare == "<"), round(reference * factor), round(hysteresis * 100)]


def _action_code(rule: Rule, profile: Profile) -> int:
    """Return the code of a rule's action; older dialects have one for each value of an action."""
    return code(codes.RULE_ACTIONS, rule.action, profile) or code(
        codes.RULE_ACTIONS, f"{rule.action}={rule.value}", profile
    )


def late_letters(profile: Profile) -> list[str]:
    return [letter for letter, when in _LATE_LETTERS.items() if is_offered(when, profile)]


def unshown_letters(profile: Profile) -> list[str]:
    """Return the fields that `event` sets but no status file of the version shows."""
    shown = {*_LETTERS, *late_letters(profile)}
    params = rule_rows.EVENT_ROW.params
    return [x for x in rule_rows.SETTINGS if x not in shown and has_field(params[x], profile)]


def _late_fields(rule: Rule, profile: Profile) -> list[int]:
    return [getattr(rule, rule_rows.SETTINGS[letter]) for letter in late_letters(profile)]


def rule_fields(rule: Rule, profile: Profile) -> list[int]:
    return [
        1,
        int(rule.enabled),
        code(codes.RULE_SOURCES, rule.source, profile),
        *_condition(rule.source, rule.compare, rule.reference, rule.hysteresis),
        code(codes.RULE_OPERATORS, rule.operator, profile),
        _action_code(rule, profile),
        code(codes.RULE_SOURCES, rule.source2, profile),
        *_condition(rule.source2, rule.compare2, rule.reference2, rule.hysteresis2),
        int(rule.permanent),
        *_late_fields(rule, profile),
    ]


def _rules(view: View) -> list[str]:
    machine = view.engine.machine
    profile = machine.profile
    entries = [[0] * (_FIELDS_OF_ALL + len(_late_fields(Rule(), profile)))] * MAX_RULES
    for number, rule in number_rules(machine.settings.rules):
        entries[number - 1] = rule_fields(rule, profile)
    return ["*".join(map(str, fields)) for fields in entries]


def _results(view: View) -> list[str]:
    results = ["00"] * MAX_RULES
    for number, of_conditions in view.engine.rules.results().items():
        met = ["1" if result else "0" for result in of_conditions]
        results[number - 1] = "".join(met).ljust(2, "0")
    return results


def _schedule(view: View) -> list[str]:
    machine = view.engine.machine
    return [
        EMPTY_ENTRY if entry is None else schedule_text(entry, machine.profile)
        for entry in machine.settings.schedule
    ]


def schedule_text(entry: ScheduleEntry, profile: Profile) -> str:
    action = code(codes.SCHEDULE_ACTIONS, entry.action, profile)
    numbers = (action, entry.value, entry.time, _day(entry), days_mask(entry))
    return join_texts(("1", str(int(entry.active)), entry.name, *map(str, numbers)))


def _day(entry: ScheduleEntry) -> int:
    try:
        return day_number(entry)
    except ValueError:
        # A settings file may contain a nonexistent date, which must not affect other entries.
        return 0


# --- the way back ---------------------------------------------------------------------------------

FIELD_NOT_SHOWN = "does not show it on this version"


def read_rules(texts: Sequence[object], profile: Profile) -> Iterator[ReadSetting | UnreadSetting]:
    """Read all entries; an unreadable entry keeps its place, so that others keep theirs."""
    rules: list[Rule | None] = []
    unread: list[UnreadSetting] = []
    for place, text in enumerate(texts):
        if text is None:
            yield UnreadSetting("rules", f"lacks entry {place}")
            return
        try:
            rule = _rule_in(as_text(text), profile)
        except (NotReadable, Refusal) as problem:
            unread.append(UnreadSetting(f"rules.{place}", _why(place, problem)))
            rule = Rule()
        rules.append(rule)
        for letter in unshown_letters(profile) if rule is not None else ():
            name = rule_rows.SETTINGS[letter]
            unread.append(UnreadSetting(f"rules.{place}.{name}", FIELD_NOT_SHOWN))
    yield ReadSetting("rules", without_trailing_gaps(rules))
    yield from unread


def _why(place: int, problem: Exception) -> str:
    words = problem.detail if isinstance(problem, Refusal) else str(problem)
    return f"{words} (entry {place})"


def _rule_in(text: str, profile: Profile) -> Rule | None:
    letters = [*_LETTERS, *late_letters(profile)]
    parts = parts_in(text, 3 + len(letters))
    enabled, permanent = flag_in(parts[1]), flag_in(parts.pop(2 + len(_LETTERS)))
    if not flag_in(parts[0]):
        return None
    seen: dict[str, Any] = {}
    for letter, part in zip(letters, parts[2:], strict=True):
        seen[letter] = rule_rows.EVENT_ROW.params[letter].parse(part, profile, seen)
    action, _, value = seen["G"].partition("=")
    # Older dialects have the value in the action.
    seen |= {"G": action, "M": int(value) if value else seen.get("M", rule_rows.DEFAULT_VALUE)}
    fields = {rule_rows.SETTINGS[letter]: field for letter, field in seen.items()}
    return Rule(**fields, enabled=enabled, permanent=permanent)


def read_schedule(
    texts: Sequence[object], profile: Profile
) -> Iterator[ReadSetting | UnreadSetting]:
    entries: list[ScheduleEntry | None] = []
    others: list[ReadSetting | UnreadSetting] = []
    for place, text in enumerate(texts):
        try:
            entry = _entry_in(as_text(text), profile)
        except (NotReadable, Refusal) as problem:
            others.append(UnreadSetting(f"schedule.{place}", _why(place, problem)))
            entry = None
        if entry is not None and ENCODED_STAR in as_text(text):
            others.append(ReadSetting(f"schedule.{place}.name", entry.name, STAR_LOSS))
        entries.append(entry)
    yield ReadSetting("schedule", tuple(entries))
    yield from others


def _entry_in(text: str, profile: Profile) -> ScheduleEntry | None:
    exists, active, name, *numbers = parts_in(text, 8)
    is_active = flag_in(active)
    if not flag_in(exists):
        return None
    params = schedule_rows.FIELDS
    fields = {
        letter: params[letter].parse(number, profile, {})
        for letter, number in zip("CDEFG", numbers, strict=True)
    }
    fields |= {"B": text_in(name).replace(ENCODED_STAR, "*"), "H": is_active}
    return schedule_rows.entry_from_fields(fields)


RULE_RESULTS = Keys(
    number_names("eve", 0, MAX_RULES),
    ("rules",),
    _results,
    "results of condition 1 and condition 2 of every event entry",
    "two characters 0 or 1; a missing condition 2 is 0",
)
RULES = Keys(
    number_names("ev", 0, MAX_RULES),
    ("rules",),
    _rules,
    "event entries: exists, enabled, fields B-K of the `event` command, permanent; on HW 3.5+ also "
    "field L, from SW 1.45 on M, from SW 1.57 on N-P",
    JOINED,
    stored=SettingParser(("rules",), read_rules),
)
SCHEDULE = Keys(
    number_names("sched", 0, SCHEDULE_ENTRIES),
    ("schedule",),
    _schedule,
    "schedule entries: exists, active, name, action, value, time, date, days",
    JOINED,
    stored=SettingParser(("schedule",), read_schedule),
)
