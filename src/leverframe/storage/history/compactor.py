"""Takes values as they come: keeps them raw, reduces them, merges small chunks, removes the oldest.

Raw values are thinned to what a second needs: of more than three values of a reading in one second
the lowest, the highest and the last stay. States are kept as they come. All reduced tiers see every
value. Each tier has its share of the bytes, so that a flood of raw values cannot push out years.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf, isfinite, isnan

from leverframe.engine.labels import DIGITAL
from leverframe.engine.machine import Traced
from leverframe.storage.history.chunk_store import ChunkStore
from leverframe.storage.history.columns import (
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
    Point,
    Row,
    Tier,
    columns_from_rows,
    joined,
)
from leverframe.storage.history.reduction import Reduction

DAY_S = 86400.0
#: Chunks of about the same size are merged, so that a row is written three times at most: spans of
#: rows, and how many chunks within one span it takes.
SIZES = ((0, 32), (32, 512))
MERGED = 16
#: How many chunks go at a time because of their age.
AGED_AT_A_TIME = 100
#: A clock that leaps further may be wrong, and set back soon: nothing goes because of its age then.
LEAP_S = 7 * DAY_S
DROPPED_AT_A_TIME = 8
MAX_PER_SECOND = 3
#: The resolution of times.
_INSTANT_S = 0.001


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long and how much is kept."""

    raw_days: float = 7.0
    minute_days: float = 90.0
    quarter_days: float = 3653.0
    max_bytes: int = 256 * 1024 * 1024

    def days(self, tier: Tier) -> float:
        return {RAW: self.raw_days, MINUTES: self.minute_days, QUARTERS: self.quarter_days}[tier]

    def share(self, tier: Tier) -> int:
        """Bytes for a tier: half of them for raw values."""
        return self.max_bytes // 2 if tier is RAW else self.max_bytes // 4

    @property
    def full(self) -> int:
        """What a chunk_store may use before something goes: it needs room to merge chunks."""
        return self.max_bytes * 17 // 20


class Compactor:
    def __init__(self, chunk_store: ChunkStore, bounds: Bounds) -> None:
        self.chunk_store = chunk_store
        self._bounds = bounds
        self._reductions: dict[str, tuple[Reduction, ...]] = {}
        #: Chunks of the smallest size, and appended since they were counted.
        self._appended: dict[tuple[Tier, str], int] = {}
        self._rows: dict[tuple[Tier, str], list[Row]] = {}
        #: Up to when everything has come.
        self._newest = -inf
        marked = chunk_store.marked()
        if marked is not None:
            self._take_up(marked)

    # --- what comes in ----------------------------------------------------------------------------

    def add(self, samples: Iterable[Traced]) -> None:
        """Values in the order they came; all of them are kept when this returns, or none."""
        try:
            self._add(samples)
            self.chunk_store.commit()
        except BaseException:
            self.chunk_store.roll_back()
            self._rows.clear()
            raise

    def _add(self, samples: Iterable[Traced]) -> None:
        came: dict[str, list[Point]] = defaultdict(list)
        newest = self._newest
        for wall, label, value in samples:
            newest = round(wall, 3)
            number = ABSENT if value is None or not isfinite(value) else float(value)
            came[label].append((newest, number))
        is_new = False
        for label, points in came.items():
            new = changes(points, self._of(label)[0].held)
            if new:
                is_new = True
                self._reduce(label, new)
                self._append(RAW, label, thinned(new, label))
        self._pass_to(newest)
        for (tier, label), rows in self._rows.items():
            self._append(tier, label, rows)
        if is_new or self._rows:
            self.chunk_store.mark(newest)
        self._rows.clear()
        self._bound_bytes()

    def _of(self, label: str) -> tuple[Reduction, ...]:
        found = self._reductions.get(label)
        if found is None:
            found = tuple(Reduction(tier.interval_s) for tier in REDUCED)
            self._reductions[label] = found
        return found

    def _reduce(self, label: str, points: Sequence[Point]) -> None:
        for tier, reduction in zip(REDUCED, self._of(label), strict=True):
            if rows := reduction.put(points):
                self._rows.setdefault((tier, label), []).extend(rows)

    def _pass_to(self, now: float) -> None:
        """Intervals that are over are written even if nothing more comes of their label."""
        before, self._newest = self._newest, now
        for index, tier in enumerate(REDUCED):
            if now // tier.interval_s == before // tier.interval_s:
                continue
            for label, reductions in self._reductions.items():
                row = reductions[index].close(now)
                if row is not None:
                    self._rows.setdefault((tier, label), []).append(row)
            if tier is QUARTERS and now - before < LEAP_S:
                self._drop_aged(now)

    def _append(self, tier: Tier, label: str, rows: Sequence[Row]) -> None:
        self.chunk_store.append(tier, label, columns_from_rows(rows))
        appended = self._appended.get((tier, label), MERGED) + 1
        if appended >= MERGED:
            appended = self._merge(tier, label)
        self._appended[tier, label] = appended

    def _merge(self, tier: Tier, label: str) -> int:
        """Merge what can be merged; how many of the smallest chunks are there then."""
        for fewest, below in SIZES:
            if self.chunk_store.chunks(tier, label, fewest, below) >= MERGED:
                self.chunk_store.merge(tier, label, fewest, below)
        return self.chunk_store.chunks(tier, label, *SIZES[0])

    def _drop_aged(self, now: float) -> None:
        for tier in TIERS:
            older = now - self._bounds.days(tier) * DAY_S
            self._drop(tier, older, AGED_AT_A_TIME)

    def _bound_bytes(self) -> None:
        for tier in TIERS:
            while self.chunk_store.cost(tier) > self._bounds.share(tier):
                if not self._drop(tier, inf, DROPPED_AT_A_TIME):
                    break
        # Room that is lost between chunks counts, too.
        while self.chunk_store.used() > self._bounds.full:
            fullest = max(
                TIERS, key=lambda tier: self.chunk_store.cost(tier) / self._bounds.share(tier)
            )
            if not self._drop(fullest, inf, DROPPED_AT_A_TIME):
                break

    def _drop(self, tier: Tier, older: float, most: int) -> int:
        return self.chunk_store.drop_oldest(
            tier, older=older, most=most, keep_newest=tier is QUARTERS
        )

    # --- after a start ----------------------------------------------------------------------------

    def _take_up(self, marked: float) -> None:
        """Open intervals are not on the chunk_store; they are made again from the raw values."""
        self._newest = marked
        for label in self.chunk_store.labels():
            for tier, reduction in zip(REDUCED, self._of(label), strict=True):
                start = marked // tier.interval_s * tier.interval_s
                reduction.take_up(self.held_before(label, start), start)
                rows = self.chunk_store.rows(RAW, label, start, inf)
                points = zip(rows[TIME], rows[VALUE], strict=True)
                reduction.put(point for point in points if start <= point[TIME] <= marked)

    def silence(self, at: float | None = None) -> None:
        """Nothing is known from a moment on; without one, from when something was known last."""
        if self._newest > -inf:
            wall = self._newest if at is None else at
            self.add([(wall, label, None) for label in list(self._reductions)])

    # --- what is asked ----------------------------------------------------------------------------

    def labels(self) -> list[str]:
        return list(self._reductions)

    def since(self, tier: Tier) -> float | None:
        return self.chunk_store.since(tier)

    def held_before(self, label: str, at: float) -> float:
        """The value that held just before a moment, from the finest tier that still knows."""
        for tier in TIERS:
            # A row of a reduced tier is about its interval, so it must have ended by then.
            until = at - tier.interval_s + _INSTANT_S if tier.interval_s else at
            rows = self.chunk_store.before(tier, label, until)
            index = bisect_left(rows[TIME], until) - 1
            if index >= 0:
                return rows[VALUE if tier is RAW else LAST][index]
        return ABSENT

    def count(self, label: str, first: float, last: float) -> int:
        """Raw values in a span of time, rather too many than too few."""
        return self.chunk_store.count(RAW, label, first, last)

    def rows(self, tier: Tier, label: str, first: float, last: float, now: float) -> Columns:
        """The rows that touch a span of time, with the interval that is still open."""
        columns = self.chunk_store.rows(tier, label, first - tier.interval_s, last)
        if tier is not RAW and label in self._reductions:
            row = self._reductions[label][REDUCED.index(tier)].peek(now)
            if row is not None:
                return joined([columns, columns_from_rows([row])], tier.columns)
        return columns


def changes(points: Iterable[Point], held: float) -> list[Point]:
    """The points at which something else came than what held until then."""
    new: list[Point] = []
    for at, number in points:
        # NaN is not equal to itself.
        if number != held and (number == number or held == held):
            new.append((at, number))
            held = number
    return new


def thinned(points: Sequence[Point], label: str) -> list[Point]:
    """At most three values of a reading for every second."""
    if label in DIGITAL or len(points) <= MAX_PER_SECOND:
        return list(points)
    kept: list[Point] = []
    for _, group in groupby(points, key=lambda point: point[0] // 1):
        within = list(group)
        kept += within if len(within) <= MAX_PER_SECOND else _extremes(within)
    return kept


def _extremes(points: Sequence[Point]) -> list[Point]:
    """The lowest, the highest and the last, in the order they came; an absence counts as one."""
    numbers = [index for index, (_, value) in enumerate(points) if not isnan(value)]
    kept = {len(points) - 1}
    if numbers:
        kept.add(min(numbers, key=lambda index: points[index][1]))
        kept.add(max(numbers, key=lambda index: points[index][1]))
    return [points[index] for index in sorted(kept)]
