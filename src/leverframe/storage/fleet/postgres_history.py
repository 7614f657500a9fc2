"""The history of controllers in the database that nodes share: the same chunks as in a file.

It has a thread and a connection of its own, which does not wait for the disk of the database: a
crash there may cost the last moments of history, and nothing else. Values are gathered for a
minute; that is what a killed node loses.

Nobody writes who does not have the controller. Each transaction holds the row that says who has
it, and finds that this is the present life of this node; whoever takes the controller away changes
that row, so it waits for the transaction or comes before it. What a node sends that has lost a
controller is refused whole, however late it comes.
"""

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import psycopg
from psycopg.pq import TransactionStatus

from leverframe.engine.samples import Traced
from leverframe.storage.fleet.postgres_connection import (
    Connection,
    connect,
    first_line,
    hang_up,
    is_broken,
)
from leverframe.storage.fleet.postgres_history_rows import FENCE, LEAVE, HistoryRows
from leverframe.storage.fleet.postgres_lane import Claim
from leverframe.storage.history.chunks import OF_SIZE, ChunkRow, readable
from leverframe.storage.history.columns import TIERS, TIME, Columns, Tier, join
from leverframe.storage.history.compactor import SIZES, Bounds, Compactor
from leverframe.storage.history.connection import Found
from leverframe.storage.history.entries import EntryRow, EntryTable
from leverframe.storage.history.last_moments import last_moments, record, unpacked
from leverframe.storage.history.new_entries import NewEntries
from leverframe.storage.history.shared import SharedHistory, WorkerOfOne
from leverframe.storage.history.shared_chunks import ChunksOfOne
from leverframe.storage.history.turns import Turns
from leverframe.storage.history.worker import RETRY_S, Result
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

#: Real seconds that a value may wait before it is written: what a killed node loses.
GATHER_S = 60.0
#: A question that waits longer is refused.
ANSWER_WITHIN_S = 10.0
#: While the database is away it is tried again after this.
PAUSE_S = 1.0
_AWAY = (
    "The database cannot be reached, so the history waits in memory. The controller goes on"
    " without it."
)
_NOT_OURS = "This node does not have the controller; its history is recorded by the node that has."
#: More than any number that the database gives a chunk.
_LATER = 2**63
#: When a controller was recorded last, whether that was ended in order, its newest entry, and the
#: last moments of earlier runs up to which one.
_OPENED = (
    "SELECT at, ended, (SELECT coalesce(max(entry.number), 0) FROM entry WHERE controller = own),"
    " late.data, late.newest FROM (VALUES (?::integer)) AS own (own)"
    " LEFT JOIN mark ON mark.id = own CROSS JOIN LATERAL"
    " (SELECT array_agg(data ORDER BY id) AS data, max(id) AS newest FROM last_moments"
    " WHERE controller = own) AS late"
)
_TABLES = (
    *(("chunk", "controller"), ("entry", "controller"), ("told", "controller")),
    *(("last_moments", "controller"), ("mark", "id")),
)


class NotReached(StoreUnavailable):
    """The database is away, and nothing was begun: one sentence."""


class RunEnd(NamedTuple):
    """When a controller was stopped, and what was not recorded until then, if anything."""

    at: float
    unrecorded: bytes | None = None


class HistorySession:
    """The connection of a node's history; a new one is made where it has broken.

    It takes statements as the connection to a file does, and raises StoreUnavailable.
    """

    def __init__(self, address: str, claim: Callable[[], Claim]) -> None:
        self._address = address
        self._claim = claim
        self._connection: Connection | None = None
        self._try_again_at = 0.0
        #: Since when an answer is waited for.
        self._asked_at: float | None = None

    @property
    def in_transaction(self) -> bool:
        connection = self._connection
        if connection is None:
            return False
        return connection.info.transaction_status is not TransactionStatus.IDLE

    def require(self) -> None:
        """Connect where that is due; raise NotReached where the database is away."""
        # What somebody has begun and not ended came to nothing.
        self.roll_back()
        if self._connection is None:
            self._connect()

    def _connect(self) -> Connection:
        if time.monotonic() < self._try_again_at:
            raise NotReached(_AWAY)
        try:
            self._connection = connect(self._address)
            self._connection.execute("SET synchronous_commit = off")
        except psycopg.Error as error:
            self.close()
            self._try_again_at = time.monotonic() + PAUSE_S
            raise NotReached(_AWAY) from error
        return self._connection

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Found:
        return self._run(query.replace("?", "%s"), values)

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> None:
        with self._sentences() as connection, connection.cursor() as cursor:
            cursor.executemany(query.replace("?", "%s"), rows)

    def begin(self, controller: int) -> None:
        """Begin a transaction in which nobody takes the controller away."""
        self._run("BEGIN")
        if self._run(FENCE, self._fence(controller)).fetchone() is None:
            self.roll_back()
            raise StoreUnavailable(_NOT_OURS)

    def put(self, controller: int, rows: HistoryRows) -> None:
        """Write rows at once; in a transaction where one has begun."""
        values = self._fence(controller) | rows.values()
        (count,) = self._run(rows.statement(), values).fetchone()
        if not count:
            raise StoreUnavailable(_NOT_OURS)

    def leave(self, ends: Mapping[int, RunEnd]) -> None:
        """Note of controllers when they were stopped, or what was not recorded until then."""
        claim = self._claim()
        values = {
            "node": claim.node,
            "epoch": claim.epoch,
            "numbers": list(ends),
            "ends": [one.at for one in ends.values()],
            "data": [one.unrecorded for one in ends.values()],
        }
        self._run(LEAVE, values)

    def remove(self, query: str, gone: Sequence[int]) -> None:
        self._run(query, {"gone": list(gone)})

    def _fence(self, controller: int) -> dict[str, Any]:
        claim = self._claim()
        return {"controller": controller, "node": claim.node, "epoch": claim.epoch}

    def _run(self, query: str, values: Any = ()) -> Found:
        with self._sentences() as connection:
            return connection.execute(query, values)

    @contextmanager
    def _sentences(self) -> Iterator[Connection]:
        connection = self._connection or self._connect()
        self._asked_at = time.monotonic()
        try:
            yield connection
        except psycopg.Error as error:
            if is_broken(connection):
                self.close()
                raise StoreUnavailable(_AWAY) from error
            raise StoreUnavailable(
                f"The database does not take the history: {first_line(error)}."
            ) from error
        finally:
            self._asked_at = None

    def give_up_waiting(self, seconds: float) -> None:
        """Wake the thread, from another one, that waits for an answer too long."""
        connection, asked_at = self._connection, self._asked_at
        if connection is None or asked_at is None or time.monotonic() - asked_at < seconds:
            return
        hang_up(connection)

    def roll_back(self) -> None:
        if self.in_transaction:
            with suppress(StoreUnavailable):
                self._run("ROLLBACK")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class ChunkAhead(NamedTuple):
    """A chunk that was read before it was asked for."""

    start: float
    id: int
    end: float
    data: bytes


class EntriesInDatabase(EntryTable):
    """Entries of one controller; whoever adds some commits before anybody asks."""

    def __init__(
        self, session: HistorySession, max_bytes: int, controller: int, waiting: HistoryRows
    ) -> None:
        super().__init__(session, max_bytes, controller)
        self._waiting = waiting
        #: The newest one that is stored.
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

    What is added waits until it is committed or something is asked that it changes, so that most
    often a single statement is all. Nobody else writes, so what is known need not be asked again.
    """

    entries: EntriesInDatabase

    def __init__(self, session: HistorySession, controller: int, max_bytes: int) -> None:
        self._session = session
        self._controller = controller
        self._waiting = HistoryRows()
        #: What was read ahead, by tier and label.
        self._ahead: dict[tuple[int, str], list[ChunkAhead]] | None = None
        row = session.execute(_OPENED, (controller,)).fetchone()
        self._recorded_until: float | None = row[0]
        self._ended: float | None = row[1]
        super().__init__(session, controller, max_bytes)
        self.entries = EntriesInDatabase(session, max_bytes, controller, self._waiting)
        self.entries.stored = row[2]
        #: What earlier runs have left to be recorded.
        self.left: list[bytes] = row[3] or []
        self._left_until: int | None = row[4]
        self._keep_counts()

    def _count_tiers(self) -> None:
        self._cost = {tier.number: 0 for tier in TIERS}
        self._points = dict(self._cost)
        #: How many chunks of each size there are, by tier and label.
        self._sized: Counter[tuple[int, str, int]] = Counter()
        if self._recorded_until is None:
            # There is nothing without a mark: it comes with the first values and goes last.
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

    # --- questions --------------------------------------------------------------------------------

    def _find(self, query: str, *values: float | str) -> Found:
        if self._waiting.chunks:
            self._begin()
            self._send()
        return super()._find(query, *values)

    def reason_texts(self) -> dict[int, str]:
        if self._texts is None:
            # Chunks that wait say nothing about texts.
            query = "SELECT number, text FROM told WHERE controller = ?"
            self._texts = dict(self._session.execute(query, self._which).fetchall())
        return self._texts

    def recorded_until(self) -> float | None:
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

    def ended_at(self) -> float | None:
        return self._ended

    # --- changes ----------------------------------------------------------------------------------

    def let_go_left(self) -> None:
        """Remove what earlier runs have left with what is committed next."""
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
        """Take the chunks out in one statement; those that wait were never sent."""
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
                # Those that wait are later than any that is stored.
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


class DatabaseHistory(SharedHistory):
    """The thread and the connection of a node."""

    gather_s = GATHER_S
    answer_within_s: float = ANSWER_WITHIN_S

    def __init__(
        self,
        address: str,
        claim: Callable[[], Claim],
        bounds: Bounds,
        count_all: Callable[[], int],
        *,
        retry_s: float = RETRY_S,
    ) -> None:
        """Keep to the bounds with the controllers of all nodes together."""
        super().__init__(None, bounds, retry_s=retry_s)
        self._session = HistorySession(address, claim)
        self._count_all = count_all
        # Only the thread touches it.
        self._ends: dict[int, RunEnd] = {}

    def worker(self, controller: int) -> "WorkerInDatabase":
        self._controllers += 1
        return WorkerInDatabase(self, controller, self._turns, self._retry_s)

    def give_up_waiting(self) -> None:
        # Others may have waited for their turn before that.
        self._session.give_up_waiting(self.answer_within_s / 2)

    async def write_ends(self) -> None:
        """Write the ends that were noted, with those of others that have stopped meanwhile."""
        await asyncio.get_running_loop().run_in_executor(self._executor, self._write_ends)

    # --- on the thread ----------------------------------------------------------------------------

    def _sharing(self) -> int:
        # A takeover must not halve what each may keep.
        return max(self._controllers, self._count_all())

    def require(self) -> None:
        self._session.require()

    def chunks_of(self, controller: int) -> ChunksInDatabase:
        return ChunksInDatabase(self._session, controller, self.bounds().max_bytes)

    def note_end_of_run(self, controller: int, end: RunEnd) -> None:
        """Note the end of a controller, which is written with others."""
        self._ends[controller] = end

    def _write_ends(self) -> None:
        ends, self._ends = self._ends, {}
        if not ends:
            return
        try:
            self._leave(ends)
        except StoreUnavailable as error:
            self.log(str(error))

    def _leave(self, ends: Mapping[int, RunEnd]) -> None:
        try:
            self.require()
            self._session.leave(ends)
        except NotReached:
            raise
        except StoreUnavailable:
            # A connection that broke is made again; there is no other attempt after the end.
            self.require()
            self._session.leave(ends)

    def give_up_on(self, worker: WorkerOfOne, error: Exception) -> None:
        if not isinstance(error, NotReached):
            # What is in memory may be ahead of what is stored.
            worker.lay_down()
            self._session.roll_back()

    def give_up(self, error: Exception | None = None) -> None:
        super().give_up(error)
        self._session.close()

    def _forget(self, controllers: list[int]) -> None:
        """Remove histories; also what a node has left that died while it removed a controller."""
        gone = (
            "(SELECT unnest(%(gone)s::integer[]) UNION SELECT id FROM mark WHERE NOT EXISTS"
            " (SELECT 1 FROM controller WHERE number = id))"
        )
        try:
            self.require()
            # The marks last: they tell what is to be removed.
            for table, key in _TABLES:
                self._session.remove(f"DELETE FROM {table} WHERE {key} IN {gone}", controllers)  # noqa: S608
        except StoreUnavailable as error:
            log.warning("the history of removed controllers is still there: %s", error)


class WorkerInDatabase(WorkerOfOne):
    """The worker of a controller that other nodes may go on with."""

    _shared: DatabaseHistory

    def __init__(
        self, shared: DatabaseHistory, controller: int, turns: Turns, retry_s: float
    ) -> None:
        super().__init__(shared, controller, turns, retry_s)
        self._last_entries: list[NewEntries] = []
        self._has_noted_end = False

    def begin_close(self) -> None:
        self._is_closed = True

    async def add_entries(self, new: NewEntries, *, is_awaited: bool = True) -> int:
        if not self._is_closed:
            return await super().add_entries(new, is_awaited=is_awaited)
        self._last_entries.append(new)
        return 0

    async def close(self, at: float) -> None:
        closing = asyncio.ensure_future(self._close(at))
        while not (await asyncio.wait([closing], timeout=self._shared.answer_within_s))[0]:
            # A database that does not answer must not hold up whoever goes on elsewhere.
            self._shared.give_up_waiting()
        await closing

    async def _close(self, at: float) -> None:
        await super().close(at)
        if self._has_noted_end:
            await self._shared.write_ends()

    # --- on the thread ----------------------------------------------------------------------------

    def _add(self, samples: Sequence[Traced], loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_closed:
            super()._add(samples, loop)
            return
        self._unwritten += samples
        self._done += len(samples)

    def _ask(self, work: Callable[[Compactor], Result]) -> Result:
        if self._is_closed:
            raise StoreUnavailable("The controller stops here; ask again in a moment.")
        return super()._ask(work)

    def _record_end(self, at: float) -> None:
        unrecorded = None
        if self._unwritten or self._last_entries:
            left = last_moments(at, self._unwritten, self._last_entries, goes_on=self._was_opened)
            unrecorded = left.packed()
        elif not self._was_opened:
            return
        self._shared.note_end_of_run(self._controller, RunEnd(at, unrecorded))
        self._has_noted_end = True

    def _open(self) -> Compactor:
        compactor = super()._open()
        until = compactor.chunk_store.recorded_until()
        # What was being written when the connection broke may be stored.
        stored = [n for n, one in enumerate(self._unwritten) if round(one[0], 3) == until]
        if stored:
            del self._unwritten[: stored[-1] + 1]
        return compactor

    def _record_gap(self, compactor: Compactor, chunks: ChunksOfOne) -> None:
        assert isinstance(chunks, ChunksInDatabase)
        left, until = unpacked(chunks.left), chunks.recorded_until()
        goes_on = bool(left) and left[0].goes_on and (until is None or left[0].ended >= until)
        if not goes_on:
            super()._record_gap(compactor, chunks)
        if chunks.left:
            chunks.let_go_left()
            record(compactor, left)
