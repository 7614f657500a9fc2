"""The one ordered writer: everything that a running controller must remember goes through here.

Group commit: what is queued in rounds of the event loop that follow each other, and while a batch
is being written, goes into the next transaction together, so that the cost of reaching the disk is
shared by everybody who waits. One task writes, and lives while there is something to write.

A batch is written whole or not at all. When it fails, everything queued behind it fails with it,
because that was computed on top of what is now missing; what is queued afterwards is tried afresh.
Whoever queued a commit is told in the order of the queue, before anybody who waits goes on.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from leverframe.storage.store import Changes, Rows, Store, StoreUnavailable, rows_from_changes

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

#: So many commits are worth a transaction, whatever else may come.
BATCH_SIZE = 64


class Commit(msgspec.Struct, eq=False):
    """One all-or-nothing step on its way to the disk."""

    rows: Rows
    #: Done when it is durable and `on_committed` has been called.
    done: asyncio.Future[None]
    on_committed: "OnCommitted | None" = None
    #: What `on_committed` needs to know about it.
    subject: Any = None


#: Called with None when commits are durable, or with what went wrong. Consecutive commits with the
#: same function are handed over together.
OnCommitted = Callable[[Sequence[Commit], StoreUnavailable | None], None]


class Writer:
    def __init__(self, store: Store) -> None:
        self.store = store
        self._queue: list[Commit] = []
        self._task: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether everything that was queued has been settled."""
        return self._task is None or self._task.done()

    def commit(
        self, changes: Changes, on_committed: OnCommitted | None = None, subject: Any = None
    ) -> asyncio.Future[None]:
        """Queue changes; the future is done when they are durable, or holds StoreUnavailable.

        Whoever waits for the future may give up: that does not take the changes back.
        """
        loop = asyncio.get_running_loop()
        commit = Commit(rows_from_changes(changes), loop.create_future(), on_committed, subject)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())
        # The last step: whatever failed before it, nothing has been queued.
        self._queue.append(commit)
        return commit.done

    async def settled(self) -> None:
        """Wait until everything that was queued is durable, or refused."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """Write what is queued, then close the store."""
        await self.settled()
        await self.store.close()

    async def _run(self) -> None:
        while self._queue:
            batch: list[Commit] = []
            refusal: StoreUnavailable | None = None
            try:
                await self._collect_batch()
                batch, self._queue = self._queue, []
                await see_through(self.store.write(_merged(batch)))
            except BaseException as error:
                batch, self._queue = batch + self._queue, []
                refusal = _refusal(error)
            try:
                self._report_outcome(batch, refusal)
                _resolve(batch, refusal)
            except BaseException as fault:
                log.exception("what follows a commit failed")
                _resolve(batch, refusal or fault)

    async def _collect_batch(self) -> None:
        """Wait while rounds of the loop bring something more."""
        before = 0
        while before < len(self._queue) < BATCH_SIZE:
            before = len(self._queue)
            await asyncio.sleep(0)

    def _report_outcome(self, batch: Sequence[Commit], refusal: StoreUnavailable | None) -> None:
        """Report the outcome to those that queued commits; their faults change nothing on disk."""
        for on_committed, group in groupby(batch, attrgetter("on_committed")):
            if on_committed is None:
                continue
            commits = tuple(group)
            try:
                on_committed(commits, refusal)
            except Exception as fault:
                log.exception("what follows a commit failed")
                _resolve(commits, refusal or fault)


async def see_through(write: Awaitable[_Result]) -> _Result:
    """Wait for the end of a write, whatever interrupts: only then it is known what is on disk.

    A write that is a coroutine begins here, so that none begins that nobody waits for.
    """
    writing = asyncio.ensure_future(write)
    while not writing.done():
        try:
            await asyncio.wait([writing])
        except BaseException:
            log.warning("the writer was interrupted and sees a write through")
    return writing.result()


def _merged(batch: Sequence[Commit]) -> Rows:
    """Merge a batch into the rows that result from writing its commits in order."""
    if len(batch) == 1:
        return batch[0].rows
    rows = Rows()
    for commit in batch:
        rows.add(commit.rows)
    return rows


def _refusal(error: BaseException) -> StoreUnavailable:
    if isinstance(error, StoreUnavailable):
        log.error("a change is not on disk: %s", error)
        return error
    log.error("a change is not on disk", exc_info=error)
    refusal = StoreUnavailable(
        f"The change could not be saved ({type(error).__name__}; the log says more). "
        "Nothing was changed."
    )
    refusal.__cause__ = error
    return refusal


def _resolve(commits: Sequence[Commit], error: BaseException | None) -> None:
    for commit in commits:
        if commit.done.done():
            # The waiting task has given up, or has its result.
            continue
        if error is None:
            commit.done.set_result(None)
        else:
            commit.done.set_exception(error)
            # The log has it; an error that is not awaited is no oversight.
            commit.done.exception()
