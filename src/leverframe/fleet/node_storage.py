"""The storage of a node's controllers: a file of its own, or a database shared with other nodes.

The storage is opened before the node is created, and connected to the node before the node listens.
Once the node listens, the storage is started. At the end, the node leaves the storage before the
door closes.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from leverframe.core.errors import ErrorForPeople
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.fleet.node import FleetNode
from leverframe.fleet.records import MemberRecord, Registry
from leverframe.host.configuration import NodeConfig
from leverframe.server.http.limits import MIB
from leverframe.storage.datafolder import is_of_node, refuse_missing
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.lanes.lane import OF_NODE, Lane
from leverframe.storage.lanes.node_folder import FleetFolder, open_lane
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from leverframe.storage.snapshots import Snapshots, SnapshotService

log = logging.getLogger(__name__)


class NodeStorage(Protocol):
    lane: Lane
    #: The records of controllers; None if they are in the lane itself.
    registry: Registry | None
    #: How long the node may act; None means forever.
    lease: NodeLease | None

    def history(self, config: NodeConfig) -> SharedHistory | None:
        """Return the history of all controllers; in virtual time there is none."""

    def connect(self, node: FleetNode) -> None:
        """Connect a node that does not listen yet."""

    async def start(self) -> None:
        """Join other nodes, if there are any; the node already listens."""

    def is_elsewhere(self, name: str) -> bool:
        """Return whether another node has a controller with this name."""

    async def leave(self) -> None:
        """Hand controllers over to other nodes, while the door is still open."""

    async def close(self) -> None:
        """Release the resources after the node has closed."""


class FileStorage:
    """A file in the node's own folder."""

    registry: Registry | None = None
    lease: NodeLease | None = None
    _snapshots: SnapshotService

    def __init__(self, folder: FleetFolder) -> None:
        self._folder = folder
        opened = open_lane(folder)
        self.lane: Lane = opened.lane
        self._settle = opened.lane.settle
        self._troubles = opened.troubles

    def history(self, config: NodeConfig) -> SharedHistory | None:
        if config.virtual_time:
            return None
        return SharedHistory(self._folder.history_path, history_bounds(config))

    def connect(self, node: FleetNode) -> None:
        for part, sentence in self._troubles.items():
            log.error("%s", sentence)
            node.troubles[part] = sentence
        snapshots = Snapshots(self._folder.store_path, self._settle)
        self._snapshots = SnapshotService(snapshots, node.troubles)
        node.settings_watchers.append(self._snapshots.settings_changed)

    async def start(self) -> None:
        """Do nothing: there are no other nodes."""

    def is_elsewhere(self, name: str) -> bool:
        return False

    async def leave(self) -> None:
        await self._snapshots.close()

    async def close(self) -> None:
        """Do nothing: the node closes its lane."""


def history_bounds(config: NodeConfig) -> Bounds:
    return Bounds(raw_days=config.history_days, max_bytes=config.history_max_mb * MIB)


# A stopped node, for commands that work on its folder.


class NotInFolder(ErrorForPeople):
    """A folder lacks what was requested; the message is one or two sentences."""


class StoppedNode(NamedTuple):
    folder: FleetFolder
    lane: SqliteLane
    registry: Registry

    def controller(self, name: str) -> tuple[int, MemberRecord]:
        """Find a controller and its number by name; raise NotInFolder if it does not exist."""
        for number, record in self.registry.records.items():
            if record.name == name:
                return number, record
        raise NotInFolder(f"There is no controller {name} in {self.folder.path}.")


@asynccontextmanager
async def open_stopped_node(data_folder: Path) -> AsyncIterator[StoppedNode]:
    """Lock the folder of a node, which may be empty; raise NotInFolder if it uses a database."""
    refuse_missing(data_folder)
    with FleetFolder(data_folder) as folder:
        if is_of_node(data_folder) and not folder.store_path.exists():
            raise NotInFolder(
                f"{data_folder} has no {folder.store_path.name}: its node keeps controllers and"
                " accounts in a database. While the node runs, use `leverframe fleet account`"
                " for accounts and passwords. For its administrator, use `leverframe passwd`"
                " with --database WHERE, or --config with the node's file."
            )
        lane = open_lane(folder).lane
        try:
            yield StoppedNode(folder, lane, Registry(lane.store(OF_NODE)))
        finally:
            await lane.close()
