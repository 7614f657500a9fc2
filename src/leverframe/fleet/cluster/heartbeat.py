"""The beats that keep the lease of a node, on a thread and a connection that nothing else uses.

Looking at others, declaring them dead and taking controllers may wait for locks or for a busy loop;
none of that makes a beat late. The lease is renewed in the thread, in the moment of the answer. The
loop asks for each beat, so a node whose loop hangs falls silent, and others take over.

Each beat is also compared with what this process knows to be stored. Lives, beats and batches of a
node only count up, whoever writes them: a database where one of them is smaller, or where the node
is missing, has gone back in time.
"""

import time
from collections.abc import Callable
from enum import Enum, auto

from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.database_thread import DatabaseThread
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.storage.fleet.postgres_connection import Connection
from leverframe.storage.fleet.postgres_lane import FENCED, Claim


class BeatResult(Enum):
    """What has become of a beat."""

    COUNTED = auto()
    #: Somebody has ended this life, or begun another one.
    LIFE_IS_OVER = auto()
    WENT_BACK = auto()


class Heartbeat:
    def __init__(self, address: str, lease: NodeLease) -> None:
        self._lease = lease
        self._thread = DatabaseThread("heartbeat", address)
        #: The last beat that was counted, in any life of this process.
        self._counted = 0

    @property
    def is_connected(self) -> bool:
        return self._thread.is_connected

    async def beat(
        self, claim: Claim, stored_batch: Callable[[], int], pause_s: float
    ) -> BeatResult:
        """Beat after a pause; raise what the database raises where it is away."""
        # On a new connection at once: others look whether its session is there.
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
