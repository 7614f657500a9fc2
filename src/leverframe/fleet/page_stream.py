"""`/api/fleet/stream`: the controllers that a page shows, as server-sent events.

First a whole `view`, then `change` events with the differences: rows of controllers in view, their
order, the sums over all, the nodes and the roll-outs, and a mark for new changes by users. A page
that scrolls opens another stream. So a stream costs what is in view, however many controllers there
are.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from time import thread_time
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.controller.findings import FindingReport
from leverframe.engine.journal import Journal
from leverframe.engine.labels import OUTPUTS
from leverframe.fleet.health_index import ASKED_AGAIN, Health, HealthIndex, Wanted
from leverframe.fleet.jobs.job_state import JobReport
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.operations.reports import NodeReport
from leverframe.fleet.other_nodes import ClusterReport
from leverframe.servers.routes.stream import STILL_HERE_S, message, within

#: Minimum of seconds between two messages, and the share of time that building views may take.
GATHER_S = 0.5
MAX_SHARE = 0.03
#: Seconds between two looks at several nodes, and at a roll-out that is under way.
FLEET_LOOK_S = 1.0
STILL_HERE = b": still here\n\n"
MAX_ROWS = 200
USUAL_ROWS = 50
#: The chart of recent activity: number of bars, and seconds of each.
BARS = 30
BAR_S = 120.0


class FleetRow(Struct, frozen=True, forbid_unknown_fields=True):
    """A controller as it stands in a list."""

    name: str
    url: Annotated[str, Meta(description="The URL of its pages and commands.")]
    address: str | None
    port: int | None
    hw: str
    sw: str
    tags: tuple[str, ...]
    tenant: Annotated[str, Meta(description="Its tenant; empty for the operator.")]
    health: Health
    findings: Annotated[int, Meta(description="Number of findings.")]
    worst: FindingReport | None
    about: Annotated[str | None, Meta(description="The subject of the worst finding.")]
    levers: Annotated[list[int | None], Meta(description="Its outputs: 1 on, 0 off.")]
    happened: Annotated[
        list[int],
        Meta(description="Journal entries of the last hour, in bars of two minutes."),
    ]
    node: Annotated[
        str,
        Meta(
            description=(
                "The node that has it, if there are several; empty if none has it at present."
            )
        ),
    ] = ""


class FleetView(Struct, frozen=True):
    """The whole contents of a page."""

    node: NodeReport
    counts: dict[Health, int]
    matching: Annotated[int, Meta(description="Number of matching controllers.")]
    order: Annotated[list[str], Meta(description="The names of those in view.")]
    rows: list[FleetRow]
    rollouts: Annotated[list[JobReport], Meta(description="Newest first.")] = []
    cluster: Annotated[
        ClusterReport | None, Meta(description="Nodes and database, if there are several nodes.")
    ] = None
    changes: Annotated[
        int, Meta(description="A number that differs when `/api/fleet/changes` has something new.")
    ] = 0


class NodeSummary(Struct, frozen=True):
    """The contents of a page besides the controllers of a node."""

    node: NodeReport
    rollouts: list[JobReport]


class ViewPlace(Struct, frozen=True):
    """Which part of the list is in view."""

    wanted: Wanted
    first: int = 0
    count: int = USUAL_ROWS


def row_of(node: FleetNode, index: HealthIndex, member: Member) -> FleetRow:
    controller, record, known = member.controller, member.record, index.of(member)
    values = controller.engine.values
    return FleetRow(
        record.name,
        node.door.url_of(record.name),
        record.address,
        record.port,
        controller.profile.hw,
        controller.profile.sw,
        record.tags,
        record.tenant,
        known.health,
        known.findings,
        known.worst,
        known.about,
        [values[label] for label in OUTPUTS],  # type: ignore[misc]
        count_entries(controller.engine.machine.journal, controller.clock.wall()),
        "" if node.cluster is None else node.cluster.name,
    )


def count_entries(journal: Journal, now: float) -> list[int]:
    """Count the entries of the last hour, in bars, oldest first."""
    bars, newest = [0] * BARS, int(now // BAR_S)
    for wall in journal.moments():
        age = max(0, newest - int(wall // BAR_S))
        if age >= BARS:
            break
        bars[BARS - 1 - age] += 1
    return bars


async def fleet_stream(
    look: Callable[[], Coroutine[Any, Any, FleetView]], is_still_admitted: Callable[[], bool]
) -> AsyncGenerator[bytes, None]:
    """Yield the view of several nodes to a page, each asked at intervals."""
    last = await look()
    yield message("view", last)
    idle_s = 0.0
    while True:
        await asyncio.sleep(FLEET_LOOK_S)
        if not is_still_admitted():
            return
        new = await look()
        idle_s += FLEET_LOOK_S
        if difference := _difference(last, new):
            yield message("change", difference)
            idle_s = 0.0
        elif idle_s >= STILL_HERE_S:
            yield STILL_HERE
            idle_s = 0.0
        last = new


async def view_stream(
    node: FleetNode,
    index: HealthIndex,
    place: ViewPlace,
    report: Callable[[], NodeSummary],
    is_still_admitted: Callable[[], bool],
) -> AsyncGenerator[bytes, None]:
    """Yield the view to a page, as long as it listens; `report` gives its other contents."""
    changed = asyncio.Event()
    with index.watching(changed.set, place.wanted.tenant):
        await index.look()
        last, took_s = await _look(node, index, place, report)
        yield message("view", last)
        clock = asyncio.get_running_loop().time
        said = clock()
        while True:
            # Also while much happens that is not in view, or in another tenant.
            pause = max(0.0, said + STILL_HERE_S - clock())
            is_under_way = any("stop" in one.can for one in last.rollouts)
            is_under_way |= last.node.starting is not None
            await within(changed, min(pause, FLEET_LOOK_S) if is_under_way else pause)
            if clock() >= said + STILL_HERE_S:
                yield STILL_HERE
                said = clock()
            await asyncio.sleep(max(GATHER_S, took_s / MAX_SHARE))
            if not is_still_admitted():
                return
            changed.clear()
            in_view = [node.members[name].number for name in last.order if name in node.members]
            if await index.look(in_view, at_most=ASKED_AGAIN):
                changed.set()
            new, took_s = await _look(node, index, place, report)
            if difference := _difference(last, new):
                yield message("change", difference)
                said = clock()
            last = new


async def _look(
    node: FleetNode, index: HealthIndex, place: ViewPlace, report: Callable[[], NodeSummary]
) -> tuple[FleetView, float]:
    """Return the view, and how long building it took."""
    begun = thread_time()
    about = report()
    took_s = thread_time() - begun
    # With thousands of controllers each of the two takes a while.
    await asyncio.sleep(0)
    begun = thread_time()
    view = _view(node, index, place, about)
    return view, took_s + thread_time() - begun


def _view(node: FleetNode, index: HealthIndex, place: ViewPlace, about: NodeSummary) -> FleetView:
    matching = index.matching(place.wanted)
    shown = matching[place.first : place.first + place.count]
    rows = [row_of(node, index, member) for member in shown]
    counts = index.counts(place.wanted.tenant)
    names = [row.name for row in rows]
    changes = index.changes(place.wanted.tenant)
    return FleetView(
        about.node, counts, len(matching), names, rows, about.rollouts, changes=changes
    )


def _difference(last: FleetView, new: FleetView) -> dict[str, Any]:
    """Return the changed fields of a view, with the changed rows."""
    known = {row.name: row for row in last.rows}
    difference: dict[str, Any] = {
        name: getattr(new, name)
        for name in ("counts", "matching", "order", "rollouts", "cluster", "changes")
        if getattr(new, name) != getattr(last, name)
    }
    if rows := [row for row in new.rows if known.get(row.name) != row]:
        difference["rows"] = rows
    # The mere passing of time is no change.
    of_before = last.node if new.node.virtual else replace(last.node, time=new.node.time)
    if new.node != of_before:
        difference["node"] = new.node
    return difference
