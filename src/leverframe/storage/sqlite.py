"""The durable store: one SQLite file, one thread that writes.

Group commit: what is committed in rounds of the event loop that follow each other, and while the
thread is busy with one transaction, goes into the next transaction together. The cost of reaching
the disk is thus shared by everybody who waits, and the futures of one batch are resolved with a
single call into the event loop. The thread is woken when a round has brought nothing more, and not
by each commit: on one core it would take the turn from the loop for every single request, and both
would do little else than change places.

Reads use a connection of their own and never wait for a write (write-ahead log). One loop uses a
store at a time; whoever touches the writing connection between opening and closing holds `_in_use`.

Before each transaction the files must be as the last one left them (`store_watch.py`).
"""

import asyncio
import contextlib
import sqlite3
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from leverframe.storage.batch import Waiting, loop_of, merged, succeed_all
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
    Changes,
    Rows,
    Stored,
    StoreUnavailable,
    Then,
    messages_from_texts,
    rows_from_changes,
    values_from_texts,
)
from leverframe.storage.store_watch import LogLost, StoreWatch

#: How soon a thread that wants to run is let in. With the interpreter's own 5 ms, a busy event
#: loop, which lets go for an instant at every poll, can keep the writing thread out for seconds.
_SWITCH_S = 20e-6

#: So many commits are worth a transaction, whatever else may come.
_ENOUGH = 64

#: When about so many pages (4 MB) are in the log it is folded into the main file. That costs more
#: than a commit, but writes a page that changed often only once.
_FOLD_PAGES = 1000


class SqliteStore:
    """The store in a file. Raises StoreTooNew, StoreDamaged or StoreUnavailable when opened."""

    def __init__(self, path: Path) -> None:
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_S))
        self._path = path
        self._writing = open_file(path)
        self._reading = connect(path)
        self._watch = StoreWatch(path)
        self._in_use = threading.Lock()
        #: Transactions written since opening.
        self.transactions = 0
        #: About how many pages are in the log and nowhere else.
        self._pages = 0
        self._queue = threading.Condition()
        #: Commits that are being gathered by the event loop, which alone touches them.
        self._gathered: list[Waiting] = []
        self._waiting: list[Waiting] = []
        self._held = False
        self._closing = False
        self._thread = threading.Thread(target=self._write_batches, name="store", daemon=True)
        self._thread.start()

    def load(self) -> Stored:
        with self._noticing_damage():
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
        with self._noticing_damage():
            query = "SELECT CAST(number AS BLOB), CAST(value AS BLOB) FROM message"
            return messages_from_texts(self._read_texts(query))

    def blob(self, name: str) -> bytes | None:
        with self._noticing_damage():
            found = self._reading.execute("SELECT data FROM blob WHERE name = ?", (name,))
            rows: list[tuple[bytes]] = found.fetchall()
        return rows[0][0] if rows else None

    @contextlib.contextmanager
    def _noticing_damage(self) -> Iterator[None]:
        """What cannot be read is a reason not to write any more."""
        try:
            with sentences(self._path):
                yield
        except StoreDamaged as damage:
            self._watch.give_up(damage)
            raise

    def commit(self, changes: Changes, then: Then | None = None) -> asyncio.Future[None]:
        rows = rows_from_changes(changes)
        loop = asyncio.get_running_loop()
        waiting = Waiting(rows, loop.create_future(), then)
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
                with self._in_use:
                    self._write(merged(batch))
            except Exception as error:
                # Whatever went wrong, nobody may wait for ever for a thread that is gone.
                self._report_failure(batch, error)
            else:
                self._report_success(batch)

    def _next_batch(self) -> list[Waiting]:
        """Everything that waits, as soon as something does; nothing when it is time to end."""
        with self._queue:
            while self._held or not (self._waiting or self._closing):
                self._queue.wait()
            batch, self._waiting = self._waiting, []
            return batch

    def _write(self, rows: Rows) -> None:
        statements = statements_of(rows)
        if not statements:
            return
        self._look()
        try:
            if removes(rows):
                self._write_and_erase(statements)
            else:
                self._write_statements(statements)
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                damage = StoreDamaged(damage_sentence(self._path, str(error)))
                raise self._watch.give_up(damage) from error
            raise
        finally:
            self._watch.note_log()
        self.transactions += 1
        self._pages += pages_of(statements)
        if self._pages >= _FOLD_PAGES:
            self._checkpoint("PASSIVE")

    def _look(self) -> None:
        """Raises StoreUnavailable where nothing may be written."""
        try:
            is_foreign = self._watch.look()
        except LogLost:
            # Nobody but us can reach it any more.
            self._checkpoint("PASSIVE")
            raise
        if is_foreign:
            self._checkpoint("TRUNCATE")
            self._watch.take_up_log()

    def settle(self) -> None:
        """On any thread: bring the main file up to date; raises StoreUnavailable if it is lost."""
        with self._in_use:
            self._look()
            self._checkpoint("PASSIVE")

    def _write_and_erase(self, statements: Sequence[Statement]) -> None:
        """What is replaced or removed is overwritten, which costs a third of the speed.

        Afterwards the log still holds the removed values as they were written, so it is emptied.
        The removal itself is durable by then. If the log cannot be emptied, because a foreign
        program reads it or the disk has trouble, the old values go with a later round of the log.
        """
        self._writing.execute("PRAGMA secure_delete = ON").fetchall()
        try:
            self._write_statements(statements)
        finally:
            self._writing.execute("PRAGMA secure_delete = FAST").fetchall()
        self._checkpoint("TRUNCATE")

    def _write_statements(self, statements: Sequence[Statement]) -> None:
        if len(statements) == 1:
            # A statement on its own is a transaction, without two more fights for the lock.
            self._writing.execute(*statements[0])
        else:
            self._write_together(statements)

    def _write_together(self, statements: Sequence[Statement]) -> None:
        try:
            self._writing.execute("BEGIN IMMEDIATE")
            for statement in statements:
                self._writing.execute(*statement)
            self._writing.execute("COMMIT")
        except BaseException:
            roll_back(self._writing)
            raise

    def _checkpoint(self, how: str) -> None:
        """Write into the main file what is only in the log, unless somebody else has been there."""
        if not self._watch.is_untouched():
            return
        with contextlib.suppress(sqlite3.Error):
            self._writing.execute(f"PRAGMA wal_checkpoint({how})").fetchall()
            self._pages = 0
        self._watch.note_store()

    def _report_success(self, batch: list[Waiting]) -> None:
        # A closed loop has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            loop_of(batch).call_soon_threadsafe(succeed_all, batch)

    def _report_failure(self, batch: list[Waiting], error: Exception) -> None:
        """Stop writing until the loop has heard of it.

        Only the loop can tell which commits were made without knowing of this failure: all that
        are queued when it fails the futures.
        """
        self._held = True
        try:
            loop_of(batch).call_soon_threadsafe(self._fail, batch, error)
        except RuntimeError:
            # The loop is closed, and what is queued by now comes from another one.
            self._held = False

    def _fail(self, batch: list[Waiting], error: Exception) -> None:
        with self._queue:
            behind, self._waiting, self._gathered = self._waiting + self._gathered, [], []
            self._held = False
            self._queue.notify()
        for waiting in batch + behind:
            refusal = StoreUnavailable(_sentence(error))
            refusal.__cause__ = error
            waiting.fail(refusal)


def _sentence(error: Exception) -> str:
    if isinstance(error, StoreUnavailable):
        return str(error)
    return (
        f"The change could not be saved: {reason(error)}. "
        f"Nothing was changed; try again when this is put right."
    )
