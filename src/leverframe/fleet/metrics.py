"""`/metrics` of a node: sums over all controllers, and on request all metrics of tagged ones.

A controller has hundreds of metrics; those of ten thousand controllers would be too many for a
collector. So metrics are summed if a sum makes sense, and `?tag=critical` adds all metrics of the
controllers with that tag, with the controller's name as the label `controller`.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from leverframe import __version__
from leverframe.core.runtime.event_loop import in_turns
from leverframe.devices.wire.prometheus import COUNTER, GAUGE, NO_LABELS, Family, Sample
from leverframe.fleet.cluster.directory import DoorFigures
from leverframe.fleet.jobs.job import FleetJob
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.other_nodes import ClusterReport, PeerReport
from leverframe.server.routes.metrics import controller_families, process_families, server_families
from leverframe.storage.lanes.lane import GroupCommitLane, LaneFigures

#: Maximum number of controllers whose metrics are reported individually.
MAX_SINGLE = 500
#: Metrics other than counters whose sum is meaningful.
SUMMED_GAUGES = ("leverframe_troubles", "leverframe_outbox_waiting", "leverframe_streams")
#: Counters whose sum is not meaningful, because each has its own unit.
NOT_SUMMED = ("leverframe_energy_total",)


async def node_families(
    node: FleetNode,
    jobs: Iterable[FleetJob],
    single: Sequence[Member],
    tenant: str | None = None,
) -> list[Family]:
    """Return the metrics of a node, and those of individual controllers by name.

    A tenant gets sums over its own controllers, but no metrics of the node.
    """
    members = tuple(node.visible_to(tenant).values())
    found = [*_of_controllers(members), *job_families(jobs)]
    if tenant is None:
        found += [*_of_findings(node), *_of_lane(node)]
        found += [*server_families(node.door), *process_families()]
        found += [] if node.cluster is None else node.cluster.families()
    sums: dict[str, Family] = {}
    async for member in in_turns(members):
        for family in controller_families(member.controller):
            if _is_summed(family):
                _add(sums, family)
    by_name: dict[str, Family] = {}
    async for member in in_turns(single):
        for family in controller_families(member.controller):
            _append(by_name, family, member.name)
    return found + [_of_fleet(family) for family in sums.values()] + list(by_name.values())


def _of_controllers(members: Sequence[Member]) -> Iterable[Family]:
    yield Family(
        "leverframe_fleet_info",
        GAUGE,
        "The node that reports this.",
        [({"version": __version__}, 1)],
    )
    profiles = (member.controller.profile for member in members)
    versions = Counter((profile.hw, profile.sw) for profile in profiles)
    yield Family(
        "leverframe_fleet_controllers",
        GAUGE,
        "Controllers of the node, by version.",
        [({"hw": hw, "sw": sw}, count) for (hw, sw), count in sorted(versions.items())],
    )
    yield Family(
        "leverframe_fleet_degraded",
        GAUGE,
        "Controllers with a problem in one of their parts.",
        [(NO_LABELS, sum(bool(member.controller.troubles) for member in members))],
    )


def _of_findings(node: FleetNode) -> Iterable[Family]:
    yield Family(
        "leverframe_node_controllers_not_started",
        GAUGE,
        "Controllers of the node that failed to start; a table of the fleet file with a mistake"
        " counts as one.",
        [(NO_LABELS, len(node.roster.reasons()))],
    )
    faults = [one.is_fault for one in node.findings()]
    yield Family(
        "leverframe_node_findings",
        GAUGE,
        "Problems of the node itself, by severity.",
        [
            ({"severity": severity}, faults.count(is_fault))
            for severity, is_fault in (("fault", True), ("attention", False))
        ],
    )
    certificate, wall = node.certificate, node.clock.wall()
    yield Family(
        "leverframe_node_certificate_days",
        GAUGE,
        "Whole days until the certificate of the node expires, if it uses TLS.",
        [] if certificate is None else [(NO_LABELS, certificate.days_left(wall))],
    )


def job_families(jobs: Iterable[FleetJob]) -> Iterable[Family]:
    counts = Counter((job.plan.kind, job.state.status) for job in jobs)
    yield Family(
        "leverframe_fleet_jobs",
        GAUGE,
        "Bulk changes and roll-outs that this node knows, by state.",
        [({"kind": kind, "status": status}, n) for (kind, status), n in sorted(counts.items())],
    )


def _of_lane(node: FleetNode) -> Iterable[Family]:
    lane = node.lane
    return lane_families(lane.figures) if isinstance(lane, GroupCommitLane) else ()


def lane_families(figures: LaneFigures) -> Iterable[Family]:
    outcomes = ("durable", "refused", "in_doubt")
    yield Family(
        "leverframe_lane_changes_total",
        COUNTER,
        "Changes of controllers by result when answered: durable, refused or in doubt.",
        [({"outcome": name}, getattr(figures, name)) for name in outcomes],
    )
    yield Family(
        "leverframe_lane_batches_total",
        COUNTER,
        "Transactions by the number of changes in them.",
        [({"changes": size}, count) for size, count in figures.batches.items()],
    )


def _is_summed(family: Family) -> bool:
    if family.kind == COUNTER:
        return family.name not in NOT_SUMMED
    return family.name in SUMMED_GAUGES


def _add(sums: dict[str, Family], family: Family) -> None:
    """Add the samples of another controller to the sums with the same labels."""
    known = sums.get(family.name)
    values = {} if known is None else {tuple(labels.items()): n for labels, n in known.samples}
    for labels, number in family.samples:
        key = tuple(labels.items())
        values[key] = (values.get(key) or 0) + (number or 0)
    samples: list[Sample] = [(dict(key), number) for key, number in values.items()]
    sums[family.name] = replace(family, samples=samples)


def _append(by_name: dict[str, Family], family: Family, name: str) -> None:
    known = by_name.get(family.name)
    samples = [] if known is None else list(known.samples)
    samples += [({"controller": name, **labels}, number) for labels, number in family.samples]
    by_name[family.name] = replace(family, samples=samples)


def _of_fleet(family: Family) -> Family:
    """Rename a sum so that it is not mistaken for the metric of one controller."""
    return replace(
        family,
        name=family.name.replace("leverframe_", "leverframe_fleet_", 1),
        help=f"Sum of all controllers: {family.help}",
    )


# Metrics at `/metrics` of a node that shares a database with other nodes.

#: The states that a node can be in.
STATES = ("alive", "draining", "gone")
#: Number of readings over which the batch rate is averaged: five seconds of heartbeats.
READINGS = 10


class MemberFigures(Struct):
    """Counters of this node's part in the cluster since its start."""

    #: Nodes that this node has declared dead.
    takeovers: int = 0
    #: Controllers that this node has taken over, and released in an orderly way.
    claims: int = 0
    releases: int = 0
    #: How often this node itself was declared dead.
    fenced: int = 0


class BatchRate:
    """Batches per second of all nodes, from periodic readings of their counter."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, int]] = deque(maxlen=READINGS + 1)

    def note(self, batches: int, now: float) -> None:
        """Add a reading; start over if the counter has decreased."""
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
        "Nodes that share the database, as this node sees them.",
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
        "takeovers": ("Nodes that this node has declared dead.", figures.takeovers),
        "claims": ("Controllers that this node has taken over.", figures.claims),
        "releases": (
            "Controllers that this node has released in an orderly way.",
            figures.releases,
        ),
        "fenced": ("Number of times this node itself was declared dead.", figures.fenced),
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
