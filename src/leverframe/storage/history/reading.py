"""Answers questions: which resolution fits, and the values of labels in it.

Nothing is interpolated. A value holds until the next one; where nothing is known there is NaN,
which JSON writes as null. Reduced answers share one regular axis of times.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from math import ceil, isnan
from typing import Any, NamedTuple

from leverframe.engine.labels import LABELS
from leverframe.engine.pwm import DUTIES
from leverframe.storage.history.columns import (
    ABSENT,
    HIGH,
    LAST,
    LOW,
    MEAN,
    PRESENT_S,
    RAW,
    TIERS,
    TIME,
    VALUE,
    Columns,
    Tier,
)
from leverframe.storage.history.compactor import Compactor

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 6, 12)),
    *(days * _DAY for days in (1, 2, 7, 14, 28, 84, 364)),
)
#: How many values too many are looked at before a span counts as too full to be shown raw.
_GENEROUS = 8192

#: Digits of a mean; more than any sensor has.
_DIGITS = 6


#: Everything that is recorded, in the order in which it is shown.
RECORDED = (*LABELS, *DUTIES)


class TimeSpan(NamedTuple):
    """What is asked: labels from one moment to another, in at most so many points each."""

    labels: tuple[str, ...]
    first: float
    last: float
    points: int
    now: float

    @property
    def known(self) -> float:
        """Nothing is known of the time after now."""
        return min(self.last, self.now)


class Resolution(NamedTuple):
    tier: Tier
    #: Seconds between two points; 0 for values as they came.
    step: int


def answer(compactor: Compactor, span: TimeSpan) -> dict[str, Any]:
    """What `/api/history` says, ready to be written as JSON."""
    resolution = resolution_of(compactor, span)
    if resolution.step:
        times = axis(span, resolution.step)
        series = {
            label: dict(
                zip(
                    ("min", "mean", "max"), on_axis(compactor, span, label, resolution), strict=True
                )
            )
            for label in span.labels
        }
    else:
        times = []
        series = {
            label: dict(zip(("times", "values"), raw(compactor, span, label), strict=True))
            for label in span.labels
        }
    return {
        "from": span.first,
        "to": span.last,
        "now": span.now,
        "since": since(compactor),
        "step": resolution.step,
        "times": times,
        "series": series,
    }


def recorded_labels(compactor: Compactor) -> tuple[str, ...]:
    """Those that anything is known of, in the order in which they are shown."""
    known = set(compactor.labels())
    return tuple(label for label in RECORDED if label in known)


def since(compactor: Compactor) -> float | None:
    """When the recording began, as far back as it is still known."""
    known = [at for tier in TIERS if (at := compactor.since(tier)) is not None]
    # An interval begins before the first value in it.
    raw_since = compactor.since(RAW)
    earliest = min(known, default=None)
    if earliest is not None and raw_since is not None and raw_since - earliest < TIERS[-1][1]:
        return raw_since
    return earliest


def resolution_of(compactor: Compactor, span: TimeSpan) -> Resolution:
    """Raw where that fits and is still there, else the finest step that fits."""
    if _tier_for(compactor, span, 0) is RAW and _fits_raw(compactor, span):
        return Resolution(RAW, 0)
    wanted = (span.last - span.first) / span.points
    step = next((step for step in STEPS if step >= wanted), ceil(wanted / _DAY) * _DAY)
    tier = _tier_for(compactor, span, step)
    return Resolution(tier, max(step, tier.interval_s))


def _tier_for(compactor: Compactor, span: TimeSpan, step: int) -> Tier:
    """The coarsest tier that a step can be made of, or a coarser one that reaches further back."""
    chosen = max(tier for tier in TIERS if tier.interval_s <= step and not _divides(tier, step))
    for tier in TIERS[chosen.number + 1 :]:
        begins, coarser = compactor.since(chosen), compactor.since(tier)
        if coarser is None or (begins is not None and begins <= span.first):
            break
        if begins is None or coarser + tier.interval_s < begins:
            chosen = tier
    return chosen


def _divides(tier: Tier, step: int) -> bool:
    return bool(tier.interval_s and step % tier.interval_s)


def _fits_raw(compactor: Compactor, span: TimeSpan) -> bool:
    for label in span.labels:
        most = compactor.count(label, span.first, span.known)
        if most <= span.points:
            continue
        if most > span.points + _GENEROUS or _count(compactor, span, label) > span.points:
            return False
    return True


def _count(compactor: Compactor, span: TimeSpan, label: str) -> int:
    times = compactor.rows(RAW, label, span.first, span.known, span.now)[TIME]
    return bisect_right(times, span.known) - bisect_left(times, span.first)


def raw(compactor: Compactor, span: TimeSpan, label: str) -> tuple[list[float], list[float]]:
    """Times and values as they came; first what held at the beginning."""
    rows = compactor.rows(RAW, label, span.first, span.known, span.now)
    begin, end = bisect_left(rows[TIME], span.first), bisect_right(rows[TIME], span.known)
    times, values = rows[TIME][begin:end].tolist(), rows[VALUE][begin:end].tolist()
    if (not times or times[0] > span.first) and span.first < span.known:
        held = rows[VALUE][begin - 1] if begin else compactor.held_before(label, span.first)
        if not isnan(held):
            times.insert(0, span.first)
            values.insert(0, held)
    return times, values


def axis(span: TimeSpan, step: int) -> list[float]:
    """The beginnings of all intervals that touch the span, up to now."""
    start = span.first // step * step
    count = max(0, int(-((start - span.known) // step)))
    return [start + step * index for index in range(count)]


def on_axis(
    compactor: Compactor, span: TimeSpan, label: str, resolution: Resolution
) -> tuple[list[float], list[float], list[float]]:
    """Lowest, mean and highest value for every interval of the axis."""
    tier, step = resolution
    start = span.first // step * step
    grid = _Grid(start, step, len(axis(span, step)))
    rows = compactor.rows(tier, label, start, span.known, span.now)
    held_from, held = start, compactor.held_before(label, start)
    spans = _raw_spans(rows) if tier is RAW else _reduced_spans(rows, tier)
    for begin, end, low, mean, high, weight, last in spans:
        if begin < start:
            continue
        if begin > span.known:
            break
        grid.hold(held_from, begin, held)
        grid.put(begin, low, mean, high, weight)
        held_from, held = max(end, held_from), last
    grid.hold(held_from, span.known, held)
    return grid.lows, grid.means(), grid.highs


#: Begin, end, lowest, mean, highest, seconds of presence, last value.
_Known = tuple[float, float, float, float, float, float, float]


def _raw_spans(rows: Columns) -> Iterator[_Known]:
    for at, value in zip(rows[TIME], rows[VALUE], strict=True):
        yield at, at, value, value, value, 0.0, value


def _reduced_spans(rows: Columns, tier: Tier) -> Iterator[_Known]:
    columns = (rows[index] for index in (TIME, LOW, MEAN, HIGH, PRESENT_S, LAST))
    for begin, low, mean, high, present_s, last in zip(*columns, strict=True):
        yield begin, begin + tier.interval_s, low, mean, high, present_s, last


class _Grid:
    """Intervals of one width that are filled with what is known about them."""

    __slots__ = ("_areas", "_start", "_step", "_weights", "highs", "lows")

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
        """A value was there from one moment to another."""
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
    # Rounding must not carry it out of what was measured.
    return min(max(round(mean, _DIGITS), low), high)
