"""Reduction and limits: reduces raw values, merges small chunks, and removes the oldest chunks.

Raw values are thinned: if a reading has more than three values in one second, only the lowest, the
highest and the last are kept. States are kept as recorded, and so are their reasons. All values are
part of all reduced tiers. Each tier has a share of the bytes, so that a flood of raw values cannot
displace years of reduced values.
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

from leverframe.core.engine.journal import Entry, EntryReport, UnreadEntry, report_of
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
#: Chunks of similar size are merged, so that a row is written at most three times. These are the
#: size classes by number of rows, and below, the number of chunks of a class that are merged.
SIZES = ((0, 32), (32, 512))
MERGED = 16
#: When space runs short, chunks are merged in groups of this size before any chunk is removed,
#: because a chunk with a single value needs ten times the space of its value.
MERGED_EARLY = 4
#: The number of chunks removed at a time because of their age, and because of the space.
AGED_AT_A_TIME = 100
DROPPED_AT_A_TIME = 8
#: If the clock is set forward by more than this, it may be wrong and set back soon, so nothing is
#: removed because of its age.
LEAP_S = 7 * DAY_S
MAX_PER_SECOND = 3
#: Series that are never thinned.
_AS_THEY_COME = DIGITAL | TRACES
#: The resolution of times.
INSTANT_S = 0.001
#: The value before the first reason of a batch; not None, because a reason may be None.
_NOTHING = object()
#: The time of a sample with its value; in a series of reasons, with its reason.
_Came = tuple[float, Any]


class Bounds(Struct, frozen=True):
    """The limits of the history, in days and bytes."""

    raw_days: float = 7.0
    minute_days: float = 90.0
    quarter_days: float = 3653.0
    max_bytes: int = 256 * 1024 * 1024

    def days(self, tier: Tier) -> float:
        return {RAW: self.raw_days, MINUTES: self.minute_days, QUARTERS: self.quarter_days}[tier]

    def share(self, tier: Tier) -> int:
        """Return the maximum bytes of a tier; raw values get half of the total."""
        return self.max_bytes // 2 if tier is RAW else self.max_bytes // 4

    @property
    def full(self) -> int:
        """Return the bytes in use at which chunks are removed; the rest is reserved for merging."""
        return self.max_bytes * 17 // 20


class Reduction:
    """The reduction of one label to intervals: the open interval and the current value.

    In the mean, each value is weighted by its duration, including values that began in an earlier
    interval. Intervals without a new value get no row: they have the last value of the previous
    row.
    """

    # Slots save memory: a node has many controllers with many labels.
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
        """Begin an interval; with None, no interval is open, and every time is past its end."""
        self._start, self._end = _span(start, self.width)
        self._low, self._high = inf, -inf
        self._area = self._present_s = 0.0
        self._count = 0

    def resume(self, held: float, at: float) -> None:
        """Resume with a value that has applied since a time."""
        self.held, self._at = held, at

    def put(self, points: Iterable[Point]) -> list[Row]:
        """Add new values; return the rows of the intervals that they end."""
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
        """Open the interval of a time; return the row of the previous interval, if one was open."""
        row = None
        if at < self._at:
            # The clock was set back, so the current value is known only from this time on.
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
        """Return the row of the open interval if it has ended."""
        if self._start is None or now < self._end:
            return None
        self._hold_until(self._end)
        return self._close()

    def peek(self, now: float) -> Row | None:
        """Return the row that the open interval would have if it ended now."""
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
            # Rounding must not move the mean out of the measured range.
            mean = min(max(mean, low), high)
        row = (self._start, low, mean, high, self.held, self._present_s, float(self._count))
        self._open_at(None)
        return row


@lru_cache
def _span(start: float | None, width: int) -> tuple[float | None, float]:
    """Return the bounds of an interval, the same objects for all labels (5 KB per controller)."""
    return start, -inf if start is None else start + width


@lru_cache(maxsize=1024)
def _series(tier: Tier, label: str) -> tuple[Tier, str]:
    """Return the same pair object to all controllers, which saves 4 KB per controller."""
    return tier, label


class Compactor:
    """Writes samples to a chunk store; reads rows from there and from open intervals."""

    def __init__(self, chunk_store: ChunkStore, bounds: Bounds) -> None:
        self.chunk_store = chunk_store
        self._bounds = bounds
        self._reductions: dict[str, tuple[Reduction, ...]] = {}
        #: The number of the smallest chunks when they were counted, plus the chunks appended since
        #: then.
        counted = chunk_store.small_chunks()
        self._appended: dict[tuple[Tier, str], int] = {
            _series(*series): count for series, count in (counted or {}).items()
        }
        #: The number assumed for labels that were not counted, so that they are counted soon.
        self._assumed = MERGED if counted is None else 0
        self._rows: dict[tuple[Tier, str], list[Row]] = defaultdict(list)
        #: The time up to which all samples have been added.
        self._newest = -inf
        recorded_until = chunk_store.end_of_record()
        if recorded_until is not None:
            # Values are needed from the end of the quarter-hour before the open one.
            with chunk_store.reading_ahead(recorded_until - 2 * QUARTERS.interval_s):
                self._resume(recorded_until)

    def _resume(self, recorded_until: float) -> None:
        """Restore the open intervals, which are not stored, from the raw values."""
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
        """Record samples in order; if this raises an error, none is recorded."""
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
        """Record that values are unknown from a time on, but not before the last sample."""
        if self._newest > -inf:
            wall = self._newest if at is None else max(at, self._newest)
            self.add([(wall, label, None) for label in list(self._reductions)])

    def _add(self, samples: Iterable[Traced]) -> None:
        came: dict[str, list[_Came]] = defaultdict(list)
        newest, before = self._newest, inf
        for wall, label, value in samples:
            # A switch and its reason have the same time.
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
        """Record each reason unless it equals the previous one, as most do."""
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
        """Write intervals that have ended, even if their label has no more values."""
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
        # Unused space between chunks also counts.
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

    # --- queries ----------------------------------------------------------------------------------

    def labels(self) -> list[str]:
        """List the labels for which there are values."""
        return list(self._reductions)

    def value_before(self, label: str, at: float) -> float:
        """Return the value immediately before a time, from the finest tier that has it."""
        for tier in TIERS:
            # A row of a reduced tier describes a complete interval, which must have ended before
            # the time.
            until = at - tier.interval_s + INSTANT_S if tier.interval_s else at
            rows = self.chunk_store.before(tier, label, until)
            index = bisect_left(rows[TIME], until) - 1
            if index >= 0:
                return rows[VALUE if tier is RAW else LAST][index]
        return ABSENT

    def rows(self, tier: Tier, label: str, first: float, last: float, now: float) -> Columns:
        """Read the rows that touch a time span, including the open interval."""
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
    """Select the points whose value differs from the previous value."""
    new: list[Point] = []
    for at, number in points:
        # NaN is not equal to itself.
        if number != held and (number == number or held == held):
            new.append((at, number))
            held = number
    return new


def thin(points: Sequence[Point], label: str) -> list[Point]:
    """Select at most three values of a reading per second."""
    if label in _AS_THEY_COME or len(points) <= MAX_PER_SECOND:
        return list(points)
    kept: list[Point] = []
    for _, group in groupby(points, key=lambda point: point[0] // 1):
        within = list(group)
        kept += within if len(within) <= MAX_PER_SECOND else _extremes(within)
    return kept


def _extremes(points: Sequence[Point]) -> list[Point]:
    """Select the lowest, the highest and the last value, in their original order."""
    numbers = [index for index, (_, value) in enumerate(points) if not isnan(value)]
    kept = {len(points) - 1}
    if numbers:
        kept.add(min(numbers, key=lambda index: points[index][1]))
        kept.add(max(numbers, key=lambda index: points[index][1]))
    return [points[index] for index in sorted(kept)]


# Journal entries to be added to the history, and their numbers there.


class NewEntries(Struct, frozen=True):
    entries: list[Entry]
    #: The offset of their numbers; None until the newest stored number has been read.
    base: int | None
    #: The number of entries of a journal that resumed here after another node.
    numbered_elsewhere: int | None

    def stage_in(self, compactor: Compactor) -> int:
        """Store the entries, without a commit; return the offset of their numbers."""
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
        # Entries recorded elsewhere may be stored already; the newest stored entry is then the last
        # of them.
        return (
            newest + 1
            if self.numbered_elsewhere is None
            else max(0, newest - self.numbered_elsewhere)
        )


class UnreadEntries(Struct, frozen=True):
    """The same as `NewEntries`, but the thread of the history builds the texts of the entries."""

    entries: list[UnreadEntry]
    base: int | None
    numbered_elsewhere: int | None

    def read(self) -> NewEntries:
        entries = [entry.read() for entry in self.entries]
        return NewEntries(entries, self.base, self.numbered_elsewhere)

    def add_to(self, compactor: Compactor) -> int:
        """Store and commit the entries; return the offset of their numbers."""
        base = self.read().stage_in(compactor)
        compactor.chunk_store.commit()
        return base


def _renumber(report: EntryReport, base: int) -> EntryReport:
    """Add the offset to entry numbers in a report, so that they follow those of earlier runs."""
    cause = report.by
    if cause.after or cause.conditions:
        conditions = tuple(
            replace(one, after=base + one.after) if one.after else one for one in cause.conditions
        )
        after = base + cause.after if cause.after else 0
        cause = replace(cause, conditions=conditions, after=after)
    return replace(report, number=base + report.number, by=cause, after=cause.after or None)
