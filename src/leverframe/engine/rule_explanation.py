"""Why a rule acts or does not, in values and words for people.

The sentence in `blocked_by` names what keeps a rule from acting although people may expect it to:
it is missing when the rule acts as its conditions say.
"""

from msgspec import Struct

from leverframe.engine.conditions import Condition
from leverframe.engine.live_rule import ONLY_WHEN_IT_STOPS, LiveRule, dependence
from leverframe.engine.machine import Machine, Value


class ConditionExplanation(Struct, frozen=True):
    label: str
    value: Value
    #: `>=` or `<`, and `=` for a digital source.
    compare: str
    reference: float
    hysteresis: float
    #: What the value is compared with now, hysteresis included.
    threshold: float
    #: The last result; None if the source was never seen.
    result: bool | None
    #: Wall time since when the source is absent; None while it is there, or was never seen.
    absent_since: float | None


class RuleExplanation(Struct, frozen=True):
    number: int
    #: The conditions hold and the dependence agrees.
    met: bool
    #: The result of the conditions alone.
    combined: bool
    conditions: list[ConditionExplanation]
    #: Seconds until the delayed action.
    pending: float | None
    #: activate or deactivate
    pending_action: str | None
    blocked_by: str | None


def explain_rule(live: LiveRule, machine: Machine, holder: LiveRule | None) -> RuleExplanation:
    """`holder` is the rule that permanently keeps this one's target, if there is one."""
    shown = live if live.rule.enabled else _judged_anew(live, machine)
    when = machine.timers.when(live.key)
    return RuleExplanation(
        number=live.number,
        met=live.met,
        combined=shown.combined,
        conditions=[_explain_condition(condition, machine) for condition in shown.conditions()],
        pending=None if when is None else when - machine.at.now,
        pending_action=live.pending,
        blocked_by=_obstacle(live, machine, holder),
    )


def _judged_anew(live: LiveRule, machine: Machine) -> LiveRule:
    """A disabled rule is never judged, but people want to see what it would say."""
    shown = LiveRule(live.rule, live.key)
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


def _obstacle(live: LiveRule, machine: Machine, holder: LiveRule | None) -> str | None:
    if not live.rule.enabled:
        return "The rule is disabled."
    for condition in live.conditions():
        if machine.values.get(condition.label) is None:
            return f"Source {condition.label} is absent."
    if live.combined and not live.dependence_agrees():
        return _unmet_dependence(live)
    if live.met and live.rule.mode == ONLY_WHEN_IT_STOPS:
        return "It acts only when the condition stops being met."
    if live.met and holder is not None and holder is not live:
        return f"Rule {holder.number} keeps {live.rule.action} as it is."
    return None


def _unmet_dependence(live: LiveRule) -> str:
    number, must_be_met = dependence(live.rule)
    if not must_be_met:
        return f"Rule {number} must not be met."
    if live.needed is None:
        return f"Rule {number} must be met, but there is none."
    if not live.needed.rule.enabled:
        return f"Rule {number} must be met, but it is disabled."
    return f"Rule {number} must be met."
