"""Group commit: what several callers write goes to the disk together.

What is queued in rounds of the event loop that follow each other, and while a batch is being
written, goes into the next transaction, so that the cost of reaching the disk is shared by all
waiting callers. One task writes, and runs while there is something to write.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Executor
from typing import Any

from leverframe.storage.store import BatchPart, Rows, StoreUnavailable, WriteQueue

log = logging.getLogger(__name__)

CLOSED = "The store is closed: the program is stopping."

#: This number of commits is worth a transaction, whatever else may come.
BATCH_SIZE = 64

Faults = dict[int, BaseException]

#: Writes rows by controller; returns what went wrong by controller, or fails for all. It is a
#: coroutine, or a plain function for a thread.
WriteBatch = (
    Callable[[Mapping[int, Rows]], Awaitable[Faults]] | Callable[[Mapping[int, Rows]], Faults]
)


class OneWrite(BatchPart):
    """A write outside of a `Writer`: of a controller that does not run."""

    def __init__(self, number: int, rows: Rows, done: asyncio.Future[None]) -> None:
        self.number = number
        self._rows = rows
        self._done = done

    def take(self) -> Rows:
        return self._rows

    def settle(self, error: BaseException | None) -> None:
        if self._done.done():
            # The waiting task has given up.
            return
        if error is None:
            self._done.set_result(None)
        else:
            self._done.set_exception(error)


class GroupCommit(WriteQueue):
    def __init__(
        self, write: WriteBatch, batch_size: int = BATCH_SIZE, thread: Executor | None = None
    ) -> None:
        """Write when this number of commits waits; in a thread, where there is one."""
        self.write_batch: Callable[..., Any] = write
        self._batch_size = batch_size
        self._thread = thread
        self._waiting: list[BatchPart] = []
        #: Whether all is refused that is not being written yet.
        self.is_closed = False
        self.task: asyncio.Task[None] | None = None

    def add(self, part: BatchPart) -> None:
        if self.task is None or self.task.done():
            self.task = asyncio.get_running_loop().create_task(self._run())
        self._waiting.append(part)

    async def write_one(self, number: int, rows: Rows) -> None:
        """Make rows of a controller durable that no `Writer` writes."""
        done = asyncio.get_running_loop().create_future()
        self.add(OneWrite(number, rows, done))
        await done

    async def flush(self) -> None:
        """Wait until nothing waits any more."""
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
                # The loop has gone, and with it all waiting callers.
                raise
            except BaseException as error:
                batch = batch or self._next(len(self._waiting))
                faults = await _faults_after(error, batch, writing)
            for part in batch:
                try:
                    part.settle(faults.get(part.number))
                except BaseException:
                    # Interrupted before it began: waiting callers must still get a result.
                    part.settle(faults.get(part.number))

    async def _collect(self) -> None:
        """Wait while rounds of the loop bring something more."""
        before = 0
        while before < len(self._waiting) < self._batch_size:
            before = len(self._waiting)
            await asyncio.sleep(0)

    def _next(self, count: int) -> list[BatchPart]:
        parts = list(dict.fromkeys(self._waiting[:count]))
        # The last step: whatever failed before it, all callers still wait.
        self._waiting = self._waiting[count:]
        return parts


async def see_through(writing: asyncio.Future[Faults]) -> Faults:
    """Wait for the end of a write, whatever interrupts: only then it is known what is on disk."""
    while not writing.done():
        try:
            await asyncio.wait([writing])
        except GeneratorExit:
            # The loop has gone: waiting without one fails immediately, again and again.
            raise
        except BaseException:
            log.warning("the writer was interrupted and waits for the current write to finish")
    return writing.result()


async def _faults_after(
    error: BaseException, batch: Iterable[BatchPart], writing: asyncio.Future[Faults] | None
) -> Faults:
    """Return what went wrong in a batch that was interrupted, or whose write failed."""
    if writing is not None:
        try:
            return await see_through(writing)
        except GeneratorExit:
            raise
        except BaseException as fault:
            error = fault
    return {part.number: error for part in batch}


def merge(several: Iterable[Rows]) -> Rows:
    """Merge rows into those that result from writing them in order."""
    rows = Rows()
    for later in several:
        rows.add(later)
    return rows


def _take_rows(batch: Iterable[BatchPart]) -> dict[int, Rows]:
    """Take what waits, by controller."""
    by_number: dict[int, Rows] = {}
    for part in batch:
        rows = part.take()
        if rows is not None:
            former = by_number.get(part.number)
            by_number[part.number] = rows if former is None else merge((former, rows))
    return by_number
