"""The watch over the store's files: whether another program writes to them while they are in use.

SQLite trusts that none does: it keeps using pages that it remembers, and acknowledges changes into
a file that no start could read again. So the files are compared with how we left them before
anything is written. If they differ, the store is read whole first. A log that is sound but was
written by others is emptied before anything is added to it: the running SQLite does not look at its
checksums, but a start would, and would drop all that follows the first wrong one.

What is lost stays lost until the program starts again: then there is a snapshot to fall back on.
"""

import os
from contextlib import suppress
from pathlib import Path

from leverframe.storage.soundness import check
from leverframe.storage.sqlite_file import StoreDamaged
from leverframe.storage.store import StoreUnavailable

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
