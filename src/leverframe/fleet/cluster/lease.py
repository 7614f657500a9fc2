"""How long a node may act for its controllers: one lease after its last heartbeat was sent.

The clock is CLOCK_BOOTTIME, which keeps running while a machine sleeps. A lease counts from the
moment before a heartbeat was sent, so a node notices its end no later than other nodes act on it.
"""

import time
from collections.abc import Callable, Iterator

from leverframe.controller.findings import trouble_of
from leverframe.controller.hindrance import Hindrance
from leverframe.engine.findings import Finding
from leverframe.fleet.answer_headers import STALE
from leverframe.fleet.cluster.peer_watch import LEASE_S
from leverframe.servers.http.messages import Answer, Handler, Request
from leverframe.servers.routes.added_headers import with_headers

#: The part that the problem is reported for.
NODE = "node"
_IN_DOUBT = Hindrance(
    "This node cannot reach the database that it shares with the others, and does not know whether"
    " it still has this controller. Nothing was changed; try again in a few seconds.",
    store_is_away=True,
)
_MAY_BE_OLD = (
    "This node cannot reach the database that it shares with the others, and does not know whether"
    " it still has this controller. What is shown may be old, and nothing can be changed."
)


def mark_when_stale(handler: Handler, lease: "NodeLease") -> Handler:
    """Return a handler that marks its answers as possibly stale while the lease is in doubt."""

    def handle(request: Request) -> Answer:
        answer = handler(request)
        return with_headers(answer, (STALE,)) if lease.is_in_doubt else answer

    return handle


def boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class NodeLease:
    def __init__(self, now: Callable[[], float] = boot_time, lease_s: float = LEASE_S) -> None:
        self.now = now
        self._lease_s = lease_s
        self._until = now()
        #: Why it was ended early, until a heartbeat is counted again.
        self._lapsed: str | None = None
        #: Why nothing is done at all, regardless of heartbeats.
        self.ended: str | None = None

    def renew(self, sent_at: float) -> None:
        """Count a confirmed heartbeat, from the moment before it was sent."""
        self._until = sent_at + self._lease_s
        self._lapsed = None

    def lapse(self, reason: str) -> None:
        """End the lease early: this life was declared over."""
        self._lapsed = reason
        self._until = min(self._until, self.now())

    @property
    def is_in_doubt(self) -> bool:
        return self.ended is not None or self.now() >= self._until

    @property
    def age_s(self) -> float:
        """Return the time since the last confirmed heartbeat was sent."""
        return self.now() - self._until + self._lease_s

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._until - self.now())

    def hindrance(self) -> Hindrance | None:
        """Return why the node must not act now, and whether that is only in doubt."""
        if not self.is_in_doubt:
            return None
        ended = self.ended or self._lapsed
        return _IN_DOUBT if ended is None else Hindrance(ended)

    def findings(self) -> Iterator[Finding]:
        """Yield the problem of every controller of the node while it must not act."""
        if self.is_in_doubt:
            yield trouble_of(NODE, self.ended or self._lapsed or _MAY_BE_OLD)

    def why_not(self) -> str | None:
        """Return why the node must not act now, in words."""
        hindrance = self.hindrance()
        return None if hindrance is None else hindrance.reason
