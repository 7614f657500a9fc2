"""The two comparisons of a rule, and how they combine.

A `Condition` remembers its last result, because hysteresis makes the next result depend on it. An
absent value leaves that result alone. When the two conditions of a rule are combined, a condition
whose source is absent counts as unknown: what the other one decides alone is decided, and where it
does not, the rule keeps its last result. So a broken sensor never makes a rule act, and does not
keep a second, working sensor from doing so.

A digital source is 0 or 1, so a condition on one asks for one of the two states
(`digital_level`); hysteresis is not for them.
"""

from collections.abc import Callable

from leverframe.engine.journal import Decided
from leverframe.engine.labels import DIGITAL
from leverframe.engine.machine import Value

#: Thresholds are sums of decimal numbers: without rounding, 20.1 - 0.2 is more than 19.9.
_DIGITS = 6


def digital_level(compare: str, reference: float) -> float:
    """Return the state of a digital source that a condition asks for.

    `< 1` is 0. Reference 0 is 0 with any comparison: the numbers alone would say always (`>= 0`)
    or never (`< 0`), which no one writes. `=` is stored as `>=`.
    """
    return 0.0 if compare == "<" else reference


class Condition:
    __slots__ = (
        "_above",
        "_at_least",
        "_below",
        "_digital",
        "hysteresis",
        "label",
        "reference",
        "result",
    )

    def __init__(self, label: str, compare: str, reference: float, hysteresis: float) -> None:
        self.label = label
        self._digital = label in DIGITAL
        self.reference = digital_level(compare, reference) if self._digital else reference
        #: The last result; None until the source was seen for the first time.
        self.result: bool | None = None
        self._at_least = compare == ">="
        self.hysteresis = 0.0 if self._digital else hysteresis
        self._below = round(reference - hysteresis, _DIGITS)
        self._above = round(reference + hysteresis, _DIGITS)

    @property
    def compare(self) -> str:
        if self._digital:
            return "="
        return ">=" if self._at_least else "<"

    @property
    def threshold(self) -> float:
        """The number for the next comparison; hysteresis moves it while the result is true."""
        if self._digital or not self.result:
            return self.reference
        return self._below if self._at_least else self._above

    def describe_outcome(self, value: Value, after: int) -> Decided:
        """Return the last judgement in numbers; `after` is the entry that gave the value."""
        threshold = self.reference
        if value is not None and not self._digital:
            # With hysteresis there are two thresholds: the one that explains the result.
            moved = self._below if self._at_least else self._above
            explained_by = (self.reference, moved) if self.result else (moved, self.reference)
            is_above = [value >= one for one in explained_by]
            wanted = self._at_least is bool(self.result)
            threshold = explained_by[0 if is_above[0] is wanted else 1]
        return Decided(self.label, value, self.compare, threshold, self.result, after)

    def judge(self, value: Value) -> bool | None:
        """Judge a new value and return the result; None if the value is absent."""
        if value is None:
            return None
        if self._digital:
            self.result = value == self.reference
        elif self._at_least:
            self.result = value >= (self._below if self.result else self.reference)
        else:
            self.result = value < (self._above if self.result else self.reference)
        return self.result


def _and(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return True if first and second else None


def _or(first: bool | None, second: bool | None) -> bool | None:
    if first or second:
        return True
    return None if first is None or second is None else False


def _not(result: bool | None) -> bool | None:
    return None if result is None else not result


def _xor(first: bool | None, second: bool | None) -> bool | None:
    return None if first is None or second is None else first is not second


#: The operators between two conditions; None is unknown. "-" has no second condition.
COMBINE: dict[str, Callable[[bool | None, bool | None], bool | None]] = {
    "AND": _and,
    "OR": _or,
    "NAND": lambda first, second: _not(_and(first, second)),
    "NOR": lambda first, second: _not(_or(first, second)),
    "XOR": _xor,
}
