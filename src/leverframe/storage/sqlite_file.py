"""The store's file: open it, check it, upgrade its format, and explain its errors.

SQLite's `user_version` is the version of the format. It only increases, by one numbered script in
`migrations/` per step. To change the format, add a script; never change one that was released.
"""

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile, UnknownProfile
from leverframe.core.tree import UnfitSettings, settings_from_leaves
from leverframe.storage.history.rows import HistoryConnection
from leverframe.storage.private_files import create_private, ensure_private
from leverframe.storage.statements import RecentBatches
from leverframe.storage.store import (
    StoreUnavailable,
    UnreadableRow,
    messages_from_texts,
    values_from_texts,
)
from leverframe.storage.unclean_stop import secure

log = logging.getLogger(__name__)

#: The scripts of a controller's store.
MIGRATIONS = Path(__file__).parent / "migrations"

#: How long SQLite waits for another program that has locked the file.
_BUSY_S = 1.0

#: After a large upload, the log is truncated to this size.
LOG_BYTES = 8 * 1024 * 1024

#: Error codes of a file that is not a sound store; the last one is for missing tables.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}

REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the store is read-only",
    sqlite3.SQLITE_PERM: "the store is not accessible",
    sqlite3.SQLITE_CANTOPEN: "the store cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk reported an error",
    sqlite3.SQLITE_BUSY: "another program has locked the store",
    # The first error when a store is opened on a full disk.
    sqlite3.SQLITE_IOERR_SHMSIZE: "the disk is full",
}


class StoreTooNew(ErrorForPeople):
    """The file was written by a newer program."""


class StoreDamaged(ErrorForPeople):
    """The file is damaged, or is not a store."""


def open_file(path: Path, migrations: Path = MIGRATIONS) -> sqlite3.Connection:
    """Open the writing connection to a sound file, and upgrade the file to the current format."""
    with sentences(path):
        # Created here and not by SQLite, so that other users can never read it, not even briefly.
        ensure_private(path)
        # Check the file before SQLite recovers the valid part of the log.
        secure(path)
        connection = connect(path)
        scripts = read_migrations(migrations)
        try:
            _refuse_newer(connection, path, len(scripts))
            _refuse_damaged(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = FAST")
            # Keep the rollback data of statements in memory; in a file, it would take a fifth of a
            # batch's time and contain old values.
            connection.execute("PRAGMA temp_store = MEMORY")
            # The writer runs checkpoints itself, so that it knows when they change the main file.
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
            copy_before_migration(connection, path, len(scripts))
            migrate(connection, scripts)
        except BaseException:
            connection.close()
            raise
        return connection


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection that begins and ends transactions only by explicit statements."""
    # The store ensures that only one thread at a time uses a connection.
    return sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)


def _refuse_newer(connection: sqlite3.Connection, path: Path, known: int) -> None:
    found = _version(connection)
    if found > known:
        raise StoreTooNew(
            f"The store {path} has format {found}, but this program knows formats up to {known}. "
            f"Start the newer program again or choose another folder with --data."
        )


def _refuse_damaged(connection: sqlite3.Connection, path: Path) -> None:
    findings = [text for (text,) in connection.execute("PRAGMA quick_check(1)")]
    if findings != ["ok"]:
        raise StoreDamaged(damage_sentence(path, findings[0]))


def read_migrations(folder: Path = MIGRATIONS) -> list[str]:
    """Return the scripts from an empty file to the current format, one per version."""
    scripts = sorted(folder.iterdir(), key=lambda script: script.name)
    return [script.read_text(encoding="utf-8") for script in scripts]


def copy_before_migration(connection: sqlite3.Connection, path: Path, present: int) -> None:
    """Copy the file in its old format, so that users can return to the older program."""
    found = _version(connection)
    copy = old_format_path(path, found)
    if not 0 < found < present or copy.exists():
        return
    unfinished = copy.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    # Created here so that other users can never read it; SQLite fills an empty file.
    os.close(create_private(unfinished))
    connection.execute("VACUUM INTO ?", (str(unfinished),))
    unfinished.rename(copy)
    log.info("The store is copied to %s before its format changes from %d.", copy, found)


def old_format_path(path: Path, version: int) -> Path:
    """Return the path of the copy of a store in its old format."""
    return path.with_name(f"{path.stem}-format-{version}{path.suffix}")


def migrate(connection: sqlite3.Connection, scripts: Sequence[str]) -> None:
    """Run the scripts missing in the file; each script succeeds completely or not at all."""
    for version in range(_version(connection) + 1, len(scripts) + 1):
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{scripts[version - 1]}\n"
                f"PRAGMA user_version = {version};\nCOMMIT;"
            )
        except BaseException:
            roll_back(connection)
            raise


def roll_back(connection: HistoryConnection) -> None:
    """Roll back a failed transaction, unless SQLite has already done so."""
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


@contextlib.contextmanager
def sentences(path: Path) -> Iterator[None]:
    """Convert errors of SQLite and the system while opening or reading to sentences for users."""
    try:
        yield
    except (msgspec.DecodeError, UnicodeDecodeError, UnreadableRow) as error:
        raise StoreDamaged(damage_sentence(path, str(error).removesuffix("."))) from error
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            raise StoreDamaged(damage_sentence(path, str(error))) from error
        raise StoreUnavailable(f"The store {path} cannot be used: {reason(error)}.") from error
    except OSError as error:
        raise StoreUnavailable(f"The store {path} cannot be used: {error.strerror}.") from error


def damage_sentence(path: Path, finding: str) -> str:
    """Return a sentence that describes the damage of the file."""
    one_line = " ".join(finding.split())
    return f"The store {path} is damaged ({one_line})."


def is_damage(error: Exception) -> bool:
    """Return whether this SQLite error means that the file is damaged."""
    return _code(error) in _DAMAGE


def reason(error: Exception) -> str:
    """Return the reason of an error as the end of a sentence."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return REASONS.get(_error_code(error)) or REASONS.get(_code(error), str(error))


def _code(error: Exception) -> int:
    """Return SQLite's primary error code, without the details in its upper bits."""
    return _error_code(error) & 0xFF


def _error_code(error: Exception) -> int:
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code


# The check of a store's file: all data in it is read and must be valid.

_NEWEST = Profile()
#: Read as bytes, because sqlite3 repeats undecodable text in errors, which may be a password.
_BLOBS = "CAST({} AS BLOB), CAST(value AS BLOB)"


def findings(path: Path) -> str:
    """Describe what is wrong with a store's file; return an empty text if it is sound."""
    try:
        check(path)
    except (StoreDamaged, StoreUnavailable) as error:
        return str(error)
    return ""


def check(path: Path) -> bool:
    """Read all data in a store's file; raise StoreDamaged if it is damaged.

    A file without tables is also sound; an interrupted first start leaves such a file. Return
    whether there are tables.
    """
    with sentences(path), closing(connect(path)) as connection:
        found = [text for (text,) in connection.execute("PRAGMA integrity_check(1)")]
        if found != ["ok"]:
            raise StoreDamaged(damage_sentence(path, found[0]))
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if not tables:
            return False
        if _is_of_many(connection):
            # The meaning of rows is checked when a controller is created, so that errors affect no
            # other controller.
            if "recent" in tables:
                RecentBatches(connection)
            return True
        texts = {
            # The names are those of the store's own tables.
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
