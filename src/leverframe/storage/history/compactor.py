"""Reduction and bounds: keep values raw, reduce them, merge small chunks, remove the oldest.

Raw values are thinned: of more than three values of a reading in one second the lowest, the
highest and the last stay. States are kept as they come, and so is what explains them. All reduced
tiers see every value. Each tier has its share of the bytes, so that a flood of raw values cannot
push out years.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import lru_cache
from itertools import groupby
from math import inf, isfinite, isnan
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.journal import Entry, EntryReport, report_of
from leverframe.core.engine.machine import REASONS, TRACES, Traced
from leverframe.core.labels import DIGITAL
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.rows import (
    ABSENT,
    LAST,
    MINUTES,
    QUARTERS,
    RAW,
    REDUCED,
    TIERS,
    TIME,
    VALUE,
    Columns,
    EntryRow,
    Point,
    Row,
    Tier,
    columns_from_rows,
    join,
)

DAY_S = 86400.0
#: Chunks of about the same size are merged, so that a row is written three times at most: spans of
#: rows, and how many chunks within one span it takes.
SIZES = ((0, 32), (32, 512))
MERGED = 16
#: When bytes run short, this number is merged before anything is removed: a chunk of one value
#: takes ten times its room.
MERGED_EARLY = 4
#: How many chunks go at a time because of their age, and because of their bytes.
AGED_AT_A_TIME = 100
DROPPED_AT_A_TIME = 8
#: A clock that leaps further may be wrong, and set back soon: nothing is deleted for its age then.
LEAP_S = 7 * DAY_S
MAX_PER_SECOND = 3
#: Series that are never thinned.
_AS_THEY_COME = DIGITAL | TRACES
#: The resolution of times.
INSTANT_S = 0.001
#: Before the first reason of a batch, which may be None.
_NOTHING = object()
#: The time and the value of a sample; in a series of reasons, the reason.
_Came = tuple[float, Any]


class Bounds(Struct, frozen=True):
    """The limits of what is kept, in days and bytes."""

    raw_days: float = 7.0
    minute_days: float = 90.0
    quarter_days: float = 3653.0
    max_bytes: int = 256 * 1024 * 1024

    def days(self, tier: Tier) -> float:
        return {RAW: self.raw_days, MINUTES: self.minute_days, QUARTERS: self.quarter_days}[tier]

    def share(self, tier: Tier) -> int:
        """Return the bytes for a tier: half of all for raw values."""
        return self.max_bytes // 2 if tier is RAW else self.max_bytes // 4

    @property
    def full(self) -> int:
        """Return the bytes in use from which something goes: merging chunks needs room."""
        return self.max_bytes * 17 // 20


class Reduction:
    """One label reduced to intervals: the interval that is open, and the value that holds.

    A value counts in the mean with the time it held, also in an interval that it began before.
    Intervals in which nothing came make no row: the last value of the row before says what they
    were.
    """

    # Many controllers of a node have many labels.
    __slots__ = (
        *("width", "held", "_at", "_start", "_end"),
        *("_low", "_high", "_area", "_present_s", "_count"),
    )

    def __init__(self, width: int) -> None:
        self.width = width
        self.held = ABSENT
        self._at = -inf
        self._open_at(None)

    def _open_at(self, start: float | None) -> None:
        """Begin an interval; None leaves none open, so that every time is past its end."""
        self._start, self._end = _span(start, self.width)
        self._low, self._high = inf, -inf
        self._area = self._present_s = 0.0
        self._count = 0

    def resume(self, held: float, at: float) -> None:
        """Continue from a value that has been holding."""
        self.held, self._at = held, at

    def put(self, points: Iterable[Point]) -> list[Row]:
        """Add new values and return the rows of the intervals that they end."""
        rows: list[Row] = []
        for at, value in points:
            if not self._at <= at < self._end:
                rows += self._turn_to(at)
            if at > self._at:
                self._hold_until(at)
            self.held = value
            self._count += 1
            if value < self._low:
                self._low = value
            if value > self._high:
                self._high = value
        return rows

    def _turn_to(self, at: float) -> list[Row]:
        """Open the interval of a time and return the row of the one that was open, if any."""
        row = None
        if at < self._at:
            # The clock was set back: what holds is known from here on, not from before.
            row = self._close() if self._start is not None else None
            self._at = at
        elif self._start is not None:
            row = self.close(at)
        if self._start is None:
            start = at // self.width * self.width
            self._open_at(start)
            self._at = max(self._at, start)
        return [] if row is None else [row]

    def close(self, now: float) -> Row | None:
        """Return the row of the open interval if it is over by now."""
        if self._start is None or now < self._end:
            return None
        self._hold_until(self._end)
        return self._close()

    def peek(self, now: float) -> Row | None:
        """Return the row of the open interval as if it ended now."""
        if self._start is None:
            return None
        so_far = copy(self)
        so_far._hold_until(min(now, self._end))
        return so_far._close()

    def _hold_until(self, until: float) -> None:
        seconds, held = until - self._at, self.held
        if seconds <= 0:
            return
        self._at = until
        # NaN is not equal to itself.
        if held == held:
            self._area += held * seconds
            self._present_s += seconds
            if held < self._low:
                self._low = held
            if held > self._high:
                self._high = held

    def _close(self) -> Row:
        assert self._start is not None
        low, high = self._low, self._high
        if low > high:
            low = mean = high = ABSENT
        else:
            mean = self._area / self._present_s if self._present_s else (low + high) / 2
            # Adding up must not carry it out of what was measured.
            mean = min(max(mean, low), high)
        row = (self._start, low, mean, high, self.held, self._present_s, float(self._count))
        self._open_at(None)
        return row


@lru_cache
def _span(start: float | None, width: int) -> tuple[float | None, float]:
    """Return the bounds of an interval: the same numbers for all labels, 5 KB less for each
    controller that is kept in memory.
    """
    return start, -inf if start is None else start + width


@lru_cache(maxsize=1024)
def _series(tier: Tier, label: str) -> tuple[Tier, str]:
    """Return the same pair to all controllers: another 4 KB less for each."""
    return tier, label


class Compactor:
    """The writer of samples to a chunk store; it reads rows there and from open intervals."""

    def __init__(self, chunk_store: ChunkStore, bounds: Bounds) -> None:
        self.chunk_store = chunk_store
        self._bounds = bounds
        self._reductions: dict[str, tuple[Reduction, ...]] = {}
        #: Chunks of the smallest size, and appended since they were counted.
        counted = chunk_store.small_chunks()
        self._appended: dict[tuple[Tier, str], int] = {
            _series(*series): count for series, count in (counted or {}).items()
        }
        #: The number assumed for a label that was not counted, so that it is counted soon.
        self._assumed = MERGED if counted is None else 0
        self._rows: dict[tuple[Tier, str], list[Row]] = defaultdict(list)
        #: Up to when everything has come.
        self._newest = -inf
        recorded_until = chunk_store.end_of_record()
        if recorded_until is not None:
            # What held is asked for at the end of the quarter before the one that is open.
            with chunk_store.reading_ahead(recorded_until - 2 * QUARTERS.interval_s):
                self._resume(recorded_until)

    def _resume(self, recorded_until: float) -> None:
        """Build the open intervals, which are not in the store, from the raw values."""
        self._newest = recorded_until
        for label in self.chunk_store.labels():
            for tier, reduction in zip(REDUCED, self._reductions_of(label), strict=True):
                start = recorded_until // tier.interval_s * tier.interval_s
                reduction.resume(self.value_before(label, start), start)
                rows = self.chunk_store.rows(RAW, label, start, inf)
                points = zip(rows[TIME], rows[VALUE], strict=True)
                reduction.put(point for point in points if start <= point[0] <= recorded_until)

    # --- samples ----------------------------------------------------------------------------------

    def add(self, samples: Iterable[Traced]) -> None:
        """Record samples in the order they came: all of them, or none if this raises."""
        try:
            self._add(samples)
            self._limit_bytes()
            self.chunk_store.commit()
        except BaseException:
            self.chunk_store.roll_back()
            raise
        finally:
            self._rows.clear()

    def silence(self, at: float | None = None) -> None:
        """Record that nothing is known from a time on, and not before the last sample."""
        if self._newest > -inf:
            wall = self._newest if at is None else max(at, self._newest)
            self.add([(wall, label, None) for label in list(self._reductions)])

    def _add(self, samples: Iterable[Traced]) -> None:
        came: dict[str, list[_Came]] = defaultdict(list)
        newest, before = self._newest, inf
        for wall, label, value in samples:
            # A switch and its reason come with the same time.
            if wall != before:
                newest, before = round(wall, 3), wall
            came[label].append((newest, value))
        is_new = False
        for label, of_label in came.items():
            reductions = self._reductions_of(label)
            points = self._reasons(of_label) if label in REASONS else _numbers(of_label)
            new = changes(points, reductions[0].held)
            if new:
                is_new = True
                for tier, reduction in zip(REDUCED, reductions, strict=True):
                    if rows := reduction.put(new):
                        self._rows[tier, label] += rows
                self._append(RAW, label, thin(new, label))
        self._advance(newest)
        for (tier, label), rows in self._rows.items():
            self._append(tier, label, rows)
        if is_new or self._rows:
            self.chunk_store.set_recorded_until(newest)

    def _reasons(self, came: Iterable[_Came]) -> Iterator[Point]:
        """Record each reason unless it repeats the one before, as most do."""
        before: object = _NOTHING
        for at, reason in came:
            if reason is not before and reason != before:
                before = reason
                yield (
                    at,
                    ABSENT if reason is None else float(self.chunk_store.reason_number(reason)),
                )

    def _reductions_of(self, label: str) -> tuple[Reduction, ...]:
        if label not in self._reductions:
            self._reductions[label] = tuple(Reduction(tier.interval_s) for tier in REDUCED)
        return self._reductions[label]

    def _advance(self, now: float) -> None:
        """Write intervals that are over even if no more values of their label follow."""
        before, self._newest = self._newest, now
        for index, tier in enumerate(REDUCED):
            if now // tier.interval_s == before // tier.interval_s:
                continue
            for label, reductions in self._reductions.items():
                row = reductions[index].close(now)
                if row is not None:
                    self._rows[tier, label].append(row)
            if tier is QUARTERS and now - before < LEAP_S:
                for aged in TIERS:
                    self._drop(aged, now - self._bounds.days(aged) * DAY_S, AGED_AT_A_TIME)

    def _append(self, tier: Tier, label: str, rows: Sequence[Row]) -> None:
        self.chunk_store.append(tier, label, columns_from_rows(rows))
        series = _series(tier, label)
        appended = self._appended.get(series, self._assumed) + 1
        if appended >= MERGED:
            for size in SIZES:
                if self.chunk_store.chunks(tier, label, *size) >= MERGED:
                    self.chunk_store.merge(tier, label, *size)
            appended = self.chunk_store.chunks(tier, label, *SIZES[0])
        self._appended[series] = appended

    def _limit_bytes(self) -> None:
        cost, share = self.chunk_store.cost, self._bounds.share
        if not self._is_full() and all(cost(tier) <= share(tier) for tier in TIERS):
            return
        self._merge_early()
        for tier in TIERS:
            while cost(tier) > share(tier) and self._drop(tier, inf, DROPPED_AT_A_TIME):
                pass
        while self._is_full():
            fullest = max(TIERS, key=lambda tier: cost(tier) / share(tier))
            if not self._drop(fullest, inf, DROPPED_AT_A_TIME):
                break

    def _is_full(self) -> bool:
        # Room that is lost between chunks counts, too.
        return self.chunk_store.bytes_in_use() > self._bounds.full

    def _merge_early(self) -> None:
        for (tier, label), appended in self._appended.items():
            if appended >= MERGED_EARLY:
                self.chunk_store.merge(tier, label, *SIZES[0])
                self._appended[tier, label] = self.chunk_store.chunks(tier, label, *SIZES[0])

    def _drop(self, tier: Tier, older: float, most: int) -> int:
        return self.chunk_store.drop_oldest(
            tier, older=older, most=most, keep_newest=tier is QUARTERS
        )

    # --- questions --------------------------------------------------------------------------------

    def labels(self) -> list[str]:
        """List the labels that anything is known of."""
        return list(self._reductions)

    def value_before(self, label: str, at: float) -> float:
        """Return the value that held just before a time, from the finest tier that knows it."""
        for tier in TIERS:
            # A row of a reduced tier is about its interval, so it must have ended by then.
            until = at - tier.interval_s + INSTANT_S if tier.interval_s else at
            rows = self.chunk_store.before(tier, label, until)
            index = bisect_left(rows[TIME], until) - 1
            if index >= 0:
                return rows[VALUE if tier is RAW else LAST][index]
        return ABSENT

    def rows(self, tier: Tier, label: str, first: float, last: float, now: float) -> Columns:
        """Read the rows that touch a span of time, with the interval that is still open."""
        columns = self.chunk_store.rows(tier, label, first - tier.interval_s, last)
        if tier is not RAW and label in self._reductions:
            row = self._reductions[label][REDUCED.index(tier)].peek(now)
            if row is not None:
                return join([columns, columns_from_rows([row])], tier.columns)
        return columns


def _numbers(came: Iterable[_Came]) -> Iterator[Point]:
    for at, value in came:
        yield at, float(value) if value is not None and isfinite(value) else ABSENT


def changes(points: Iterable[Point], held: float) -> list[Point]:
    """Select the points whose value differs from the one that held until then."""
    new: list[Point] = []
    for at, number in points:
        # NaN is not equal to itself.
        if number != held and (number == number or held == held):
            new.append((at, number))
            held = number
    return new


def thin(points: Sequence[Point], label: str) -> list[Point]:
    """Select at most three values of a reading for every second."""
    if label in _AS_THEY_COME or len(points) <= MAX_PER_SECOND:
        return list(points)
    kept: list[Point] = []
    for _, group in groupby(points, key=lambda point: point[0] // 1):
        within = list(group)
        kept += within if len(within) <= MAX_PER_SECOND else _extremes(within)
    return kept


def _extremes(points: Sequence[Point]) -> list[Point]:
    """Select the lowest, the highest and the last, in the order they came."""
    numbers = [index for index, (_, value) in enumerate(points) if not isnan(value)]
    kept = {len(points) - 1}
    if numbers:
        kept.add(min(numbers, key=lambda index: points[index][1]))
        kept.add(max(numbers, key=lambda index: points[index][1]))
    return [points[index] for index in sorted(kept)]


# Entries of a journal on their way to the history, with what their numbers there follow from.


class NewEntries(Struct, frozen=True):
    entries: list[Entry]
    #: What is added to numbers; None until the history was asked for its newest.
    base: int | None
    #: The number of entries of a journal that continues from another node.
    numbered_elsewhere: int | None

    def add_to(self, compactor: Compactor) -> int:
        """Store them, and return what is added to numbers."""
        base = self.stage_in(compactor)
        compactor.chunk_store.commit()
        return base

    def stage_in(self, compactor: Compactor) -> int:
        """Do the same for a caller that commits."""
        chunk_store = compactor.chunk_store
        base = self._base_after(chunk_store.entries.newest())
        reports = [_renumber(report_of(entry), base) for entry in self.entries]
        chunk_store.add_entries(
            [
                EntryRow(one.number, one.time, one.cause, one.which, msgspec.json.encode(one))
                for one in reports
            ]
        )
        return base

    def _base_after(self, newest: int) -> int:
        if self.base is not None:
            return self.base
        # Of entries that are stored already the newest is the last one that was recorded elsewhere.
        return (
            newest + 1
            if self.numbered_elsewhere is None
            else max(0, newest - self.numbered_elsewhere)
        )


def _renumber(report: EntryReport, base: int) -> EntryReport:
    """Count numbers of entries on from those of earlier runs."""
    cause = report.by
    if cause.after or cause.conditions:
        conditions = tuple(
            replace(one, after=base + one.after) if one.after else one for one in cause.conditions
        )
        after = base + cause.after if cause.after else 0
        cause = replace(cause, conditions=conditions, after=after)
    return replace(report, number=base + report.number, by=cause, after=cause.after or None)
