"""The opening of a store, in whatever state its files and its disk are."""

import os
from pathlib import Path

from msgspec import Struct, field

from leverframe.storage.damage_reports import read_reports
from leverframe.storage.page_sums import read_sums
from leverframe.storage.read_only import ReadOnlyStore, open_read_only
from leverframe.storage.snapshots import recover
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.sqlite_file import sentences
from leverframe.storage.sqlite_log import log_path
from leverframe.storage.store import StoreUnavailable
from leverframe.storage.unclean_stop import secure, secure_history


class OpenedStore(Struct, frozen=True):
    store: SqliteStore | ReadOnlyStore
    #: What people should know, by the part of the controller that it is about.
    troubles: dict[str, str] = field(default_factory=dict)


def open_store(
    path: Path, *, was_closed: bool = True, killed_history: Path | None = None
) -> OpenedStore:
    """Open a store; replace a damaged one by a snapshot, and only read an unwritable one.

    A store that was not closed in order has a log beside it. If that is gone, there is no way to
    know what was in it, but it is reported.

    Raises StoreDamaged, StoreTooNew or StoreUnavailable where nothing helps.
    """
    try:
        trouble = prepare(path, was_closed=was_closed, killed_history=killed_history)
        store = SqliteStore(path)
    except StoreUnavailable as refusal:
        read_only = open_read_only(path, refusal)
        return OpenedStore(read_only, {"store": read_only.sentence})
    return OpenedStore(store, {"recovery": trouble} if trouble else {})


def prepare(path: Path, *, was_closed: bool, killed_history: Path | None = None) -> str | None:
    """Make a file openable for writing; return what is lost, if anything is or was.

    The history beside it is looked at, too, if it is known that only its writer was killed.
    """
    _refuse_unwritable(path)
    lost_log = None if was_closed else _find_lost_log(path)
    with sentences(path):
        found = secure(path)
        values = None if killed_history is None else secure_history(killed_history)
    now = [sentence for sentence in (recover(path), found, lost_log, values) if sentence]
    kept = read_reports(path.parent)
    # Those that could not be kept, because the disk is full, are shown all the same.
    return " ".join([*(one for one in now if not _is_kept(one, kept)), *kept]) or None


def _is_kept(sentence: str, reports: list[str]) -> bool:
    return any(report.startswith(sentence) for report in reports)


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


def _find_lost_log(path: Path) -> str | None:
    log = log_path(path)
    # Where there are sums, they and the index say more (`unclean_stop.py`).
    if log.exists() or not path.exists() or read_sums(path) is not None:
        return None
    return (
        f"The controller was not shut down properly, and the store's log {log} is missing. "
        "Changes made after the last snapshot may be lost."
    )
