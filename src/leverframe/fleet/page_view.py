"""The view of all nodes' controllers that a node's page shows, streamed as server-sent events."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Mapping
from time import thread_time
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.core.labels import OUTPUTS
from leverframe.core.recent import count_recent
from leverframe.fleet.finding_groups import (
    REPORTED,
    FindingGroup,
    merge_groups,
    select_shared,
)
from leverframe.fleet.health_index import (
    ASKED_AGAIN,
    HEALTHS,
    Health,
    HealthIndex,
    Wanted,
    natural,
    version_of,
)
from leverframe.fleet.jobs.job_state import JobReport
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.operations.nodes import NodeReport
from leverframe.fleet.other_nodes import (
    ClusterReport,
    LocatedController,
    OtherNodes,
    answering,
    ask_node,
)
from leverframe.fleet.owners import DEADLINES, ask_nodes
from leverframe.fleet.records import is_seen
from leverframe.host.controller.findings import FindingReport
from leverframe.server.routes.state import HEARTBEAT_S, heartbeat, message, within
from leverframe.storage.store import StoreUnavailable

# `/api/fleet/stream`: the controllers that a page shows, as server-sent events.
#
# The first event is a complete `view`. Then `change` events contain the differences: rows of
# controllers in view, their order, the sums over all, the nodes and the roll-outs, and a mark for
# new changes by users. A page that scrolls opens another stream. So the cost of a stream depends on
# the rows in view, not on the number of controllers.

#: Minimum interval between two messages, and the maximum share of time spent on building views.
GATHER_S = 0.5
MAX_SHARE = 0.03
#: Interval between looks at several nodes, and at a roll-out that is running.
FLEET_LOOK_S = 1.0
MAX_ROWS = 200
USUAL_ROWS = 50


class FleetRow(Struct, frozen=True, forbid_unknown_fields=True):
    """A controller as a row of a list."""

    name: str
    url: Annotated[str, Meta(description="The URL of the pages and commands of the controller.")]
    address: str | None
    port: int | None
    hw: str
    sw: str
    tags: tuple[str, ...]
    tenant: Annotated[
        str, Meta(description="The tenant of the controller; empty for the operator.")
    ]
    health: Health
    findings: Annotated[int, Meta(description="Number of findings.")]
    worst: FindingReport | None
    about: Annotated[str | None, Meta(description="The subject of the worst finding.")]
    levers: Annotated[list[int | None], Meta(description="The outputs: 1 on, 0 off.")]
    happened: Annotated[
        list[int],
        Meta(
            description="Number of journal entries in the last hour, by intervals of two minutes."
        ),
    ]
    node: Annotated[
        str,
        Meta(
            description=(
                "The node that runs the controller, if there are several nodes; empty if no node"
                " runs it at present."
            )
        ),
    ] = ""


class FleetView(Struct, frozen=True):
    """The complete contents of a page."""

    node: NodeReport
    counts: dict[Health, int]
    matching: Annotated[int, Meta(description="Number of matching controllers.")]
    order: Annotated[list[str], Meta(description="Names of the controllers in view.")]
    rows: list[FleetRow]
    rollouts: Annotated[list[JobReport], Meta(description="Newest first.")] = []
    cluster: Annotated[
        ClusterReport | None, Meta(description="Nodes and database, if there are several nodes.")
    ] = None
    changes: Annotated[
        int,
        Meta(
            description="Revision number; it changes whenever `/api/fleet/changes` has "
            "something new."
        ),
    ] = 0
    groups: Annotated[
        list[FindingGroup], Meta(description="Findings that several controllers have, worst first.")
    ] = []


class NodeSummary(Struct, frozen=True):
    """The contents of a page apart from its controllers."""

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
        len(known.findings),
        known.worst,
        known.about,
        [values[label] for label in OUTPUTS],  # type: ignore[misc]
        count_recent(controller.engine.machine.journal.moments(), controller.clock.wall()),
        "" if node.cluster is None else node.cluster.name,
    )


async def fleet_stream(
    look: Callable[[], Coroutine[Any, Any, FleetView]], is_still_admitted: Callable[[], bool]
) -> AsyncGenerator[bytes, None]:
    """Yield the view of several nodes for a page; the nodes are asked at intervals."""
    last = await look()
    yield message("view", last)
    clock = asyncio.get_running_loop().time
    said = clock()
    while True:
        await asyncio.sleep(FLEET_LOOK_S)
        if not is_still_admitted():
            return
        # A node that does not answer delays this by the deadline of the call.
        new = await look()
        if difference := _difference(last, new):
            yield message("change", difference)
            said = clock()
        elif clock() >= said + HEARTBEAT_S:
            yield heartbeat()
            said = clock()
        last = new


async def view_stream(
    node: FleetNode,
    index: HealthIndex,
    place: ViewPlace,
    report: Callable[[], NodeSummary],
    is_still_admitted: Callable[[], bool],
) -> AsyncGenerator[bytes, None]:
    """Yield the view for a page, as long as it listens; `report` returns the rest of the page."""
    changed = asyncio.Event()
    with index.watching(changed.set, place.wanted.tenant):
        await index.look()
        last, took_s = await _look(node, index, place, report)
        yield message("view", last)
        clock = asyncio.get_running_loop().time
        said = clock()
        while True:
            # Heartbeats are due even while only controllers out of view, or of other tenants,
            # change.
            pause = max(0.0, said + HEARTBEAT_S - clock())
            is_under_way = any("stop" in one.can for one in last.rollouts)
            is_under_way |= last.node.starting is not None
            await within(changed, min(pause, FLEET_LOOK_S) if is_under_way else pause)
            if clock() >= said + HEARTBEAT_S:
                yield heartbeat()
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
    # With thousands of controllers, each of the two steps takes a while.
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
    groups = select_shared(index.finding_groups(place.wanted.tenant))
    return FleetView(
        *(about.node, counts, len(matching), names, rows, about.rollouts),
        changes=changes,
        groups=groups,
    )


def _difference(last: FleetView, new: FleetView) -> dict[str, Any]:
    """Return the changed fields of a view, with the changed rows."""
    known = {row.name: row for row in last.rows}
    difference: dict[str, Any] = {
        name: getattr(new, name)
        for name in ("counts", "matching", "order", "rollouts", "cluster", "changes", "groups")
        if getattr(new, name) != getattr(last, name)
    }
    if rows := [row for row in new.rows if known.get(row.name) != row]:
        difference["rows"] = rows
    # In real time, the passing of time at the node is not a change.
    of_before = last.node if new.node.virtual else replace(last.node, time=new.node.time)
    if new.node != of_before:
        difference["node"] = new.node
    return difference


# A page of one node shows the controllers of all nodes: each node sends its part of the view.
#
# Every node first sends the sort keys of its controllers, and then the rows of those in view.
# Controllers whose node does not answer are shown as unknown, so that a user who searches for such
# a controller does not think that it was removed. A node that was asked keeps watching its
# controllers for a while, as it does for its own pages; the next request then reads only the
# changes.

#: How long a node keeps watching after the last request.
LOOK_ON_S = 10.0

#: The sort key of a controller: its health as a number (or 0), its name (or ""), and its number.
Key = tuple[int, str, int]
#: The health rank if the problems are unknown; it sorts before all others.
UNKNOWN = -1
#: Used in place of the name of a node, for controllers for which no node answers.
NO_NODE = ""


class KeysCall(Struct, frozen=True, forbid_unknown_fields=True):
    wanted: Wanted
    #: Maximum number of keys to return.
    count: int
    #: The controllers that the node should have, as far as the asking node knows.
    expected: list[int] = []


class GroupsCall(Struct, frozen=True, forbid_unknown_fields=True):
    tenant: str | None


class KeysPart(Struct, frozen=True, forbid_unknown_fields=True):
    counts: dict[Health, int]
    matching: int
    keys: list[Key]
    #: Expected controllers that the node does not have.
    missing: list[int] = []
    # Nodes of older versions do not report it.
    changes: int = 0


async def view_of_all(
    node: FleetNode, others: OtherNodes, place: ViewPlace, about: NodeReport
) -> FleetView:
    """Return the view of all nodes."""
    end, wanted = place.first + place.count, place.wanted
    placed: dict[str, list[int]] = {}
    for where in others.last_known():
        if is_seen(wanted.tenant, where.record.tenant):
            placed.setdefault(where.node or NO_NODE, []).append(where.number)
    calls = {one: KeysCall(wanted, end, placed.get(one, [])) for one in others.living()}
    parts: dict[str, KeysPart] = await _ask(node, others, "view.keys", calls, KeysPart)
    unknown = await _unknown(others, placed, parts)
    counts: dict[Health, int] = dict.fromkeys(HEALTHS, 0) | {"unknown": len(unknown)}
    for part in parts.values():
        for health, count in part.counts.items():
            counts[health] += count
    looked_for = {one.number: one for one in unknown if _is_wanted(one, wanted)}
    keys = [(key, one) for one, part in parts.items() for key in part.keys]
    keys += [(_key(one, wanted), NO_NODE) for one in looked_for.values()]
    shown = sorted(keys)[place.first : end]
    found = {number: _unknown_row(node, one) for number, one in looked_for.items()}
    found |= await _rows(node, others, [(one, key[-1]) for key, one in shown if one != NO_NODE])
    rows = [found[key[-1]] for key, _ in shown if key[-1] in found]
    matching = sum(part.matching for part in parts.values()) + len(looked_for)
    # Use the counts of this view: the overview may be older.
    about = replace(about, controllers=sum(counts.values()))
    changes = sum(part.changes for part in parts.values())
    groups = await _groups(node, others, wanted.tenant)
    names = [row.name for row in rows]
    return FleetView(about, counts, matching, names, rows, changes=changes, groups=groups)


async def _groups(node: FleetNode, others: OtherNodes, tenant: str | None) -> list[FindingGroup]:
    """Ask nodes for the findings that their controllers share; older versions do not know them."""
    calls = dict.fromkeys(others.living(), GroupsCall(tenant))
    found = await _ask(node, others, "view.findings", calls, list[FindingGroup])
    return select_shared(merge_groups(one for part in found.values() for one in part))


async def _rows(
    node: FleetNode, others: OtherNodes, shown: list[tuple[str, int]]
) -> dict[int, FleetRow]:
    """Ask nodes for the rows of these controllers."""
    numbers: dict[str, list[int]] = {}
    for one, number in shown:
        numbers.setdefault(one, []).append(number)
    found: dict[int, FleetRow] = {}
    for rows in (await _ask(node, others, "view.rows", numbers, dict[int, FleetRow])).values():
        found |= rows
    return found


async def _unknown(
    others: OtherNodes, placed: Mapping[str, list[int]], parts: Mapping[str, KeysPart]
) -> list[LocatedController]:
    """Find the controllers whose node does not answer, without those that moved."""
    silent = {number for one, some in placed.items() if one not in parts for number in some}
    missing = {one: set(part.missing) for one, part in parts.items()}
    lost = silent.union(*missing.values())
    if not lost:
        return []
    # A controller that moved while the nodes were asked may already be in the view.
    lost -= {key[-1] for part in parts.values() for key in part.keys}
    found = await _locate(others, lost)
    return [one for one in found if one.number in missing.get(one.node or NO_NODE, lost)]


async def _locate(others: OtherNodes, numbers: Collection[int]) -> list[LocatedController]:
    """Look up controllers, omitting removed ones; if the database fails, as of the last look."""
    try:
        return await others.locate(numbers)
    except StoreUnavailable:
        return [one for one in others.last_known() if one.number in numbers]


def _is_wanted(controller: LocatedController, wanted: Wanted) -> bool:
    record = controller.record
    known = "\n".join((record.name, record.address or "", *record.tags, record.tenant)).lower()
    return (
        wanted.health in (None, "unknown")
        and wanted.finding is None
        and wanted.is_of(record.tenant, version_of(record.hw or "", record.sw or ""), record.tags)
        and all(word in known for word in wanted.search.lower().split())
    )


def _key(controller: LocatedController, wanted: Wanted) -> Key:
    if wanted.order == "name":
        return 0, natural(controller.name), controller.number
    return UNKNOWN, "", controller.number


def _unknown_row(node: FleetNode, controller: LocatedController) -> FleetRow:
    record = controller.record
    return FleetRow(
        *(record.name, node.door.url_of(record.name), record.address, record.port),
        *(record.hw or "", record.sw or "", record.tags, record.tenant),
        health="unknown",
        findings=0,
        worst=None,
        about=None,
        levers=[],
        happened=[],
        node=controller.node or NO_NODE,
    )


async def _ask(
    node: FleetNode, others: OtherNodes, what: str, calls: Mapping[str, Any], kind: Any
) -> dict[str, Any]:
    """Ask nodes together; omit silent ones."""

    async def ask(name: str) -> Any:
        seconds = DEADLINES["view"].answer_s
        return await ask_node(others, node.calls, name, what, calls[name], kind, seconds)

    return (await ask_nodes(calls, ask))[0]


class ViewParts:
    """Answers other nodes with this node's part of the view."""

    def __init__(self, node: FleetNode, index: HealthIndex) -> None:
        self._node = node
        self._index = index
        #: The timer that ends the watching.
        self._timer: asyncio.TimerHandle | None = None
        node.calls |= {
            "view.keys": answering(KeysCall, self._keys),
            "view.findings": answering(GroupsCall, self._groups),
            "view.rows": answering(set[int], self._rows),
        }

    async def _keys(self, call: KeysCall) -> KeysPart:
        self._watch()
        await self._index.look()
        matching = self._index.matching(call.wanted)
        is_by_name = call.wanted.order == "name"
        keys = [
            (0, natural(one.name), one.number)
            if is_by_name
            else (HEALTHS.index(self._index.of(one).health), "", one.number)
            for one in matching[: call.count]
        ]
        here = {member.number for member in self._node.members.values()}
        missing = [number for number in call.expected if number not in here]
        tenant = call.wanted.tenant
        counts, changes = self._index.counts(tenant), self._index.changes(tenant)
        return KeysPart(counts, len(matching), keys, missing, changes)

    async def _groups(self, call: GroupsCall) -> list[FindingGroup]:
        # No new look is needed: the index was updated just before, for the keys of the same view.
        return self._index.finding_groups(call.tenant)[:REPORTED]

    async def _rows(self, numbers: set[int]) -> dict[int, FleetRow]:
        members = self._node.by_number(numbers)
        return {one.number: row_of(self._node, self._index, one) for one in members}

    def _watch(self) -> None:
        if self._timer is None:
            self._index.watch(self._ignore)
        else:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(LOOK_ON_S, self.close)

    def close(self) -> None:
        """Stop watching; the next request of a node starts it again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._index.unwatch(self._ignore)

    def _ignore(self) -> None:
        """Ignore a change: nodes ask again in any case."""
