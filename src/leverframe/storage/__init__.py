"""What survives a restart: settings, remembered state, uploads, and the folder that holds them."""

from leverframe.storage.datafolder import DataFolder, FolderInUse, FolderUnusable
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.sqlite_file import StoreDamaged, StoreTooNew
from leverframe.storage.store import (
    DELETED,
    Changes,
    MemoryStore,
    Store,
    Stored,
    StoreUnavailable,
)

__all__ = [
    "DELETED",
    "Changes",
    "DataFolder",
    "FolderInUse",
    "FolderUnusable",
    "MemoryStore",
    "SqliteStore",
    "Store",
    "StoreDamaged",
    "StoreTooNew",
    "StoreUnavailable",
    "Stored",
]
