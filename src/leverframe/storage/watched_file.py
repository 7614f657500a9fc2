"""An SQLite file in use: one connection that writes, one that reads, and a watch over its files.

Reads use a connection of their own and never wait for a write (write-ahead log). Code that touches
the writing connection between opening and closing holds `_in_use`.

Before each transaction the files must be as the last one left them. Once SQLite
has committed, nothing that follows makes a failure of it: the caller learns that it is durable.
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

# The watch over the store's files: whether another program writes to them while they are in use.
#
# SQLite trusts that none does: it keeps using pages that it remembers, and acknowledges changes
# into a file that no start could read again. So the files are compared with how we left them
# before anything is written. If they differ, the store is read whole first. A log that is sound
# but was written by others is emptied before anything is added to it: the running SQLite does not
# look at its checksums, but a start would, and would drop all that follows the first wrong one.
#
# What is lost stays lost until the program starts again: then there is a snapshot to fall back
# on.

_State = tuple[int, ...]

_WHILE_RUNNING = (
    "while the controller was running: changes can no longer be saved, outputs keep working. "
    "Restart the controller: it then uses"
)
_SNAPSHOT = "the last good snapshot."


class StoreLost(StoreUnavailable):
    """Nothing will be written any more before the next start: a sentence that says why."""


class LogLost(StoreLost):
    """The log has no name any more; what is in it can only be saved by the one who has it open."""


class StoreWatch:
    """A comparison of an open store's files with how we left them, for one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # As text, which a look before every transaction gets through faster.
        self._store_name, self._log_name = str(path), f"{path}-wal"
        #: Why nothing is written any more.
        self.lost: str | None = None
        #: Whether another program has written to the main file, and left it sound.
        self.has_foreign_store = False
        self._store: _State | None = None
        self._log: _State | None = None
        self.note_store()
        self.note_log()

    def note_store(self) -> None:
        """Remember the main file, which we have written ourselves."""
        with suppress(OSError):
            self._store = _state(self._store_name)

    def note_log(self) -> None:
        """Remember the log, which we have written ourselves."""
        with suppress(OSError):
            self._log = _state(self._log_name)

    def is_untouched(self) -> bool:
        """Return whether no other program has written to the main file since we did."""
        with suppress(OSError):
            return _state(self._store_name) == self._store
        return False

    def check_unchanged(self) -> bool:
        """Return whether the log must be emptied before anything is added to it.

        Raises StoreLost if nothing may be written any more, StoreUnavailable if only now.
        """
        if self.lost is not None:
            raise StoreLost(self.lost)
        try:
            return self._compare()
        except OSError as error:
            raise StoreUnavailable(
                f"The store {self._path} is out of reach: {error.strerror}."
            ) from error
        except StoreDamaged as damage:
            raise self.give_up(damage) from damage

    def _compare(self) -> bool:
        store, log = _state(self._store_name), _state(self._log_name)
        if store != self._store:
            self._examine(store)
        if log is None or self._log is None or log[:2] != self._log[:2]:
            raise self._lose(LogLost, f"The store's log {self._log_name} was removed", "the store.")
        # Without the time of its attributes, which every program that opens it may change.
        if log[:4] == self._log[:4]:
            return False
        check(self._path)
        return True

    def _examine(self, store: _State | None) -> None:
        """Check a main file that is not as we left it; programs that use SQLite do no damage."""
        if store is None or self._store is None:
            raise self._lose(StoreLost, f"The store {self._path} was removed", _SNAPSHOT)
        if store[:2] != self._store[:2]:
            what = f"The store {self._path} was replaced by another file"
            raise self._lose(StoreLost, what, "that file.")
        # Not even looked at where it is empty: SQLite would take the log for a stale one then.
        if store[2] == 0 or not check(self._path):
            raise StoreDamaged(f"The store {self._path} is empty.")
        self._store = store
        self.has_foreign_store = True

    def take_up_log(self) -> None:
        """Continue with the emptied log; raise StoreUnavailable if emptying it failed."""
        log = _state(self._log_name)
        if log is None or log[2]:
            raise StoreUnavailable(
                f"Another program has locked the store's log {self._log_name}. Nothing was "
                "changed; try again when it has ended."
            )
        self._log = log

    def give_up(self, damage: StoreDamaged) -> StoreLost:
        """Refuse all further writes: the store was found damaged."""
        return self._lose(StoreLost, f"{damage} This happened", _SNAPSHOT)

    def _lose(self, kind: type[StoreLost], damage: str, then_used: str) -> StoreLost:
        self.lost = f"{damage} {_WHILE_RUNNING} {then_used}"
        return kind(self.lost)


def _state(name: str) -> _State | None:
    """Read what differs after another program has written, even if it reset the time."""
    try:
        found = os.stat(name)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


log = logging.getLogger(__name__)

#: At about this number of pages (4 MB) the log is folded into the main file. That costs more than a
#: commit, but writes a page that changed often only once.
_CHECKPOINT_PAGES = 1000

_BEGIN: Statement = ("BEGIN IMMEDIATE", ())
_COMMIT: Statement = ("COMMIT", ())


class WatchedFile:
    """The file of a store. Raises StoreTooNew, StoreDamaged or StoreUnavailable when opened."""

    def __init__(
        self, path: Path, migrations: Path, do_later: Callable[[Callable[[], None]], object]
    ) -> None:
        """Open the file; `do_later` does what no transaction need wait for."""
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
        #: About how many pages are in the log and nowhere else.
        self._pages = 0
        self._is_checkpoint_planned = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection that reads; give up writing where something cannot be read."""
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
        """Write in one transaction, which may last; raise where nothing was written.

        What it `erases` is in no file any more then. What it `moves` is overwritten in its old
        place, but stays in the log. The `scattered` rows lie on a page each, however small.
        """
        with self._in_use:
            self._check_files()
            try:
                if erases or moves:
                    # What is replaced or removed is overwritten, which costs a third of the speed.
                    self._pragma("secure_delete = ON")
                if len(statements) == 1:
                    # A transaction of its own: each further statement waits for the interpreter.
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
                # We caused the present state of the files.
                self._watch = StoreWatch(self._path)

    def _undo(self, error: BaseException) -> None:
        """Roll a failed transaction back; give up writing where the file is damaged."""
        try:
            roll_back(self._writing)
        finally:
            self._watch.note_log()
        if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
            damage = StoreDamaged(damage_sentence(self._path, str(error)))
            raise self._watch.give_up(damage) from error

    def _tidy_up(self, statements: Sequence[Statement], erases: bool, scattered: int) -> None:
        """Note the state of the files after a transaction; have a long log checkpointed.

        What was removed is still in the log as it was written, so that is emptied. If it cannot be,
        because a foreign program reads it or the disk has trouble, the old values go with a later
        round of the log.
        """
        self._watch.note_log()
        self.transactions += 1
        self._sums.note_transaction()
        self._pages += pages_of(statements) + scattered
        if erases:
            self._checkpoint("TRUNCATE")
            self._watch.note_log()
        elif self._pages >= _CHECKPOINT_PAGES and not self._is_checkpoint_planned:
            # Transactions that come before it need no further one.
            self._is_checkpoint_planned = True
            self._do_later(self.checkpoint)

    def checkpoint(self) -> None:
        """Write the log into the main file."""
        with self._in_use:
            self._is_checkpoint_planned = False
            self._checkpoint("PASSIVE")

    def _check_files(self) -> None:
        """Raise StoreUnavailable where nothing may be written."""
        try:
            is_foreign = self._watch.check_unchanged()
        except LogLost:
            # Only this process can still reach it.
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
            # SQLite does the same when it closes, but the sums have to follow first.
            if self._checkpoint("PASSIVE"):
                self._sums.note_end()
            else:
                self._sums.give_up()
            self._writing.close()

    def settle(self) -> None:
        """Bring the main file up to date, on any thread; raise StoreUnavailable if it is lost."""
        with self._in_use:
            self._check_files()
            self._checkpoint("PASSIVE")

    def _checkpoint(self, how: str) -> bool:
        """Write the log into the main file, unless another program has changed the file.

        Return whether all of it is there.
        """
        if not self._watch.is_untouched():
            return False
        is_whole = False
        with contextlib.suppress(sqlite3.Error):
            _, frames, folded = self._pragma("wal_checkpoint(PASSIVE)")
            is_whole = frames == folded
            self._pages = 0
            # Before anything begins the log again, which a truncation does.
            if frames > 0:
                self._sums.note_folded(frames)
            if how != "PASSIVE":
                self._pragma(f"wal_checkpoint({how})")
        self._watch.note_store()
        return is_whole

    def _pragma(self, pragma: str) -> tuple[int, ...]:
        # A cursor that is not at its end holds a lock for as long as it is referenced.
        with contextlib.closing(self._writing.execute(f"PRAGMA {pragma}")) as cursor:
            return next(iter(cursor.fetchall()), ())
