"""Which nodes are dead, as this node sees it: by counters and its own clock only.

Every node counts up its beat in the database. A watcher reads all of them, and remembers since
when, by its own clock, a counter has stood still. Clocks only decide how soon a death is noticed: a
wrong one costs a needless takeover, never a change.
"""

from collections.abc import Iterable

from msgspec import Struct

#: How long a node may act after its last beat, counted from the moment before it was sent.
LEASE_S = 3.0
#: Seconds between two beats.
BEAT_S = 0.5
#: A node is dead if its counter stood still for this number of leases, and of looks.
LEASES_OF_SILENCE = 1.25
LOOKS_OF_SILENCE = 3
#: A node without a session in the database is dead after this number of looks, at least a beat
#: apart: looks that notifications trigger follow each other immediately.
LOOKS_WITHOUT_SESSION = 2


class SeenNode(Struct, frozen=True):
    """A row of a node as it was read."""

    name: str
    epoch: int
    beat: int
    is_alive: bool = True
    #: Its session in the database is there.
    has_session: bool = True
    address: str = ""
    capacity: int = 1
    is_drained: bool = False
    #: The last batch in its lane, and the version of its program if that is known.
    batch: int = 0
    version: str = ""
    #: It has ended in order; a node that was declared dead has not.
    has_resigned: bool = False


class _Silence(Struct):
    epoch: int
    beat: int
    since: float
    looks: int = 1
    looks_without_session: int = 0
    #: The time of the last of these looks.
    missed_at: float = 0.0


class PeerWatch:
    """The memory of a watcher."""

    def __init__(self, own_name: str, lease_s: float = LEASE_S) -> None:
        self._own_name = own_name
        self._lease_s = lease_s
        self._silences: dict[str, _Silence] = {}
        #: Since when it has looked without a gap: beats during a gap were not seen.
        self._connected_since: float | None = None
        self._looked_at: float | None = None

    def forget(self) -> None:
        """Start from scratch after the connection to the database was lost."""
        self._silences.clear()
        self._connected_since = self._looked_at = None

    def silence_s(self, name: str, now: float) -> float:
        """Return how long the counter of a node has stood still, as far as it is watched."""
        silence = self._silences.get(name)
        return 0.0 if silence is None else now - silence.since

    def look(self, nodes: Iterable[SeenNode], now: float) -> list[SeenNode]:
        """Process a read; return the nodes that are dead by now."""
        if self._looked_at is not None and now - self._looked_at > self._lease_s:
            # It was stopped itself, and has not seen the beats in between.
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
        return is_silent or is_gone
