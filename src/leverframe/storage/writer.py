"""The one ordered writer: everything that a running controller must remember goes through here.

What is queued while a batch is being written goes into the next one together (`group_commit.py`),
with what other controllers want where they share a lane.

A batch is written whole or not at all. When it fails, everything queued behind it fails with it,
because that was computed on top of what is now missing; what is queued afterwards is tried afresh.
Callbacks of commits run in the order of the queue, before waiting callers continue.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec

from leverframe.storage.group_commit import Faults, GroupCommit, merge
from leverframe.storage.store import (
    BatchPart,
    Changes,
    Rows,
    Store,
    StoreUnavailable,
    rows_from_changes,
)

log = logging.getLogger(__name__)

LOG_AGAIN_S = 60.0


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


class Writer(BatchPart):
    def __init__(self, store: Store) -> None:
        self.store = store
        self.number = store.number
        self._group = store.shared_queue or GroupCommit(self._write_alone)
        self._queue: list[Commit] = []
        self._being_written: list[Commit] = []
        self._waiting: list[asyncio.Future[None]] = []
        #: What was logged of refusals last, and until when that is enough.
        self._logged = ("", 0.0)

    @property
    def is_idle(self) -> bool:
        """Whether everything that was queued has been settled."""
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
        """Queue changes that are rows already, as `commit` does."""
        done = asyncio.get_running_loop().create_future()
        self._group.add(self)
        # The last step: whatever failed before it, nothing has been queued.
        self._queue.append(Commit(rows, done, on_committed, subject))
        return done

    async def flush(self) -> None:
        """Wait until everything that was queued is durable, or refused."""
        while not self.is_idle:
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]

    async def close(self) -> None:
        """Write what is queued, then close the store."""
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
            # It went with a batch before.
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
        """Return the error for waiting callers, and log it: the same once a minute."""
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
        """Report the outcome to those that queued commits; their faults change nothing on disk."""
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
            # The waiting task has given up, or has its result.
            continue
        if error is None:
            commit.done.set_result(None)
        else:
            commit.done.set_exception(error)
            # The log has it; an error that is not awaited is no oversight.
            commit.done.exception()
