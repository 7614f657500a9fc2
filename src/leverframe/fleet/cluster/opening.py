"""The opening of a node that shares a database with others: tables, key, name, lane."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.beginning import NodeIdentity, begin_life
from leverframe.fleet.cluster.cluster_table import ClusterTable
from leverframe.fleet.cluster.directory import Directory
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.fleet.cluster.registry import ClusterRegistry
from leverframe.storage.encrypting import KeyFile
from leverframe.storage.fleet.opening import FleetFolder
from leverframe.storage.fleet.postgres_history import DatabaseHistory
from leverframe.storage.fleet.postgres_lane import Claim, PostgresLane
from leverframe.storage.fleet.postgres_schema import check_key, check_tables, open_database
from leverframe.storage.history.compactor import Bounds


class OpenedCluster(Struct, frozen=True):
    """What a registered node needs before it has controllers."""

    address: str
    identity: NodeIdentity
    claim: Claim
    lane: PostgresLane
    registry: ClusterRegistry
    directory: Directory
    lease: NodeLease
    #: Seconds between two saves of the live state of controllers; None saves none.
    live_state_every: int | None = None

    def history(self, bounds: Bounds) -> DatabaseHistory:
        """Return the history of the controllers that this node has."""
        lane, directory = self.lane, self.directory
        return DatabaseHistory(
            self.address, lambda: lane.claim, bounds, lambda: len(directory.owners)
        )


async def open_cluster(address: str, identity: NodeIdentity, key_path: Path) -> OpenedCluster:
    """Check that the database can be used, and register the node.

    Raise StoreUnavailable or NameTaken with a sentence; then nothing was changed.
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
        # Before any request arrives: a client without an account must not pass for the operator.
        await registry.load_accounts()
    except BaseException:
        registry.close()
        await lane.close()
        raise
    directory = Directory(identity.name)
    return OpenedCluster(address, identity, claim, lane, registry, directory, NodeLease())


@asynccontextmanager
async def short_life(table: ClusterTable, folder: FleetFolder) -> AsyncIterator[OpenedCluster]:
    """Open a life of a node without controllers and without a lease: its tasks take moments.

    Raise NameTaken if the node runs.
    """
    place = table.inner_place()
    identity = NodeIdentity(place.node, place, capacity=0)
    cluster = await open_cluster(table.database, identity, folder.key_path)
    try:
        yield cluster
    finally:
        cluster.registry.close()
        await cluster.lane.close()

        def resign() -> None:
            with open_database(table.database) as connection:
                # Running nodes read the accounts again when notified.
                membership.resign(connection, cluster.claim)

        await asyncio.to_thread(resign)
