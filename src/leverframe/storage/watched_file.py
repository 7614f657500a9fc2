"""An SQLite file in use: one connection that writes, one that reads, and a watch over its files.

Reads use a connection of their own and never wait for a write (write-ahead log). Code that touches
the writing connection between opening and closing holds `_in_use`.

Before each transaction the files must be as the last one left them (`store_watch.py`). Once SQLite
has committed, nothing that follows makes a failure of it: the caller learns that it is durable.
"""

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from leverframe.storage.page_sums import LiveSums
from leverframe.storage.sqlite_file import (
    StoreDamaged,
    connect,
    damage_sentence,
    is_damage,
    open_file,
    roll_back,
    sentences,
)
from leverframe.storage.statements import Statement, pages_of
from leverframe.storage.store_watch import LogLost, StoreWatch

log = logging.getLogger(__name__)

#: At about this number of pages (4 MB) the log is folded into the main file. That costs more than a
#: commit, but writes a page that changed often only once.
_CHECKPOINT_PAGES = 1000

_BEGIN: Statement = ("BEGIN IMMEDIATE", ())
_COMMIT: Statement = ("COMMIT", ())


class WatchedFile:
    """The file of a store. Raises StoreTooNew, StoreDamaged or StoreUnavailable when opened."""

    def __init__(
        self,
        path: Path,
        migrations: Path,
        do_later: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        """Open the file; where given, `do_later` does what no transaction need wait for."""
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
        elif self._pages >= _CHECKPOINT_PAGES:
            if self._do_later is None:
                self._checkpoint("PASSIVE")
            else:
                self._do_later(self.checkpoint)

    def checkpoint(self) -> None:
        """Write the log into the main file."""
        with self._in_use:
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
