"""How long a node may act for its controllers: until a lease after its last beat was sent.

The time is that of CLOCK_BOOTTIME, which goes on while a machine sleeps. It counts from the moment
before a beat was sent, so a node knows of the end no later than anybody else can act on it.
"""

import time
from collections.abc import Callable

from leverframe.fleet.cluster.peer_watch import LEASE_S

IN_DOUBT = (
    "This node cannot reach the database that it shares with the others, and does not know whether"
    " it still has this controller. Nothing was changed; try again in a few seconds."
)


def boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class NodeLease:
    def __init__(self, now: Callable[[], float] = boot_time, lease_s: float = LEASE_S) -> None:
        self.now = now
        self._lease_s = lease_s
        self._until = now()
        #: Why nothing is done at all, whatever the beats say.
        self.ended: str | None = None

    def renew(self, sent_at: float) -> None:
        """Count a beat that has arrived, from the moment before it was sent."""
        self._until = sent_at + self._lease_s

    def lapse(self) -> None:
        """End it before its time: somebody has declared this life over."""
        self._until = min(self._until, self.now())

    @property
    def is_in_doubt(self) -> bool:
        return self.ended is not None or self.now() >= self._until

    @property
    def age_s(self) -> float:
        """Return how long ago the last beat was sent that has arrived."""
        return self.now() - self._until + self._lease_s

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._until - self.now())

    def why_not(self) -> str | None:
        """Return why the node must not act now."""
        return (self.ended or IN_DOUBT) if self.is_in_doubt else None
