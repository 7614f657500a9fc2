"""The explanation of why a rule acts or does not act, in values and words for users.

`obstacle` is the reason why a rule does not act although a user might expect it to; `blocked_by` is
the same reason as a sentence. Both are None if the rule acts according to its conditions.
"""

from msgspec import Struct

from leverframe.core.engine.live_rule import ONLY_WHEN_IT_STOPS, Condition, LiveRule, dependence
from leverframe.core.engine.machine import Machine, Value
from leverframe.core.settings import RulePlaces, rule_label


class ConditionExplanation(Struct, frozen=True):
    label: str
    value: Value
    #: `>=` or `<`, and `=` for a digital source.
    compare: str
    reference: float
    hysteresis: float
    #: The number with which the value is compared now, including hysteresis.
    threshold: float
    #: The last result; None if the source has never had a value.
    result: bool | None
    #: Wall time since when the source has been absent; None if it has a value or never had one.
    absent_since: float | None


class Obstacle(Struct, frozen=True):
    """The reason why a rule does not act: the kind of sentence, and the rule or label in it."""

    kind: str
    rule: int | None = None
    label: str | None = None


#: The sentence of each kind of obstacle.
OBSTACLES = {
    "disabled": "The rule is disabled.",
    "absent": "Source {label} is absent.",
    "must_not_be_met": "Rule {rule} is met but must not be.",
    "missing": "Rule {rule} must be met but does not exist.",
    "needed_disabled": "Rule {rule} must be met, but it is disabled.",
    "must_be_met": "Rule {rule} must be met but is not.",
    "only_when_it_stops": "The rule acts only when its condition ends.",
    "kept": "Rule {rule} determines the state of {label}.",
}


class RuleExplanation(Struct, frozen=True):
    number: int
    #: Empty if the rule has no name.
    name: str
    #: True if the conditions are true and the rule on which this one depends permits acting.
    met: bool
    #: The result of the conditions alone.
    combined: bool
    conditions: list[ConditionExplanation]
    #: Seconds until the delayed action.
    pending: float | None
    #: activate or deactivate
    pending_action: str | None
    blocked_by: str | None
    obstacle: Obstacle | None
    #: True if the rule on which this rule depends permits acting, or if there is none.
    dependence_agrees: bool


def explain_rule(
    live: LiveRule, machine: Machine, holder: LiveRule | None, now: float
) -> RuleExplanation:
    """Explain a rule; `holder` is the permanent rule that maintains its target, or None."""
    shown = judge_disabled(live, machine)
    when = machine.timers.when(live.key)
    obstacle = _obstacle(live, machine, holder)
    return RuleExplanation(
        number=live.number,
        name=live.rule.name,
        met=live.met,
        combined=shown.combined,
        conditions=[_explain_condition(condition, machine) for condition in shown.conditions()],
        pending=None if when is None else max(0.0, when - now),
        pending_action=live.pending,
        blocked_by=None if obstacle is None else sentence(obstacle, machine.settings.rules),
        obstacle=obstacle,
        dependence_agrees=live.dependence_agrees(),
    )


def judge_disabled(live: LiveRule, machine: Machine) -> LiveRule:
    """Return an enabled rule itself, or an evaluated copy of a disabled (never evaluated) rule."""
    if live.rule.enabled:
        return live
    shown = LiveRule(live.rule, live.key, live.number)
    shown.judge(machine.values)
    return shown


def _explain_condition(condition: Condition, machine: Machine) -> ConditionExplanation:
    return ConditionExplanation(
        label=condition.label,
        value=machine.values.get(condition.label),
        compare=condition.compare,
        reference=condition.reference,
        hysteresis=condition.hysteresis,
        threshold=condition.threshold,
        result=condition.result,
        absent_since=machine.absent_since.get(condition.label),
    )


def sentence(obstacle: Obstacle, rules: RulePlaces) -> str:
    rule = rule_label(rules, obstacle.rule)
    return OBSTACLES[obstacle.kind].format(rule=rule, label=obstacle.label)


def absent_source(live: LiveRule, machine: Machine) -> str | None:
    """Return the first source of a rule that has no value, or None."""
    for condition in live.conditions():
        if machine.values.get(condition.label) is None:
            return condition.label
    return None


def _obstacle(live: LiveRule, machine: Machine, holder: LiveRule | None) -> Obstacle | None:
    if not live.rule.enabled:
        return Obstacle("disabled")
    absent = absent_source(live, machine)
    if absent is not None:
        return Obstacle("absent", label=absent)
    if live.combined and not live.dependence_agrees():
        return _unmet_dependence(live)
    if live.met and live.rule.mode == ONLY_WHEN_IT_STOPS:
        return Obstacle("only_when_it_stops")
    if live.met and holder is not None and holder is not live:
        return Obstacle("kept", rule=holder.number, label=live.rule.action)
    return None


def _unmet_dependence(live: LiveRule) -> Obstacle:
    number, must_be_met = dependence(live.rule)
    if not must_be_met:
        return Obstacle("must_not_be_met", rule=number)
    if live.needed is None:
        return Obstacle("missing", rule=number)
    if not live.needed.rule.enabled:
        return Obstacle("needed_disabled", rule=number)
    return Obstacle("must_be_met", rule=number)
