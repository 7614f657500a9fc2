"""Metrics at `/metrics` of a node that shares a database with other nodes."""

from collections import Counter, deque
from collections.abc import Iterator

from msgspec import Struct

from leverframe.fleet.cluster.directory import DoorFigures
from leverframe.fleet.other_nodes import ClusterReport, PeerReport
from leverframe.wire.prometheus import COUNTER, GAUGE, NO_LABELS, Family

#: The states that a node can be in.
STATES = ("alive", "draining", "gone")
#: Number of readings that the batch rate is averaged over: five seconds of heartbeats.
READINGS = 10


class MemberFigures(Struct):
    """Counters of this node's part in the cluster since it was started."""

    #: Nodes that it has declared dead.
    takeovers: int = 0
    #: Controllers that it has taken, and released in an orderly way.
    claims: int = 0
    releases: int = 0
    #: How often it was declared dead itself.
    fenced: int = 0


class BatchRate:
    """Batches per second of all nodes, from counters that are read at intervals."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, int]] = deque(maxlen=READINGS + 1)

    def note(self, batches: int, now: float) -> None:
        """Take a reading; restart if the counter has decreased."""
        if self._readings and batches < self._readings[-1][1]:
            self._readings.clear()
        self._readings.append((now, batches))

    @property
    def per_second(self) -> float:
        if not self._readings:
            return 0.0
        (begin, before), (end, after) = self._readings[0], self._readings[-1]
        return round((after - before) / (end - begin), 1) if end > begin else 0.0


def state_of(node: PeerReport) -> str:
    if not node.is_alive:
        return "gone"
    return "alive" if node.capacity else "draining"


def cluster_families(
    report: ClusterReport, figures: MemberFigures, doors: DoorFigures, lease_age_s: float
) -> Iterator[Family]:
    states = Counter(map(state_of, report.nodes))
    yield Family(
        "leverframe_cluster_nodes",
        GAUGE,
        "Nodes that share the database, as this one sees them.",
        [({"state": state}, states[state]) for state in STATES],
    )
    own = [one for one in report.nodes if one.is_this]
    yield Family(
        "leverframe_cluster_node_info",
        GAUGE,
        "The node that reports this.",
        [({"node": one.name, "version": one.version}, 1) for one in own],
    )
    capacity = sum(one.capacity for one in own)
    database = report.database
    doubt = database.last_doubt
    gauges: dict[str, tuple[str, float | None]] = {
        "owned": (
            "Controllers that the database assigns to this node.",
            sum(one.controllers for one in own),
        ),
        "capacity": (
            "Capacity of this node relative to the others; 0 while it is drained.",
            capacity,
        ),
        "free": ("Controllers that no node has at present.", report.free),
        "lease_age_seconds": ("Seconds since the last confirmed heartbeat was sent.", lease_age_s),
        "lease_in_doubt": (
            "1 while this node refuses commands because others may have taken its controllers.",
            int(report.is_in_doubt),
        ),
        "database_up": ("1 while the database answers this node.", int(database.is_reachable)),
        "database_standbys": (
            "Standbys that confirm writes, if the database user may see them.",
            database.standbys,
        ),
        "last_doubt_timestamp_seconds": (
            "When this node last could not confirm that a change is stored.",
            doubt,
        ),
    }
    for name, (text, value) in gauges.items():
        yield Family(f"leverframe_cluster_{name}", GAUGE, text, [(NO_LABELS, value)])
    counters = {
        "takeovers": ("Nodes that this one has declared dead.", figures.takeovers),
        "claims": ("Controllers that this node has taken over.", figures.claims),
        "releases": (
            "Controllers that this node has released in an orderly way.",
            figures.releases,
        ),
        "fenced": ("How often this node was declared dead itself.", figures.fenced),
    }
    for name, (text, count) in counters.items():
        yield Family(f"leverframe_cluster_{name}_total", COUNTER, text, [(NO_LABELS, count)])
    outcomes = {
        "joined": doors.joined,
        "held": doors.held,
        "421": doors.misdirected,
        "503": doors.unavailable,
    }
    yield Family(
        "leverframe_cluster_door_requests_total",
        COUNTER,
        "Requests for controllers of other nodes: forwarded, held until a node had the"
        " controller, answered with 421 or 503.",
        [({"outcome": name}, count) for name, count in outcomes.items()],
    )
