"""Several nodes in one process on one database, for tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from leverframe.clock import SystemClock
from leverframe.config import Config
from leverframe.fleet.cluster.directory import Place
from leverframe.fleet.cluster.member import ClusterMember, NodeIdentity
from leverframe.fleet.cluster.opening import open_cluster
from leverframe.fleet.cluster.registry import ClusterRegistry
from leverframe.fleet.node import FleetNode, NewController
from leverframe.fleet.records import MemberRecord
from leverframe.fleet.serve import node_of
from leverframe.profile import Profile
from tests.hardware.waiting import until

PLACE = Place("", "127.0.0.1", 1)


class Cluster:
    """Nodes that can be added and ended; controllers are counted over all of them."""

    def __init__(self, database: str, folder: Path) -> None:
        self.database = database
        self._folder = folder
        self.members: dict[str, ClusterMember] = {}
        self.nodes: dict[str, FleetNode] = {}
        self._registries: dict[str, ClusterRegistry] = {}

    async def join(
        self, name: str, capacity: int = 1, live_state_every: int | None = None
    ) -> ClusterMember:
        identity = NodeIdentity(name, PLACE, capacity)
        opened = await open_cluster(self.database, identity, self._folder / "fleet.key")
        web = await node_of(
            Config(port=0),
            opened.lane,
            SystemClock(),
            registry=opened.registry,
            lease=opened.lease,
        )
        member = replace(opened, live_state_every=live_state_every).member(web.node)
        self.members[name], self.nodes[name] = member, web.node
        self._registries[name] = opened.registry
        await member.start()
        return member

    async def leave(self, name: str) -> None:
        await self.members.pop(name).leave()
        await self.nodes.pop(name).close()
        self._registries.pop(name).close()

    async def close(self) -> None:
        for name in tuple(self.members):
            await self.leave(name)

    def names(self, node: str) -> set[str]:
        return set(self.nodes[node].members)

    def counts(self) -> list[int]:
        return [len(node.members) for node in self.nodes.values()]

    async def settled(self, *counts: int) -> None:
        """Wait until the nodes have so many controllers, in the order in which they joined."""
        await until(lambda: self.counts() == list(counts))


def new(*names: str) -> list[NewController]:
    return [NewController(MemberRecord(name), Profile()) for name in names]


@asynccontextmanager
async def cluster_on(database: str, folder: Path) -> AsyncIterator[Cluster]:
    cluster = Cluster(database, folder)
    try:
        yield cluster
    finally:
        await cluster.close()
