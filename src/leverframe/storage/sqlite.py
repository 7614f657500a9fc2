"""The durable store: one SQLite file, one thread that writes.

Reads use a connection of their own and never wait for a write (write-ahead log). Whoever touches
the writing connection between opening and closing holds `_in_use`.

Before each transaction the files must be as the last one left them (`store_watch.py`). Once SQLite
has committed, nothing that follows makes a failure of it: whoever asked hears that it is durable.
"""

import asyncio
import contextlib
import logging
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from leverframe.storage.sqlite_file import (
    StoreDamaged,
    connect,
    damage_sentence,
    is_damage,
    open_file,
    reason,
    roll_back,
    sentences,
)
from leverframe.storage.statements import Statement, pages_of, removes, statements_of
from leverframe.storage.store import (
    AUDIT_PREFIXES,
    Rows,
    Store,
    Stored,
    StoreUnavailable,
    messages_from_texts,
    values_from_texts,
)
from leverframe.storage.store_watch import LogLost, StoreWatch

log = logging.getLogger(__name__)

#: When about so many pages (4 MB) are in the log it is folded into the main file. That costs more
#: than a commit, but writes a page that changed often only once.
_FOLD_PAGES = 1000
_KEPT = "SELECT CAST(name AS BLOB), CAST(value AS BLOB) FROM kept"
_IS_AUDIT = "({})".format(" OR ".join(f"name GLOB '{prefix}*'" for prefix in AUDIT_PREFIXES))


class SqliteStore(Store):
    """The store in a file. Raises StoreTooNew, StoreDamaged or StoreUnavailable when opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing = open_file(path)
        self._reading = connect(path)
        self._reads = threading.Lock()
        self._watch = StoreWatch(path)
        self._in_use = threading.Lock()
        #: Transactions written since opening.
        self.transactions = 0
        #: About how many pages are in the log and nowhere else.
        self._pages = 0
        self._is_closed = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")

    def load(self) -> Stored:
        with self._noticing_damage():
            # One transaction, so that no commit comes between the two halves.
            self._reading.execute("BEGIN")
            try:
                settings = self._read("SELECT CAST(path AS BLOB), CAST(value AS BLOB) FROM setting")
                kept = self._read(f"{_KEPT} WHERE NOT {_IS_AUDIT}")  # nosec B608
                found = self._reading.execute(f"SELECT name FROM kept WHERE {_IS_AUDIT}")
                audit = [name for (name,) in found]
            finally:
                roll_back(self._reading)
            return Stored(settings, kept, audit)

    async def audit(self, prefix: str = "") -> dict[str, str]:
        return await asyncio.to_thread(self._read_audit, prefix)

    def _read_audit(self, prefix: str) -> dict[str, str]:
        with self._noticing_damage():
            where = f"{_IS_AUDIT} AND name GLOB ?"
            return self._read(f"{_KEPT} WHERE {where}", f"{prefix}*")  # nosec B608

    def _read(self, query: str, *values: str) -> dict[str, Any]:
        return values_from_texts(self._read_texts(query, *values))

    def _read_texts(self, query: str, *values: str) -> dict[str, bytes]:
        """Read values by name, as bytes.

        In an error, sqlite3 would repeat a text that it cannot decode, which may be a password.
        """
        return {name.decode(): text for name, text in self._reading.execute(query, values)}

    def messages(self) -> dict[int, Any]:
        with self._noticing_damage():
            query = "SELECT CAST(number AS BLOB), CAST(value AS BLOB) FROM message"
            return messages_from_texts(self._read_texts(query))

    async def blob(self, name: str) -> bytes | None:
        return await asyncio.to_thread(self._read_blob, name)

    def _read_blob(self, name: str) -> bytes | None:
        with self._noticing_damage():
            found = self._reading.execute("SELECT data FROM blob WHERE name = ?", (name,))
            rows: list[tuple[bytes]] = found.fetchall()
        return rows[0][0] if rows else None

    @contextlib.contextmanager
    def _noticing_damage(self) -> Iterator[None]:
        """Give up writing where something cannot be read."""
        try:
            with self._reads, sentences(self._path):
                yield
        except StoreDamaged as damage:
            self._watch.give_up(damage)
            raise

    async def write(self, rows: Rows) -> None:
        if self._is_closed:
            raise StoreUnavailable("The store is closed: the program stops.")
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._write, rows)
        except StoreUnavailable:
            raise
        except Exception as error:
            raise StoreUnavailable(
                f"The change could not be saved: {reason(error)}. "
                f"Nothing was changed; try again when this is put right."
            ) from error

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self._thread.shutdown()
        self._reading.close()
        self._writing.close()

    def _write(self, rows: Rows) -> None:
        """Write the rows in one transaction, in the store's thread."""
        statements = statements_of(rows)
        if not statements:
            return
        erases = removes(rows)
        with self._in_use:
            self._check_files()
            try:
                self._transact(statements, erases)
            except BaseException as error:
                self._watch.note_log()
                if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
                    damage = StoreDamaged(damage_sentence(self._path, str(error)))
                    raise self._watch.give_up(damage) from error
                raise
            try:
                self._tidy_up(statements, erases)
            except BaseException:
                log.exception("the store could not be tidied up after a transaction")
                # We caused the present state of the files.
                self._watch = StoreWatch(self._path)

    def _transact(self, statements: Sequence[Statement], erases: bool) -> None:
        try:
            if erases:
                # What is replaced or removed is overwritten, which costs a third of the speed.
                self._pragma("secure_delete = ON")
            self._writing.execute("BEGIN IMMEDIATE")
            for statement in statements:
                self._writing.execute(*statement)
            self._writing.execute("COMMIT")
        except BaseException:
            roll_back(self._writing)
            raise

    def _tidy_up(self, statements: Sequence[Statement], erases: bool) -> None:
        """Note the state of the files after a transaction; fold the log when it is long.

        What was removed is still in the log as it was written, so that is emptied. If it cannot be,
        because a foreign program reads it or the disk has trouble, the old values go with a later
        round of the log.
        """
        self._watch.note_log()
        self.transactions += 1
        self._pages += pages_of(statements)
        if erases:
            self._pragma("secure_delete = FAST")
            self._checkpoint("TRUNCATE")
            self._watch.note_log()
        elif self._pages >= _FOLD_PAGES:
            self._checkpoint("PASSIVE")

    def _check_files(self) -> None:
        """Raise StoreUnavailable where nothing may be written."""
        try:
            is_foreign = self._watch.check_unchanged()
        except LogLost:
            # Nobody but us can reach it any more.
            self._checkpoint("PASSIVE")
            raise
        if is_foreign:
            self._checkpoint("TRUNCATE")
            self._watch.take_up_log()

    def settle(self) -> None:
        """Bring the main file up to date, on any thread; raise StoreUnavailable if it is lost."""
        with self._in_use:
            self._check_files()
            self._checkpoint("PASSIVE")

    def _checkpoint(self, how: str) -> None:
        """Write the log into the main file, unless another program has changed the file."""
        if not self._watch.is_untouched():
            return
        with contextlib.suppress(sqlite3.Error):
            self._pragma(f"wal_checkpoint({how})")
            self._pages = 0
        self._watch.note_store()

    def _pragma(self, pragma: str) -> None:
        # A cursor that is not at its end holds a lock for as long as it is referenced.
        with contextlib.closing(self._writing.execute(f"PRAGMA {pragma}")) as cursor:
            cursor.fetchall()
