"""The history of controllers in the shared database of nodes, as the same chunks as in a file.

It has a separate thread and connection, which does not wait for the disk of the database: a crash
of the database may lose the last moments of history, but nothing else. Values are collected for a
minute before they are written; a killed node loses these values.

Only the node that runs the controller writes its history. Each transaction locks the row that names
this node, and checks that the node's current life (`epoch`) has not ended. A node that takes over
the controller changes that row, so its change comes completely before or after the transaction. All
statements that a node sends after it has lost a controller are rejected, however late they arrive.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.last_moments import RunEnd
from leverframe.storage.history.shared import (
    SharedHistory,
    Tenant,
    WorkerOfOne,
    no_tenant,
)
from leverframe.storage.history.worker import RETRY_S
from leverframe.storage.lanes.postgres_chunks import ChunksInDatabase
from leverframe.storage.lanes.postgres_history_session import HistorySession, NotReached
from leverframe.storage.lanes.postgres_lane import Claim
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

#: Real seconds that a value may wait before it is written; a killed node loses waiting values.
GATHER_S = 60.0
#: A query that waits longer is rejected.
ANSWER_WITHIN_S = 10.0
_TABLES = (
    *(("chunk", "controller"), ("entry", "controller"), ("told", "controller")),
    *(("last_moments", "controller"), ("mark", "id")),
)


class DatabaseHistory(SharedHistory):
    """The history of all controllers of a node: its thread and its connection."""

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
        """Create a history whose limits apply to the controllers of all nodes together."""
        super().__init__(None, bounds, retry_s=retry_s)
        self._session = HistorySession(address, claim)
        self._count_all = count_all

    def worker(self, controller: int, tenant: Tenant = no_tenant) -> "WorkerInDatabase":
        self._controllers += 1
        line = self._turns.line(controller, tenant)
        return WorkerInDatabase(self, controller, line, self._retry_s)

    def give_up_waiting(self) -> None:
        # The job may already have waited for its turn.
        self._session.give_up_waiting(self.answer_within_s / 2)

    # --- on the thread ----------------------------------------------------------------------------

    def _sharing(self) -> int:
        # Count the controllers of all nodes, so that a takeover does not reduce their shares.
        return max(self._controllers, self._count_all())

    def require(self) -> None:
        self._session.require()

    def chunks_of(self, controller: int) -> ChunksInDatabase:
        return ChunksInDatabase(self._session, controller, self.bounds().max_bytes)

    def _leave(self, ends: Mapping[int, RunEnd]) -> None:
        try:
            self.require()
            self._session.leave(ends)
        except NotReached:
            raise
        except StoreUnavailable:
            # Replace a broken connection, because the run has ended and there will be no other
            # attempt.
            self.require()
            self._session.leave(ends)

    def give_up_on(self, worker: WorkerOfOne, error: Exception) -> None:
        if not isinstance(error, NotReached):
            # The state in memory may be newer than the stored data.
            worker.lay_down()
            self._session.roll_back()

    def give_up(self, error: Exception | None = None) -> None:
        super().give_up(error)
        self._session.close()

    def _forget(self, controllers: list[int]) -> None:
        """Delete histories, including those that a node left when it died while deleting them."""
        gone = (
            "(SELECT unnest(%(gone)s::integer[]) UNION SELECT id FROM mark WHERE NOT EXISTS"
            " (SELECT 1 FROM controller WHERE number = id))"
        )
        try:
            self.require()
            # Delete the marks last, because they identify the histories to delete.
            for table, key in _TABLES:
                self._session.remove(f"DELETE FROM {table} WHERE {key} IN {gone}", controllers)  # noqa: S608
        except StoreUnavailable as error:
            log.warning("the history of removed controllers could not be deleted: %s", error)


class WorkerInDatabase(WorkerOfOne):
    """The worker of a controller that other nodes may take over."""

    __slots__ = ()

    _shared: DatabaseHistory

    async def close(self, at: float) -> None:
        closing = asyncio.ensure_future(super().close(at))
        while not (await asyncio.wait([closing], timeout=self._shared.answer_within_s))[0]:
            # A database that does not answer must not delay closing, because a node that takes over
            # waits for it.
            self._shared.give_up_waiting()
        await closing

    # --- on the thread ----------------------------------------------------------------------------

    def _open(self) -> Compactor:
        compactor = super()._open()
        until = compactor.chunk_store.end_of_record()
        # Values that were being written when the connection broke may already be stored.
        stored = [n for n, one in enumerate(self._unwritten) if round(one[0], 3) == until]
        if stored:
            del self._unwritten[: stored[-1] + 1]
        return compactor
