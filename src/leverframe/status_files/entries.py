"""Keys: the entries of rules and schedule, one element each, their fields joined by `*`.

A field is written as the command that sets it takes it, in the version's own codes. Empty places
have an element, too, so that an entry is always found at its number.
"""

from leverframe.commands.table import codes
from leverframe.commands.table.codes import HW35_ANY, HW35_SW
from leverframe.commands.table.schedule import day_number, days_mask
from leverframe.engine.labels import DIGITAL
from leverframe.engine.settings import MAX_RULES, SCHEDULE_ENTRIES, Rule, ScheduleEntry
from leverframe.profile import Profile, offered
from leverframe.status_files.keys import JOINED, Keys, code, joined, numbered
from leverframe.status_files.view import View

#: Of the fields behind `permanent`: off delay; value; on delay, dependence and action mode. HW 3.0
#: has none of them, because its clients find a field by counting from the end.
_OFF_DELAY, _VALUE, _LATEST = HW35_ANY, HW35_SW["1.45"], HW35_SW["1.57"]
_FIELDS_OF_ALL = 13
EMPTY_ENTRY = "0*0**0*0*0*0*0"


def _condition(source: str, compare: str, reference: float, hysteresis: float) -> list[int]:
    factor = 1 if source in DIGITAL else 100
    return [int(compare == "<"), round(reference * factor), round(hysteresis * 100)]


def _action_code(rule: Rule, profile: Profile) -> int:
    """Return the code of a rule's action; older dialects have one for each of its values."""
    return code(codes.RULE_ACTIONS, rule.action, profile) or code(
        codes.RULE_ACTIONS, f"{rule.action}={rule.value}", profile
    )


def _late_fields(rule: Rule, profile: Profile) -> list[int]:
    fields = []
    if offered(_OFF_DELAY, profile):
        fields.append(rule.off_delay)
    if offered(_VALUE, profile):
        fields.append(rule.value)
    if offered(_LATEST, profile):
        fields += [rule.on_delay, rule.depends, rule.mode]
    return fields


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
    rules, profile = machine.settings.rules[:MAX_RULES], machine.profile
    empty = [0] * (_FIELDS_OF_ALL + len(_late_fields(Rule(), profile)))
    entries = [rule_fields(rule, profile) for rule in rules] + [empty] * (MAX_RULES - len(rules))
    return ["*".join(map(str, fields)) for fields in entries]


def _results(view: View) -> list[str]:
    results = ["00"] * MAX_RULES
    for index, rule in enumerate(view.engine.rules.explain()[:MAX_RULES]):
        met = ["1" if condition.result else "0" for condition in rule.conditions]
        results[index] = "".join(met).ljust(2, "0")
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
    return joined(("1", str(int(entry.active)), entry.name, *map(str, numbers)))


def _day(entry: ScheduleEntry) -> int:
    try:
        return day_number(entry)
    except ValueError:
        # Settings come from files, too; a date that does not exist hides no other entry.
        return 0


RULE_RESULTS = Keys(
    numbered("eve", 0, MAX_RULES),
    _results,
    "results of condition 1 and condition 2 of every event entry",
    "two characters 0 or 1; a missing condition 2 is 0",
)
RULES = Keys(
    numbered("ev", 0, MAX_RULES),
    _rules,
    "event entries: exists, enabled, fields B-K of the `event` command, permanent; on HW 3.5+ also "
    "field L, from SW 1.45 on M, from SW 1.57 on N-P",
    JOINED,
)
SCHEDULE = Keys(
    numbered("sched", 0, SCHEDULE_ENTRIES),
    _schedule,
    "schedule entries: exists, active, name, action, value, time, date, days",
    JOINED,
)
