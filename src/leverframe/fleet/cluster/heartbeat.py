"""Heartbeats that keep the lease of a node, on a thread and a connection of their own.

Reading other nodes, declaring them dead and taking controllers may wait for locks or for a busy
event loop. None of these steps delays a heartbeat. The thread renews the lease when the answer
arrives. The event loop requests each heartbeat, so a node whose loop hangs falls silent, and other
nodes take over.

The answer to each heartbeat is also compared with the counters that this process knows to be
stored. The counters of a node's lives, beats and batches only increase. If one of them is smaller
in the database, or the node is missing, the database has returned to an earlier state.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, auto
from typing import TypeVar

import psycopg

from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.storage.lanes.postgres_connection import Connection
from leverframe.storage.lanes.postgres_lane import FENCED, Claim
from leverframe.storage.lanes.postgres_schema import open_database

# A thread with its own database connection.

Result = TypeVar("Result")


class DatabaseThread:
    def __init__(
        self, name: str, address: str, on_connected: Callable[[Connection], None] = lambda _: None
    ) -> None:
        """Set the function that the thread calls with every new connection."""
        self._address = address
        self._on_connected = on_connected
        self._thread = ThreadPoolExecutor(1, name)
        # Only the thread uses it.
        self._connection: Connection | None = None

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    async def run(self, work: Callable[[Connection], Result]) -> Result:
        """Call a function with the connection; raise an error if the database is unreachable."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, work)

    def _run(self, work: Callable[[Connection], Result]) -> Result:
        is_new = self._connection is None
        connection = self._connection = self._connection or open_database(self._address)
        try:
            if is_new:
                membership.name_session(connection)
                self._on_connected(connection)
            return work(connection)
        except psycopg.Error:
            # A connection whose session could not be named is closed, too: other nodes would not
            # recognize it.
            connection.close()
            self._connection = None
            raise

    def close(self) -> None:
        self._thread.shutdown()
        if self._connection is not None:
            self._connection.close()


class BeatResult(Enum):
    """The result of a heartbeat."""

    COUNTED = auto()
    #: This life was ended, or another one was started.
    LIFE_IS_OVER = auto()
    WENT_BACK = auto()


class Heartbeat:
    def __init__(self, address: str, lease: NodeLease) -> None:
        self._lease = lease
        self._thread = DatabaseThread("heartbeat", address)
        #: The number of the last beat that the database counted for this process, in any of its
        #: lives.
        self._counted = 0

    @property
    def is_connected(self) -> bool:
        return self._thread.is_connected

    async def beat(
        self, claim: Claim, stored_batch: Callable[[], int], pause_s: float
    ) -> BeatResult:
        """Send a heartbeat after a pause; raise an error if the database is unreachable."""
        # On a new connection, send it immediately: other nodes check for the session of this node.
        pause_s = pause_s if self.is_connected else 0.0

        def beat(connection: Connection) -> BeatResult:
            time.sleep(pause_s)
            return self._count(connection, claim, stored_batch())

        return await self._thread.run(beat)

    def _count(self, connection: Connection, claim: Claim, stored_batch: int) -> BeatResult:
        sent_at = self._lease.now()
        found = membership.beat(connection, claim)
        if found is None:
            row = membership.life_of(connection, claim.node)
            has_gone_back = (
                row is None
                or row.epoch < claim.epoch
                or row.beat < self._counted
                or row.batch < stored_batch
            )
            self._lease.lapse(FENCED)
            return BeatResult.WENT_BACK if has_gone_back else BeatResult.LIFE_IS_OVER
        if found.beat <= self._counted or found.batch < stored_batch:
            return BeatResult.WENT_BACK
        self._counted = found.beat
        self._lease.renew(sent_at)
        return BeatResult.COUNTED

    def close(self) -> None:
        self._thread.close()
