"""How long a node may act for its controllers: one lease after its last heartbeat was sent.

The clock is CLOCK_BOOTTIME, which keeps running while a machine sleeps. A lease counts from the
moment before a heartbeat was sent, so a node notices its end no later than other nodes act on it.
"""

import socket
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

from msgspec import Struct

from leverframe.core.engine.findings import Finding
from leverframe.fleet.progress import STALE
from leverframe.host.controller.findings import trouble_of
from leverframe.host.controller.hooks import Hindrance
from leverframe.server.http.messages import Answer, AnyReply, Handler, Request
from leverframe.server.routes.headers import add_headers, with_headers

# How a node decides which peers are dead: by their counters and its own clock only.
#
# Every node increments its beat in the database. A watcher reads the beats of all nodes, and
# records by its own clock since when each has stood still. Clocks only decide how soon a death is
# noticed. A wrong clock causes a needless takeover, but never loses a change.

#: How long a node may act after its last beat, counted from the moment before that beat was sent.
LEASE_S = 3.0
#: Seconds between two beats.
BEAT_S = 0.5
#: A node is dead if its beat has stood still for this number of leases and this number of looks.
LEASES_OF_SILENCE = 1.25
LOOKS_OF_SILENCE = 3
#: A node without a session in the database is dead after this number of looks. Only looks that are
#: at least a beat apart count, because looks that notifications trigger may follow each other
#: immediately. In this time, a supervisor can restart a killed node, and then no controller moves.
LOOKS_WITHOUT_SESSION = 3
#: Timeout for connecting to a node without a session, in each look.
CONNECT_WITHIN_S = 0.25


class SeenNode(Struct, frozen=True):
    """The row of a node, as it was last read."""

    name: str
    epoch: int
    beat: int
    is_alive: bool = True
    #: Whether its session in the database exists.
    has_session: bool = True
    address: str = ""
    capacity: int = 1
    is_drained: bool = False
    #: The last batch in its lane, and the version of its program if that is known.
    batch: int = 0
    version: str = ""
    #: Whether it ended its last life itself, instead of being declared dead.
    has_resigned: bool = False


def refuses_connections(node: SeenNode) -> bool:
    """Return whether nothing listens on the inner address of a node, or the node announced none.

    A timeout proves nothing: the machine may be unreachable only from this one.
    """
    host, _, port = node.address.rpartition(":")
    if not port:
        return True
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_WITHIN_S).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


class _Silence(Struct):
    epoch: int
    beat: int
    since: float
    looks: int = 1
    looks_without_session: int = 0
    #: The time of the last counted look without a session.
    missed_at: float = 0.0


class PeerWatch:
    """Records how long each peer has been silent."""

    def __init__(
        self,
        own_name: str,
        lease_s: float = LEASE_S,
        refuses: Callable[[SeenNode], bool] = refuses_connections,
    ) -> None:
        """Set the check of whether the process of a node without a session is gone."""
        self._refuses = refuses
        self._own_name = own_name
        self._lease_s = lease_s
        self._silences: dict[str, _Silence] = {}
        #: When the present series of looks without a gap began; beats during a gap are missed.
        self._connected_since: float | None = None
        self._looked_at: float | None = None

    def forget(self) -> None:
        """Start from scratch after the connection to the database was lost."""
        self._silences.clear()
        self._connected_since = self._looked_at = None

    def silence_s(self, name: str, now: float) -> float:
        """Return how long the beat of a node has stood still; 0 if the node is not watched."""
        silence = self._silences.get(name)
        return 0.0 if silence is None else now - silence.since

    def look(self, nodes: Iterable[SeenNode], now: float) -> list[SeenNode]:
        """Process the nodes that were read; return those that are dead."""
        if self._looked_at is not None and now - self._looked_at > self._lease_s:
            # This process was paused itself, and has missed the beats in between.
            self.forget()
        if self._connected_since is None:
            self._connected_since = now
        self._looked_at = now
        others = [one for one in nodes if one.is_alive and one.name != self._own_name]
        dead = [one for one in others if self._is_dead(one, now)]
        known = {one.name for one in others}
        self._silences = {name: it for name, it in self._silences.items() if name in known}
        return dead

    def _is_dead(self, node: SeenNode, now: float) -> bool:
        silence = self._silences.get(node.name)
        if silence is None or (silence.epoch, silence.beat) != (node.epoch, node.beat):
            silence = self._silences[node.name] = _Silence(node.epoch, node.beat, now)
        else:
            silence.looks += 1
        if node.has_session:
            silence.looks_without_session = 0
        elif not silence.looks_without_session or now - silence.missed_at >= BEAT_S:
            silence.looks_without_session += 1
            silence.missed_at = now
        is_silent = (
            silence.looks >= LOOKS_OF_SILENCE
            and now - silence.since >= LEASES_OF_SILENCE * self._lease_s
        )
        assert self._connected_since is not None
        is_gone = (
            silence.looks_without_session >= LOOKS_WITHOUT_SESSION
            and now - self._connected_since >= self._lease_s
        )
        # A node that has only lost its connection to the database answers clients until its lease
        # is over, so it is dead only once it is silent. If the process is gone, there is no need to
        # wait for the silence.
        return is_silent or (is_gone and self._refuses(node))


#: The part of the node that the problem is reported for.
NODE = "node"
_IN_DOUBT = Hindrance(
    "This node cannot reach the database that it shares with the other nodes, and does not know"
    " whether"
    " it still has this controller. Nothing was changed; try again in a few seconds.",
    store_is_away=True,
)
_MAY_BE_OLD = (
    "This node cannot reach the database that it shares with the other nodes, and does not know"
    " whether"
    " it still has this controller. The data shown may be outdated, and nothing can be changed."
)


def mark_when_stale(handler: Handler, lease: "NodeLease") -> Handler:
    """Return a handler that marks its answers as possibly stale while the lease is in doubt."""

    def handle(request: Request) -> Answer:
        answer = handler(request)
        if isinstance(answer, Coroutine):
            return _mark_later(answer, lease)
        return with_headers(answer, (STALE,)) if lease.is_in_doubt else answer

    return handle


async def _mark_later(coming: Coroutine[Any, Any, AnyReply], lease: "NodeLease") -> AnyReply:
    """Mark an answer as possibly stale if the lease was in doubt while it was prepared.

    In that time, the process may have been paused, or may have started another life.
    """
    is_in_doubt, lapses = lease.is_in_doubt, lease.lapses
    reply = await coming
    if is_in_doubt or lease.is_in_doubt or lease.lapses > lapses:
        reply = add_headers(reply, (STALE,))
    return reply


def boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class NodeLease:
    def __init__(self, now: Callable[[], float] = boot_time, lease_s: float = LEASE_S) -> None:
        self.now = now
        self._lease_s = lease_s
        self._until = now()
        #: Why the lease was ended early; None once a heartbeat is counted again.
        self._lapsed: str | None = None
        #: How often the lease was ended early.
        self.lapses = 0
        #: Why the node must not act until it is restarted, regardless of heartbeats.
        self.ended: str | None = None

    def renew(self, sent_at: float) -> None:
        """Extend the lease after a confirmed heartbeat, from the moment before it was sent."""
        self._until = sent_at + self._lease_s
        self._lapsed = None

    def lapse(self, reason: str) -> None:
        """End the lease early: this life was declared over."""
        self._lapsed = reason
        self.lapses += 1
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
        """Return why the node must not act now; None if it may act."""
        if not self.is_in_doubt:
            return None
        ended = self.ended or self._lapsed
        return _IN_DOUBT if ended is None else Hindrance(ended)

    def findings(self) -> Iterator[Finding]:
        """Yield the problem that every controller reports while the node must not act."""
        if self.is_in_doubt:
            yield trouble_of(NODE, self.ended or self._lapsed or _MAY_BE_OLD)

    def why_not(self) -> str | None:
        """Return why the node must not act now, as text; None if it may act."""
        hindrance = self.hindrance()
        return None if hindrance is None else hindrance.reason
