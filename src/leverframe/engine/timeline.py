"""Recorded values as courses in time: for trials of rules, and for futures that are tried."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge

from leverframe.engine.machine import Value

#: Moments, ascending, and the values that held from then on.
Course = Sequence[tuple[float, Value]]
_Change = tuple[float, str, Value]


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
