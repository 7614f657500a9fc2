"""Find the figures of a run that are worse than all earlier ones on the same machine.

Other machines are no measure: even ratios to a reference differ between them. A figure is reported
if it is worse than the worst earlier one, and worse than their median by more than `TOLERANCE`,
because figures of shared machines vary by ten per cent from run to run.
"""

import statistics
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bench.figure import Figure, format_number
from bench.trend import Run, compare

TOLERANCE = 0.15
_LARGER_IS_BETTER = (">", "over")
_SMALLER_IS_BETTER = ("<", "under")


class Worse(NamedTuple):
    """A figure that became worse."""

    part: str
    what: str
    now: float
    #: The median of the earlier runs.
    before: float
    unit: str

    def __str__(self) -> str:
        amounts = f"{format_number(self.now)} instead of {format_number(self.before)} {self.unit}"
        return f"{self.part}, {self.what}: {amounts}".rstrip()


def find_worse(run: Run, earlier: Iterable[Run]) -> list[Worse]:
    """Return the figures that became worse."""
    comparable = [one for one in earlier if one.machine == run.machine]
    return [
        worse
        for part, figures in run.figures.items()
        for figure in figures
        for worse in _check(part, figure, run, comparable)
    ]


def _check(part: str, figure: Figure, run: Run, earlier: list[Run]) -> Iterator[Worse]:
    now, unit = compare(figure, run.reference_us.get(part))
    sign = _direction(figure, unit)
    if now is None or sign == 0:
        return
    before = list(_earlier_values(part, figure, unit, earlier))
    if not before:
        return
    median = statistics.median(before)
    is_worst = all(sign * now < sign * value for value in before)
    if is_worst and sign * (median - now) > TOLERANCE * abs(median):
        yield Worse(part, figure.what, now, median, unit)


def _earlier_values(part: str, figure: Figure, unit: str, runs: list[Run]) -> Iterator[float]:
    """Return the values of a figure that was measured in the same way."""
    for run in runs:
        for other in run.figures.get(part, ()):
            value, other_unit = compare(other, run.reference_us.get(part))
            is_same = (other.what, other.unit, other_unit) == (figure.what, figure.unit, unit)
            if is_same and value is not None:
                yield value


def _direction(figure: Figure, unit: str) -> int:
    """Return 1 if larger is better, -1 if smaller is better, 0 if that is not known."""
    if figure.goal.startswith(_LARGER_IS_BETTER):
        return 1
    if figure.goal.startswith(_SMALLER_IS_BETTER):
        return -1
    if figure.reference is not None and figure.reference.ratio is not None:
        return 0
    return {"rounds": -1, "per round": 1, "/s": 1}.get(unit, 0)
