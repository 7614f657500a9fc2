"""The check of a store's file: everything in it is read, and must make sense."""

import sqlite3
from contextlib import closing
from pathlib import Path

from leverframe.engine.tree import UnfitSettings, settings_from_leaves
from leverframe.profile import Profile, UnknownProfile
from leverframe.storage.fleet.recent_batches import RecentBatches
from leverframe.storage.sqlite_file import StoreDamaged, connect, damage_sentence, sentences
from leverframe.storage.store import StoreUnavailable, messages_from_texts, values_from_texts

_NEWEST = Profile()
#: As bytes, since sqlite3 repeats a text that it cannot decode, and that may be a password.
_BLOBS = "CAST({} AS BLOB), CAST(value AS BLOB)"


def findings(path: Path) -> str:
    """List what is wrong with a store's file; nothing if it is sound."""
    try:
        check(path)
    except (StoreDamaged, StoreUnavailable) as error:
        return str(error)
    return ""


def check(path: Path) -> bool:
    """Read everything in a store's file; raises StoreDamaged where it is not sound.

    A file without tables is sound, too: a first start that was cut short leaves one. The answer is
    whether there are any.
    """
    with sentences(path), closing(connect(path)) as connection:
        found = [text for (text,) in connection.execute("PRAGMA integrity_check(1)")]
        if found != ["ok"]:
            raise StoreDamaged(damage_sentence(path, found[0]))
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if not tables:
            return False
        if _is_of_many(connection):
            # What the rows of one mean is checked when it is built: that concerns no other.
            if "recent" in tables:
                RecentBatches(connection)
            return True
        texts = {
            # Names of our own tables, nothing from outside.
            table: dict(
                connection.execute(f"SELECT {_BLOBS.format(key)} FROM {table}")  # noqa: S608
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
        return True


def _is_of_many(connection: sqlite3.Connection) -> bool:
    columns = connection.execute("SELECT name FROM pragma_table_info('setting')")
    return ("controller",) in columns.fetchall()


def _check_settings(path: Path, settings: dict[str, object], values: dict[str, object]) -> None:
    try:
        profile = Profile(
            str(values.get("profile.hw", _NEWEST.hw)), str(values.get("profile.sw", _NEWEST.sw))
        )
        settings_from_leaves(profile, settings)
    except (UnfitSettings, UnknownProfile) as error:
        raise StoreDamaged(f"The store {path} is damaged ({error})") from error
