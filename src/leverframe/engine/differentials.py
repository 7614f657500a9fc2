"""DIFF1-DIFF6: two readings joined by an operator.

A differential may use other differentials, in any order. Those that use themselves, directly or
around a loop, have no value, and neither has what depends on them. A missing operand, a division
by zero and a result that is not finite make the reading absent.
"""

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from operator import add, mul, sub, truediv

from leverframe.engine.labels import DIFFERENTIALS
from leverframe.engine.machine import Machine
from leverframe.engine.readings import round_result
from leverframe.engine.settings import Settings
from leverframe.engine.timers import Key

OPERATORS: dict[str, Callable[[float, float], float]] = {
    "-": sub,
    "+": add,
    "*": mul,
    "/": truediv,
}


class Differentials:
    __slots__ = ("_affected", "_machine", "_order")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        #: Indices, each after those it uses; the ones in or behind a loop are left out.
        self._order: list[int] = []
        #: Reading -> the differentials it changes, in that order. No key is a differential.
        self._affected: dict[str, list[int]] = {}

    def start(self) -> None:
        self._bind()
        self._compute(self._order)

    def adopt(self, old: Settings) -> None:
        if self._machine.settings.differentials is not old.differentials:
            self.start()

    def on_timer(self, key: Key) -> None:
        """Do nothing: differentials set no deadlines."""

    def listens_to(self) -> Iterable[str]:
        """Name the labels that `derive` looks at."""
        return self._affected

    def derive(self, changed: AbstractSet[str]) -> None:
        """Compute the differentials whose readings changed."""
        if self._affected.keys().isdisjoint(changed):
            return
        labels = self._affected.keys() & changed
        if len(labels) == 1:
            self._compute(self._affected[labels.pop()])
        elif labels:
            indices = {index for label in labels for index in self._affected[label]}
            self._compute(index for index in self._order if index in indices)

    def _bind(self) -> None:
        settings = self._machine.settings.differentials
        own = dict(zip(DIFFERENTIALS, range(len(settings)), strict=False))
        used = [{setting.first, setting.second} for setting in settings]
        #: Index -> the readings it uses, directly or through other differentials.
        rests_on: dict[int, set[str]] = {}
        waiting = list(range(len(settings)))
        while ready := [
            index
            for index in waiting
            if all(own[label] in rests_on for label in used[index] & own.keys())
        ]:
            for index in ready:
                inherited = (rests_on[own[label]] for label in used[index] & own.keys())
                rests_on[index] = (used[index] - own.keys()).union(*inherited)
            waiting = [index for index in waiting if index not in rests_on]
        for index in waiting:
            self._machine.put(DIFFERENTIALS[index], None)
        self._order = list(rests_on)
        self._affected = {
            label: [index for index in self._order if label in rests_on[index]]
            for label in set().union(*rests_on.values())
        }

    def _compute(self, indices: Iterable[int]) -> None:
        for index in indices:
            self._machine.put(DIFFERENTIALS[index], self._value(index))

    def _value(self, index: int) -> float | None:
        setting = self._machine.settings.differentials[index]
        values = self._machine.values
        first, second = values.get(setting.first), values.get(setting.second)
        if first is None or second is None or (second == 0 and setting.operator == "/"):
            return None
        return round_result(OPERATORS[setting.operator](first, second))
