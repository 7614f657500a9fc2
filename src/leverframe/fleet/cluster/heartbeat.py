"""The beats that keep the lease of a node, on a thread and a connection that nothing else uses.

Looking at others, declaring them dead and taking controllers may wait for locks or for a busy loop;
none of that makes a beat late. The lease is renewed in the thread, in the moment of the answer. The
loop asks for each beat, so a node whose loop hangs falls silent, and others take over.

Each beat is also compared with what this process knows to be stored. Lives, beats and batches of a
node only count up, whoever writes them: a database where one of them is smaller, or where the node
is missing, has gone back in time.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, auto

import psycopg

from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.storage.fleet.postgres_connection import Connection
from leverframe.storage.fleet.postgres_lane import FENCED, Claim
from leverframe.storage.fleet.postgres_schema import opened


class BeatResult(Enum):
    """What has become of a beat."""

    COUNTED = auto()
    #: Somebody has ended this life, or begun another one.
    LIFE_IS_OVER = auto()
    WENT_BACK = auto()


class Heartbeat:
    def __init__(self, address: str, lease: NodeLease) -> None:
        self._address = address
        self._lease = lease
        self._thread = ThreadPoolExecutor(1, "heartbeat")
        self._connection: Connection | None = None
        #: The last beat that was counted, in any life of this process.
        self._counted = 0

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    async def beat(
        self, claim: Claim, stored_batch: Callable[[], int], pause_s: float
    ) -> BeatResult:
        """Beat after a pause; raise what the database raises where it is away."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._beat, claim, stored_batch, pause_s)

    def _beat(self, claim: Claim, stored_batch: Callable[[], int], pause_s: float) -> BeatResult:
        if self._connection is None:
            # On a new connection at once: others look whether its session is there.
            self._connection = opened(self._address)
            membership.introduce(self._connection)
        else:
            time.sleep(pause_s)
        try:
            return self._count(self._connection, claim, stored_batch())
        except psycopg.Error:
            self._drop_connection()
            raise

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

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        self._thread.shutdown()
        self._drop_connection()
