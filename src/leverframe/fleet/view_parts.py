"""What a page of one node shows of the controllers of all: each node gives its part of the view.

First every node tells the keys by which its controllers are ordered, then the rows of those that
are in view. A node that was asked goes on looking at its controllers for a while, as it does for
pages of its own: who asks again gets what has changed.
"""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack

import msgspec
from msgspec import Struct

from leverframe.fleet.api.reading import NodeReport
from leverframe.fleet.health_index import HEALTHS, Health, HealthIndex, Wanted, natural
from leverframe.fleet.node import FleetNode
from leverframe.fleet.other_nodes import OtherNodes, SilentNode
from leverframe.fleet.page_stream import FleetRow, FleetView, ViewPlace, row_of

#: How long a node may take, and how long it goes on looking after it was asked.
ASK_S = 3.0
LOOK_ON_S = 10.0

#: The health as a number or 0, the name or nothing, and the number of a controller.
Key = tuple[int, str, int]


class KeysCall(Struct, frozen=True):
    wanted: Wanted
    #: So many are enough.
    count: int


class KeysPart(Struct, frozen=True):
    counts: dict[Health, int]
    matching: int
    keys: list[Key]


async def view_of_all(
    node: FleetNode, others: OtherNodes, place: ViewPlace, about: NodeReport
) -> FleetView:
    """Return what is in view of all nodes; those that do not answer are left out."""
    end = place.first + place.count
    call = msgspec.msgpack.encode(KeysCall(place.wanted, end))
    told = await _asked(node, others, "view.keys", dict.fromkeys(others.living(), call))
    parts = {one: msgspec.msgpack.decode(answer, type=KeysPart) for one, answer in told.items()}
    counts: dict[Health, int] = dict.fromkeys(HEALTHS, 0)
    for part in parts.values():
        for health, count in part.counts.items():
            counts[health] += count
    keys = sorted((key, one) for one, part in parts.items() for key in part.keys)
    shown = keys[place.first : end]
    numbers: dict[str, list[int]] = {}
    for key, one in shown:
        numbers.setdefault(one, []).append(key[-1])
    calls = {one: msgspec.msgpack.encode(some) for one, some in numbers.items()}
    found: dict[int, FleetRow] = {}
    for answer in (await _asked(node, others, "view.rows", calls)).values():
        found |= msgspec.msgpack.decode(answer, type=dict[int, FleetRow])
    rows = [found[key[-1]] for key, _ in shown if key[-1] in found]
    matching = sum(part.matching for part in parts.values())
    return FleetView(about, counts, matching, [row.name for row in rows], rows)


async def _asked(
    node: FleetNode, others: OtherNodes, what: str, calls: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Ask nodes at once; leave out those that do not answer."""

    async def ask(name: str, content: bytes) -> bytes | None:
        if name == others.name:
            return await node.calls[what](content)
        try:
            return await others.ask(name, what, content, ASK_S)
        except SilentNode:
            return None

    told = await asyncio.gather(*(ask(name, content) for name, content in calls.items()))
    return {name: answer for name, answer in zip(calls, told, strict=True) if answer is not None}


class ViewParts:
    """The part of this node."""

    def __init__(self, node: FleetNode, index: HealthIndex) -> None:
        self._node = node
        self._index = index
        self._looking: ExitStack | None = None
        self._timer: asyncio.TimerHandle | None = None
        node.calls |= {"view.keys": self._asked_for_keys, "view.rows": self._asked_for_rows}

    async def _asked_for_keys(self, content: bytes) -> bytes:
        call = msgspec.msgpack.decode(content, type=KeysCall)
        self._look_on()
        await self._index.look()
        matching = self._index.matching(call.wanted)
        is_by_name = call.wanted.order == "name"
        keys = [
            (0, natural(one.name), one.number)
            if is_by_name
            else (HEALTHS.index(self._index.of(one).health), "", one.number)
            for one in matching[: call.count]
        ]
        return msgspec.msgpack.encode(
            KeysPart(self._index.counts(call.wanted.tenant), len(matching), keys)
        )

    async def _asked_for_rows(self, content: bytes) -> bytes:
        numbers = msgspec.msgpack.decode(content, type=set[int])
        members = self._node.by_number(numbers)
        rows = {one.number: row_of(self._node, self._index, one) for one in members}
        return msgspec.msgpack.encode(rows)

    def _look_on(self) -> None:
        if self._looking is None:
            self._looking = ExitStack()
            self._looking.enter_context(self._index.looking(lambda: None))
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(LOOK_ON_S, self._look_no_more)

    def _look_no_more(self) -> None:
        assert self._looking is not None
        self._looking.close()
        self._looking = self._timer = None
