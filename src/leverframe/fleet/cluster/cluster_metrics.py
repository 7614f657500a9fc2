"""Figures at `/metrics` of a node that shares a database with others."""

from collections import Counter, deque
from collections.abc import Iterator

from msgspec import Struct

from leverframe.fleet.cluster.directory import DoorFigures
from leverframe.fleet.other_nodes import ClusterReport, PeerReport
from leverframe.wire.prometheus import COUNTER, GAUGE, NO_LABELS, Family

#: What the other nodes, and this one, can be.
STATES = ("alive", "draining", "gone")
#: So many readings back the number of batches is compared with: five seconds of beats.
READINGS = 10


class MemberFigures(Struct):
    """What a node has done among the others since it was started."""

    #: Nodes that it has declared dead.
    takeovers: int = 0
    #: Controllers that it has taken, and given up in order.
    claims: int = 0
    releases: int = 0
    #: How often it was declared dead itself.
    fenced: int = 0


class BatchRate:
    """How many batches a second all nodes write, by numbers that are read now and then."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, int]] = deque(maxlen=READINGS + 1)

    def note(self, batches: int, now: float) -> None:
        """Take a reading; begin anew where the number has gone back."""
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
        "Which node this is.",
        [({"node": one.name, "version": one.version}, 1) for one in own],
    )
    capacity = sum(one.capacity for one in own)
    database = report.database
    doubt = database.last_doubt
    gauges: dict[str, tuple[str, float | None]] = {
        "owned": (
            "Controllers that the database gives to this node.",
            sum(one.controllers for one in own),
        ),
        "capacity": ("What this node carries in proportion to the others; 0 drains.", capacity),
        "free": ("Controllers that no node has at present.", report.free),
        "lease_age_seconds": ("Seconds since the last beat that arrived was sent.", lease_age_s),
        "lease_in_doubt": (
            "1 while this node refuses commands, since others may have its part.",
            int(report.is_in_doubt),
        ),
        "database_up": ("1 while the database answers this node.", int(database.is_reachable)),
        "database_standbys": (
            "Standbys that confirm what is written, where this user may see that.",
            database.standbys,
        ),
        "last_doubt_timestamp_seconds": (
            "When this node last did not know whether a change is stored.",
            doubt,
        ),
    }
    for name, (text, value) in gauges.items():
        yield Family(f"leverframe_cluster_{name}", GAUGE, text, [(NO_LABELS, value)])
    counters = {
        "takeovers": ("Nodes that this one has declared dead.", figures.takeovers),
        "claims": ("Controllers that this node has taken.", figures.claims),
        "releases": ("Controllers that this node has given up in order.", figures.releases),
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
        "Requests for controllers of other nodes: joined to these, held until somebody had the"
        " controller, answered with 421 or 503.",
        [({"outcome": name}, count) for name, count in outcomes.items()],
    )
