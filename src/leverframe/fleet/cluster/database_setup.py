"""The start of a node's life: its identity, and its registration in the database."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from leverframe.core.errors import ErrorForPeople
from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.directory import Directory, Place
from leverframe.fleet.cluster.lease import BEAT_S, LEASE_S, NodeLease, SeenNode
from leverframe.fleet.cluster.registry import ClusterRegistry
from leverframe.fleet.fleet_file import ClusterTable
from leverframe.storage.encryption import KeyFile
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.lanes.node_folder import FleetFolder
from leverframe.storage.lanes.postgres_connection import Connection
from leverframe.storage.lanes.postgres_history import DatabaseHistory
from leverframe.storage.lanes.postgres_lane import Claim, PostgresLane
from leverframe.storage.lanes.postgres_schema import check_key, check_tables, open_database


class NameTaken(ErrorForPeople):
    """Another node with this name is alive."""


class NodeIdentity(Struct, frozen=True):
    """The name of a node, its inner address, and its capacity relative to the other nodes."""

    name: str
    place: Place
    capacity: int = 1

    @property
    def address(self) -> str:
        return f"{self.place.host}:{self.place.port}"


def begin_life(connection: Connection, identity: NodeIdentity) -> Claim:
    """Register a node; raise NameTaken if another node with its name is alive.

    A killed node has no session, or its counter stands still for a whole lease.
    """
    known = _find_node(connection, identity.name)
    until = time.monotonic() + LEASE_S
    while known is not None and known.is_alive and known.has_session:
        if time.monotonic() >= until:
            break
        time.sleep(BEAT_S)
        now = _find_node(connection, identity.name)
        if now is not None and now.epoch == known.epoch and now.beat > known.beat:
            raise NameTaken(
                f"A node {identity.name} is already running. Choose another name with --node."
            )
        known = now
    return membership.register(connection, identity.name, identity.address, identity.capacity)


def _find_node(connection: Connection, name: str) -> SeenNode | None:
    found = (one for one in membership.read_nodes(connection) if one.name == name)
    return next(found, None)


# Opening a node that shares a database with others: tables, key, name and lane.


class OpenedCluster(Struct, frozen=True):
    """The parts of a registered node, before it has controllers."""

    address: str
    identity: NodeIdentity
    claim: Claim
    lane: PostgresLane
    registry: ClusterRegistry
    directory: Directory
    lease: NodeLease
    #: Seconds between two saves of the live state of controllers; None turns saving off.
    live_state_every: int | None = None

    def history(self, bounds: Bounds) -> DatabaseHistory:
        """Return the history of the controllers that this node has."""
        lane, directory = self.lane, self.directory
        return DatabaseHistory(
            self.address, lambda: lane.claim, bounds, lambda: len(directory.owners)
        )

    async def resign(self) -> None:
        """End the registration of a node that has never had controllers."""

        def resign() -> None:
            with open_database(self.address) as connection:
                membership.resign(connection, self.claim)

        await asyncio.to_thread(resign)


async def open_cluster(address: str, identity: NodeIdentity, key_path: Path) -> OpenedCluster:
    """Check that the database can be used, and register the node.

    Raise StoreUnavailable or NameTaken, whose messages are sentences for users.
    """

    def open_all() -> tuple[Claim, PostgresLane]:
        with open_database(address) as connection:
            check_tables(connection)
            check_key(connection, KeyFile(key_path))
            claim = begin_life(connection, identity)
        return claim, PostgresLane(address, claim, key_path)

    claim, lane = await asyncio.to_thread(open_all)
    registry = ClusterRegistry(address, claim)
    try:
        # Load the accounts before any request arrives, so that a client without an account does not
        # pass for the operator.
        await registry.load_accounts()
    except BaseException:
        registry.close()
        await lane.close()
        raise
    directory = Directory(identity.name)
    return OpenedCluster(address, identity, claim, lane, registry, directory, NodeLease())


@asynccontextmanager
async def short_life(table: ClusterTable, folder: FleetFolder) -> AsyncIterator[OpenedCluster]:
    """Register a node for a short task, without controllers and without a lease.

    Raise NameTaken if the node is already running.
    """
    place = table.inner_place()
    identity = NodeIdentity(place.node, place, capacity=0)
    cluster = await open_cluster(table.database, identity, folder.key_path)
    try:
        yield cluster
    finally:
        cluster.registry.close()
        await cluster.lane.close()
        # Resigning notifies the running nodes, which then read the accounts again.
        await cluster.resign()
