"""A database that nodes share, as the storage of a node."""

from msgspec.structs import replace

from leverframe.fleet.cluster.database_setup import NodeIdentity, OpenedCluster, open_cluster
from leverframe.fleet.cluster.inner_port import FleetDoor
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.fleet.cluster.member import ClusterMember
from leverframe.fleet.fleet_file import ClusterTable
from leverframe.fleet.node import FleetNode
from leverframe.fleet.node_storage import history_bounds
from leverframe.fleet.records import Registry
from leverframe.host.configuration import NodeConfig
from leverframe.host.ports import CannotListen
from leverframe.host.reach import try_host
from leverframe.storage.encryption import KeyFile
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.lanes.lane import Lane
from leverframe.storage.lanes.node_folder import FleetFolder


class DatabaseStorage:
    """The part of a database that belongs to this node at present."""

    lane: Lane
    registry: Registry | None
    lease: NodeLease | None
    _node: FleetNode
    _door: FleetDoor
    _member: ClusterMember | None = None

    def __init__(self, opened: OpenedCluster, folder: FleetFolder) -> None:
        self._opened = opened
        self._folder = folder
        self.lane = opened.lane
        self.registry = opened.registry
        self.lease = opened.lease

    def history(self, config: NodeConfig) -> SharedHistory | None:
        if config.virtual_time:
            return None
        return self._opened.history(history_bounds(config))

    def connect(self, node: FleetNode) -> None:
        self._node = node
        key = KeyFile(self._folder.key_path).key()
        self._door = FleetDoor(node.door, self._opened.directory, key)

    async def start(self) -> None:
        identity = self._opened.identity
        await self._door.inner.listen(identity.place.host, identity.place.port)
        place = replace(identity.place, port=self._door.inner.port)
        opened = replace(self._opened, identity=replace(identity, place=place))
        member = ClusterMember(opened, self._node, self._door.caller)
        self._member = self._node.cluster = member
        await member.start()
        self._door.inner.answer = member.answer

    def is_elsewhere(self, name: str) -> bool:
        return self._opened.directory.knows(name)

    async def leave(self) -> None:
        if self._member is None:
            await self._opened.resign()
        else:
            await self._member.leave()

    async def close(self) -> None:
        await self._door.inner.close()
        self._opened.registry.close()


async def open_database(table: ClusterTable, folder: FleetFolder) -> DatabaseStorage:
    """Register the node in its database; raise an error with a sentence if that fails."""
    place = table.inner_place()
    try:
        # Try the address before registering: a node that its peers cannot reach must not start a
        # life.
        try_host(place.host, place.port)
    except OSError as error:
        raise CannotListen(
            f"The inner address {table.inner} cannot be used: {error.strerror or error}. Choose "
            "another address or port of this machine with --inner."
        ) from error
    identity = NodeIdentity(place.node, place, table.capacity)
    opened = await open_cluster(table.database, identity, folder.key_path)
    return DatabaseStorage(replace(opened, live_state_every=table.live_state_every), folder)
