"""Copies of the store to fall back on, and what happens to a store that is damaged.

A snapshot is made by SQLite itself while the store is in use, checked, and only then put in its
place. The newest is number 1; a few older ones are kept, since damage may be noticed late. A
damaged store is never thrown away: it is set aside in a folder of its own, for whoever wants to
look for more in it than the last snapshot has.
"""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from leverframe.engine.tree import UnfitSettings, settings_from_leaves
from leverframe.profile import Profile, UnknownProfile
from leverframe.storage.sqlite_file import StoreDamaged, connect, reason, sentences
from leverframe.storage.store import StoreUnavailable, messages_from_texts, values_from_texts

KEPT = 3
_NEWEST = Profile()
#: As bytes, since sqlite3 repeats a text that it cannot decode, and that may be a password.
_BLOBS = "CAST({} AS BLOB), CAST(value AS BLOB)"
#: What SQLite puts beside its file.
_COMPANIONS = ("", "-wal", "-shm")


class Snapshots:
    """The snapshots of the store in a data folder."""

    def __init__(self, store_path: Path) -> None:
        self._store_path = store_path
        self._folder = store_path.parent

    def path(self, number: int) -> Path:
        return self._folder / f"snapshot-{number}.db"

    def take(self) -> None:
        """Copy the store, check the copy, and make it number 1. Raises StoreUnavailable."""
        new = self._folder / "snapshot.new"
        try:
            _remove(new)
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(connect(self._store_path)) as store, closing(connect(new)) as copy:
                store.backup(copy)
                # A single file, whole without a log beside it.
                copy.execute("PRAGMA journal_mode = DELETE")
            check(new)
            _sync(new)
            for number in range(KEPT - 1, 0, -1):
                if self.path(number).exists():
                    self.path(number).rename(self.path(number + 1))
            new.rename(self.path(1))
            _sync(self._folder)
        except (sqlite3.Error, OSError, StoreDamaged) as error:
            raise StoreUnavailable(f"No snapshot could be made: {reason(error)}.") from error

    def renew(self) -> None:
        """Only a new one may stay: the others hold secrets that were erased."""
        self.take()
        for number in range(2, KEPT + 1):
            _remove(self.path(number))

    def all(self) -> list[tuple[int, Path]]:
        """Those that are there by number, newest first."""
        every = ((number, self.path(number)) for number in range(1, KEPT + 1))
        return [(number, path) for number, path in every if path.exists()]

    def newest_sound(self) -> Path | None:
        return next((path for _, path in self.all() if not findings(path)), None)


def findings(path: Path) -> str:
    """What is wrong with a store's file, as a sentence; nothing if it is sound."""
    try:
        check(path)
    except (StoreDamaged, StoreUnavailable) as error:
        return str(error)
    return ""


def check(path: Path) -> None:
    """Read everything in a store's file; raises StoreDamaged where it is not sound."""
    with sentences(path), closing(connect(path)) as connection:
        found = [text for (text,) in connection.execute("PRAGMA integrity_check(1)")]
        if found != ["ok"]:
            raise StoreDamaged(f"The store {path} is damaged ({' '.join(found[0].split())}).")
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if not tables:
            return
        texts = {
            # Names of our own tables, nothing from outside.
            table: dict(
                connection.execute(f"SELECT {_BLOBS.format(key)} FROM {table}")  # nosec B608
            )
            for table, key in (("setting", "path"), ("kept", "name"), ("message", "number"))
            if table in tables
        }
        settings, kept, messages = (
            {name.decode(): text for name, text in texts.get(table, {}).items()}
            for table in ("setting", "kept", "message")
        )
        messages_from_texts(messages)
        _check_settings(path, values_from_texts(settings), values_from_texts(kept))


def _check_settings(path: Path, settings: dict[str, object], kept: dict[str, object]) -> None:
    try:
        profile = Profile(
            str(kept.get("profile.hw", _NEWEST.hw)), str(kept.get("profile.sw", _NEWEST.sw))
        )
        settings_from_leaves(profile, settings)
    except (UnfitSettings, UnknownProfile) as error:
        raise StoreDamaged(f"The store {path} is damaged ({error})") from error


def set_aside(store_path: Path) -> Path:
    """Move a damaged store out of the way; the folder it is in now."""
    number = 1
    while (aside := store_path.parent / f"damaged-{number}").exists():
        number += 1
    aside.mkdir(mode=0o700)
    for companion in _COMPANIONS:
        part = store_path.with_name(store_path.name + companion)
        if part.exists():
            part.rename(aside / part.name)
    _sync(store_path.parent)
    return aside


def put_back(snapshot: Path, store_path: Path) -> None:
    """Make a copy of a snapshot the store; the snapshot stays."""
    new = store_path.with_name(store_path.name + ".new")
    _remove(new)
    shutil.copyfile(snapshot, new)
    new.chmod(0o600)
    _sync(new)
    new.rename(store_path)
    _sync(store_path.parent)


def recover(store_path: Path) -> str | None:
    """See to it that the store can be opened; a sentence if a snapshot had to take its place.

    Raises StoreDamaged if it cannot: without a sound snapshot nothing is touched.
    """
    if not store_path.exists():
        return None
    try:
        check(store_path)
        return None
    except StoreDamaged as error:
        damage = str(error)
    sound = Snapshots(store_path).newest_sound()
    if sound is None:
        raise StoreDamaged(
            f"{damage} There is no sound snapshot of it. `leverframe data repair` saves what can "
            "be read; or choose another folder with --data."
        )
    aside = set_aside(store_path)
    put_back(sound, store_path)
    return (
        f"{damage} It was set aside in {aside}, and the last good snapshot ({sound.name}) is in "
        "use: changes made after it are missing."
    )


def _remove(path: Path) -> None:
    for companion in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + companion).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
