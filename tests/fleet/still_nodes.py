"""Nodes that a page shows without a database: they stay as a test sets them.

This one is `north` and has all controllers but those that a test places elsewhere; the other one
is silent, and only listed.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from leverframe.devices.wire.prometheus import Family
from leverframe.fleet.node import FleetNode
from leverframe.fleet.other_nodes import (
    ClusterReport,
    DatabaseReport,
    LocatedController,
    PeerReport,
    SilentNode,
)
from leverframe.storage.store import StoreUnavailable

NORTH, SOUTH = "north", "south"


def peer(name: str, controllers: int = 2) -> PeerReport:
    return PeerReport(
        name,
        is_alive=True,
        inner=f"10.0.0.{5 + len(name)}:8070",
        capacity=1,
        controllers=controllers,
        epoch=1,
        is_this=name == NORTH,
        is_drained=False,
        batch=417,
        version="0.2.0",
    )


class StillNodes:
    name = NORTH

    def __init__(self, node: FleetNode) -> None:
        self._node = node
        self.nodes = {name: peer(name) for name in (NORTH, SOUTH)}
        self.free = 0
        self.is_in_doubt = False
        self.database = DatabaseReport(server="15.8", schema=6, standby="db2", standbys=1)
        #: What this node does not have.
        self.elsewhere: list[LocatedController] = []
        #: Where these have moved to since then, by the database; None while that is away.
        self.moved: list[LocatedController] | None = []
        #: The requested moves: controllers, and their node.
        self.moves: list[tuple[list[str], str | None]] = []

    def living(self) -> list[str]:
        return [NORTH]

    def why_not(self) -> str | None:
        return None

    def name_of(self, number: int, tenant: str) -> str | None:
        return next((one.name for one in self._node.by_number({number})), None)

    def last_known(self) -> list[LocatedController]:
        members = self._node.members.values()
        return [
            *(LocatedController(one.number, NORTH, one.record) for one in members),
            *self.elsewhere,
        ]

    async def locate(self, numbers: Collection[int] | None = None) -> list[LocatedController]:
        if self.moved is None:
            raise StoreUnavailable("The database is away.")
        found = {one.number: one for one in (*self.last_known(), *self.moved)}
        return [one for one in found.values() if numbers is None or one.number in numbers]

    async def holder_of(self, job: str) -> str | None:
        return NORTH

    async def ask(self, node: str, what: str, content: bytes, seconds: float) -> bytes:
        raise SilentNode(node)

    async def news(self, seconds: float) -> None:
        await asyncio.sleep(0)

    async def move(self, names: Sequence[str], to: str | None) -> None:
        self.moves.append((list(names), to))

    async def start_now(self, numbers: Collection[int]) -> dict[int, str]:
        return await self._node.start_some(list(numbers))

    async def drain(self, name: str, *, undo: bool) -> None:
        self.set(name, capacity=int(undo), is_drained=not undo)

    async def forget(self, name: str) -> None:
        del self.nodes[name]

    def set(self, name: str, **what: object) -> None:
        self.nodes[name] = replace(self.nodes[name], **what)

    def report(self) -> ClusterReport:
        nodes = list(self.nodes.values())
        return ClusterReport(nodes, self.free, 2.5, self.is_in_doubt, 417, self.database)

    def families(self) -> Iterable[Family]:
        return ()
