"""`/metrics` of a node: sums over all controllers, and all metrics of the tagged ones on request.

A controller has hundreds of metrics; those of ten thousand would be too many for a collector. So
metrics are summed up where a sum makes sense, and `?tag=critical` adds all metrics of the
controllers that have a tag, each with its name as the label `controller`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from leverframe import __version__
from leverframe.fleet.jobs.job import FleetJob
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.loop_shares import in_turns
from leverframe.servers.routes.metrics import (
    controller_families,
    process_families,
    server_families,
)
from leverframe.storage.fleet.group_commit import GroupCommitLane
from leverframe.storage.fleet.lane_figures import LaneFigures
from leverframe.wire.prometheus import COUNTER, GAUGE, NO_LABELS, Family, Sample

#: Controllers whose metrics are reported by name, at most.
MAX_SINGLE = 500
#: Metrics besides counters whose sum has a meaning.
SUMMED_GAUGES = ("leverframe_troubles", "leverframe_outbox_waiting", "leverframe_streams")
#: Counters whose sum has none: each has a unit of its own.
NOT_SUMMED = ("leverframe_energy_total",)


async def node_families(
    node: FleetNode,
    jobs: Iterable[FleetJob],
    single: Sequence[Member],
    tenant: str | None = None,
) -> list[Family]:
    """Return the metrics of a node, and of single controllers by their names.

    A tenant gets sums over its own controllers, and no metrics of the node.
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
        "Changes of controllers by result: durable, refused, or in doubt when they were answered.",
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
    """Add the samples of another controller to those with the same labels."""
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
    """Name a sum so that it is not mistaken for the metric of one controller."""
    return replace(
        family,
        name=family.name.replace("leverframe_", "leverframe_fleet_", 1),
        help=f"Sum of all controllers: {family.help}",
    )
