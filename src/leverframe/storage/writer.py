"""Writes to the store: group commit, and the writer of a running controller."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec

from leverframe.storage.store import (
    DELETED,
    BatchPart,
    Changes,
    Rows,
    Store,
    StoreUnavailable,
    WriteQueue,
    rows_from_changes,
)

# Group commit: the writes of several callers share a transaction.
#
# All writes that are queued in consecutive rounds of the event loop, or while a batch is being
# written, go into the next transaction, so that all waiting callers share the time of the disk. A
# single task writes, and runs only while writes are waiting.

log = logging.getLogger(__name__)

CLOSED = "The store is closed: the program is stopping."

#: The number of commits that are written without waiting for more.
BATCH_SIZE = 64

Faults = dict[int, BaseException]

#: A function that writes rows by controller and returns errors by controller, or raises an error
#: for all. It is a coroutine function, or a plain function that runs in a thread.
WriteBatch = (
    Callable[[Mapping[int, Rows]], Awaitable[Faults]] | Callable[[Mapping[int, Rows]], Faults]
)


class OneWrite(BatchPart):
    """A write without a `Writer`, for a controller that is not running."""

    def __init__(self, number: int, rows: Rows, done: asyncio.Future[None]) -> None:
        self.number = number
        self._rows = rows
        self._done = done

    def take(self) -> Rows:
        return self._rows

    def settle(self, error: BaseException | None) -> None:
        if self._done.done():
            # The waiting task was cancelled.
            return
        if error is None:
            self._done.set_result(None)
        else:
            self._done.set_exception(error)


class GroupCommit(WriteQueue):
    def __init__(
        self, write: WriteBatch, batch_size: int = BATCH_SIZE, thread: Executor | None = None
    ) -> None:
        """Write when this number of commits is waiting, in `thread` if there is one."""
        self.write_batch: Callable[..., Any] = write
        self._batch_size = batch_size
        self._thread = thread
        self._waiting: list[BatchPart] = []
        #: Whether all writes are rejected except those in progress.
        self.is_closed = False
        self.task: asyncio.Task[None] | None = None

    def add(self, part: BatchPart) -> None:
        if self.task is None or self.task.done():
            self.task = asyncio.get_running_loop().create_task(self._run())
        self._waiting.append(part)

    async def write_one(self, number: int, rows: Rows) -> None:
        """Make rows durable for a controller that has no `Writer`."""
        done = asyncio.get_running_loop().create_future()
        self.add(OneWrite(number, rows, done))
        await done

    async def flush(self) -> None:
        """Wait until nothing is left to write."""
        while self.task is not None and not self.task.done():
            await asyncio.wait([self.task])

    async def _run(self) -> None:
        while self._waiting:
            batch: list[BatchPart] = []
            writing: asyncio.Future[Faults] | None = None
            try:
                await self._collect()
                batch = self._next(self._batch_size)
                rows = _take_rows(batch)
                if self.is_closed:
                    raise StoreUnavailable(CLOSED)
                if rows and self._thread is not None:
                    loop = asyncio.get_running_loop()
                    writing = loop.run_in_executor(self._thread, self.write_batch, rows)
                elif rows:
                    writing = asyncio.ensure_future(self.write_batch(rows))
                faults = {} if writing is None else await see_through(writing)
            except GeneratorExit:
                # The event loop has ended, and with it all waiting callers.
                raise
            except BaseException as error:
                batch = batch or self._next(len(self._waiting))
                faults = await _faults_after(error, batch, writing)
            for part in batch:
                try:
                    part.settle(faults.get(part.number))
                except BaseException:
                    # The task was interrupted before the write began; waiting callers must still
                    # get a result.
                    part.settle(faults.get(part.number))

    async def _collect(self) -> None:
        """Wait as long as each round of the event loop adds more commits."""
        before = 0
        while before < len(self._waiting) < self._batch_size:
            before = len(self._waiting)
            await asyncio.sleep(0)

    def _next(self, count: int) -> list[BatchPart]:
        parts = list(dict.fromkeys(self._waiting[:count]))
        # This is the last step, so that all callers are still waiting if an earlier step fails.
        self._waiting = self._waiting[count:]
        return parts


async def see_through(writing: asyncio.Future[Faults]) -> Faults:
    """Wait for the end of a write despite interruptions, because only then is the result known."""
    while not writing.done():
        try:
            await asyncio.wait([writing])
        except GeneratorExit:
            # The event loop has ended, and waiting without it would fail immediately each time.
            raise
        except BaseException:
            log.warning("the writer was interrupted and waits for the current write to finish")
    return writing.result()


async def _faults_after(
    error: BaseException, batch: Iterable[BatchPart], writing: asyncio.Future[Faults] | None
) -> Faults:
    """Return the errors of a batch that was interrupted, or whose write failed."""
    if writing is not None:
        try:
            return await see_through(writing)
        except GeneratorExit:
            raise
        except BaseException as fault:
            error = fault
    return {part.number: error for part in batch}


def merge(several: Iterable[Rows]) -> Rows:
    """Merge rows into the result of writing them in order."""
    rows = Rows()
    for later in several:
        rows.add(later)
    return rows


def _take_rows(batch: Iterable[BatchPart]) -> dict[int, Rows]:
    """Take the waiting rows of each controller."""
    by_number: dict[int, Rows] = {}
    for part in batch:
        rows = part.take()
        if rows is not None:
            former = by_number.get(part.number)
            by_number[part.number] = rows if former is None else merge((former, rows))
    return by_number


# The writer of a running controller, which stores all its changes in order.
#
# All changes that are queued while a batch is being written go into the next batch, with changes of
# other controllers if they share a lane.
#
# A batch is written completely or not at all. If it fails, all changes queued after it also fail,
# because they were computed on the basis of the missing changes; later commits are attempted again.
# Callbacks of commits run in the order of the queue, before waiting callers continue.

LOG_AGAIN_S = 60.0


class Commit(msgspec.Struct, eq=False):
    """A commit in the queue, which is written completely or not at all."""

    rows: Rows
    #: Done when the commit is durable and `on_committed` has been called.
    done: asyncio.Future[None]
    on_committed: "OnCommitted | None" = None
    #: Data about the commit that is passed to `on_committed`.
    subject: Any = None


#: A function that is called with None when commits are durable, or with the error. Consecutive
#: commits with the same function are passed together.
OnCommitted = Callable[[Sequence[Commit], StoreUnavailable | None], None]


class Writer(BatchPart):
    __slots__ = ("_being_written", "_group", "_logged", "_queue", "_waiting", "number", "store")

    def __init__(self, store: Store) -> None:
        self.store = store
        self.number = store.number
        self._group = store.shared_queue or GroupCommit(self._write_alone)
        self._queue: list[Commit] = []
        self._being_written: list[Commit] = []
        self._waiting: list[asyncio.Future[None]] = []
        #: The last logged error, and the time until which the same error is not logged again.
        self._logged = ("", 0.0)

    @property
    def is_idle(self) -> bool:
        """Whether the results of all queued commits are known."""
        return not self._queue and not self._being_written

    def commit(
        self, changes: Changes, on_committed: OnCommitted | None = None, subject: Any = None
    ) -> asyncio.Future[None]:
        """Queue changes; the future is done when they are durable, or holds StoreUnavailable.

        A caller may stop waiting for the future: the changes are still written.
        """
        return self.queue(rows_from_changes(changes), on_committed, subject)

    def queue(
        self, rows: Rows, on_committed: OnCommitted | None = None, subject: Any = None
    ) -> asyncio.Future[None]:
        """Queue changes that are already rows, as `commit` does."""
        done = asyncio.get_running_loop().create_future()
        self._group.add(self)
        # This is the last step, so that nothing has been queued if an earlier step fails.
        self._queue.append(Commit(rows, done, on_committed, subject))
        return done

    async def flush(self) -> None:
        """Wait until all queued commits are durable or have failed."""
        while not self.is_idle:
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]

    async def close(self) -> None:
        """Write all queued commits, then close the store."""
        await self.flush()
        await self.store.close()

    async def _write_alone(self, parts: Mapping[int, Rows]) -> Faults:
        await self.store.write(parts[self.number])
        return {}

    def take(self) -> Rows | None:
        if not self._queue:
            return None
        batch, self._queue = self._queue, []
        self._being_written = batch
        return batch[0].rows if len(batch) == 1 else merge(commit.rows for commit in batch)

    def settle(self, error: BaseException | None) -> None:
        batch, refusal = self._being_written, None
        if error is not None:
            batch, self._queue = batch + self._queue, []
        if not batch:
            # An earlier batch included it.
            return
        try:
            if error is not None:
                refusal = self._refusal(error)
            self._report_outcome(batch, refusal)
            _resolve(batch, refusal)
        except BaseException as fault:
            log.exception("a callback after a commit failed")
            _resolve(batch, refusal or error or fault)
        self._being_written = []
        if self._waiting and self.is_idle:
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(None)

    def _refusal(self, error: BaseException) -> StoreUnavailable:
        """Return the error for waiting callers; log it, but the same error only once a minute."""
        if isinstance(error, StoreUnavailable):
            now = time.monotonic()
            sentence, until = self._logged
            if sentence != str(error) or now >= until:
                self._logged = (str(error), now + LOG_AGAIN_S)
                log.error("a change was not saved: %s", error)
            return error
        log.error("a change was not saved", exc_info=error)
        refusal = StoreUnavailable(
            f"The change could not be saved ({type(error).__name__}; see the log). Nothing was "
            "changed."
        )
        refusal.__cause__ = error
        return refusal

    def _report_outcome(self, batch: Sequence[Commit], refusal: StoreUnavailable | None) -> None:
        """Report the result to callers of commits; their errors do not affect the stored data."""
        for on_committed, group in groupby(batch, attrgetter("on_committed")):
            if on_committed is None:
                continue
            commits = tuple(group)
            try:
                on_committed(commits, refusal)
            except Exception as fault:
                log.exception("a callback after a commit failed")
                _resolve(commits, refusal or fault)


def _resolve(commits: Sequence[Commit], error: BaseException | None) -> None:
    for commit in commits:
        if commit.done.done():
            # The waiting task was cancelled, or has its result.
            continue
        if error is None:
            commit.done.set_result(None)
        else:
            commit.done.set_exception(error)
            # The error is already logged; without this, asyncio would log it again if no one awaits
            # it.
            commit.done.exception()


# The store of the outbox: messages by number.


class PersistentMessageStore:
    __slots__ = ("_writer",)

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def load(self) -> dict[int, Any]:
        return self._writer.store.messages()

    def write(self, messages: Mapping[int, Any]) -> asyncio.Future[None]:
        """Queue these messages for storage; None removes a message."""
        rows = {number: DELETED if row is None else row for number, row in messages.items()}
        return self._writer.commit(Changes(messages=rows))
