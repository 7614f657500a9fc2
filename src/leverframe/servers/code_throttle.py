"""The limit of wrong codes by SMS: guessing takes years, and the owner's number is heard meanwhile.

The first wrong codes of a number cost nothing, since people mistype; then each makes it wait twice
as long as the one before. A sender is easily made up, so all numbers together wait in the same way,
except for those that have shown the right code. What comes during a wait is not looked at, and does
not make it longer: nobody can keep a number waiting for ever. After a quiet day all is forgotten.
"""

from collections import OrderedDict
from collections.abc import Callable

from msgspec import Struct

FREE_OF_NUMBER = 3
FREE_IN_ALL = 10
FIRST_WAIT_S = 60.0
LONGEST_WAIT_S = 3600.0
FORGOTTEN_S = 86400.0
#: Numbers that are remembered of each kind; the ones not heard of for the longest time go first.
MAX_NUMBERS = 1024


class _Failures(Struct):
    free: int
    count: int = 0
    last: float = 0.0

    def ready_at(self) -> float:
        beyond = self.count - self.free
        if beyond <= 0:
            return 0.0
        # The exponent is bounded, too: nothing counts how long somebody goes on.
        return self.last + min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(beyond - 1, 10))

    def add(self, now: float) -> None:
        self.count = 1 if now > self.last + FORGOTTEN_S else self.count + 1
        self.last = now


class CodeThrottle:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._in_all = _Failures(FREE_IN_ALL)
        self._numbers: OrderedDict[str, _Failures] = OrderedDict()
        self._proven: OrderedDict[str, None] = OrderedDict()

    def wait_s(self, number: str) -> float:
        """Return how long the codes of a number are not looked at; 0 if they are."""
        failures = self._numbers.get(number)
        ready_at = 0.0 if failures is None else failures.ready_at()
        if number not in self._proven:
            ready_at = max(ready_at, self._in_all.ready_at())
        return max(0.0, ready_at - self._now())

    def was_wrong(self, number: str) -> None:
        now = self._now()
        failures = self._numbers.pop(number, None) or _Failures(FREE_OF_NUMBER)
        failures.add(now)
        self._numbers[number] = failures
        if len(self._numbers) > MAX_NUMBERS:
            self._numbers.popitem(last=False)
        self._in_all.add(now)

    def was_right(self, number: str) -> None:
        self._numbers.pop(number, None)
        self._proven[number] = None
        self._proven.move_to_end(number)
        if len(self._proven) > MAX_NUMBERS:
            self._proven.popitem(last=False)
