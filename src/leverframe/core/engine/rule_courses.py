"""All results that the conditions of rules can have, for any values of their sources.

The thresholds of the conditions cut the range of a source into pieces, and one value represents
each piece. With hysteresis a result also depends on earlier values. Therefore the search starts
with the state in which no condition is met and collects all states that any sequence of values can
reach. It uses the engine's own conditions.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from math import inf

from msgspec.structs import replace

from leverframe.core.engine.engine import Engine
from leverframe.core.engine.live_rule import COMBINE, SWITCHED, Condition, dependence
from leverframe.core.engine.sources import Range, range_of
from leverframe.core.engine.timers import Moment
from leverframe.core.labels import DIGITAL
from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, RulePlaces, Settings, number_rules
from leverframe.core.tree import defaults

#: The results of all examined conditions, in order.
State = tuple[bool, ...]
#: The combined results of rules, in order.
Results = tuple[bool, ...]


def conditions_of(rule: Rule) -> tuple[Condition, ...]:
    first = Condition(rule.source, rule.compare, rule.reference, rule.hysteresis)
    if rule.operator not in COMBINE:
        return (first,)
    return (first, Condition(rule.source2, rule.compare2, rule.reference2, rule.hysteresis2))


def values_of(conditions: Iterable[Condition], limits: Range) -> list[float]:
    """List one value for each piece into which the conditions cut the range of their source."""
    low, high = limits
    conditions = list(conditions)
    if conditions[0].label in DIGITAL:
        return [value for value in (0.0, 1.0) if low <= value <= high]
    turns = sorted({turn for condition in conditions for turn in turns_of(condition)})
    starts = [-inf, *turns]
    ends = [*turns, inf]
    pieces = ((max(start, low), end) for start, end in zip(starts, ends, strict=True))
    return [_inside(start, end) for start, end in pieces if start < end and start <= high]


def turns_of(condition: Condition) -> tuple[float, float]:
    """Return the thresholds of a condition: while it is false, and while it is true."""
    if condition.label in DIGITAL:
        # Any threshold between 0 and 1 has the same effect.
        return 1.0, 1.0
    was, condition.result = condition.result, True
    while_true = condition.threshold
    condition.result = was
    return condition.reference, while_true


def _inside(start: float, end: float) -> float:
    if start > -inf:
        return start
    return end - 1.0 if end < inf else 0.0


class Courses:
    """All states that the conditions of one or two rules can reach together.

    Two rules have at most four conditions, so there are never many values to combine.
    """

    def __init__(self, rules: Sequence[Rule], settings: Settings) -> None:
        self._rules = rules
        self._groups = [conditions_of(rule) for rule in rules]
        self._conditions = [condition for group in self._groups for condition in group]
        by_label: dict[str, list[Condition]] = {}
        for condition in self._conditions:
            by_label.setdefault(condition.label, []).append(condition)
        self._labels = list(by_label)
        self._values = [
            values_of(conditions, range_of(label, settings))
            for label, conditions in by_label.items()
        ]
        self._reached: set[State] | None = None

    def results(self) -> set[Results]:
        """Return all combinations of results that the rules can have at the same time."""
        return {self._results(state) for state in self._reachable()}

    def never_cease(self) -> bool:
        """Return True if the first rule, once met, stays met whatever values its sources have."""
        met = {state for state in self._reachable() if self._results(state)[0]}
        return bool(met) and all(self._following(state) <= met for state in met)

    def _reachable(self) -> set[State]:
        if self._reached is None:
            self._reached = set()
            waiting = list(self._following((False,) * len(self._conditions)))
            while waiting:
                state = waiting.pop()
                if state not in self._reached:
                    self._reached.add(state)
                    waiting += self._following(state)
        return self._reached

    def _following(self, state: State) -> set[State]:
        return set(self._steps(state))

    def _steps(self, state: State) -> Iterator[State]:
        for values in product(*self._values):
            by_label = dict(zip(self._labels, values, strict=True))
            for condition, result in zip(self._conditions, state, strict=True):
                condition.result = result
                condition.judge(by_label[condition.label])
            yield tuple(bool(condition.result) for condition in self._conditions)

    def _results(self, state: State) -> Results:
        left = iter(state)
        return tuple(
            _combine(rule, [next(left) for _ in group])
            for rule, group in zip(self._rules, self._groups, strict=True)
        )


def _combine(rule: Rule, results: list[bool]) -> bool:
    if len(results) == 1:
        return results[0]
    return bool(COMBINE[rule.operator](*results))


# Rule loops: rules that trigger each other endlessly.
#
# A rule leads to another rule if it switches a source of that rule, or a source of the rule on
# which that rule depends. Rules that lead back to themselves may still settle, for example in a
# timer or a latch. A trial shows whether they settle: the rules run on a separate engine, without
# delays, with every combination of values of their other sources.

#: Maximum number of combinations of the other sources that are tried.
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
    """Yield the rules that lead back to themselves, as one set per loop."""
    reached = _map_reachable(rules)
    reported: set[int] = set()
    for number, others in reached.items():
        if number in others and number not in reported:
            ring = tuple(other for other in sorted(others) if number in reached[other])
            reported.update(ring)
            yield ring


def _map_reachable(rules: RulePlaces) -> dict[int, set[int]]:
    """Map the number of each enabled rule to the rules that it leads to, directly or indirectly."""
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
    """Return factory settings with only these rules, at their places and without delays."""
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
    """Return True if the engine stops the rules as a loop, at the start or after a switching."""
    engine.start(_START)
    _put(engine, others)
    for label in sorted(switched):
        _put(engine, {label: 1 - int(engine.values[label] or 0)})
    return any(entry.cause.kind == _RULE_LOOP for entry in engine.machine.journal.entries())


def _put(engine: Engine, values: dict[str, float]) -> None:
    for label, value in values.items():
        # A settings file may contain an unknown source, which stays absent.
        if label in engine.values:
            engine.machine.put(label, value)
    engine.sense({}, _START)
