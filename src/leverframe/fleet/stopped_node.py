"""A stopped node, for commands that work on its folder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from leverframe.errors import ErrorForPeople
from leverframe.fleet.records import MemberRecord, Registry
from leverframe.storage.datafolder import is_of_node, refuse_missing
from leverframe.storage.fleet.lane import OF_NODE
from leverframe.storage.fleet.opening import FleetFolder, open_lane
from leverframe.storage.fleet.sqlite_lane import SqliteLane


class NotInFolder(ErrorForPeople):
    """A folder lacks what was requested: a sentence or two."""


class StoppedNode(NamedTuple):
    folder: FleetFolder
    lane: SqliteLane
    registry: Registry

    def controller(self, name: str) -> tuple[int, MemberRecord]:
        """Find a controller by name, with its number; raise NotInFolder."""
        for number, record in self.registry.records.items():
            if record.name == name:
                return number, record
        raise NotInFolder(f"There is no controller {name} in {self.folder.path}.")


@asynccontextmanager
async def open_stopped_node(data_folder: Path) -> AsyncIterator[StoppedNode]:
    """Lock the folder of a node, perhaps an empty one; raise NotInFolder if it uses a database."""
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
