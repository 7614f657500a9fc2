"""Notices that somebody else has written to the store's files while the store is in use.

SQLite trusts that nobody does: it goes on with pages that it remembers, and acknowledges changes
into a file that no start could read again. So before anything is written, the files are asked
whether they are as we left them. If not, the store is read whole first. A log that is sound but was
written by others is emptied before anything is added to it: the running SQLite does not look at its
checksums, but a start would, and would drop all that follows the first wrong one.

What is lost stays lost until the program starts again: then there is a snapshot to fall back on.
"""

import os
from contextlib import suppress
from pathlib import Path

from leverframe.storage.soundness import check
from leverframe.storage.sqlite_file import LOG_BYTES, StoreDamaged
from leverframe.storage.store import StoreUnavailable

_State = tuple[int, ...]

_NOTHING_SAVED = "changes can no longer be saved, outputs go on."
_BY_SNAPSHOT = "Restart the controller: it then uses the last good snapshot."


class StoreLost(StoreUnavailable):
    """Nothing will be written any more before the next start: a sentence that says why."""


class LogLost(StoreLost):
    """The log has no name any more; what is in it can only be saved by the one who has it open."""


class StoreWatch:
    """Looks at the files of a store that is open. One thread at a time uses it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # As text, which a look before every transaction gets through faster.
        self._store_name, self._log_name = str(path), f"{path}-wal"
        #: Why nothing is written any more.
        self.lost: str | None = None
        self._store: _State | None = None
        self._log: os.stat_result | None = None
        self.note_store()
        self.note_log()

    def note_store(self) -> None:
        """We have written to the main file ourselves."""
        with suppress(OSError):
            self._store = _state(self._store_name)

    def note_log(self, *, emptied: bool = False) -> None:
        """We have written to the log ourselves; it becomes shorter only when we empty it."""
        with suppress(OSError):
            log, before = _stat(self._log_name), self._log
            if log is None or before is None or emptied or _continues(before, log):
                self._log = log

    def is_untouched(self) -> bool:
        """Whether nobody else has written to the main file since we did."""
        with suppress(OSError):
            return _state(self._store_name) == self._store
        return False

    def look(self) -> bool:
        """Raises StoreLost if nothing may be written any more; another time where only now.

        The answer is whether the log must be emptied before anything is added to it.
        """
        if self.lost is not None:
            raise StoreLost(self.lost)
        try:
            return self._look()
        except OSError as error:
            raise StoreUnavailable(
                f"The store {self._path} is out of reach: {error.strerror}."
            ) from error

    def _look(self) -> bool:
        store = _state(self._store_name)
        if store != self._store:
            self._examine(store)
        log = _stat(self._log_name)
        if log is None or self._log is None or log.st_ino != self._log.st_ino:
            raise LogLost(self._lose_log("removed"))
        if _written(log) == _written(self._log):
            return False
        self._examine_log(is_cut=log.st_size < self._log.st_size)
        return True

    def take_up_log(self) -> None:
        """The log was emptied; raises StoreUnavailable if that was in vain."""
        log = _stat(self._log_name)
        if log is None or log.st_size:
            raise StoreUnavailable(
                f"Another program holds the store's log {self._log_name}. Nothing was changed; try "
                "again when it has ended."
            )
        self._log = log

    def give_up(self, damage: StoreDamaged) -> StoreLost:
        """The store was found damaged, whoever has met it."""
        self.lost = (
            f"{damage} This happened while the controller was running: {_NOTHING_SAVED} "
            f"{_BY_SNAPSHOT}"
        )
        return StoreLost(self.lost)

    def _examine(self, store: _State | None) -> None:
        """The main file is not as we left it; a program that uses SQLite does no damage."""
        what = f"The store {self._path} was"
        while_running = f"while the controller was running: {_NOTHING_SAVED}"
        if store is None or self._store is None:
            self.lost = f"{what} removed {while_running} {_BY_SNAPSHOT}"
            raise StoreLost(self.lost)
        if store[:2] != self._store[:2]:
            self.lost = (
                f"{what} replaced by another file {while_running} Restart the controller: it then "
                "uses the file that is there."
            )
            raise StoreLost(self.lost)
        try:
            self._check(size=store[2])
        except StoreDamaged as damage:
            raise self.give_up(damage) from damage
        self._store = store

    def _check(self, size: int) -> None:
        # Not even looked at where it is empty: SQLite would take the log for a stale one then.
        if size == 0 or not check(self._path):
            raise StoreDamaged(f"The store {self._path} is empty.")

    def _examine_log(self, *, is_cut: bool) -> None:
        try:
            check(self._path)
        except StoreDamaged as damage:
            raise self.give_up(damage) from damage
        except StoreUnavailable as error:
            # What is missing cannot be read, which says nothing about the disk.
            if is_cut:
                raise StoreLost(self._lose_log("cut")) from error
            raise

    def _lose_log(self, deed: str) -> str:
        self.lost = (
            f"The store's log {self._log_name} was {deed} by another program while the controller "
            f"was running: {_NOTHING_SAVED} Restart the controller: it then uses what can be read."
        )
        return self.lost


def _stat(name: str) -> os.stat_result | None:
    try:
        return os.stat(name)
    except FileNotFoundError:
        return None


def _state(name: str) -> _State | None:
    """What differs after somebody has written there, whatever they do about the time of it."""
    found = _stat(name)
    if found is None:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _written(log: os.stat_result) -> _State:
    return log.st_size, log.st_mtime_ns


def _continues(before: os.stat_result, log: os.stat_result) -> bool:
    """Whether SQLite alone can have made the log of it; it cuts a very long one back by itself."""
    return log.st_ino == before.st_ino and log.st_size >= min(before.st_size, LOG_BYTES)
