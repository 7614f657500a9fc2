"""Reports on rules: their sources, why they act, and their trials with recorded values."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.actuator import MESSAGES, Actuator
from leverframe.core.engine.calls import MODBUS_WRITES, OFF, ON, PULSES, REVERSE, pulse_seconds
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.event_variables import course_of_window, windows_of
from leverframe.core.engine.lanes import Course, RecordedPiece, changes_by_time, courses_from
from leverframe.core.engine.live_rule import (
    ACTIVATE,
    LASTING,
    ONLY_WHEN_IT_STARTS,
    ONLY_WHEN_IT_STOPS,
    SWITCHED,
    Firing,
    dependence,
)
from leverframe.core.engine.machine import Value
from leverframe.core.engine.rule_advice import Advice
from leverframe.core.engine.rule_courses import conditions_of, turns_of
from leverframe.core.engine.rule_explanation import ConditionExplanation, RuleExplanation
from leverframe.core.engine.timers import Moment
from leverframe.core.labels import OUTPUTS
from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, RulePlaces, Settings, rule_numbered
from leverframe.core.tree import defaults

# The report on one rule: its sources, its effects, and why it acts or does not.

_SWITCHING_WORDS = {OFF: "off", ON: "on", REVERSE: "reverse"}
_ASKED = {">=": "at least ", "<": "below ", "=": ""}


class RuleEffect(Struct, frozen=True):
    """The effect of a rule when it begins or ends."""

    #: The printed name of the action; for a pulse, the output.
    action: str
    #: `on`, `off` or `reverse` for switching, else `send` or `do`.
    does: str
    delay_s: int
    text: str


class Dependence(Struct, frozen=True):
    rule: int
    must_be_met: bool
    agrees: bool


class Why(Struct, frozen=True):
    """Why a rule acts (`met`, `ceases`) or does not act (`waits`, `not_met`, an obstacle)."""

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
    #: Whether the rule has begun to act and has not ended yet.
    active: bool
    depends: Dependence | None
    why: Why
    when_met: RuleEffect | None
    when_ceasing: RuleEffect | None
    firings: list[Firing]
    advice: list[Advice]
    #: The item of `/inpa.cgi` that sets this rule; None if this version has no form for it.
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
        text = f"The rule acts in {explanation.pending:.0f} s: {readings}."
        return Why("waits", None, rule.action, text)
    if explanation.pending is not None:
        text = f"The rule stops acting in {explanation.pending:.0f} s: {readings}."
        return Why("ceases", None, rule.action, text)
    if explanation.met:
        return Why("met", None, None, f"The conditions are met: {readings}.")
    return Why("not_met", None, None, f"The conditions are not met: {readings}.")


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
    """Return the effect of an action that differs between begin and end; None for other actions."""
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


# The trial of a rule with recorded values.
#
# The rule runs on a separate engine, together with the rule on which it depends, and its sources
# have their recorded values. The recorded values do not react to its actions: a heater that the
# rule would have switched on does not change the recorded temperature.

#: The maximum number of moments in the reply; a rule that switches very often would have too many.
MAX_FIRINGS = 500


class RuleTrial(Struct, frozen=True):
    """The actions that a rule would have taken between two moments, in seconds since 1970."""

    first: float
    last: float
    #: The time of the first recorded value of its sources; None if there is none.
    since: float | None
    #: Oldest first, and only the first `MAX_FIRINGS`.
    firings: list[Firing]
    #: When each condition became true and false.
    conditions: list[list[Firing]] = []


def sources_of_trial(rules: RulePlaces, index: int) -> set[str]:
    """Return the labels whose recorded values the trial of a rule at a place needs."""
    involved = _rules_of_trial(rules, index)
    own = {condition.label for one in involved for condition in conditions_of(one)}
    return own - {involved[0].action}


def try_rule(
    rules: RulePlaces,
    index: int,
    courses: Mapping[str, Course],
    span: tuple[float, float],
    profile: Profile,
) -> tuple[list[Firing], list[list[Firing]]]:
    """List when a rule would have begun and ended, and when each of its conditions changed."""
    first, last = span
    engine = Engine(profile, _only(rules, index, profile))
    engine.start(Moment(first, first))
    firings = engine.rules.firings_of(index)
    found: list[Firing] = []
    turns: list[list[Firing]] = [[] for _ in conditions_of(_rule_under_trial(rules, index))]
    for moment in _run_courses(engine, courses, last):
        found += (firing for firing in firings if firing.time <= moment)
        firings.clear()
        for course, result in zip(turns, engine.rules.results_of(index), strict=True):
            if bool(result) is not (bool(course) and course[-1].active):
                course.append(Firing(moment, bool(result)))
        if len(found) >= MAX_FIRINGS:
            break
    return found[:MAX_FIRINGS], [course[:MAX_FIRINGS] for course in turns]


def encode_rule_trial(
    settings: Settings,
    index: int,
    profile: Profile,
    timezone: tzinfo,
    span: tuple[float, float],
    recorded: Iterable[Iterable[RecordedPiece]],
) -> bytes:
    """Try a rule of the settings on recorded values; return the result as JSON."""
    rules, windows = settings.rules, windows_of(settings)
    first, last = span
    courses: dict[str, Course] = {
        label: turning(course, turns_of_trial(rules, index, label))
        for label, course in courses_from(recorded).items()
    }
    begins = [next(iter(course))[0] for course in courses.values() if course]
    for label in sources_of_trial(rules, index) & windows.keys():
        courses[label] = list(course_of_window(windows[label], first, last, timezone))
        begins = begins or ([first] if len(courses) == 1 else [])
    firings, turns = try_rule(rules, index, courses, span, profile)
    return msgspec.json.encode(RuleTrial(first, last, min(begins, default=None), firings, turns))


def find_sources(settings: Settings, index: int) -> set[str]:
    """Return the labels whose recorded values the trial of a rule needs."""
    return sources_of_trial(settings.rules, index) - windows_of(settings).keys()


def _rule_under_trial(rules: RulePlaces, index: int) -> Rule:
    rule = rules[index]
    if rule is None:
        raise LookupError(f"there is no rule at position {index}")
    return rule


def _rules_of_trial(rules: RulePlaces, index: int) -> list[Rule]:
    """Return the rule under trial and, if it is enabled, the rule on which it depends."""
    rule = _rule_under_trial(rules, index)
    needed = rule_numbered(rules, dependence(rule)[0])
    return [rule] if needed is None or not needed.enabled else [rule, needed]


def _only(rules: RulePlaces, index: int, profile: Profile) -> Settings:
    """Enable only the rule and the rule on which it depends, at their places."""
    number, _ = dependence(_rule_under_trial(rules, index))
    kept = (
        rule and replace(rule, enabled=place == index or (rule.enabled and place == number - 1))
        for place, rule in enumerate(rules)
    )
    return replace(defaults(profile), rules=tuple(kept))


def _run_courses(engine: Engine, courses: Mapping[str, Course], last: float) -> Iterator[float]:
    """Run the engine through all changes and the deadlines between them; yield at each moment."""
    for time, changes in changes_by_time(courses):
        if time > last:
            break
        yield from _serve_deadlines(engine, time)
        for label, value in changes:
            if label in engine.values:
                engine.machine.put(label, value)
        engine.sense({}, Moment(time, time))
        yield time
    yield from _serve_deadlines(engine, last)


def _serve_deadlines(engine: Engine, until: float) -> Iterator[float]:
    while (deadline := engine.next_deadline()) is not None and deadline <= until:
        engine.tick(Moment(deadline, deadline))
        yield deadline


def turning(course: Iterable[tuple[float, Value]], turns: Sequence[float]) -> Course:
    """Keep only values that can change a condition: those that cross one of the thresholds.

    A reading has many values in a day, and nearly all of them change nothing.
    """
    kept: list[tuple[float, Value]] = []
    last: int | None = None
    for time, value in course:
        piece = None if value is None else bisect_right(turns, value)
        if not kept or piece != last:
            kept.append((time, value))
            last = piece
    return kept


def turns_of_trial(rules: RulePlaces, index: int, label: str) -> list[float]:
    """List the thresholds of conditions on a label, in ascending order."""
    conditions = (one for rule in _rules_of_trial(rules, index) for one in conditions_of(rule))
    return sorted({turn for one in conditions if one.label == label for turn in turns_of(one)})
