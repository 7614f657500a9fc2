"""The chunks and journal entries of a controller in the shared database of nodes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from leverframe.storage.history.chunks import OF_SIZE, ChunkRow, readable
from leverframe.storage.history.compactor import SIZES
from leverframe.storage.history.rows import (
    TIERS,
    TIME,
    Columns,
    EntryRow,
    EntryTable,
    Found,
    Tier,
    join,
)
from leverframe.storage.history.shared_chunks import ChunksOfOne
from leverframe.storage.lanes.postgres_history_session import HistoryRows, HistorySession

#: More than any chunk number that the database assigns.
_LATER = 2**63
#: The time of a controller's last record, the time of an orderly end, the number of its newest
#: entry, and the last moments of earlier runs with the greatest of their numbers.
_OPENED = (
    "SELECT at, ended, (SELECT coalesce(max(entry.number), 0) FROM entry WHERE controller = own),"
    " late.data, late.newest FROM (VALUES (?::integer)) AS own (own)"
    " LEFT JOIN mark ON mark.id = own CROSS JOIN LATERAL"
    " (SELECT array_agg(data ORDER BY id) AS data, max(id) AS newest FROM last_moments"
    " WHERE controller = own) AS late"
)


class ChunkAhead(NamedTuple):
    """A chunk that was read ahead of queries."""

    start: float
    id: int
    end: float
    data: bytes


class EntriesInDatabase(EntryTable):
    """The entries of a controller; added entries are committed before entries are read."""

    def __init__(
        self, session: HistorySession, max_bytes: int, controller: int, waiting: HistoryRows
    ) -> None:
        super().__init__(session, max_bytes, controller)
        self._waiting = waiting
        #: The number of the newest stored entry.
        self.stored = 0

    def newest(self) -> int:
        return max(self._waiting.entries, default=self.stored)

    def add(self, rows: Iterable[EntryRow]) -> None:
        waiting = self._waiting
        waiting.entries |= {row.number: row for row in rows}
        waiting.oldest = self.newest() - self._most
        for number in [one for one in waiting.entries if one <= waiting.oldest]:
            del waiting.entries[number]


class ChunksInDatabase(ChunksOfOne):
    """The chunks of one controller in the database.

    Added rows are not sent until they are committed or a query needs them, so usually a single
    statement is enough. There is no other writer, so known values are not queried again.
    """

    entries: EntriesInDatabase

    def __init__(self, session: HistorySession, controller: int, max_bytes: int) -> None:
        self._session = session
        self._controller = controller
        self._waiting = HistoryRows()
        #: Chunks that were read ahead, by tier and label.
        self._ahead: dict[tuple[int, str], list[ChunkAhead]] | None = None
        row = session.execute(_OPENED, (controller,)).fetchone()
        self._recorded_until: float | None = row[0]
        self._ended: float | None = row[1]
        super().__init__(session, controller, max_bytes)
        self.entries = EntriesInDatabase(session, max_bytes, controller, self._waiting)
        self.entries.stored = row[2]
        self._unrecorded: list[bytes] = row[3] or []
        self._left_until: int | None = row[4]
        self._keep_counts()

    def _count_tiers(self) -> None:
        self._cost = {tier.number: 0 for tier in TIERS}
        self._points = dict(self._cost)
        #: The number of chunks by tier, label and size class.
        self._sized: Counter[tuple[int, str, int]] = Counter()
        if self._recorded_until is None:
            # A controller without a mark has no data: the mark is inserted with the first values
            # and deleted last.
            self._texts = {}
            return
        of_size = "count(*) FILTER (WHERE points >= ? AND points < ?)"
        query = (
            f"SELECT tier, label, sum(cost), sum(points), {', '.join([of_size] * len(SIZES))}"  # noqa: S608
            " FROM chunk WHERE controller = ? GROUP BY tier, label"
        )
        values = (*chain.from_iterable(SIZES), self._controller)
        for number, label, cost, points, *sized in self._session.execute(query, values):
            self._cost[number] += cost
            self._points[number] += points
            for (_, below), count in zip(SIZES, sized, strict=True):
                self._sized[number, label, below] = count

    # --- queries ----------------------------------------------------------------------------------

    def _find(self, query: str, *values: float | str) -> Found:
        if self._waiting.chunks:
            self._begin()
            self._send()
        return super()._find(query, *values)

    def reason_texts(self) -> dict[int, str]:
        if self._texts is None:
            # Waiting chunks do not affect texts, so they need not be sent first.
            query = "SELECT number, text FROM told WHERE controller = ?"
            self._texts = dict(self._session.execute(query, self._which).fetchall())
        return self._texts

    def end_of_record(self) -> float | None:
        return self._recorded_until if self._waiting.until is None else self._waiting.until

    def small_chunks(self) -> dict[tuple[Tier, str], int]:
        smallest = SIZES[0][1]
        return {
            (TIERS[tier], label): count
            for (tier, label, below), count in self._sized.items()
            if below == smallest
        }

    def chunks(self, tier: Tier, label: str, min_rows: int, below: int) -> int:
        return self._sized[tier.number, label, below]

    @contextmanager
    def reading_ahead(self, since: float) -> Iterator[None]:
        query = (
            'SELECT tier, label, start, id, "end", data FROM chunk'
            ' WHERE controller = ? AND "end" >= ?'
            ' UNION ALL (SELECT DISTINCT ON (tier, label) tier, label, start, id, "end", data'
            ' FROM chunk WHERE controller = ? AND start < ? AND "end" < ?'
            " ORDER BY tier DESC, label DESC, start DESC, id DESC)"
        )
        values = (self._controller, since, self._controller, since, since)
        ahead: dict[tuple[int, str], list[ChunkAhead]] = defaultdict(list)
        for tier, label, *chunk in self._session.execute(query, values):
            ahead[tier, label].append(ChunkAhead(*chunk))
        for chunks in ahead.values():
            chunks.sort(key=attrgetter("start", "id"))
        self._ahead = ahead
        try:
            yield
        finally:
            self._ahead = None

    def rows(self, tier: Tier, label: str, first: float, last: float) -> Columns:
        if self._ahead is None:
            return super().rows(tier, label, first, last)
        chunks = self._ahead.get((tier.number, label), ())
        within = (one.data for one in chunks if one.start <= last and one.end >= first)
        return join(readable(within, tier), tier.columns)

    def before(self, tier: Tier, label: str, at: float) -> Columns:
        if self._ahead is None:
            return super().before(tier, label, at)
        chunks = self._ahead.get((tier.number, label), ())
        earlier = [one.data for one in chunks if one.start < at][-1:]
        return join(readable(earlier, tier), tier.columns)

    def stop_time(self) -> float | None:
        return self._ended

    # --- changes ----------------------------------------------------------------------------------

    def list_last_moments(self) -> list[bytes]:
        return self._unrecorded

    def let_go_left(self) -> None:
        """Delete the last moments of earlier runs in the next commit."""
        self._waiting.recorded = self._left_until

    def _put(self, row: ChunkRow) -> None:
        self._waiting.chunks.append(row)

    def _explain(self, number: int, text: str) -> None:
        self._waiting.texts[number] = text

    def add_entries(self, rows: Sequence[EntryRow]) -> None:
        self.entries.add(rows)

    def _count(self, tier: int, label: str, cost: int, points: int) -> None:
        super()._count(tier, label, cost, points)
        for min_rows, below in SIZES:
            if min_rows <= abs(points) < below:
                self._sized[tier, label, below] += 1 if points > 0 else -1

    def merge(self, tier: Tier, label: str, min_rows: int, below: int) -> None:
        """Merge chunks: delete the stored ones in one statement, and drop those not sent yet."""
        taken: list[ChunkRow] = []
        kept: list[ChunkRow] = []
        for row in self._waiting.chunks:
            is_one = row[:2] == (tier.number, label) and min_rows <= row[4] < below
            (taken if is_one else kept).append(row)
        self._waiting.chunks = kept
        found = [(start, number, data) for number, (_, _, start, *_, data) in enumerate(taken)]
        for *_, points, cost, _ in taken:
            self._count(tier.number, label, -cost, -points)
        if self._sized[tier.number, label, below]:
            self._begin()
            query = (
                f"DELETE FROM chunk WHERE {self._own} AND {OF_SIZE} "  # noqa: S608
                "RETURNING start, id, data, cost, points"
            )
            values = (*self._which, tier.number, label, min_rows, below)
            for start, number, data, cost, points in self._session.execute(query, values):
                # Waiting chunks are newer than all stored chunks.
                found.append((start, number - _LATER, data))
                self._count(tier.number, label, -cost, -points)
        rows = join(readable((data for _, _, data in sorted(found)), tier), tier.columns)
        if rows[TIME]:
            self.append(tier, label, rows)

    def set_recorded_until(self, at: float) -> None:
        self._waiting.until = at

    def _begin(self) -> None:
        if not self._session.in_transaction:
            self._session.begin(self._controller)

    def _send(self) -> None:
        waiting = self._waiting
        if waiting.is_empty:
            return
        self._session.put(self._controller, waiting)
        self.entries.stored = self.entries.newest()
        if waiting.until is not None:
            self._recorded_until, self._ended = waiting.until, None
        self._forget_waiting()

    def _forget_waiting(self) -> None:
        self._waiting.chunks, self._waiting.until, self._waiting.recorded = [], None, None
        self._waiting.texts.clear()
        self._waiting.entries.clear()

    def commit(self) -> None:
        try:
            self._send()
            super().commit()
        except BaseException:
            self.roll_back()
            raise
        self._keep_counts()

    def _keep_counts(self) -> None:
        self._committed = (self._cost.copy(), self._points.copy(), self._sized.copy())
        self._known = (self._recorded_until, self._ended, self.entries.stored)

    def roll_back(self) -> None:
        self._forget_waiting()
        self._texts = None
        self._session.roll_back()
        cost, points, sized = self._committed
        self._cost, self._points, self._sized = cost.copy(), points.copy(), sized.copy()
        self._recorded_until, self._ended, self.entries.stored = self._known
