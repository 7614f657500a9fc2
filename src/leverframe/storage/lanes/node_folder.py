"""The folder of a node: opening its lane, and moving controllers into and out of the node."""

import sqlite3
from pathlib import Path

from msgspec import Struct, field

from leverframe.core.errors import ErrorForPeople
from leverframe.storage.datafolder import (
    NODE_KEY_NAME,
    NODE_STORE_NAME,
    DataFolder,
    refuse_controller,
)
from leverframe.storage.encryption import EncryptingStore, KeyFile, Sealer
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.shared_chunks import SharedChunks
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from leverframe.storage.sqlite import SqliteStore, prepare, rows_in
from leverframe.storage.sqlite_file import reason
from leverframe.storage.store import Changes, Rows, Stored, messages_from_texts, values_from_texts

# The folder of a node, and how its lane is opened, even if files are damaged or missing.
#
# As for a single controller, the folder is locked, and a damaged file is replaced by the last sound
# snapshot. But a node whose file cannot be written does not start, because it could not run any
# controller.


class FleetFolder(DataFolder):
    """The folder of a running node, which only that node may use."""

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
    #: Problems to show to users, by the part of the node that they concern.
    troubles: dict[str, str] = field(default_factory=dict)


def open_lane(folder: FleetFolder) -> OpenedLane:
    """Open the lane in a folder; replace a damaged file by a snapshot.

    Raises StoreDamaged, StoreTooNew or StoreUnavailable if that is not possible.
    """
    trouble = prepare(
        folder.store_path,
        was_closed=folder.was_given_back,
        killed_history=folder.killed_history,
    )
    lane = SqliteLane(folder.store_path, folder.key_path)
    return OpenedLane(lane, {"recovery": trouble} if trouble else {})


# Moving controllers with all of their data between separate folders and the files of a node.
#
# A move copies all data in one transaction and encrypts secrets with the key of the destination.
# The source is not changed; the caller decides whether to delete it.

_BYTES = Bounds().max_bytes
#: The setting with a controller's name, and the row with its name if that setting is empty.
_NAME, _OWN_NAME = "name", "identity.name"


class CannotMove(ErrorForPeople):
    """A controller cannot be moved; the message is one sentence with the reason."""


class FolderContent:
    """The data of a stopped controller in its folder, which is only read."""

    def __init__(self, folder: DataFolder) -> None:
        self.folder = folder
        #: Losses of data, as sentences.
        self.damage: list[str] = []
        rows = rows_in(folder.store_path, self.damage)
        if rows is None:
            raise CannotMove(f"The store {folder.store_path} is empty; nothing was moved.")
        self._changes = _changes(rows, Sealer(KeyFile(folder.key_path)))
        self.settings = self._changes.settings
        self.kept = self._changes.kept

    def changes(self) -> Changes:
        return self._changes


async def move_in(content: FolderContent, lane: SqliteLane, node: FleetFolder, number: int) -> str:
    """Write a folder's content to a node's files; return a sentence about losses, if any."""
    await lane.store(number).commit(content.changes())
    lost = " ".join(content.damage)
    source = content.folder.history_path
    if not source.exists():
        return lost
    try:
        shared = SharedChunks(node.history_path, _BYTES)
        try:
            shared.take_in(number, source)
        finally:
            shared.close()
    except (ErrorForPeople, sqlite3.Error, OSError) as error:
        return f"{lost} {_without_history(error)}".strip()
    return lost


async def move_out(
    lane: SqliteLane, node: FleetFolder, number: int, name: str, folder: DataFolder
) -> str:
    """Write a controller of a node to an empty folder; return a sentence about losses, if any.

    If the settings contain no name, the controller keeps the name that it has in the node.
    """
    changes = _changes(lane.rows_of(number), lane.sealer(number))
    if not changes.settings.get(_NAME):
        changes.kept[_OWN_NAME] = name
    store = EncryptingStore(SqliteStore(folder.store_path), folder.key_path)
    try:
        await store.commit(changes)
    finally:
        await store.close()
    if not node.history_path.exists():
        return ""
    try:
        ChunkStore(folder.history_path, _BYTES).close()
        shared = SharedChunks(node.history_path, _BYTES)
        try:
            shared.give_out(number, folder.history_path)
        finally:
            shared.close()
    except (ErrorForPeople, sqlite3.Error, OSError) as error:
        return _without_history(error)
    return ""


def empty_folder(path: Path) -> DataFolder:
    """Return a new or empty folder for a controller that is moved."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise CannotMove(f"{path} is not empty; name a new folder.")
    return DataFolder(path)


def _changes(rows: Rows, sealer: Sealer) -> Changes:
    """Return all stored data of a controller, decrypted."""
    blobs = {name: sealer.open_blob(name, data) for name, data in rows.blobs.items()}
    return Changes(
        settings=sealer.open_secrets(Stored(values_from_texts(rows.settings), {})).settings,
        kept=values_from_texts(rows.kept),
        blobs={name: data for name, data in blobs.items() if data is not None},
        replace_settings=True,
        messages=sealer.open_messages(messages_from_texts(rows.messages)),
    )


def _without_history(error: Exception) -> str:
    why = str(error) if isinstance(error, ErrorForPeople) else f"{reason(error)}."
    return f"The history was not moved: {why}"
