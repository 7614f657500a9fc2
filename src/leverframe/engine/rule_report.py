"""The report on one rule: its sources, its effects, and why it acts or does not."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from leverframe.engine.actions import MODBUS_WRITES, OFF, ON, PULSES, REVERSE, pulse_seconds
from leverframe.engine.actuator import MESSAGES, Actuator
from leverframe.engine.labels import OUTPUTS
from leverframe.engine.live_rule import (
    ACTIVATE,
    LASTING,
    ONLY_WHEN_IT_STARTS,
    ONLY_WHEN_IT_STOPS,
    SWITCHED,
    Firing,
    dependence,
)
from leverframe.engine.rule_advice import Advice
from leverframe.engine.rule_explanation import (
    ConditionExplanation,
    RuleExplanation,
)
from leverframe.engine.settings import Rule

_SWITCHING_WORDS = {OFF: "off", ON: "on", REVERSE: "reverse"}
_ASKED = {">=": "at least ", "<": "below ", "=": ""}


class RuleEffect(Struct, frozen=True):
    """The effect of a rule when it begins or ceases."""

    #: The printed name of the action; of a pulse, the output.
    action: str
    #: on, off or reverse for what is switched, else send or do.
    does: str
    delay_s: int
    text: str


class Dependence(Struct, frozen=True):
    rule: int
    must_be_met: bool
    agrees: bool


class Why(Struct, frozen=True):
    """Why a rule acts (`met`, `ceases`) or does not (`waits`, `not_met`, an obstacle)."""

    kind: str
    rule: int | None
    label: str | None
    text: str


class RuleReport(Struct, frozen=True):
    number: int
    settings: Rule
    explanation: RuleExplanation
    #: Units of the sources, by label.
    units: dict[str, str]
    #: True if it has begun to act and not ceased yet.
    active: bool
    depends: Dependence | None
    why: Why
    when_met: RuleEffect | None
    when_ceasing: RuleEffect | None
    firings: list[Firing]
    advice: list[Advice]
    #: The item of `/inpa.cgi` that sets this entry; None if this version has no form for it.
    command: str | None


def report(
    rule: Rule,
    explanation: RuleExplanation,
    firings: list[Firing],
    advice: Sequence[Advice],
    unit_of: Callable[[str], str],
    command: str | None,
) -> RuleReport:
    active = explanation.met is not (explanation.pending is not None)
    units = {condition.label: unit_of(condition.label) for condition in explanation.conditions}
    return RuleReport(
        number=explanation.number,
        settings=rule,
        explanation=explanation,
        units=units,
        active=active,
        depends=_depends(rule, explanation),
        why=_why(rule, explanation, units),
        when_met=None if rule.mode == ONLY_WHEN_IT_STOPS else _when_met(rule),
        when_ceasing=None if rule.mode == ONLY_WHEN_IT_STARTS else _when_ceasing(rule),
        firings=firings,
        advice=[one for one in advice if explanation.number in one.rules],
        command=command,
    )


def _depends(rule: Rule, explanation: RuleExplanation) -> Dependence | None:
    number, must_be_met = dependence(rule)
    if not number:
        return None
    return Dependence(number, must_be_met, explanation.dependence_agrees)


def _why(rule: Rule, explanation: RuleExplanation, units: dict[str, str]) -> Why:
    if (obstacle := explanation.obstacle) is not None:
        text = explanation.blocked_by or ""
        return Why(obstacle.kind, obstacle.rule, obstacle.label, text)
    readings = ", ".join(
        _condition_text(condition, units[condition.label]) for condition in explanation.conditions
    )
    if explanation.pending_action == ACTIVATE:
        text = f"It acts in {explanation.pending:.0f} s: {readings}."
        return Why("waits", None, rule.action, text)
    if explanation.pending is not None:
        text = f"It stops acting in {explanation.pending:.0f} s: {readings}."
        return Why("ceases", None, rule.action, text)
    if explanation.met:
        return Why("met", None, None, f"Its conditions hold: {readings}.")
    return Why("not_met", None, None, f"Its conditions do not hold: {readings}.")


def _condition_text(condition: ConditionExplanation, unit: str) -> str:
    asked = f"{_ASKED[condition.compare]}{condition.threshold:g} {unit}".rstrip()
    now = "absent" if condition.value is None else f"{condition.value:g} {unit}".rstrip()
    return f"{condition.label} is {now} ({asked}: {'yes' if condition.result else 'no'})"


def _when_met(rule: Rule) -> RuleEffect:
    return _of_both_edges(rule, rule.value, ON, rule.on_delay) or _single_effect(rule)


def _when_ceasing(rule: Rule) -> RuleEffect | None:
    effect = _of_both_edges(rule, Actuator.opposite(rule.value), OFF, rule.off_delay)
    if effect is None and rule.mode == ONLY_WHEN_IT_STOPS:
        return _single_effect(rule)
    return effect


def _single_effect(rule: Rule) -> RuleEffect:
    if rule.action in PULSES:
        target = OUTPUTS[PULSES.index(rule.action)]
        lasts = f"{target} on for {pulse_seconds(rule.off_delay)} s"
        return RuleEffect(target, "on", 0, lasts)
    return RuleEffect(rule.action, "do", 0, f"does {rule.action}")


def _of_both_edges(rule: Rule, value: int, state: int, delay_s: int) -> RuleEffect | None:
    """Return the effect of an action that acts both when it begins and when it ceases, or None."""
    if rule.action in SWITCHED:
        return _switching(rule.action, value, delay_s)
    if rule.action in LASTING:
        return _switching(rule.action, state, 0)
    if rule.action in MESSAGES:
        return RuleEffect(rule.action, "send", 0, f"sends {rule.action}")
    if rule.action in MODBUS_WRITES:
        return RuleEffect(rule.action, "do", 0, f"does {rule.action}")
    return None


def _switching(action: str, value: int, delay_s: int) -> RuleEffect:
    word = _SWITCHING_WORDS.get(value, "on")
    after = f" after {delay_s} s" if delay_s else ""
    return RuleEffect(action, word, delay_s, f"{action} {word}{after}")
