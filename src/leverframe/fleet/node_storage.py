"""Where a node keeps its controllers: a file of its own, or a database shared with other nodes.

Both are opened before the node is created, connected to it before it listens, and started when it
does; at the end they are left before the door closes.
"""

import logging
from typing import Protocol

from leverframe.config import NodeConfig
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.fleet.node import FleetNode
from leverframe.fleet.records import Registry
from leverframe.servers.http.limits import MIB
from leverframe.storage.fleet.lane import Lane
from leverframe.storage.fleet.opening import FleetFolder, open_lane
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.snapshot_service import SnapshotService
from leverframe.storage.snapshots import Snapshots

log = logging.getLogger(__name__)


class NodeStorage(Protocol):
    lane: Lane
    #: Where the records of controllers are; None in the lane itself.
    registry: Registry | None
    #: How long the node may act; None for ever.
    lease: NodeLease | None

    def history(self, config: NodeConfig) -> SharedHistory | None:
        """Return the history of all controllers; on virtual time none is kept."""

    def connect(self, node: FleetNode) -> None:
        """Connect the node, which does not listen yet."""

    async def start(self) -> None:
        """Join other nodes, where there are any, now that the node listens."""

    def is_elsewhere(self, name: str) -> bool:
        """Return whether another node has a controller of this name."""

    async def leave(self) -> None:
        """Give controllers up to others, while the door is still open."""

    async def close(self) -> None:
        """Release the resources, when the node has closed."""


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
