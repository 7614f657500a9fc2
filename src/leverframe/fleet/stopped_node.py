"""A node that is stopped, for commands that have its folder in their hands."""

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
    """A folder does not have what was asked for: a sentence or two."""


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
async def stopped_node(data_folder: Path) -> AsyncIterator[StoppedNode]:
    """Hold the folder of a node, perhaps an empty one; raise NotInFolder where a database is it."""
    refuse_missing(data_folder)
    with FleetFolder(data_folder) as folder:
        if is_of_node(data_folder) and not folder.store_path.exists():
            raise NotInFolder(
                f"{data_folder} has no {folder.store_path.name}: its node keeps controllers and"
                " accounts in a database. Ask the node while it runs; `leverframe fleet account`"
                " makes accounts and passwords there. `leverframe passwd` sets that of its"
                " administrator with --database WHERE, or --config with the node's file."
            )
        lane = open_lane(folder).lane
        try:
            yield StoppedNode(folder, lane, Registry(lane.store(OF_NODE)))
        finally:
            await lane.close()
