"""The controllers of all nodes that a page of one node shows: each node sends its part of the view.

First every node sends the keys by which its controllers are ordered, then the rows of those that
are in view. Controllers whose node does not answer are shown as unknown, since a user who searches
for one must not think that it was removed. A node that was asked keeps watching its controllers for
a while, as it does for pages of its own; the next request then gets only the changes.
"""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leverframe.fleet.health_index import (
    HEALTHS,
    Health,
    HealthIndex,
    Wanted,
    natural,
    version_of,
)
from leverframe.fleet.node import FleetNode
from leverframe.fleet.operations.reports import NodeReport
from leverframe.fleet.other_nodes import (
    LocatedController,
    OtherNodes,
    answering,
    ask_node,
)
from leverframe.fleet.owners import DEADLINES, ask_nodes
from leverframe.fleet.page_stream import FleetRow, FleetView, ViewPlace, row_of
from leverframe.fleet.tenants import is_seen
from leverframe.storage.store import StoreUnavailable

#: How long a node keeps watching after it was asked.
LOOK_ON_S = 10.0

#: The health as a number or 0, the name or nothing, and the number of a controller.
Key = tuple[int, str, int]
#: As a health, before all others: the problems there are not known.
UNKNOWN = -1
#: In place of a node, if none answers.
NOBODY = ""


class KeysCall(Struct, frozen=True, forbid_unknown_fields=True):
    wanted: Wanted
    #: Number of tags that are enough.
    count: int
    #: The controllers that the node has, as far as the others know.
    expected: list[int] = []


class KeysPart(Struct, frozen=True, forbid_unknown_fields=True):
    counts: dict[Health, int]
    matching: int
    keys: list[Key]
    #: Expected controllers that are missing.
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
            placed.setdefault(where.node or NOBODY, []).append(where.number)
    calls = {one: KeysCall(wanted, end, placed.get(one, [])) for one in others.living()}
    parts: dict[str, KeysPart] = await _ask(node, others, "view.keys", calls, KeysPart)
    unknown = await _unknown(others, placed, parts)
    counts: dict[Health, int] = dict.fromkeys(HEALTHS, 0) | {"unknown": len(unknown)}
    for part in parts.values():
        for health, count in part.counts.items():
            counts[health] += count
    looked_for = {one.number: one for one in unknown if _is_wanted(one, wanted)}
    keys = [(key, one) for one, part in parts.items() for key in part.keys]
    keys += [(_key(one, wanted), NOBODY) for one in looked_for.values()]
    shown = sorted(keys)[place.first : end]
    found = {number: _unknown_row(node, one) for number, one in looked_for.items()}
    found |= await _rows(node, others, [(one, key[-1]) for key, one in shown if one != NOBODY])
    rows = [found[key[-1]] for key, _ in shown if key[-1] in found]
    matching = sum(part.matching for part in parts.values()) + len(looked_for)
    # Nodes were counted a moment ago, or not at all.
    about = replace(about, controllers=sum(counts.values()))
    changes = sum(part.changes for part in parts.values())
    return FleetView(about, counts, matching, [row.name for row in rows], rows, changes=changes)


async def _rows(
    node: FleetNode, others: OtherNodes, shown: list[tuple[str, int]]
) -> dict[int, FleetRow]:
    """Ask nodes for the rows of some of their controllers."""
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
    """Find the controllers whose node does not answer; moved ones are left out."""
    silent = {number for one, some in placed.items() if one not in parts for number in some}
    missing = {one: set(part.missing) for one, part in parts.items()}
    lost = silent.union(*missing.values())
    if not lost:
        return []
    # A controller that moved while the nodes were asked may have sent its key from its new place.
    lost -= {key[-1] for part in parts.values() for key in part.keys}
    found = await _locate(others, lost)
    return [one for one in found if one.number in missing.get(one.node or NOBODY, lost)]


async def _locate(others: OtherNodes, numbers: Collection[int]) -> list[LocatedController]:
    """Look up controllers, without removed ones; by the last look if necessary."""
    try:
        return await others.locate(numbers)
    except StoreUnavailable:
        return [one for one in others.last_known() if one.number in numbers]


def _is_wanted(controller: LocatedController, wanted: Wanted) -> bool:
    record = controller.record
    known = "\n".join((record.name, record.address or "", *record.tags, record.tenant)).lower()
    return (
        wanted.health in (None, "unknown")
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
        node=controller.node or NOBODY,
    )


async def _ask(
    node: FleetNode, others: OtherNodes, what: str, calls: Mapping[str, Any], kind: Any
) -> dict[str, Any]:
    """Ask nodes together; leave out silent ones."""

    async def ask(name: str) -> Any:
        seconds = DEADLINES["view"].answer_s
        return await ask_node(others, node.calls, name, what, calls[name], kind, seconds)

    return (await ask_nodes(calls, ask))[0]


class ViewParts:
    """The part of this node."""

    def __init__(self, node: FleetNode, index: HealthIndex) -> None:
        self._node = node
        self._index = index
        #: The task that keeps watching.
        self._timer: asyncio.TimerHandle | None = None
        node.calls |= {
            "view.keys": answering(KeysCall, self._keys),
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
        """Stop watching until a node asks again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._index.unwatch(self._ignore)

    def _ignore(self) -> None:
        """Ignore a change: nodes ask again in any case."""
