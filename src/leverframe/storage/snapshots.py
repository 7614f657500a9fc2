"""Snapshots of the store, and how a damaged store is replaced by one of them.

SQLite itself creates a snapshot while the store is in use; it is checked before it replaces an
older one. The newest snapshot is number 1; a few older ones are kept, because damage may be noticed
late. A damaged store is never deleted but moved to a separate folder, because it may contain more
than the last snapshot.
"""

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from leverframe.core.settings import Settings
from leverframe.core.tree import secrets_differ
from leverframe.storage.page_sums import read_sums
from leverframe.storage.private_files import create_private, keep_report, new_folder
from leverframe.storage.sqlite_file import StoreDamaged, check, connect, findings, reason
from leverframe.storage.store import StoreUnavailable

KEPT = 3
#: Suffixes of the files of a store.
_COMPANIONS = ("", "-wal", "-shm", "-sums")


def _do_nothing() -> None:
    """Do nothing: the store is not in use."""


class Snapshots:
    """The snapshots of the store in a data folder.

    If a process uses the store, `settle` is called before each copy. It copies the log into the
    main file, so that the store has all data of the snapshot even if the log is lost. It raises
    StoreUnavailable if the store must not be copied.
    """

    def __init__(self, store_path: Path, settle: Callable[[], None] = _do_nothing) -> None:
        self._store_path = store_path
        self._folder = store_path.parent
        self._settle = settle

    def path(self, number: int) -> Path:
        return self._folder / f"snapshot-{number}.db"

    def take(self) -> None:
        """Copy the store, check the copy, and make it number 1. Raises StoreUnavailable."""
        new = self._folder / "snapshot.new"
        with _report_as("No snapshot could be created"):
            self._settle()
            _remove(new)
            os.close(create_private(new))
            with closing(connect(self._store_path)) as store, closing(connect(new)) as copy:
                store.backup(copy)
                # Without a log, the copy is a single file.
                copy.execute("PRAGMA journal_mode = DELETE")
            if not check(new):
                raise StoreDamaged(f"The store {self._store_path} is empty")
            _sync(new)
            for number in range(KEPT - 1, 0, -1):
                if self.path(number).exists():
                    self.path(number).rename(self.path(number + 1))
            new.rename(self.path(1))
            _sync(self._folder)

    def renew(self) -> None:
        """Create a snapshot and remove all others, which contain secrets that were erased.

        Raises StoreUnavailable.
        """
        self.take()
        with _report_as("Older snapshots that contain erased secrets could not be removed"):
            for number in range(2, KEPT + 1):
                _remove(self.path(number))

    def all(self) -> list[tuple[int, Path]]:
        """List the existing snapshots by number, newest first."""
        every = ((number, self.path(number)) for number in range(1, KEPT + 1))
        return [(number, path) for number, path in every if path.exists()]

    def newest_sound(self) -> Path | None:
        return next((path for _, path in self.all() if not findings(path)), None)


@contextmanager
def _report_as(problem: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError, StoreDamaged) as error:
        raise StoreUnavailable(f"{problem}: {reason(error)}.") from error


def set_aside(store_path: Path) -> Path:
    """Move a damaged store to another folder, and return that folder."""
    aside = new_folder(store_path.parent)
    for part in _parts(store_path):
        part.rename(aside / part.name)
    _sync(store_path.parent)
    return aside


def put_back(snapshot: Path, store_path: Path) -> None:
    """Replace the store by a copy of a snapshot; keep the snapshot."""
    # Imported here: a store is hardly ever damaged.
    import shutil

    new = store_path.with_name(store_path.name + ".new")
    _remove(new)
    os.close(create_private(new))
    shutil.copyfile(snapshot, new)
    _sync(new)
    new.rename(store_path)
    _sync(store_path.parent)


def recover(store_path: Path) -> str | None:
    """Ensure that the store can be opened; return a sentence if a snapshot had to replace it.

    Raises StoreDamaged if there is no sound snapshot, and then changes nothing. Raises
    StoreUnavailable if the disk does not allow it.
    """
    damage, is_first_start = _damage(store_path)
    if damage is None:
        return None
    sound = Snapshots(store_path).newest_sound()
    if sound is None and is_first_start and not _had_content(store_path):
        return None
    if sound is None:
        raise StoreDamaged(
            f"{damage} There is no intact snapshot of the store. Recover the readable data with"
            f" `leverframe data repair`, or choose another folder with --data."
        )
    what = "It" if store_path.exists() else "What is left of it"
    try:
        aside = set_aside(store_path) if _parts(store_path) else None
        put_back(sound, store_path)
    except OSError as error:
        raise StoreUnavailable(f"{damage} It cannot be replaced: {reason(error)}.") from error
    where = f"{what} was set aside in {aside}, and the" if aside else "The"
    report = (
        f"{damage} {where} last good snapshot ({sound.name}) is in use: changes made after it are "
        "missing."
    )
    if aside is not None:
        keep_report(aside, report)
    return report


def _damage(store_path: Path) -> tuple[str | None, bool]:
    """Return the problem, and whether it is harmless if the controller has never run here."""
    if not store_path.exists():
        return f"The store {store_path} is missing.", True
    try:
        return (None, False) if check(store_path) else (f"The store {store_path} is empty.", True)
    except StoreDamaged as error:
        return str(error), False


def _had_content(store_path: Path) -> bool:
    """Return whether the sums include more pages than the first, which even an empty store has."""
    sums = read_sums(store_path)
    return sums is not None and len(sums.sums) > 1


def _parts(store_path: Path) -> list[Path]:
    """List the existing files of a store."""
    every = (store_path.with_name(store_path.name + companion) for companion in _COMPANIONS)
    return [part for part in every if part.exists()]


def _remove(path: Path) -> None:
    for companion in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + companion).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# The creation of snapshots: at startup, every few hours, and immediately when secrets change.
#
# Erased secrets must not remain in older snapshots, so a change of a secret replaces all snapshots.
# A failure is shown under `/health`; the controller keeps running, and the next change on disk
# triggers another attempt.

log = logging.getLogger(__name__)

INTERVAL_S = 6 * 3600.0
TROUBLE = "snapshots"


class SnapshotService:
    def __init__(
        self,
        snapshots: Snapshots,
        troubles: MutableMapping[str, str],
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._snapshots = snapshots
        self._troubles = troubles
        self._interval_s = interval_s
        self._wanted = asyncio.Event()
        self._must_forget = False
        self._closing = False
        self._task = asyncio.create_task(self._run())

    def settings_changed(self, old: Settings, new: Settings) -> None:
        """Request a snapshot if secrets changed, or if the last snapshot failed."""
        if secrets_differ(old, new):
            self._must_forget = True
            self._wanted.set()
        elif TROUBLE in self._troubles:
            self._wanted.set()

    async def close(self) -> None:
        """Stop, but first replace snapshots that contain secrets erased just now."""
        self._closing = True
        self._wanted.set()
        await self._task

    async def _run(self) -> None:
        await self._take()
        while not self._closing:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval_s):
                    await self._wanted.wait()
            if not self._closing:
                await self._take()
        if self._must_forget:
            await self._take()

    async def _take(self) -> None:
        self._wanted.clear()
        try:
            if self._must_forget:
                await asyncio.to_thread(self._snapshots.renew)
                # Changes made in the meantime need another snapshot.
                self._must_forget = self._wanted.is_set()
            else:
                await asyncio.to_thread(self._snapshots.take)
        except StoreUnavailable as error:
            self._note_trouble(str(error))
        except Exception as fault:
            # A bug must not end the creation of snapshots.
            log.exception("a snapshot failed unexpectedly")
            self._note_trouble(
                f"No snapshot could be created ({type(fault).__name__}); see the log."
            )
        else:
            self._troubles.pop(TROUBLE, None)

    def _note_trouble(self, sentence: str) -> None:
        if self._troubles.get(TROUBLE) != sentence:
            log.error("%s", sentence)
            self._troubles[TROUBLE] = sentence
