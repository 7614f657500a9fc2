"""Several nodes in one process on one database, for tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from unittest.mock import patch

from msgspec.structs import replace

import leverframe.fleet.cluster.member
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.database_setup import NodeIdentity, open_cluster
from leverframe.fleet.cluster.directory import Place
from leverframe.fleet.cluster.inner_port import FleetDoor
from leverframe.fleet.cluster.member import ClusterMember
from leverframe.fleet.cluster.registry import ClusterRegistry
from leverframe.fleet.member import Member, NewController
from leverframe.fleet.node import FleetNode
from leverframe.fleet.records import MemberRecord
from leverframe.fleet.serve import node_of
from leverframe.host.configuration import Config
from leverframe.storage.encryption import KeyFile
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.lanes.postgres_schema import open_database
from leverframe.storage.store import StoreUnavailable
from tests.devices.waiting import until
from tests.fleet.loop_node import LoopNode

HOME = "127.0.0.1"
PLACE = Place("", HOME, 1)


class Cluster:
    """Nodes that can be added and ended; controllers are counted over all of them."""

    def __init__(self, database: str, folder: Path) -> None:
        self.database = database
        self._folder = folder
        self.members: dict[str, ClusterMember] = {}
        self.nodes: dict[str, FleetNode] = {}
        self._registries: dict[str, ClusterRegistry] = {}
        #: The same nodes, for requests to their API.
        self.asked: dict[str, LoopNode] = {}
        self._doors: dict[str, FleetDoor] = {}

    async def join(
        self, name: str, capacity: int = 1, live_state_every: int | None = None
    ) -> ClusterMember:
        key_path = self._folder / "fleet.key"
        identity = NodeIdentity(name, PLACE, capacity)
        cluster = await open_cluster(self.database, identity, key_path)
        web = await node_of(
            # Brokers of tests run on this machine.
            Config(port=0, allow_local_targets=True),
            cluster.lane,
            SystemClock(),
            history=cluster.history(Bounds()),
            registry=cluster.registry,
            lease=cluster.lease,
        )
        door = FleetDoor(web.node.door, cluster.directory, KeyFile(key_path).key())
        await door.inner.listen(HOME, 0)
        identity = replace(identity, place=Place(name, HOME, door.inner.port))
        cluster = replace(cluster, identity=identity, live_state_every=live_state_every)
        member = ClusterMember(cluster, web.node, door.caller)
        web.node.cluster = member
        self.members[name], self.nodes[name] = member, web.node
        self._registries[name] = cluster.registry
        self.asked[name], self._doors[name] = LoopNode(web), door
        await member.start()
        door.inner.answer = member.answer
        return member

    async def leave(self, name: str) -> None:
        await self.asked.pop(name).web.jobs.close()
        await self.members.pop(name).leave()
        await self._doors.pop(name).inner.close()
        await self.nodes.pop(name).close()
        self._registries.pop(name).close()

    async def declare_dead(self, name: str) -> None:
        """End the life of a node in the database, whether it is dead or not."""
        await asyncio.to_thread(_declare_dead, self.database, name)

    async def kill(self, name: str) -> None:
        """Stop a node abruptly, and declare it dead."""
        member = self.members.pop(name)
        web = self.asked.pop(name).web
        for task in (*member._tasks, *(job._task for job in web.jobs.all())):
            if task is not None:
                task.cancel()
        await self._doors.pop(name).inner.close()
        await self.declare_dead(name)
        # The remains are fenced and can write nothing; clear them away.
        await web.jobs.lose_all()
        member.lease.ended = "It is dead."
        await member.leave()
        with suppress(StoreUnavailable):
            await self.nodes.pop(name).close()
        self._registries.pop(name).close()

    async def close(self) -> None:
        for name in tuple(self.members):
            await self.leave(name)

    def member(self, name: str) -> Member:
        """Find a controller wherever it runs."""
        return next(one.members[name] for one in self.nodes.values() if name in one.members)

    async def add(self, node: str, *names: str, tags: tuple[str, ...] = ()) -> None:
        """Add controllers at a node, and wait until they are shared out evenly."""
        await self.nodes[node].add(
            [NewController(MemberRecord(name, tags), Profile()) for name in names]
        )
        count, nodes = sum(self.counts()), len(self.nodes)
        await until(
            lambda: max(self.counts()) <= -(-count // nodes) and sum(self.counts()) == count
        )

    def names(self, node: str) -> set[str]:
        return set(self.nodes[node].members)

    def counts(self) -> list[int]:
        return [len(node.members) for node in self.nodes.values()]

    async def wait_for_counts(self, *counts: int) -> None:
        """Wait until the nodes have these numbers of controllers, in the order of joining."""
        await until(lambda: self.counts() == list(counts))


def new(*names: str) -> list[NewController]:
    return [NewController(MemberRecord(name), Profile()) for name in names]


def _declare_dead(database: str, name: str) -> None:
    with open_database(database) as connection:
        seen = next(one for one in membership.read_nodes(connection) if one.name == name)
        while not membership.declare_dead(connection, seen):
            seen = next(one for one in membership.read_nodes(connection) if one.name == name)


@asynccontextmanager
async def cluster_on(database: str, folder: Path) -> AsyncIterator[Cluster]:
    """Run nodes that look at the database more often than others do."""
    cluster = Cluster(database, folder)
    try:
        with patch.object(leverframe.fleet.cluster.member, "BEAT_S", 0.05):
            yield cluster
            await cluster.close()
    finally:
        await cluster.close()
