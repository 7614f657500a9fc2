"""Group commit: what several want written goes to the disk together.

What is queued in rounds of the event loop that follow each other, and while a batch is being
written, goes into the next transaction, so that the cost of reaching the disk is shared by
everybody who waits. One task writes, and lives while there is something to write.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from leverframe.storage.store import BatchPart, Rows, WriteQueue

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

Faults = Mapping[int, BaseException]

#: Writes rows by controller; gives back what went wrong by controller, or fails for all.
WriteBatch = Callable[[Mapping[int, Rows]], Awaitable[Faults]]


class GroupCommit(WriteQueue):
    def __init__(self, write: WriteBatch, batch_size: int) -> None:
        """Write when so many wait, whatever else may come."""
        self._write = write
        self._batch_size = batch_size
        self._waiting: list[BatchPart] = []
        self.task: asyncio.Task[None] | None = None

    def add(self, part: BatchPart) -> None:
        if self.task is None or self.task.done():
            self.task = asyncio.get_running_loop().create_task(self._run())
        self._waiting.append(part)

    async def settled(self) -> None:
        """Wait until nothing waits any more."""
        while self.task is not None and not self.task.done():
            await asyncio.wait([self.task])

    async def _run(self) -> None:
        while self._waiting:
            batch: list[BatchPart] = []
            try:
                await self._collect()
                batch = self._next(self._batch_size)
                rows = [(part, rows) for part in batch if (rows := part.take()) is not None]
                faults = await self._write(_merged(rows)) if rows else {}
            except GeneratorExit:
                # The loop has gone, and with it everybody who waited.
                raise
            except BaseException as error:
                batch = batch or self._next(len(self._waiting))
                faults = {part.number: error for part in batch}
            for part in batch:
                try:
                    part.settle(faults.get(part.number))
                except BaseException:
                    # Interrupted before it began: whoever waits must hear of it all the same.
                    part.settle(faults.get(part.number))

    async def _collect(self) -> None:
        """Wait while rounds of the loop bring something more."""
        before = 0
        while before < len(self._waiting) < self._batch_size:
            before = len(self._waiting)
            await asyncio.sleep(0)

    def _next(self, count: int) -> list[BatchPart]:
        parts = list(dict.fromkeys(self._waiting[:count]))
        # The last step: whatever failed before it, everybody still waits.
        self._waiting = self._waiting[count:]
        return parts


async def see_through(write: Awaitable[_Result]) -> _Result:
    """Wait for the end of a write, whatever interrupts: only then it is known what is on disk.

    A write that is a coroutine begins here, so that none begins that nobody waits for.
    """
    writing = asyncio.ensure_future(write)
    while not writing.done():
        try:
            await asyncio.wait([writing])
        except GeneratorExit:
            # The loop has gone: to wait without one fails at once, again and again.
            raise
        except BaseException:
            log.warning("the writer was interrupted and sees a write through")
    return writing.result()


def merged(several: Iterable[Rows]) -> Rows:
    """Merge rows into those that result from writing them in order."""
    rows = Rows()
    for later in several:
        rows.add(later)
    return rows


def _merged(taken: Iterable[tuple[BatchPart, Rows]]) -> dict[int, Rows]:
    """Merge rows of the same controller."""
    by_number: dict[int, Rows] = {}
    for part, rows in taken:
        former = by_number.get(part.number)
        by_number[part.number] = rows if former is None else merged((former, rows))
    return by_number
