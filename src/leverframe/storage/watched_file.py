"""An SQLite file in use: one connection that writes, one that reads, and a watch over its files.

Reads use a separate connection and never wait for a write (write-ahead log). Code that uses the
writing connection between opening and closing must hold `_in_use`.

Before each transaction, the files must be as the previous transaction left them. After SQLite has
committed, later errors do not count as a failure of the transaction: the caller is informed that it
is durable.
"""

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from leverframe.storage.page_sums import LiveSums
from leverframe.storage.sqlite_file import (
    StoreDamaged,
    check,
    connect,
    damage_sentence,
    is_damage,
    open_file,
    roll_back,
    sentences,
)
from leverframe.storage.statements import Statement, pages_of
from leverframe.storage.store import StoreUnavailable

# A watch over the store's files, which detects other programs that write to them while they are in
# use.
#
# SQLite does not detect other writers: it continues to use cached pages, and acknowledges changes
# to a file that the next start may not be able to read. Therefore the files are compared before
# each write with the state after our last write. If they differ, the complete store is checked
# first. A sound log to which another program has written is emptied before more is added: the
# running SQLite does not check the checksums in the log, but the next start does, and drops all
# frames after the first wrong checksum.
#
# A loss is repaired from a snapshot only when the program starts again.

_State = tuple[int, ...]

_WHILE_RUNNING = (
    "while the controller was running: changes can no longer be saved, outputs keep working. "
    "Restart the controller: it then uses"
)
_SNAPSHOT = "the last good snapshot."


class StoreLost(StoreUnavailable):
    """Nothing can be written before the next start; the message says why."""


class LogLost(StoreLost):
    """The log was deleted; only the process that has it open can save its content."""


class StoreWatch:
    """Compares an open store's files with our last write; for one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # As text, which is faster for the check before every transaction.
        self._store_name, self._log_name = str(path), f"{path}-wal"
        #: The reason why nothing can be written any longer.
        self.lost: str | None = None
        #: Whether another program has written to the main file, and left it sound.
        self.has_foreign_store = False
        self._store: _State | None = None
        self._log: _State | None = None
        self.note_store()
        self.note_log()

    def note_store(self) -> None:
        """Record the state of the main file after our own write."""
        with suppress(OSError):
            self._store = _state(self._store_name)

    def note_log(self) -> None:
        """Record the state of the log after our own write."""
        with suppress(OSError):
            self._log = _state(self._log_name)

    def is_untouched(self) -> bool:
        """Return whether no other program has written to the main file since our last write."""
        with suppress(OSError):
            return _state(self._store_name) == self._store
        return False

    def check_unchanged(self) -> bool:
        """Return whether the log must be emptied before more is added to it.

        Raises StoreLost if nothing may be written any longer, StoreUnavailable if nothing can be
        written now.
        """
        if self.lost is not None:
            raise StoreLost(self.lost)
        try:
            return self._compare()
        except OSError as error:
            raise StoreUnavailable(
                f"The store {self._path} cannot be reached: {error.strerror}."
            ) from error
        except StoreDamaged as damage:
            raise self.give_up(damage) from damage

    def _compare(self) -> bool:
        store, log = _state(self._store_name), _state(self._log_name)
        if store != self._store:
            self._examine(store)
        if log is None or self._log is None or log[:2] != self._log[:2]:
            raise self._lose(LogLost, f"The store's log {self._log_name} was removed", "the store.")
        # Without the change time, which every program that opens the file may change.
        if log[:4] == self._log[:4]:
            return False
        check(self._path)
        return True

    def _examine(self, store: _State | None) -> None:
        """Check a main file that another program changed; with SQLite it would still be sound."""
        if store is None or self._store is None:
            raise self._lose(StoreLost, f"The store {self._path} was removed", _SNAPSHOT)
        if store[:2] != self._store[:2]:
            what = f"The store {self._path} was replaced by another file"
            raise self._lose(StoreLost, what, "that file.")
        # Do not open an empty file, because SQLite would then treat the log as outdated.
        if store[2] == 0 or not check(self._path):
            raise StoreDamaged(f"The store {self._path} is empty.")
        self._store = store
        self.has_foreign_store = True

    def take_up_log(self) -> None:
        """Continue with the emptied log; raise StoreUnavailable if it could not be emptied."""
        log = _state(self._log_name)
        if log is None or log[2]:
            raise StoreUnavailable(
                f"Another program has locked the store's log {self._log_name}. Nothing was "
                "changed; try again when it has ended."
            )
        self._log = log

    def give_up(self, damage: StoreDamaged) -> StoreLost:
        """Reject all further writes, because the store is damaged."""
        return self._lose(StoreLost, f"{damage} This happened", _SNAPSHOT)

    def _lose(self, kind: type[StoreLost], damage: str, then_used: str) -> StoreLost:
        self.lost = f"{damage} {_WHILE_RUNNING} {then_used}"
        return kind(self.lost)


def _state(name: str) -> _State | None:
    """Return the attributes that another program's write changes, even if it resets the time."""
    try:
        found = os.stat(name)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


log = logging.getLogger(__name__)

#: At about this number of pages (4 MB) the log is copied into the main file. A checkpoint takes
#: longer than a commit, but writes a page that changed many times only once.
_CHECKPOINT_PAGES = 1000

_BEGIN: Statement = ("BEGIN IMMEDIATE", ())
_COMMIT: Statement = ("COMMIT", ())


class WatchedFile:
    """The file of a store. Raises StoreTooNew, StoreDamaged or StoreUnavailable when opened."""

    def __init__(
        self, path: Path, migrations: Path, do_later: Callable[[Callable[[], None]], object]
    ) -> None:
        """Open the file; `do_later` runs work for which no transaction needs to wait."""
        self._path = path
        self._do_later = do_later
        self._writing = open_file(path, migrations)
        self._reading = connect(path)
        self._reads = threading.Lock()
        self._watch = StoreWatch(path)
        self._sums = LiveSums(path)
        self._in_use = threading.Lock()
        #: Transactions written since opening.
        self.transactions = 0
        #: The approximate number of pages that are only in the log.
        self._pages = 0
        self._is_checkpoint_planned = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Provide the reading connection; stop all writing if the file turns out to be damaged."""
        try:
            with self._reads, sentences(self._path):
                yield self._reading
        except StoreDamaged as damage:
            self._watch.give_up(damage)
            raise

    def write(
        self,
        statements: Sequence[Statement],
        *,
        erases: bool,
        moves: bool = False,
        scattered: int = 0,
    ) -> None:
        """Write in one transaction, which may take long; an error means that nothing was written.

        With `erases`, no file contains the removed values afterwards. With `moves`, they are
        overwritten at their old place but are still in the log. `scattered` is the number of rows
        that each change a separate page, however small they are.
        """
        with self._in_use:
            self._check_files()
            try:
                if erases or moves:
                    # Overwrite replaced and removed content, which reduces the speed by a third.
                    self._pragma("secure_delete = ON")
                if len(statements) == 1:
                    # A single statement is its own transaction, because each further statement
                    # waits for the interpreter.
                    self._writing.execute(*statements[0])
                else:
                    for statement in (_BEGIN, *statements, _COMMIT):
                        self._writing.execute(*statement)
            except BaseException as error:
                self._undo(error)
                raise
            try:
                if erases or moves:
                    self._pragma("secure_delete = FAST")
                self._tidy_up(statements, erases, scattered)
            except BaseException:
                log.exception("the store could not be cleaned up after a transaction")
                # This process has caused the current state of the files.
                self._watch = StoreWatch(self._path)

    def _undo(self, error: BaseException) -> None:
        """Roll back a failed transaction; stop all writing if the file is damaged."""
        try:
            roll_back(self._writing)
        finally:
            self._watch.note_log()
        if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
            damage = StoreDamaged(damage_sentence(self._path, str(error)))
            raise self._watch.give_up(damage) from error

    def _tidy_up(self, statements: Sequence[Statement], erases: bool, scattered: int) -> None:
        """Record the state of the files after a transaction; schedule a checkpoint if the log is
        long.

        Removed values are still in the log, so the log is emptied. If that fails because another
        program reads the log or because of disk errors, later content of the log overwrites them.
        """
        self._watch.note_log()
        self.transactions += 1
        self._sums.note_transaction()
        self._pages += pages_of(statements) + scattered
        if erases:
            self._checkpoint("TRUNCATE")
            self._watch.note_log()
        elif self._pages >= _CHECKPOINT_PAGES and not self._is_checkpoint_planned:
            # Transactions before the checkpoint need not schedule another one.
            self._is_checkpoint_planned = True
            self._do_later(self.checkpoint)

    def checkpoint(self) -> None:
        """Copy the log into the main file."""
        with self._in_use:
            self._is_checkpoint_planned = False
            self._checkpoint("PASSIVE")

    def _check_files(self) -> None:
        """Raise StoreUnavailable if nothing may be written."""
        try:
            is_foreign = self._watch.check_unchanged()
        except LogLost:
            # Only this process can still access the deleted log.
            self._sums.give_up()
            self._checkpoint("PASSIVE")
            raise
        if self._watch.has_foreign_store:
            self._sums.give_up()
        if is_foreign:
            self._checkpoint("TRUNCATE")
            self._watch.take_up_log()

    def close(self) -> None:
        self._reading.close()
        with self._in_use:
            # SQLite does the same when it closes the file, but then the sums would not be updated.
            if self._checkpoint("PASSIVE"):
                self._sums.note_end()
            else:
                self._sums.give_up()
            self._writing.close()

    def settle(self) -> None:
        """Copy the log into the main file, in any thread; raise StoreUnavailable if that fails."""
        with self._in_use:
            self._check_files()
            self._checkpoint("PASSIVE")

    def _checkpoint(self, how: str) -> bool:
        """Copy the log into the main file, unless another program has changed the file.

        Return whether all of the log was copied.
        """
        if not self._watch.is_untouched():
            return False
        is_whole = False
        with contextlib.suppress(sqlite3.Error):
            _, frames, folded = self._pragma("wal_checkpoint(PASSIVE)")
            is_whole = frames == folded
            self._pages = 0
            # Update the sums before the log restarts, as it does after a truncation.
            if frames > 0:
                self._sums.note_folded(frames)
            if how != "PASSIVE":
                self._pragma(f"wal_checkpoint({how})")
        self._watch.note_store()
        return is_whole

    def _pragma(self, pragma: str) -> tuple[int, ...]:
        # A cursor that is not exhausted holds a lock until it is freed.
        with contextlib.closing(self._writing.execute(f"PRAGMA {pragma}")) as cursor:
            return next(iter(cursor.fetchall()), ())
