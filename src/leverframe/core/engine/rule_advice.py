"""Advice about rules that conflict, loop, can never act, or end unsafely.

Advice is data with an English sentence, so that a page can show it in any language. It is based on
the settings and on which sources have a value. Advice has no effect on the rules.
"""

from collections.abc import Container, Iterator
from itertools import combinations
from math import inf

from msgspec import Struct

from leverframe.core.engine.calls import MODBUS_WRITES, OFF, ON, REVERSE, target_of
from leverframe.core.engine.live_rule import (
    BOTH_WAYS,
    ONLY_WHEN_IT_STARTS,
    ONLY_WHEN_IT_STOPS,
    SWITCHED,
    dependence,
)
from leverframe.core.engine.rule_courses import Courses, conditions_of, loops
from leverframe.core.engine.sources import is_set_up, range_of
from leverframe.core.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.core.profile import Profile
from leverframe.core.settings import (
    Rule,
    Settings,
    has_module,
    number_rules,
    rule_label,
    rule_numbered,
)

#: Targets about which several rules can disagree.
_TARGETS = frozenset((*OUTPUTS, *PWMS, *EVENT_VARIABLES))


#: Advice on dependences that keep a rule from ever acting.
_NEVER = frozenset(
    {"never_own_dependence", "never_missing_dependence", "never_disabled_dependence"}
    | {"never_met_dependence", "always_met_dependence"}
)


class Advice(Struct, frozen=True):
    #: The kind of advice; each kind has its own sentence.
    kind: str
    #: The rules concerned; the pages show the advice at the first of them.
    rules: tuple[int, ...]
    #: The sources, outputs and variables concerned.
    labels: tuple[str, ...]
    #: The figures of the sentence.
    figures: dict[str, float]
    text: str


class Offer(Struct, frozen=True):
    """The sources and actions of rules that a version supports."""

    profile: Profile
    sources: Container[str]
    #: Actions without values: `OUT0`, not `OUT0=1`.
    actions: Container[str]


def advise(settings: Settings, offer: Offer, measured: Container[str] = ()) -> list[Advice]:
    """List all advice; `measured` are sources that count as set up, whatever the settings say."""
    return [
        *(
            advice
            for number, rule in number_rules(settings.rules)
            for advice in _of_one(number, rule, settings, offer, measured)
        ),
        *fights(settings),
        *_advise_on_remembered(settings),
        *_loops(settings, offer.profile),
    ]


def _of_one(
    number: int, rule: Rule, settings: Settings, offer: Offer, measured: Container[str]
) -> Iterator[Advice]:
    missing = list(_missing(number, rule, settings, offer, measured))
    yield from missing
    impossible = _impossible(number, rule, settings)
    if impossible is not None:
        yield impossible
    elif not missing:
        yield from _unending(number, rule, settings)
        yield from _of_dependence(number, rule, settings)


def _missing(
    number: int, rule: Rule, settings: Settings, offer: Offer, measured: Container[str]
) -> Iterator[Advice]:
    who = rule_label(settings.rules, number)
    for label in dict.fromkeys(condition.label for condition in conditions_of(rule)):
        if label not in offer.sources:
            text = f"Rule {who} never acts: {offer.profile} has no source {label}."
            yield _advice("no_source", number, label, text=text)
        elif label not in measured and not is_set_up(label, settings):
            text = f"Rule {who} waits for {label}, but nothing is set up that measures it."
            yield _advice("not_set_up", number, label, text=text)
    if rule.action not in offer.actions:
        text = f"Rule {who} does nothing: {offer.profile} has no action {rule.action}."
        yield _advice("no_action", number, rule.action, text=text)
    elif rule.action in MODBUS_WRITES:
        yield from _unwritten(number, rule.action, settings)


def _unwritten(number: int, action: str, settings: Settings) -> Iterator[Advice]:
    slot = settings.modbus_writes[MODBUS_WRITES.index(action)].slot
    who = rule_label(settings.rules, number)
    if not slot:
        text = f"Rule {who} writes nothing: {action} is not set up."
        yield _advice("no_write", number, action, text=text)
    elif not has_module(settings, slot):
        text = f"Rule {who} writes nothing: no module is chosen for Modbus slot {slot}."
        yield _advice("no_module", number, str(slot), text=text)


def _impossible(number: int, rule: Rule, settings: Settings) -> Advice | None:
    """Return advice on a rule whose own conditions can never be met; None if they can."""
    if (True,) in Courses([rule], settings).results():
        return None
    conditions, who = conditions_of(rule), rule_label(settings.rules, number)
    if len(conditions) == 2:
        text = f"Rule {who} never acts: its two conditions are never met together as required."
        return _advice("contradiction", number, *(one.label for one in conditions), text=text)
    (condition,) = conditions
    low, high = range_of(condition.label, settings)
    figures = {"reference": condition.reference, "low": low, "high": high}
    reference = f"{condition.reference:g}"
    limits = {"<": f"below {reference}", ">=": f"{reference} or more"}
    wanted = limits.get(condition.compare, reference)
    text = (
        f"Rule {who} never acts: {condition.label} is {_span_in_words(low, high)}, never {wanted}."
    )
    return _advice("out_of_range", number, condition.label, text=text, figures=figures)


def _span_in_words(low: float, high: float) -> str:
    if low == high:
        return f"always {low:g}"
    if high == inf:
        return f"at least {low:g}"
    return f"at most {high:g}" if low == -inf else f"between {low:g} and {high:g}"


def _unending(number: int, rule: Rule, settings: Settings) -> Iterator[Advice]:
    courses, who = Courses([rule], settings), rule_label(settings.rules, number)
    labels = dict.fromkeys(condition.label for condition in conditions_of(rule))
    if (False,) not in courses.results():
        text = f"Rule {who} is always met, whatever the value of {', '.join(labels)}."
        yield _advice("always_met", number, *labels, text=text)
    elif courses.never_cease():
        text = (
            f"Rule {who} stays met forever once it is met: its hysteresis reaches beyond the "
            f"range of {', '.join(labels)}."
        )
        yield _advice("never_ceases", number, *labels, text=text)


def _of_dependence(number: int, rule: Rule, settings: Settings) -> Iterator[Advice]:
    other, must_be_met = dependence(rule)
    if not other:
        return
    needed = rule_numbered(settings.rules, other)
    who, whom = (rule_label(settings.rules, one) for one in (number, other))
    if other == number:
        kind, text = (
            ("own_dependence", f"Rule {who} depends on itself, which has no effect.")
            if must_be_met
            else (
                "never_own_dependence",
                f"Rule {who} never acts: it may act only while it is not met itself.",
            )
        )
    elif needed is None:
        kind, text = _idle(who, f"rule {whom}, which does not exist", must_be_met, "missing")
    elif not needed.enabled:
        kind, text = _idle(who, f"rule {whom}, which is disabled", must_be_met, "disabled")
    elif not _agree(rule, needed, must_be_met, settings):
        kind = "never_met_dependence" if must_be_met else "always_met_dependence"
        word = "is never met" if must_be_met else "is always met"
        text = f"Rule {who} never acts: rule {whom} {word} when its own conditions are met."
    else:
        return
    yield Advice(kind, (number, other), (), {}, text)


def _idle(rule: str, which: str, must_be_met: bool, how: str) -> tuple[str, str]:
    """Return kind and sentence of the advice on a dependence on a rule that is never evaluated."""
    if must_be_met:
        return f"never_{how}_dependence", f"Rule {rule} never acts: it depends on {which}."
    return f"{how}_dependence", f"Rule {rule} depends on {which}, so the dependence has no effect."


def _agree(rule: Rule, needed: Rule, must_be_met: bool, settings: Settings) -> bool:
    return (True, must_be_met) in Courses([rule, needed], settings).results()


def find_idle_rules(settings: Settings) -> Iterator[int]:
    """Yield the numbers of enabled rules that can never act, whatever their sources show."""
    for number, rule in number_rules(settings.rules):
        if rule.enabled and (
            _impossible(number, rule, settings) is not None
            or any(one.kind in _NEVER for one in _of_dependence(number, rule, settings))
        ):
            yield number


def fights(settings: Settings) -> Iterator[Advice]:
    """Yield advice on pairs of enabled rules that conflict over one output or variable.

    A common pair is a rule that only switches on and a rule that only switches off. The rules do
    not conflict if they cannot be met at the same time.
    """
    enabled = [
        (number, rule)
        for number, rule in number_rules(settings.rules)
        if rule.enabled and _target(rule) in _TARGETS
    ]
    for (number, rule), (other_number, other) in combinations(enabled, 2):
        if _target(rule) == _target(other):
            yield from _fight((number, other_number), rule, other, settings)


def _fight(
    numbers: tuple[int, int], rule: Rule, other: Rule, settings: Settings
) -> Iterator[Advice]:
    target = _target(rule)
    first, second = (rule_label(settings.rules, one) for one in numbers)
    if _wish_differently(rule, other) and _both_met(numbers, rule, other, settings):
        text = (
            f"Rules {first} and {second} set {target} to different states when both are met. "
            "The rule that is met later wins."
        )
        yield Advice("fight", numbers, (target,), {}, text)
    elif _decides(rule) and _decides(other):
        text = (
            f"Rules {first} and {second} both switch {target}: the rule that is met decides; "
            "when neither is met, the rule that ended last."
        )
        yield Advice("shared", numbers, (target,), {}, text)
    elif BOTH_WAYS in (rule.mode, other.mode):
        text = (
            f"Rules {first} and {second} both switch {target}: when either rule begins or "
            "ends, it overrides the other."
        )
        yield Advice("interferes", numbers, (target,), {}, text)
    yield from _ends_on(numbers, rule, other, settings)
    yield from _ends_on((numbers[1], numbers[0]), other, rule, settings)


def _decides(rule: Rule) -> bool:
    """Return True if the rule determines the state of its target while it is met."""
    return rule.mode == BOTH_WAYS and (rule.value != REVERSE or rule.action not in SWITCHED)


def _ends_on(
    numbers: tuple[int, int], rule: Rule, other: Rule, settings: Settings
) -> Iterator[Advice]:
    """Yield advice on a rule that switches off and whose end overrides another rule."""
    switches_off = rule.value == OFF and rule.mode != ONLY_WHEN_IT_STARTS
    switches_on = other.value == ON and other.mode != ONLY_WHEN_IT_STOPS
    if rule.action == other.action and rule.action in SWITCHED and switches_off and switches_on:
        ends, wants = (rule_label(settings.rules, one) for one in numbers)
        text = (
            f"When rule {ends} ends, it switches {rule.action} on even if rule {wants} is not "
            f"met. Safer: let rule {ends} switch an event variable, and let rule {wants} "
            f"depend on rule {ends} not being met."
        )
        yield Advice("ends_on", numbers, (rule.action,), {}, text)


def _advise_on_remembered(settings: Settings) -> Iterator[Advice]:
    """Yield advice on remembered outputs that a rule switches on and nothing switches off."""
    rules = number_rules(settings.rules)
    for number, rule in rules:
        if not rule.enabled or rule.action not in OUTPUTS:
            continue
        output = settings.outputs[OUTPUTS.index(rule.action)]
        stays_on = rule.mode == ONLY_WHEN_IT_STARTS and rule.value == ON
        if not (stays_on and output.remember) or output.return_time:
            continue
        if not any(_switches_off(other, rule.action) for _, other in rules):
            who = rule_label(settings.rules, number)
            text = (
                f"{rule.action} remembers its state, and rule {who} acts only when it begins: "
                f"after a power cut {rule.action} is on again even if rule {who} is not met."
            )
            yield _advice("remembered", number, rule.action, text=text)


def _switches_off(rule: Rule, label: str) -> bool:
    if not rule.enabled or rule.action != label:
        return False
    begins_off = rule.value != ON and rule.mode != ONLY_WHEN_IT_STOPS
    ends_off = rule.value != OFF and rule.mode != ONLY_WHEN_IT_STARTS
    return begins_off or ends_off


def _target(rule: Rule) -> str:
    return target_of(rule.action)


def _wish_differently(rule: Rule, other: Rule) -> bool:
    """Return True if both rules set their target when they become met, but to different values."""
    if ONLY_WHEN_IT_STOPS in (rule.mode, other.mode):
        return False
    return (rule.action, rule.value) != (other.action, other.value)


def _both_met(numbers: tuple[int, int], rule: Rule, other: Rule, settings: Settings) -> bool:
    """Return True if both rules can be met at the same time."""
    if (True, True) not in Courses([rule, other], settings).results():
        return False
    for one, counterpart in ((rule, numbers[1]), (other, numbers[0])):
        number, must_be_met = dependence(one)
        if number == counterpart and not must_be_met:
            return False
    return True


def _loops(settings: Settings, profile: Profile) -> Iterator[Advice]:
    for numbers in loops(settings, profile):
        rules = [rule for number, rule in number_rules(settings.rules) if number in numbers]
        labels = tuple(dict.fromkeys(rule.action for rule in rules))
        delay_s = sum(rule.on_delay + rule.off_delay for rule in rules)
        who = _join_rules([rule_label(settings.rules, number) for number in numbers])
        pace = f", every {delay_s} s" if delay_s else ""
        text = f"{who} by switching {', '.join(labels)}{pace}."
        yield Advice("loop", numbers, labels, {"delay_s": delay_s}, text)


def _join_rules(labels: list[str]) -> str:
    *most, last = labels
    if not most:
        return f"Rule {last} keeps triggering itself"
    return f"Rules {', '.join(most)} and {last} keep triggering each other"


def _advice(
    kind: str, number: int, *labels: str, text: str, figures: dict[str, float] | None = None
) -> Advice:
    return Advice(kind, (number,), tuple(labels), figures or {}, text)
