"""Rules and schedule entries of one version made into those of another.

An entry whose source or action the version does not know is left out. One that loses a lesser part
of what it says comes over switched off: it would not do what was meant. A part that has no effect
in it, such as the second condition of an entry with one, may go without that. A rule on a reading
that is another one there is switched off, too.
"""

from collections.abc import Set as AbstractSet
from typing import Any

from msgspec.structs import replace

from leverframe.commands.table.restored import NotCarriedOver, report_lost
from leverframe.commands.version_change.carried_readings import disable_if_source_changed
from leverframe.commands.version_change.limits import (
    missing_of_action,
    missing_of_rule,
    missing_of_schedule,
)
from leverframe.engine.conditions import COMBINE, digital_level
from leverframe.engine.labels import DIGITAL
from leverframe.engine.live_rule import SWITCHED
from leverframe.engine.rules import rules_without
from leverframe.engine.settings import (
    Rule,
    RulePlaces,
    ScheduleEntry,
    number_rules,
    rule_label,
)
from leverframe.profile import Profile

#: HW 3.0 has one e-mail, the others call it the first of four.
_SAME_ACTION = {"eMail": "eMail 1", "eMail 1": "eMail"}
_SECOND_CONDITION = frozenset({"source2", "compare2", "reference2", "hysteresis2"})
#: Without these an entry means nothing.
_ESSENTIAL = frozenset({"source", "source2", "action"})


def carry_rules(
    rules: tuple[Rule | None, ...],
    target: Profile,
    lost: list[NotCarriedOver],
    others: AbstractSet[str],
) -> tuple[Rule | None, ...]:
    """Convert rules; `others` are the readings that are not the same there."""
    dropped = []
    carried: list[Rule | None] = []
    for place, rule in enumerate(rules):
        if rule is None:
            carried.append(None)
            continue
        rule = _without_idle_parts(_with_known_action(rule, target), f"rules.{place}", target, lost)
        missing = missing_of_rule(rule, target)
        if _ESSENTIAL.intersection(missing):
            dropped.append(place)
            what = ", ".join(missing)
            reason = f"{target} does not have its {what}; the entry is left out."
            lost.append(report_lost(f"rules.{place}", _rule_text(rule), reason))
        elif missing:
            rule = _switch_off(rule, f"rules.{place}", missing, Rule(), target, lost)
        else:
            rule = disable_if_source_changed(rule, f"rules.{place}", others, target, lost)
        carried.append(rule)
    # No dependence breaks by this: versions with dependences know all sources and actions.
    left = tuple(carried)
    for place in reversed(dropped):
        left = rules_without(left, place)
    return left


def find_reversed_conditions(rules: RulePlaces) -> list[NotCarriedOver]:
    """List the conditions that earlier programs took to mean the opposite, with their rule."""
    found = []
    for number, rule in number_rules(rules):
        conditions = [(rule.source, rule.compare, rule.reference)]
        if rule.operator in COMBINE:
            conditions.append((rule.source2, rule.compare2, rule.reference2))
        for source, compare, reference in conditions:
            if source in DIGITAL and digital_level(compare, reference) != reference:
                who = rule_label(rules, number)
                reason = (
                    f"Rule {who}: {source} < 1 is met at 0, as the interface document says. "
                    "Earlier programs treated it as 1. Check that the entry does what you "
                    "intend."
                )
                found.append(NotCarriedOver(f"rules.{number - 1}", f"{source} < 1", reason))
    return found


def _without_idle_parts(rule: Rule, path: str, target: Profile, lost: list[NotCarriedOver]) -> Rule:
    """Remove from the rule what the version cannot hold and what changes nothing in it."""
    idle = idle_parts(rule).intersection(missing_of_rule(rule, target))
    reason = f"{target} does not have it; it has no effect in this entry."
    lost += (report_lost(f"{path}.{name}", getattr(rule, name), reason) for name in sorted(idle))
    return replace(rule, **{name: getattr(Rule(), name) for name in idle})


def idle_parts(rule: Rule) -> set[str]:
    """Return the settings of a rule that have no effect in it."""
    idle: set[str] = set()
    if rule.operator == Rule().operator:
        idle |= _SECOND_CONDITION
    if rule.action not in SWITCHED:
        idle |= {"on_delay", "off_delay", "value"}
    return idle


def _with_known_action(rule: Rule, target: Profile) -> Rule:
    same = _SAME_ACTION.get(rule.action)
    if same is None or "action" not in missing_of_action(rule, target):
        return rule
    return replace(rule, action=same)


def carry_schedule(
    schedule: tuple[ScheduleEntry | None, ...], target: Profile, lost: list[NotCarriedOver]
) -> tuple[ScheduleEntry | None, ...]:
    carried: list[ScheduleEntry | None] = []
    for place, entry in enumerate(schedule):
        path = f"schedule.{place}"
        missing = [] if entry is None else missing_of_schedule(entry, target)
        if entry is not None and "action" in missing:
            reason = f"{target} does not have its action; the entry is left out."
            lost.append(report_lost(path, entry.action, reason))
            entry = None
        elif entry is not None and missing:
            entry = _switch_off(entry, path, missing, ScheduleEntry(), target, lost)
        carried.append(entry)
    return tuple(carried)


def _switch_off(
    entry: Any,
    path: str,
    missing: list[str],
    standard: Any,
    target: Profile,
    lost: list[NotCarriedOver],
) -> Any:
    """Remove from the entry what the version cannot hold, and switch it off."""
    reason = f"{target} does not have it; the entry is switched off."
    lost += (report_lost(f"{path}.{name}", getattr(entry, name), reason) for name in missing)
    switch = "enabled" if isinstance(entry, Rule) else "active"
    return replace(entry, **{name: getattr(standard, name) for name in missing}, **{switch: False})


def _rule_text(rule: Rule) -> str:
    return f"{rule.source} {rule.compare} {rule.reference:g}: {rule.action}"
