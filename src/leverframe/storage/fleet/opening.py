"""The folder of a node, and the opening of its lane in whatever state the files are.

The folder is held, and a damaged file replaced by its last good snapshot, as for a single
controller. But a node whose file cannot be written does not start: it has nothing to offer.
"""

from pathlib import Path

from msgspec import Struct, field

from leverframe.storage.datafolder import (
    NODE_KEY_NAME,
    NODE_STORE_NAME,
    DataFolder,
    refuse_controller,
)
from leverframe.storage.fleet.sqlite_lane import SqliteLane
from leverframe.storage.opening import prepare


class FleetFolder(DataFolder):
    """The folder that belongs to one running node."""

    def refuse_what_is_of_others(self) -> None:
        refuse_controller(self.path)

    @property
    def store_path(self) -> Path:
        return self.path / NODE_STORE_NAME

    @property
    def key_path(self) -> Path:
        return self.path / NODE_KEY_NAME


class OpenedLane(Struct, frozen=True):
    lane: SqliteLane
    #: What people should know, by the part that it is about.
    troubles: dict[str, str] = field(default_factory=dict)


def open_lane(folder: FleetFolder) -> OpenedLane:
    """Open the lane of a folder; replace a damaged file by a snapshot.

    Raises StoreDamaged, StoreTooNew or StoreUnavailable where nothing helps.
    """
    trouble = prepare(
        folder.store_path,
        was_closed=folder.was_given_back,
        killed_history=folder.killed_history,
    )
    lane = SqliteLane(folder.store_path, folder.key_path)
    return OpenedLane(lane, {"recovery": trouble} if trouble else {})
