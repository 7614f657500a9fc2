"""What the history must answer, worked out the slow way, and values to fill a history with."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isnan, nan
from typing import Any

import msgspec

from leverframe.core.engine.machine import Traced
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.queries import TimeSpan, answer_pieces

Point = tuple[float, float]

START = 1767571200.0


def answer(compactor: Compactor, span: TimeSpan) -> dict[str, Any]:
    """What `/api/history` shows."""
    found: dict[str, Any] = msgspec.json.decode(b"".join(answer_pieces(compactor, span)))
    return found


def changes(points: Sequence[Point]) -> list[Point]:
    """Without values that are the same as the one before; nothing is known at first."""
    found: list[Point] = []
    held = nan
    for at, value in points:
        if value != held and not (isnan(value) and isnan(held)):
            found.append((at, value))
            held = value
    return found


def reduce_points(
    points: Sequence[Point], times: Sequence[float], step: int, now: float
) -> list[tuple[float, float, float]]:
    """Lowest, mean by time and highest value of every interval."""
    return [
        _of(list(_values_within(points, begin, min(begin + step, now))), points, begin, step)
        for begin in times
    ]


def _values_within(
    points: Sequence[Point], begin: float, end: float
) -> Iterator[tuple[float, float]]:
    """Each value that held within an interval, with how long."""
    for (at, value), (until, _) in pairwise([*points, (end, nan)]):
        seconds = min(until, end) - max(at, begin)
        if seconds > 0 and not isnan(value):
            yield value, seconds


def _of(
    held: Sequence[tuple[float, float]], points: Sequence[Point], begin: float, step: int
) -> tuple[float, float, float]:
    came = [value for at, value in points if begin <= at < begin + step and not isnan(value)]
    seen = [value for value, _ in held] + came
    if not seen:
        return nan, nan, nan
    total = sum(seconds for _, seconds in held)
    mean = sum(value * seconds for value, seconds in held) / total if total else nan
    return min(seen), mean, max(seen)


def with_label(points: list[Point], label: str = "DS1") -> list[Traced]:
    return [(at, label, None if isnan(value) else value) for at, value in points]


def fill(compactor: Compactor, points: list[Point], label: str = "DS1", batch: int = 7) -> None:
    samples = with_label(points, label)
    for index in range(0, len(samples), batch):
        compactor.add(samples[index : index + batch])


def span(first: float, last: float, points: int = 100_000, now: float | None = None) -> TimeSpan:
    return TimeSpan(("DS1",), first, last, points, last if now is None else now)
