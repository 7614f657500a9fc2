"""History as CSV, in pieces, so that nobody ever holds more than a few thousand lines of it.

Raw values: a line whenever one of the labels changed, with what all of them held then. Reduced:
a line for every interval, with lowest, mean and highest value of each label. Absent is empty.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import isnan

from leverframe.storage.history.columns import ABSENT
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.reading import (
    Resolution,
    TimeSpan,
    axis,
    on_axis,
    raw,
    resolution_of,
    since,
)

#: About so many values are looked at for one piece.
_PIECE = 20_000
#: Times are kept in milliseconds, so a span that ends so much earlier ends just before.
_INSTANT_S = 0.001
_LAST_YEAR_ENDS = 253_402_300_800
_NUMBERS = ("min", "mean", "max")


def csv_pieces(compactor: Compactor, span: TimeSpan) -> Iterator[bytes]:
    begun = since(compactor)
    # Decades before the first value would be millions of empty pieces.
    span = span._replace(first=max(span.first, span.now if begun is None else begun))
    resolution = resolution_of(compactor, span)
    if resolution.step:
        names = [f"{label} {number}" for label in span.labels for number in _NUMBERS]
        yield _lines([["time", *names]])
        yield from _reduced_pieces(compactor, span, resolution)
    else:
        yield _lines([["time", *span.labels]])
        yield from _raw_pieces(compactor, span)


def _reduced_pieces(
    compactor: Compactor, span: TimeSpan, resolution: Resolution
) -> Iterator[bytes]:
    step = resolution.step
    width = max(1, _PIECE // len(span.labels)) * step
    for part in _parts(span, span.first // step * step, width):
        columns = [
            column
            for label in part.labels
            for column in on_axis(compactor, part, label, resolution)
        ]
        yield _lines(
            [_time(at), *map(_number, numbers)]
            for at, *numbers in zip(axis(part, step), *columns, strict=True)
        )


def _raw_pieces(compactor: Compactor, span: TimeSpan) -> Iterator[bytes]:
    held = [ABSENT] * len(span.labels)
    for part in _parts(span, span.first, max(1, _PIECE // len(span.labels))):
        came = [
            (at, index, value)
            for index, label in enumerate(part.labels)
            for at, value in zip(*raw(compactor, part, label), strict=True)
        ]
        came.sort(key=lambda one: one[0])
        yield _lines(_changes(came, held))


def _parts(span: TimeSpan, start: float, width: int) -> Iterator[TimeSpan]:
    """One span after the other, without a moment that belongs to two."""
    while start < span.known:
        end = start + width
        last = span.known if end >= span.known else end - _INSTANT_S
        yield span._replace(first=max(start, span.first), last=last)
        start = end


def _changes(
    came: Sequence[tuple[float, int, float]], held: list[float]
) -> Iterator[Sequence[str]]:
    """A line for every moment; a label that changes twice in a moment makes two."""
    waiting: set[int] = set()
    moment = 0.0
    for at, index, value in came:
        if waiting and (at != moment or index in waiting):
            yield [_time(moment), *map(_number, held)]
            waiting.clear()
        if value != held[index] and not (isnan(value) and isnan(held[index])):
            moment = at
            waiting.add(index)
            held[index] = value
    if waiting:
        yield [_time(moment), *map(_number, held)]


def _lines(rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]) -> bytes:
    return "".join(",".join(row) + "\r\n" for row in rows).encode()


def _time(at: float) -> str:
    if at >= _LAST_YEAR_ENDS:
        # A clock that was set to the last year there is, and goes on.
        return repr(at)
    # Rounded first: the number may lie just below the millisecond that it means.
    text = datetime.fromtimestamp(round(at, 3), UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _number(value: float) -> str:
    return "" if isnan(value) else repr(value).removesuffix(".0")
