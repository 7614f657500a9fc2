"""Loops: rules that set each other off endlessly.

A rule leads to another one when it switches what that one looks at, or what the rule that it
depends on looks at. Rules that lead back to themselves may still come to rest, as a timer or a
latch does. Whether they do is tried out: they run on an engine of their own, without delays, with
every combination of values that their other sources can have.
"""

from collections.abc import Iterator
from itertools import islice, product

from msgspec.structs import replace

from leverframe.engine.engine import Engine
from leverframe.engine.factory_settings import defaults
from leverframe.engine.live_rule import SWITCHED, dependence
from leverframe.engine.moment import Moment
from leverframe.engine.rule_courses import conditions_of, values_of
from leverframe.engine.settings import Rule, RulePlaces, Settings, number_rules
from leverframe.engine.source_setup import range_of
from leverframe.profile import Profile

#: How many combinations of the other sources are tried.
MAX_TRIALS = 64

_START = Moment(0.0, 0.0)
#: The kind of cause under which the engine logs rules that it stopped.
_RULE_LOOP = "rule loop"


def loops(settings: Settings, profile: Profile) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of the rules of every loop."""
    for numbers in _rings(settings.rules):
        if _never_rests(numbers, settings, profile):
            yield numbers


def _rings(rules: RulePlaces) -> Iterator[tuple[int, ...]]:
    """Yield the rules that lead back to themselves, those of one ring together."""
    reached = _map_reachable(rules)
    reported: set[int] = set()
    for number, others in reached.items():
        if number in others and number not in reported:
            ring = tuple(other for other in sorted(others) if number in reached[other])
            reported.update(ring)
            yield ring


def _map_reachable(rules: RulePlaces) -> dict[int, set[int]]:
    """Map every enabled rule's number to those that it leads to, also by way of others."""
    numbered = {number: rule for number, rule in number_rules(rules) if rule.enabled}
    watched = {number: _source_labels(rule, numbered) for number, rule in numbered.items()}
    reached = {
        number: {
            other
            for other, labels in watched.items()
            if rule.action in SWITCHED and rule.action in labels
        }
        for number, rule in numbered.items()
    }
    for middle in reached:
        for others in reached.values():
            if middle in others:
                others |= reached[middle]
    return reached


def _source_labels(rule: Rule, numbered: dict[int, Rule]) -> set[str]:
    """Return the source labels of a rule and of the rule that it depends on."""
    needed = numbered.get(dependence(rule)[0])
    rules = (rule,) if needed is None else (rule, needed)
    return {condition.label for one in rules for condition in conditions_of(one)}


def _never_rests(numbers: tuple[int, ...], settings: Settings, profile: Profile) -> bool:
    ring = [rule for number, rule in number_rules(settings.rules) if number in numbers]
    needed = {dependence(rule)[0] for rule in ring}
    trial = _trial(settings, {*numbers, *needed}, defaults(profile))
    switched = {rule.action for rule in ring}
    return any(
        _is_stopped(Engine(profile, trial), others, switched)
        for others in islice(_others(trial, switched, settings), MAX_TRIALS)
    )


def _trial(settings: Settings, numbers: set[int], factory: Settings) -> Settings:
    """Enable only these rules, at their places and without delays, in factory settings."""
    rules = tuple(
        rule and replace(rule, on_delay=0, off_delay=0, enabled=rule.enabled and number in numbers)
        for number, rule in enumerate(settings.rules, start=1)
    )
    return replace(factory, rules=rules)


def _others(trial: Settings, switched: set[str], settings: Settings) -> Iterator[dict[str, float]]:
    """Yield all combinations of values of the sources that the rules do not switch themselves."""
    conditions = [
        condition
        for _, rule in number_rules(trial.rules)
        if rule.enabled
        for condition in conditions_of(rule)
    ]
    labels = sorted({condition.label for condition in conditions} - switched)
    values = [
        values_of([one for one in conditions if one.label == label], range_of(label, settings))
        for label in labels
    ]
    for combination in product(*values):
        yield dict(zip(labels, combination, strict=True))


def _is_stopped(engine: Engine, others: dict[str, float], switched: set[str]) -> bool:
    """Return True if the engine has to stop the rules, now or after a target is switched."""
    engine.start(_START)
    _put(engine, others)
    for label in sorted(switched):
        _put(engine, {label: 1 - int(engine.values[label] or 0)})
    return any(entry.cause.kind == _RULE_LOOP for entry in engine.machine.journal.entries())


def _put(engine: Engine, values: dict[str, float]) -> None:
    for label, value in values.items():
        # Settings come from files, too: an unknown source stays absent.
        if label in engine.values:
            engine.machine.put(label, value)
    engine.sense({}, _START)
