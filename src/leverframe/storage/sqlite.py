"""The durable store: one SQLite file, one thread that writes.

Group commit: what is committed in rounds of the event loop that follow each other, and while the
thread is busy with one transaction, goes into the next transaction together. The cost of reaching
the disk is thus shared by everybody who waits, and the futures of one batch are resolved with a
single call into the event loop. The thread is woken when a round has brought nothing more, and not
by each commit: on one core it would take the turn from the loop for every single request, and both
would do little else than change places.

The thread reaches SQLite with one statement per table and batch, the rows packed into one JSON
text. Every statement gives up the interpreter lock and has to win it back from a busy event loop,
so a statement per row would cost a batch more than the disk does.

Reads use a connection of their own and never wait for a write (write-ahead log). One loop uses a
store at a time; only the thread touches the writing connection between opening and closing.
"""

import asyncio
import contextlib
import sqlite3
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from leverframe.engine.tree import is_secret
from leverframe.storage.sqlite_file import connect, open_file, reason, roll_back, sentences
from leverframe.storage.store import (
    Changes,
    Rows,
    Stored,
    StoreUnavailable,
    Then,
    messages_from_texts,
    rows_from_changes,
    values_from_texts,
)

#: How soon a thread that wants to run is let in. With the interpreter's own 5 ms, a busy event
#: loop, which lets go for an instant at every poll, can keep the writing thread out for seconds.
_SWITCH_S = 20e-6

#: So many commits are worth a transaction, whatever else may come.
_ENOUGH = 64

_Statement = tuple[str, tuple[Any, ...]]


@dataclass(slots=True)
class _Waiting:
    rows: Rows
    future: asyncio.Future[None]
    then: Then | None

    def succeed(self) -> None:
        if self.then is not None:
            self.then(None)
        if not self.future.done():
            self.future.set_result(None)

    def fail(self, refusal: StoreUnavailable) -> None:
        if self.then is not None:
            self.then(refusal)
        if not self.future.done():
            self.future.set_exception(refusal)


class SqliteStore:
    """The store in a file. Raises StoreTooNew, StoreDamaged or StoreUnavailable when opened."""

    def __init__(self, path: Path) -> None:
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_S))
        self._path = path
        self._writing = open_file(path)
        self._reading = connect(path)
        #: Transactions written since opening.
        self.transactions = 0
        self._queue = threading.Condition()
        #: Commits that are being gathered by the event loop, which alone touches them.
        self._gathered: list[_Waiting] = []
        self._waiting: list[_Waiting] = []
        self._held = False
        self._closing = False
        self._thread = threading.Thread(target=self._write_batches, name="store", daemon=True)
        self._thread.start()

    def load(self) -> Stored:
        with sentences(self._path):
            # One transaction, so that no commit comes between the two halves.
            self._reading.execute("BEGIN")
            try:
                settings = self._read("SELECT CAST(path AS BLOB), CAST(value AS BLOB) FROM setting")
                kept = self._read("SELECT CAST(name AS BLOB), CAST(value AS BLOB) FROM kept")
            finally:
                roll_back(self._reading)
            return Stored(settings, kept)

    def _read(self, query: str) -> dict[str, Any]:
        return values_from_texts(self._read_texts(query))

    def _read_texts(self, query: str) -> dict[str, bytes]:
        """Values by name. Asked for as bytes, since sqlite3 repeats a text it cannot decode in its
        complaint, and that text may be a password."""
        return {name.decode(): text for name, text in self._reading.execute(query)}

    def messages(self) -> dict[int, Any]:
        with sentences(self._path):
            query = "SELECT CAST(number AS BLOB), CAST(value AS BLOB) FROM message"
            return messages_from_texts(self._read_texts(query))

    def blob(self, name: str) -> bytes | None:
        with sentences(self._path):
            found = self._reading.execute("SELECT data FROM blob WHERE name = ?", (name,))
            rows: list[tuple[bytes]] = found.fetchall()
        return rows[0][0] if rows else None

    def commit(self, changes: Changes, then: Then | None = None) -> asyncio.Future[None]:
        rows = rows_from_changes(changes)
        loop = asyncio.get_running_loop()
        waiting = _Waiting(rows, loop.create_future(), then)
        if self._closing:
            waiting.fail(StoreUnavailable("The store is closed: the program stops."))
            return waiting.future
        # A loop that ended before it could hand over never does.
        if not self._gathered or self._gathered[-1].future.get_loop() is not loop:
            loop.call_soon(self._gather, loop, 0)
        self._gathered.append(waiting)
        return waiting.future

    def _gather(self, loop: asyncio.AbstractEventLoop, before: int) -> None:
        """At the end of a round: wait for another one if this one has brought something."""
        if before < len(self._gathered) < _ENOUGH:
            loop.call_soon(self._gather, loop, len(self._gathered))
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        """What was gathered goes to the thread."""
        with self._queue:
            self._waiting += self._gathered
            self._gathered = []
            self._queue.notify()

    async def close(self) -> None:
        self._closing = True
        self._hand_over()
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self._thread.join()
        self._reading.close()
        self._writing.close()

    def _write_batches(self) -> None:
        """The thread: batch after batch until closed."""
        while batch := self._next_batch():
            try:
                self._write(_merged(batch))
            except Exception as error:
                # Whatever went wrong, nobody may wait for ever for a thread that is gone.
                self._report_failure(batch, error)
            else:
                self._report_success(batch)

    def _next_batch(self) -> list[_Waiting]:
        """Everything that waits, as soon as something does; nothing when it is time to end."""
        with self._queue:
            while self._held or not (self._waiting or self._closing):
                self._queue.wait()
            batch, self._waiting = self._waiting, []
            return batch

    def _write(self, rows: Rows) -> None:
        statements = _statements(rows)
        if not statements:
            return
        if _removes(rows):
            self._write_and_erase(statements)
        else:
            self._write_statements(statements)
        self.transactions += 1

    def _write_and_erase(self, statements: Sequence[_Statement]) -> None:
        """What is replaced or removed is overwritten, which costs a third of the speed."""
        self._writing.execute("PRAGMA secure_delete = ON").fetchall()
        try:
            self._write_statements(statements)
        finally:
            self._writing.execute("PRAGMA secure_delete = FAST").fetchall()
        self._empty_log()

    def _write_statements(self, statements: Sequence[_Statement]) -> None:
        if len(statements) == 1:
            # A statement on its own is a transaction, without two more fights for the lock.
            self._writing.execute(*statements[0])
        else:
            self._write_together(statements)

    def _write_together(self, statements: Sequence[_Statement]) -> None:
        try:
            self._writing.execute("BEGIN IMMEDIATE")
            for statement in statements:
                self._writing.execute(*statement)
            self._writing.execute("COMMIT")
        except BaseException:
            roll_back(self._writing)
            raise

    def _empty_log(self) -> None:
        """After a removal the log still holds the removed values as they were written.

        The removal itself is durable by now. If the log cannot be emptied, because a foreign
        program reads it or the disk has trouble, the old values go with a later round of the log.
        """
        with contextlib.suppress(sqlite3.Error):
            self._writing.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _report_success(self, batch: list[_Waiting]) -> None:
        # A closed loop has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            _loop_of(batch).call_soon_threadsafe(_succeed, batch)

    def _report_failure(self, batch: list[_Waiting], error: Exception) -> None:
        """Stop writing until the loop has heard of it.

        Only the loop can tell which commits were made without knowing of this failure: all that
        are queued when it fails the futures.
        """
        self._held = True
        try:
            _loop_of(batch).call_soon_threadsafe(self._fail, batch, error)
        except RuntimeError:
            # The loop is closed, and what is queued by now comes from another one.
            self._held = False

    def _fail(self, batch: list[_Waiting], error: Exception) -> None:
        with self._queue:
            behind, self._waiting, self._gathered = self._waiting + self._gathered, [], []
            self._held = False
            self._queue.notify()
        for waiting in batch + behind:
            refusal = StoreUnavailable(_sentence(error))
            refusal.__cause__ = error
            waiting.fail(refusal)


def _loop_of(batch: Sequence[_Waiting]) -> asyncio.AbstractEventLoop:
    """The loop of the newest commit: an older one may come from a loop that has ended."""
    return batch[-1].future.get_loop()


def _succeed(batch: list[_Waiting]) -> None:
    for waiting in batch:
        waiting.succeed()


def _merged(batch: Sequence[_Waiting]) -> Rows:
    merged = Rows()
    for waiting in batch:
        merged.add(waiting.rows)
    return merged


def _removes(rows: Rows) -> bool:
    """Whether something that may be secret is to be gone afterwards."""
    return (
        rows.replace_settings
        or None in rows.settings.values()
        or None in rows.blobs.values()
        or any(is_secret(path) for path in rows.settings)
    )


def _statements(rows: Rows) -> list[_Statement]:
    """The SQL that writes the rows, in order."""
    statements: list[_Statement] = []
    if rows.replace_settings:
        statements.append(("DELETE FROM setting", ()))
    statements += _text_statements("setting", "path", rows.settings)
    statements += _text_statements("kept", "name", rows.kept)
    statements += _text_statements("message", "number", rows.messages)
    for name, data in rows.blobs.items():
        if data is None:
            statements.append(("DELETE FROM blob WHERE name = ?", (name,)))
        else:
            statements.append(("REPLACE INTO blob (name, data) VALUES (?, ?)", (name, data)))
    return statements


def _text_statements(table: str, key: str, texts: dict[str, str | None]) -> Iterator[_Statement]:
    written = {name: text for name, text in texts.items() if text is not None}
    removed = [name for name, text in texts.items() if text is None]
    if written:
        # WHERE true: without it SQLite reads ON as part of a join.
        yield (
            f"INSERT INTO {table} ({key}, value) SELECT key, value FROM json_each(?) WHERE true "
            f"ON CONFLICT ({key}) DO UPDATE SET value = excluded.value",
            (msgspec.json.encode(written).decode(),),
        )
    if removed:
        yield (
            f"DELETE FROM {table} WHERE {key} IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode(removed).decode(),),
        )


def _sentence(error: Exception) -> str:
    return (
        f"The change could not be saved: {reason(error)}. "
        f"Nothing was changed; try again when this is put right."
    )
