"""The results that the conditions of rules can reach, over all values of their sources.

The numbers at which conditions turn cut the range of a source into pieces, and one value of every
piece stands for all of it. From the state in which nothing is met, all states are gathered to which
some sequence of such values leads: with hysteresis a result depends on earlier values, too. The
conditions themselves are those of the engine.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import inf

from leverframe.engine.conditions import COMBINE, Condition
from leverframe.engine.labels import DIGITAL
from leverframe.engine.settings import Rule, Settings
from leverframe.engine.source_setup import Range, range_of

#: The results of all conditions looked at, in order.
State = tuple[bool, ...]
#: The combined results of rules, in order.
Results = tuple[bool, ...]


def conditions_of(rule: Rule) -> tuple[Condition, ...]:
    first = Condition(rule.source, rule.compare, rule.reference, rule.hysteresis)
    if rule.operator not in COMBINE:
        return (first,)
    return (first, Condition(rule.source2, rule.compare2, rule.reference2, rule.hysteresis2))


def values_of(conditions: Iterable[Condition], limits: Range) -> list[float]:
    """List one value for every piece into which the conditions of one source cut its range."""
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
    """Return the numbers at which a condition turns: while it is false, and while it is true."""
    if condition.label in DIGITAL:
        # Between 0 and 1, whichever of the two it asks for.
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
        """Return True if no values make the first rule cease once it is met."""
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
