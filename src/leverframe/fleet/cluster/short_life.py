"""A node that is stopped, for a command that has something to write in the database of all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.beginning import NodeIdentity
from leverframe.fleet.cluster.cluster_table import ClusterTable
from leverframe.fleet.cluster.opening import OpenedCluster, open_cluster
from leverframe.storage.fleet.opening import FleetFolder
from leverframe.storage.fleet.postgres_schema import opened


@asynccontextmanager
async def short_life(table: ClusterTable, folder: FleetFolder) -> AsyncIterator[OpenedCluster]:
    """Let a node live without controllers, which no lease renews: what is done takes moments.

    Raises NameTaken where the node runs.
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
            with opened(table.database) as connection:
                # Whoever runs reads the accounts again when it is told.
                membership.resign(connection, cluster.claim)

        await asyncio.to_thread(resign)
