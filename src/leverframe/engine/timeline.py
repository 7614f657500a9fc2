"""Recorded values as courses in time: for trials of rules, and for futures that are tried."""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import merge
from math import isnan

from leverframe.engine.machine import Value

#: Moments, ascending, and the values that held from then on.
Course = Collection[tuple[float, Value]]
_Change = tuple[float, str, Value]
#: Times and values of a label, or some of them, as the history has them: NaN is absent.
RecordedPiece = tuple[str, "array[float]", "array[float]"]


class PackedCourse(Collection[tuple[float, Value]]):
    """A course in 16 bytes for each value, a tenth of what a list of pairs takes."""

    def __init__(self, later_s: float = 0.0) -> None:
        """Give the values as if they had come so much later."""
        self.times = array("d")
        self.values = array("d")
        self._later_s = later_s

    def extend(self, times: "array[float]", values: "array[float]") -> None:
        self.times.extend(times)
        self.values.extend(values)

    def __iter__(self) -> Iterator[tuple[float, Value]]:
        for time, value in zip(self.times, self.values, strict=True):
            yield time + self._later_s, None if isnan(value) else value

    def __len__(self) -> int:
        return len(self.times)

    def __contains__(self, change: object) -> bool:
        return any(one == change for one in self)


def courses_from(
    pieces: Iterable[Iterable[RecordedPiece]], later_s: float = 0.0
) -> dict[str, PackedCourse]:
    """Join what was read of each label, in the order in which it was read."""
    courses: dict[str, PackedCourse] = {}
    for piece in pieces:
        for label, times, values in piece:
            courses.setdefault(label, PackedCourse(later_s)).extend(times, values)
    return courses


def changes_by_time(
    courses: Mapping[str, Course],
) -> Iterator[tuple[float, list[tuple[str, Value]]]]:
    """Yield all changes of one moment together."""
    now: float | None = None
    together: list[tuple[str, Value]] = []
    for time, label, value in merge(
        *(_changes(label, course) for label, course in courses.items()),
        key=lambda change: change[0],
    ):
        if now is not None and time != now:
            yield now, together
            together = []
        now = time
        together.append((label, value))
    if now is not None:
        yield now, together


def _changes(label: str, course: Course) -> Iterator[_Change]:
    for time, value in course:
        yield time, label, value
