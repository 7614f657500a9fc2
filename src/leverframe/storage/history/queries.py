"""Queries of the history: choose a resolution, and write values as JSON or CSV.

Values are not interpolated: a value applies until the next one. Unknown values are NaN, which is
null in JSON and empty in CSV. All labels of a reduced answer have the same regular times.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import repeat
from math import ceil, inf, isnan, nextafter
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.lanes import RecordedPiece
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.errors import ErrorForPeople
from leverframe.core.labels import LABELS
from leverframe.storage.history.compactor import INSTANT_S, Compactor
from leverframe.storage.history.rows import (
    ABSENT,
    HIGH,
    LAST,
    LOW,
    MEAN,
    MINUTES,
    PRESENT_S,
    RAW,
    TIERS,
    TIME,
    VALUE,
    Columns,
    Tier,
)

T = TypeVar("T")

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 6, 12)),
    *(days * _DAY for days in (1, 2, 7, 14, 28, 84, 364)),
)
#: The number of values beyond the limit that are counted before raw values are ruled out.
_GENEROUS = 8192

#: Decimal places of a mean; no sensor has more.
_DIGITS = 6

#: The approximate number of values that are read for one piece.
_PIECE = 20_000
#: The cost of a label in addition to its values, as a number of values.
_PER_LABEL = 100
_LAST_YEAR_ENDS = 253_402_300_800
#: The names of columns in an answer.
_REDUCED = ("min", "mean", "max")
_RAW = ("times", "values")

#: All recorded labels, in the order in which they are shown.
RECORDED = (*LABELS, *DUTIES)


class TooManyValues(ErrorForPeople):
    """A query needs more values than one query may read; the message is one sentence."""


class TimeSpan(Struct, frozen=True):
    """A query: labels, a time span, and the maximum number of points for each label."""

    labels: tuple[str, ...]
    first: float
    last: float
    points: int
    now: float

    @property
    def known(self) -> float:
        """Return the end of the time span for which values can be known, at most now."""
        return min(self.last, self.now)


class Resolution(Struct, frozen=True):
    tier: Tier
    #: Seconds between two points; 0 for values as recorded.
    step: int


def answer_pieces(compactor: Compactor, span: TimeSpan, prefix: str = "") -> Iterator[bytes]:
    """Answer `/api/history` as JSON in pieces, at least one for each label; some pieces are empty.

    Labels recorded with a prefix are shown without it.
    """
    resolution = yield from _choose_resolution(compactor, span)
    step = resolution.step
    head = {
        "from": span.first,
        "to": span.last,
        "now": span.now,
        "since": since(compactor),
        "step": step,
        "times": axis(span, step) if step else [],
    }
    yield msgspec.json.encode(head)[:-1] + b',"series":{'
    for number, label in enumerate(span.labels):
        columns: Iterable[list[float]]
        if step:
            columns = yield from _axis_pieces(compactor, span, label, resolution)
        else:
            columns = raw(compactor, span, label)
        series = dict(zip(_REDUCED if step else _RAW, columns, strict=True))
        comma = b"," if number else b""
        name = msgspec.json.encode(label.removeprefix(prefix))
        yield comma + name + b":" + msgspec.json.encode(series)
    yield b"}}"


def values_to_read(compactor: Compactor, span: TimeSpan) -> int:
    """Estimate the number of values that an answer reads and shows."""
    wanted = (span.last - span.first) / span.points
    tier = _tier_for(compactor, span, 0 if wanted < MINUTES.interval_s else MINUTES.interval_s)
    counts = compactor.chunk_store.counts(tier, span.first, span.known)
    read = sum(counts.get(label, 0) for label in span.labels)
    return read + len(span.labels) * span.points


def list_recorded_labels(compactor: Compactor) -> tuple[str, ...]:
    """List the labels that have values, in the order in which they are shown."""
    known = set(compactor.labels())
    return tuple(label for label in RECORDED if label in known)


def since(compactor: Compactor) -> float | None:
    """Return the earliest time for which there are records."""
    known = [at for tier in TIERS if (at := compactor.chunk_store.since(tier)) is not None]
    # The interval of the first value begins before that value.
    raw_since = compactor.chunk_store.since(RAW)
    earliest = min(known, default=None)
    if earliest is None or raw_since is None or raw_since - earliest >= TIERS[-1].interval_s:
        return earliest
    return raw_since


def resolution_of(compactor: Compactor, span: TimeSpan) -> Resolution:
    """Choose raw values if they fit and still exist, else the finest step that fits."""
    return _finish(_choose_resolution(compactor, span))


def _finish(steps: Generator[bytes, None, T]) -> T:
    """Run all steps without pauses; return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def _choose_resolution(compactor: Compactor, span: TimeSpan) -> Generator[bytes, None, Resolution]:
    """Choose the resolution in steps, each of which yields an empty piece."""
    if _tier_for(compactor, span, 0) is RAW and (yield from _fits_raw(compactor, span)):
        return Resolution(RAW, 0)
    wanted = (span.last - span.first) / span.points
    step = next((step for step in STEPS if step >= wanted), ceil(wanted / _DAY) * _DAY)
    tier = _tier_for(compactor, span, step)
    return Resolution(tier, max(step, tier.interval_s))


def _tier_for(compactor: Compactor, span: TimeSpan, step: int) -> Tier:
    """Choose the coarsest tier whose interval divides a step, or one that reaches further back."""
    chosen = max(
        tier for tier in TIERS if not tier.interval_s or (step and step % tier.interval_s == 0)
    )
    for tier in TIERS[chosen.number + 1 :]:
        begins, coarser = compactor.chunk_store.since(chosen), compactor.chunk_store.since(tier)
        if coarser is None or (begins is not None and begins <= span.first):
            break
        if begins is None or coarser + tier.interval_s < begins:
            chosen = tier
    return chosen


def _fits_raw(compactor: Compactor, span: TimeSpan) -> Generator[bytes, None, bool]:
    for label in span.labels:
        most = compactor.chunk_store.count(RAW, label, span.first, span.known)
        if most > span.points + _GENEROUS:
            return False
        if most > span.points:
            times = compactor.rows(RAW, label, span.first, span.known, span.now)[TIME]
            if bisect_right(times, span.known) - bisect_left(times, span.first) > span.points:
                return False
            yield b""
    return True


def raw(compactor: Compactor, span: TimeSpan, label: str) -> tuple[list[float], list[float]]:
    """Read times and values as recorded, beginning with the value at the start."""
    times, values = _came(compactor, label, span.first, span.known, span.now, with_held=True)
    return times.tolist(), values.tolist()


def _came(
    compactor: Compactor, label: str, first: float, last: float, now: float, *, with_held: bool
) -> tuple["array[float]", "array[float]"]:
    """Read the recorded values from one time to another, including both."""
    rows = compactor.rows(RAW, label, first, last, now)
    begin, end = bisect_left(rows[TIME], first), bisect_right(rows[TIME], last)
    times, values = rows[TIME][begin:end], rows[VALUE][begin:end]
    if with_held and (not times or times[0] > first) and first < last:
        held = rows[VALUE][begin - 1] if begin else compactor.value_before(label, first)
        if not isnan(held):
            times.insert(0, first)
            values.insert(0, held)
    return times, values


def raw_pieces(
    compactor: Compactor, span: TimeSpan, most: int | None = None
) -> Iterator[list[RecordedPiece]]:
    """Read recorded values in pieces of a few thousand, beginning with the values at the start.

    Raise TooManyValues if there are more than `most` values.
    """
    gathered: list[RecordedPiece] = []
    waiting = count = 0
    counts = compactor.chunk_store.counts(RAW, span.first, span.known)
    for label in span.labels:
        is_large = counts.get(label, 0) > _PIECE
        windows = _windows(compactor, span, label) if is_large else [(span.first, span.known)]
        for number, (first, last) in enumerate(windows):
            is_first = number == 0
            times, values = _came(compactor, label, first, last, span.now, with_held=is_first)
            gathered.append((label, times, values))
            waiting += len(times) + _PER_LABEL
            count += len(times)
            if most is not None and count > most:
                raise TooManyValues(
                    f"More than {most:,} values were recorded in this time. "
                    "Choose a shorter time or fewer labels."
                )
            if waiting >= _PIECE:
                yield gathered
                gathered, waiting = [], 0
    if gathered:
        yield gathered


def _windows(compactor: Compactor, span: TimeSpan, label: str) -> Iterator[tuple[float, float]]:
    """Split the span into windows of a few thousand values each, which do not overlap."""
    first, waiting = span.first, 0
    for end, points in compactor.chunk_store.chunk_ends(RAW, label, span.first, span.known):
        waiting += points
        if waiting >= _PIECE and first <= end < span.known:
            yield first, end
            first, waiting = nextafter(end, inf), 0
    yield first, span.known


def axis(span: TimeSpan, step: int) -> list[float]:
    """List the starts of all intervals that touch the span, up to now."""
    start = span.first // step * step
    count = max(0, int(-((start - span.known) // step)))
    return [start + step * index for index in range(count)]


def on_axis(
    compactor: Compactor, span: TimeSpan, label: str, resolution: Resolution
) -> tuple[list[float], list[float], list[float]]:
    """Find the lowest, mean and highest value of every interval of the axis."""
    return _finish(_axis_pieces(compactor, span, label, resolution))


_AxisColumns = tuple[list[float], list[float], list[float]]


def _axis_pieces(
    compactor: Compactor, span: TimeSpan, label: str, resolution: Resolution
) -> Generator[bytes, None, _AxisColumns]:
    """Do the same as `reduce` in steps, each of which yields an empty piece."""
    tier, step = resolution.tier, resolution.step
    start = span.first // step * step
    grid = _Grid(start, step, len(axis(span, step)))
    held_from, held = start, compactor.value_before(label, start)
    numbers = (VALUE, VALUE, VALUE, VALUE) if tier is RAW else (LOW, MEAN, HIGH, LAST)
    for rows in _row_windows(compactor, replace(span, first=start), label, tier):
        # The duration of a raw value is known only when the next value follows.
        weights = repeat(0.0) if tier is RAW else rows[PRESENT_S]
        columns = (rows[number] for number in numbers)
        for begin, weight, low, mean, high, last in zip(
            rows[TIME], weights, *columns, strict=False
        ):
            if begin < start:
                continue
            if begin > span.known:
                break
            grid.hold(held_from, begin, held)
            grid.put(begin, low, mean, high, weight)
            held_from, held = max(begin + tier.interval_s, held_from), last
        yield b""
    grid.hold(held_from, span.known, held)
    return grid.lows, grid.means(), grid.highs


def _row_windows(compactor: Compactor, span: TimeSpan, label: str, tier: Tier) -> Iterator[Columns]:
    """Read the rows of a span; raw rows in windows of a few thousand, as there may be millions."""
    if tier is not RAW:
        yield compactor.rows(tier, label, span.first, span.known, span.now)
        return
    for first, last in _windows(compactor, span, label):
        yield list(_came(compactor, label, first, last, span.now, with_held=False))


class _Grid:
    """Intervals of equal width with the known values in them."""

    def __init__(self, start: float, step: int, count: int) -> None:
        self._start = start
        self._step = step
        self.lows = [ABSENT] * count
        self.highs = [ABSENT] * count
        self._areas = [0.0] * count
        self._weights = [0.0] * count

    def put(self, begin: float, low: float, mean: float, high: float, weight: float) -> None:
        index = int((begin - self._start) // self._step)
        if isnan(mean) or not 0 <= index < len(self.lows):
            return
        if not low >= self.lows[index]:
            self.lows[index] = low
        if not high <= self.highs[index]:
            self.highs[index] = high
        self._areas[index] += mean * weight
        self._weights[index] += weight

    def hold(self, begin: float, end: float, value: float) -> None:
        """Add a value that applied from one time to another."""
        if isnan(value) or end <= begin:
            return
        at = begin
        index = int((begin - self._start) // self._step)
        while at < end and index < len(self.lows):
            until = min(end, self._start + (index + 1) * self._step)
            self.put(at, value, value, value, until - at)
            at, index = until, index + 1

    def means(self) -> list[float]:
        return [
            ABSENT if isnan(low) else _mean(area, weight, low, high)
            for area, weight, low, high in zip(
                self._areas, self._weights, self.lows, self.highs, strict=True
            )
        ]


def _mean(area: float, weight: float, low: float, high: float) -> float:
    mean = area / weight if weight else (low + high) / 2
    # Rounding must not move the mean out of the measured range.
    return min(max(round(mean, _DIGITS), low), high)


# --- CSV -----------------------------------------------------------------------------------------


class CsvStyle(Struct, frozen=True):
    """The style of a table: for programs, or with names and local times."""

    #: Titles of columns that replace the labels.
    titles: Mapping[str, str] = {}
    #: The zone of the times; None writes UTC with a Z.
    zone: tzinfo | None = None


FOR_PROGRAMS = CsvStyle()


def csv_pieces(
    compactor: Compactor, span: TimeSpan, style: CsvStyle = FOR_PROGRAMS
) -> Iterator[bytes]:
    """Write CSV in pieces, so that only a few thousand lines are in memory.

    With raw values there is a line whenever a label changed, with the values of all labels at that
    time. With reduced values there is a line for every interval, with the lowest, mean and highest
    value of each label.
    """
    titles = [style.titles.get(label, label) for label in span.labels]
    time = "time" if style.zone is None else f"time ({style.zone})"
    begun = since(compactor)
    # Otherwise decades before the first value would be written as millions of empty pieces.
    span = replace(span, first=max(span.first, span.now if begun is None else begun))
    resolution = yield from _choose_resolution(compactor, span)
    if resolution.step:
        names = [f"{title} {number}" for title in titles for number in _REDUCED]
        yield _lines([list(map(_text, (time, *names)))])
        yield from _reduce_pieces(compactor, span, resolution, style)
    else:
        yield _lines([list(map(_text, (time, *titles)))])
        yield from _raw_pieces(compactor, span, style)


def _reduce_pieces(
    compactor: Compactor, span: TimeSpan, resolution: Resolution, style: CsvStyle
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
            [_time(at, style.zone, "seconds"), *map(_number, numbers)]
            for at, *numbers in zip(axis(part, step), *columns, strict=True)
        )


def _raw_pieces(compactor: Compactor, span: TimeSpan, style: CsvStyle) -> Iterator[bytes]:
    held = [ABSENT] * len(span.labels)
    for part in _parts(span, span.first, max(1, _PIECE // len(span.labels))):
        came = [
            (at, index, value)
            for index, label in enumerate(part.labels)
            for at, value in zip(*raw(compactor, part, label), strict=True)
        ]
        came.sort(key=lambda one: one[0])
        yield _lines(_changes(came, held, style.zone))


def _parts(span: TimeSpan, start: float, width: int) -> Iterator[TimeSpan]:
    """Split a span into parts of equal width that do not overlap."""
    while start < span.known:
        end = start + width
        last = span.known if end >= span.known else end - INSTANT_S
        yield replace(span, first=max(start, span.first), last=last)
        start = end


def _changes(
    came: Sequence[tuple[float, int, float]], held: list[float], zone: tzinfo | None
) -> Iterator[Sequence[str]]:
    """Write a line for every time; if a label changes twice at the same time, write two."""
    waiting: set[int] = set()
    moment = 0.0
    for at, index, value in came:
        if waiting and (at != moment or index in waiting):
            yield [_time(moment, zone), *map(_number, held)]
            waiting.clear()
        if value != held[index] and not (isnan(value) and isnan(held[index])):
            moment = at
            waiting.add(index)
            held[index] = value
    if waiting:
        yield [_time(moment, zone), *map(_number, held)]


def _text(title: str) -> str:
    """Write a name so that no spreadsheet interprets it as a formula or as two columns."""
    safe = f"'{title}" if title.startswith(("=", "+", "-", "@", "\t", "\r")) else title
    return '"' + safe.replace('"', '""') + '"' if set(safe) & set(',"\r\n') else safe


def _lines(rows: Iterable[Sequence[str]]) -> bytes:
    return "".join(",".join(row) + "\r\n" for row in rows).encode()


def _time(at: float, zone: tzinfo | None, precision: str = "milliseconds") -> str:
    if at >= _LAST_YEAR_ENDS:
        # A clock that was set to the last possible year may run beyond it.
        return repr(at)
    # Rounded first: the float may be slightly less than the millisecond that it represents.
    if zone is not None:
        local = datetime.fromtimestamp(round(at, 3), zone).replace(tzinfo=None)
        return local.isoformat(" ", precision)
    text = datetime.fromtimestamp(round(at, 3), UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _number(value: float) -> str:
    return "" if isnan(value) else repr(value).removesuffix(".0")
