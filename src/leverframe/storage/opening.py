"""The opening of a store, in whatever state its files and its disk are."""

import os
from pathlib import Path

from msgspec import Struct, field

from leverframe.storage.read_only import ReadOnlyStore, open_read_only
from leverframe.storage.snapshots import recover
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import StoreUnavailable


class OpenedStore(Struct, frozen=True):
    store: SqliteStore | ReadOnlyStore
    #: What people should know, by the part of the controller that it is about.
    troubles: dict[str, str] = field(default_factory=dict)


def open_store(path: Path, *, was_closed: bool = True) -> OpenedStore:
    """Open a store; replace a damaged one by a snapshot, and only read an unwritable one.

    A store that was not closed in order has a log beside it. If that is gone, there is no way to
    know what was in it, but people are told.

    Raises StoreDamaged, StoreTooNew or StoreUnavailable where nothing helps.
    """
    try:
        trouble = prepare(path, was_closed=was_closed)
        store = SqliteStore(path)
    except StoreUnavailable as refusal:
        read_only = open_read_only(path, refusal)
        return OpenedStore(read_only, {"store": read_only.sentence})
    return OpenedStore(store, {"recovery": trouble} if trouble else {})


def prepare(path: Path, *, was_closed: bool) -> str | None:
    """Make a file openable for writing; return a sentence about what is lost, if anything is."""
    _refuse_unwritable(path)
    lost_log = None if was_closed else _lost_log(path)
    return recover(path) or lost_log


def _refuse_unwritable(path: Path) -> None:
    """Raise a clearer error than SQLite would, before any repair is tried."""
    if not path.exists():
        return
    try:
        os.close(os.open(path, os.O_RDWR))
    except OSError as error:
        raise StoreUnavailable(f"The store {path} cannot be written: {error.strerror}.") from error
    if not os.access(path.parent, os.W_OK):
        raise StoreUnavailable(f"The data folder {path.parent} may not be written.")


def _lost_log(path: Path) -> str | None:
    log = path.with_name(f"{path.name}-wal")
    if log.exists() or not path.exists():
        return None
    return (
        f"The controller was not stopped in order, and the store's log {log} is missing: changes "
        "made after the last snapshot may be missing, too."
    )
