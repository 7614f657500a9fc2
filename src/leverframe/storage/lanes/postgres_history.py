"""The history of controllers in the database that nodes share: the same chunks as in a file.

It has a thread and a connection of its own, which does not wait for the disk of the database: a
crash there may cost the last moments of history, and nothing else. Values are gathered for a
minute; that is what a killed node loses.

Only the node that has the controller writes. Each transaction holds the row that says who has it,
and finds that this is the present life of this node; a node that takes over the controller changes
that row, so it waits for the transaction or comes before it. Everything that a node sends after it
has lost a controller is refused, however late it arrives.
"""

import asyncio
import logging
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from leverframe.core.engine.machine import Traced
from leverframe.storage.history.compactor import Bounds, Compactor, NewEntries, UnreadEntries
from leverframe.storage.history.rows import reason_from, text_of
from leverframe.storage.history.shared import (
    ControllerLine,
    SharedHistory,
    Tenant,
    WorkerOfOne,
    no_tenant,
)
from leverframe.storage.history.shared_chunks import ChunksOfOne
from leverframe.storage.history.worker import RETRY_S, Result
from leverframe.storage.lanes.postgres_chunks import ChunksInDatabase
from leverframe.storage.lanes.postgres_history_session import HistorySession, NotReached, RunEnd
from leverframe.storage.lanes.postgres_lane import Claim
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

#: Real seconds that a value may wait before it is written: what a killed node loses.
GATHER_S = 60.0
#: A question that waits longer is refused.
ANSWER_WITHIN_S = 10.0
_TABLES = (
    *(("chunk", "controller"), ("entry", "controller"), ("told", "controller")),
    *(("last_moments", "controller"), ("mark", "id")),
)


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

    def worker(self, controller: int, tenant: Tenant = no_tenant) -> "WorkerInDatabase":
        self._controllers += 1
        line = self._turns.line(controller, tenant)
        return WorkerInDatabase(self, controller, line, self._retry_s)

    def give_up_waiting(self) -> None:
        # Others may have waited for their turn before that.
        self._session.give_up_waiting(self.answer_within_s / 2)

    async def write_ends(self) -> None:
        """Write the recorded ends, with those of controllers that have stopped since."""
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
            # A broken connection is opened again; after the end there is no further attempt.
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
            # The marks last: they name what is to be removed.
            for table, key in _TABLES:
                self._session.remove(f"DELETE FROM {table} WHERE {key} IN {gone}", controllers)  # noqa: S608
        except StoreUnavailable as error:
            log.warning("the history of removed controllers could not be deleted: %s", error)


class WorkerInDatabase(WorkerOfOne):
    """The worker of a controller that other nodes may take over."""

    _shared: DatabaseHistory

    def __init__(
        self, shared: DatabaseHistory, controller: int, line: ControllerLine, retry_s: float
    ) -> None:
        super().__init__(shared, controller, line, retry_s)
        self._last_entries: list[UnreadEntries] = []
        self._has_noted_end = False

    def begin_close(self) -> None:
        self._is_closed = True

    async def add_entries(self, new: UnreadEntries, *, is_awaited: bool = True) -> int:
        if not self._is_closed:
            return await super().add_entries(new, is_awaited=is_awaited)
        self._last_entries.append(new)
        return 0

    async def close(self, at: float) -> None:
        closing = asyncio.ensure_future(self._close(at))
        while not (await asyncio.wait([closing], timeout=self._shared.answer_within_s))[0]:
            # A database that does not answer must not delay the node that takes over.
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
            raise StoreUnavailable(
                "The controller is stopping on this node; try again in a moment."
            )
        return super()._ask(work)

    def _record_end(self, at: float) -> None:
        unrecorded = None
        if self._unwritten or self._last_entries:
            entries = [one.read() for one in self._last_entries]
            left = last_moments(at, self._unwritten, entries, continues=self._was_opened)
            unrecorded = left.pack()
        elif not self._was_opened:
            return
        self._shared.note_end_of_run(self._controller, RunEnd(at, unrecorded))
        self._has_noted_end = True

    def _open(self) -> Compactor:
        compactor = super()._open()
        until = compactor.chunk_store.end_of_record()
        # Data that was being written when the connection broke may be stored.
        stored = [n for n, one in enumerate(self._unwritten) if round(one[0], 3) == until]
        if stored:
            del self._unwritten[: stored[-1] + 1]
        return compactor

    def _record_gap(self, compactor: Compactor, chunks: ChunksOfOne) -> None:
        assert isinstance(chunks, ChunksInDatabase)
        left, until = unpack_last_moments(chunks.left), chunks.end_of_record()
        continues = bool(left) and left[0].continues and (until is None or left[0].ended >= until)
        if not continues:
            super()._record_gap(compactor, chunks)
        if chunks.left:
            chunks.let_go_left()
            record(compactor, left)


# --- the last moments of a run --------------------------------------------------------------------

# What a history has not recorded when its controller stops is kept as it came for the node that
# opens it next. To record it takes as long as to open a history and build its intervals, some
# hundred times as long as to store it: a node with thousands of controllers would stop for minutes.

#: A sample with a reason as its text.
_Plain = tuple[float, str, float | int | bool | str | None]


class LastMoments(Struct, frozen=True, array_like=True):
    """The end of a run, from what was recorded last on."""

    ended: float
    #: Something of this run is recorded, so that no gap comes before this.
    continues: bool
    samples: list[_Plain]
    entries: list[NewEntries]

    def pack(self) -> bytes:
        return zlib.compress(msgspec.msgpack.encode(self), level=1)


_decoder = msgspec.msgpack.Decoder(LastMoments)


def last_moments(
    ended: float, samples: Sequence[Traced], entries: Sequence[NewEntries], *, continues: bool
) -> LastMoments:
    plain: list[_Plain] = [
        (wall, label, value if value is None or isinstance(value, int | float) else text_of(value))
        for wall, label, value in samples
    ]
    return LastMoments(ended, continues, plain, list(entries))


def unpack_last_moments(found: Sequence[bytes]) -> list[LastMoments]:
    """Read the ends of several runs; leave out what cannot be read."""
    runs = []
    for data in found:
        try:
            runs.append(_decoder.decode(zlib.decompress(data)))
        except (zlib.error, msgspec.MsgspecError) as error:
            log.warning("the last moments of a history cannot be read: %s", error)
    return runs


def record(compactor: Compactor, runs: Sequence[LastMoments]) -> None:
    """Record the ends of runs, each with the gap after it, all of them or none."""
    for run in runs:
        for entries in run.entries:
            entries.stage_in(compactor)
    compactor.add(_samples_of(runs, compactor.labels()))


def _samples_of(runs: Sequence[LastMoments], labels: Sequence[str]) -> Iterator[Traced]:
    known = dict.fromkeys(labels)
    for run in runs:
        ended = run.ended
        for wall, label, value in run.samples:
            known[label] = None
            ended = max(ended, wall)
            yield wall, label, reason_from(value) if isinstance(value, str) else value
        yield from ((ended, label, None) for label in known)
