"""The durable store: one SQLite file, one thread that writes."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from leverframe.storage.group_commit import Faults, GroupCommit
from leverframe.storage.sqlite_file import MIGRATIONS, reason, roll_back
from leverframe.storage.statements import removes, statements_of
from leverframe.storage.store import (
    AUDIT_PREFIXES,
    Rows,
    Store,
    Stored,
    StoreUnavailable,
    messages_from_texts,
    values_from_texts,
)
from leverframe.storage.watched_file import WatchedFile

IS_AUDIT = "({})".format(" OR ".join(f"name GLOB '{prefix}*'" for prefix in AUDIT_PREFIXES))
_SETTINGS = "SELECT CAST(path AS BLOB), CAST(value AS BLOB) FROM setting"
_KEPT = "SELECT CAST(name AS BLOB), CAST(value AS BLOB) FROM kept"


class SqliteStore(Store):
    """The store in a file. Raises StoreTooNew, StoreDamaged or StoreUnavailable when opened."""

    def __init__(self, path: Path) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._queue = GroupCommit(self._write_batch, thread=self._thread)
        self.shared_queue = self._queue
        #: Seals what is confidential in rows, in the store's thread.
        self.seal: Callable[[Rows], Rows] | None = None
        # Behind the transaction in the same thread, and so after its outcome was reported.
        self._file = WatchedFile(path, MIGRATIONS, do_later=self._thread.submit)

    @property
    def transactions(self) -> int:
        """Return the number of transactions written since opening."""
        return self._file.transactions

    def load(self) -> Stored:
        with self._file.reading() as connection:
            # One transaction, so that no commit comes between the parts.
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
        """Bring the main file up to date, on any thread; raise StoreUnavailable if it is lost."""
        self._file.settle()


def _texts(connection: sqlite3.Connection, query: str, *values: str) -> dict[str, bytes]:
    """Read values by name, as bytes.

    In an error, sqlite3 would repeat a text that it cannot decode, which may be a password.
    """
    return {name.decode(): text for name, text in connection.execute(query, values)}


def not_saved(error: Exception) -> StoreUnavailable:
    """Describe for people why nothing was written."""
    return StoreUnavailable(
        f"The change could not be saved: {reason(error)}. Nothing was changed; try again when "
        "this is fixed."
    )
