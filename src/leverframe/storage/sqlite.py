"""The durable store: an SQLite file with one writing thread, and how it is opened."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from leverframe.storage.page_sums import read_sums, sums_path
from leverframe.storage.private_files import read_reports
from leverframe.storage.snapshots import Snapshots, recover
from leverframe.storage.sqlite_file import (
    MIGRATIONS,
    StoreDamaged,
    check,
    open_file,
    reason,
    roll_back,
    sentences,
)
from leverframe.storage.sqlite_log import index_path, log_path
from leverframe.storage.statements import removes, statements_of
from leverframe.storage.store import (
    AUDIT_PREFIXES,
    MemoryStore,
    Rows,
    Store,
    Stored,
    StoreUnavailable,
    messages_from_texts,
    values_from_texts,
)
from leverframe.storage.unclean_stop import secure, secure_copy, secure_history
from leverframe.storage.watched_file import WatchedFile
from leverframe.storage.writer import Faults, GroupCommit

# The durable store: one SQLite file, one thread that writes.

IS_AUDIT = "({})".format(" OR ".join(f"name GLOB '{prefix}*'" for prefix in AUDIT_PREFIXES))
_SETTINGS = "SELECT CAST(path AS BLOB), CAST(value AS BLOB) FROM setting"
_KEPT = "SELECT CAST(name AS BLOB), CAST(value AS BLOB) FROM kept"


class SqliteStore(Store):
    """The store in a file. Raises StoreTooNew, StoreDamaged or StoreUnavailable when opened."""

    def __init__(self, path: Path) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._queue = GroupCommit(self._write_batch, thread=self._thread)
        self.shared_queue = self._queue
        self.folder = path.parent
        #: Encrypts confidential values in rows, in the store's thread.
        self.seal: Callable[[Rows], Rows] | None = None
        # `do_later` work runs in the same thread, after the result of the transaction was reported.
        self._file = WatchedFile(path, MIGRATIONS, do_later=self._thread.submit)

    @property
    def transactions(self) -> int:
        """Return the number of transactions written since opening."""
        return self._file.transactions

    def load(self) -> Stored:
        with self._file.reading() as connection:
            # One transaction, so that no commit can come between the parts.
            connection.execute("BEGIN")
            try:
                settings = _texts(connection, _SETTINGS)
                kept = _texts(connection, f"{_KEPT} WHERE NOT {IS_AUDIT}")
                found = connection.execute(
                    f"SELECT name FROM kept WHERE {IS_AUDIT}"  # noqa: S608
                )
                audit = [name for (name,) in found]
            finally:
                roll_back(connection)
            return Stored(values_from_texts(settings), values_from_texts(kept), audit)

    async def audit(self, prefix: str = "") -> dict[str, str]:
        return await asyncio.to_thread(self._read_audit, prefix)

    def _read_audit(self, prefix: str) -> dict[str, str]:
        with self._file.reading() as connection:
            query = f"{_KEPT} WHERE {IS_AUDIT} AND name GLOB ?"
            return values_from_texts(_texts(connection, query, f"{prefix}*"))

    def messages(self) -> dict[int, Any]:
        with self._file.reading() as connection:
            query = "SELECT CAST(number AS BLOB), CAST(value AS BLOB) FROM message"
            return messages_from_texts(_texts(connection, query))

    async def blob(self, name: str) -> bytes | None:
        return await asyncio.to_thread(self._read_blob, name)

    def _read_blob(self, name: str) -> bytes | None:
        with self._file.reading() as connection:
            found = connection.execute("SELECT data FROM blob WHERE name = ?", (name,))
            rows: list[tuple[bytes]] = found.fetchall()
        return rows[0][0] if rows else None

    async def write(self, rows: Rows) -> None:
        await self._queue.write_one(self.number, rows)

    async def close(self) -> None:
        if not self._queue.is_closed:
            self._queue.is_closed = True
            await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self._thread.shutdown()
        self._file.close()

    def _write_batch(self, parts: Mapping[int, Rows]) -> Faults:
        """Write the rows in one transaction, in the store's thread."""
        rows = parts[self.number]
        try:
            if self.seal is not None:
                rows = self.seal(rows)
            statements = statements_of(rows)
            if statements:
                self._file.write(statements, erases=removes(rows))
        except StoreUnavailable:
            raise
        except Exception as error:
            raise not_saved(error) from error
        return {}

    def settle(self) -> None:
        """Copy the log into the main file, in any thread; raise StoreUnavailable if that fails."""
        self._file.settle()


def _texts(connection: sqlite3.Connection, query: str, *values: str) -> dict[str, bytes]:
    """Read values by name, as bytes.

    In an error, sqlite3 would repeat a text that it cannot decode, which may be a password.
    """
    return {name.decode(): text for name, text in connection.execute(query, values)}


def not_saved(error: Exception) -> StoreUnavailable:
    """Return an error with a sentence for users about why nothing was written."""
    return StoreUnavailable(
        f"The change could not be saved: {reason(error)}. Nothing was changed; try again when "
        "this is fixed."
    )


# A store on a disk that is not writable when the controller starts.
#
# The content is read once, including the last changes in the log, and then served from memory.
# Nothing can be saved until the next start, and every attempt is rejected with the reason. SQLite
# cannot use a log on a read-only disk, so a copy in a temporary private folder is read.


class ReadOnlyStore(MemoryStore):
    """The stored content; every write fails with the same sentence."""

    def __init__(self, rows: Rows, sentence: str) -> None:
        super().__init__()
        self._rows = rows
        self.sentence = sentence

    async def write(self, rows: Rows) -> None:
        raise StoreUnavailable(self.sentence)

    def settle(self) -> None:
        """Raise StoreUnavailable, because this store cannot be copied to a snapshot."""
        raise StoreUnavailable(self.sentence)


def open_read_only(store_path: Path, refusal: StoreUnavailable) -> ReadOnlyStore:
    """Open the store only for reading, or else its newest sound snapshot.

    If there is neither, raise `refusal`, the reason why the store could not be opened for writing.
    Raises StoreTooNew, as opening does.
    """
    snapshots = [path for _, path in Snapshots(store_path).all()]
    for path in [store_path, *snapshots]:
        damage: list[str] = []
        try:
            rows = rows_in(path, damage)
        except (StoreDamaged, StoreUnavailable, OSError):
            continue
        if rows is not None:
            used = None if path == store_path else path
            return ReadOnlyStore(rows, _sentence(refusal, used, damage))
    raise refusal


def _sentence(refusal: StoreUnavailable, snapshot: Path | None, damage: list[str]) -> str:
    used = f" The last good snapshot ({snapshot.name}) is in use." if snapshot else ""
    why = " ".join([*damage, str(refusal)])
    return f"{why}{used} Nothing can be saved until this is fixed and the controller is restarted."


def rows_in(path: Path, damage: list[str]) -> Rows | None:
    """Read everything in a file; return None if it is empty, and raise an error if it is damaged.

    The file, in any format, is only read. A loss that leaves the file sound is added to `damage` as
    a sentence.
    """
    with _private_copy(path) as copy:
        lost = secure_copy(copy, path)
        if lost is not None:
            damage.append(lost)
        if not check(copy):
            return None
        # Opened as for writing, so that a store in an older format is upgraded.
        with sentences(copy), closing(open_file(copy)) as connection:
            settings, kept, messages = (
                dict(connection.execute(f"SELECT {key}, value FROM {table}"))  # noqa: S608
                for table, key in (("setting", "path"), ("kept", "name"), ("message", "number"))
            )
            blobs = dict(connection.execute("SELECT name, data FROM blob"))
    return Rows(
        settings=settings,
        kept=kept,
        blobs=blobs,
        messages={str(number): text for number, text in messages.items()},
    )


@contextmanager
def _private_copy(path: Path) -> Iterator[Path]:
    # Imported here, because a store is hardly ever on a read-only disk.
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="leverframe-") as folder:
        copy = Path(folder) / path.name
        try:
            shutil.copyfile(path, copy)
            for beside in (log_path(path), index_path(path), sums_path(path)):
                if beside.exists():
                    shutil.copyfile(beside, copy.with_name(beside.name))
        except OSError as error:
            raise StoreUnavailable(f"The store {path} cannot be read: {reason(error)}.") from error
        yield copy


# How a store is opened, even if its files are damaged or its disk is not writable.


class OpenedStore(Struct, frozen=True):
    store: SqliteStore | ReadOnlyStore
    #: Problems to show to users, by the part of the controller that they concern.
    troubles: dict[str, str] = field(default_factory=dict)


def open_store(
    path: Path, *, was_closed: bool = True, killed_history: Path | None = None
) -> OpenedStore:
    """Open a store; replace a damaged store by a snapshot, and open an unwritable one only for
    reading.

    A store that was not closed properly has a log. If that log is missing, its content is lost, and
    the loss is reported.

    Raises StoreDamaged, StoreTooNew or StoreUnavailable if none of this helps.
    """
    try:
        trouble = prepare(path, was_closed=was_closed, killed_history=killed_history)
        store = SqliteStore(path)
    except StoreUnavailable as refusal:
        read_only = open_read_only(path, refusal)
        return OpenedStore(read_only, {"store": read_only.sentence})
    return OpenedStore(store, {"recovery": trouble} if trouble else {})


def prepare(path: Path, *, was_closed: bool, killed_history: Path | None = None) -> str | None:
    """Repair a file before writing; return a sentence about current or earlier losses, if any.

    The history beside it is checked, too, if it is known that only its writer was killed.
    """
    _refuse_unwritable(path)
    lost_log = None if was_closed else _find_lost_log(path)
    with sentences(path):
        found = secure(path)
        values = None if killed_history is None else secure_history(killed_history)
    now = [sentence for sentence in (recover(path), found, lost_log, values) if sentence]
    kept = read_reports(path.parent)
    # Reports that could not be stored because the disk is full are also shown.
    return " ".join([*(one for one in now if not _is_kept(one, kept)), *kept]) or None


def _is_kept(sentence: str, reports: list[str]) -> bool:
    return any(report.startswith(sentence) for report in reports)


def _refuse_unwritable(path: Path) -> None:
    """Raise a clearer error than SQLite would, before any repair is attempted."""
    if not path.exists():
        return
    try:
        os.close(os.open(path, os.O_RDWR))
    except OSError as error:
        raise StoreUnavailable(f"The store {path} cannot be written: {error.strerror}.") from error
    if not os.access(path.parent, os.W_OK):
        raise StoreUnavailable(
            f"This account has no write permission for the data folder {path.parent}."
        )


def _find_lost_log(path: Path) -> str | None:
    log = log_path(path)
    # If there are sums, they and the index reveal more (`unclean_stop.py`).
    if log.exists() or not path.exists() or read_sums(path) is not None:
        return None
    return (
        f"The controller was not shut down properly, and the store's log {log} is missing. "
        "Changes made after the last snapshot may be lost."
    )
