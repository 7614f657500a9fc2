"""The store's file: opened, checked, brought to the present format; and what its errors mean.

The format is counted in SQLite's `user_version`. It only goes forward, one numbered script of
`migrations/` per step; to change the format, add a script and never touch one that was shipped.
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
from leverframe.storage.store import StoreUnavailable, messages_from_texts, values_from_texts
from leverframe.storage.unclean_stop import secure

log = logging.getLogger(__name__)

#: The scripts of a controller's store.
MIGRATIONS = Path(__file__).parent / "migrations"

#: How long to wait for a foreign program that has the file locked.
_BUSY_S = 1.0

#: After a large upload the log is cut back to this size.
LOG_BYTES = 8 * 1024 * 1024

#: Errors of a file that is not a sound store; the last one if tables are missing.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}

REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the store is read-only",
    sqlite3.SQLITE_PERM: "the store is not accessible",
    sqlite3.SQLITE_CANTOPEN: "the store cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk reported an error",
    sqlite3.SQLITE_BUSY: "another program has locked the store",
    # What opening a store meets first where nothing is left.
    sqlite3.SQLITE_IOERR_SHMSIZE: "the disk is full",
}


class StoreTooNew(ErrorForPeople):
    """The file was written by a newer program."""


class StoreDamaged(ErrorForPeople):
    """The file is not a sound store."""


def open_file(path: Path, migrations: Path = MIGRATIONS) -> sqlite3.Connection:
    """Open the writing connection of a sound file and bring it to the present format."""
    with sentences(path):
        # Made here and not by SQLite, so that it is never readable to others, not even at first.
        ensure_private(path)
        # Before SQLite recovers what it can of the log.
        secure(path)
        connection = connect(path)
        scripts = read_migrations(migrations)
        try:
            _refuse_newer(connection, path, len(scripts))
            _refuse_damaged(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = FAST")
            # What a statement would restore if it failed; as a file it takes a fifth of a batch's
            # time and holds old values.
            connection.execute("PRAGMA temp_store = MEMORY")
            # The writer folds the log into the main file and knows when that changes it.
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
    # The store itself sees to it that only one thread at a time uses a connection.
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
    """Return the scripts from an empty file to the present format, one per version."""
    scripts = sorted(folder.iterdir(), key=lambda script: script.name)
    return [script.read_text(encoding="utf-8") for script in scripts]


def copy_before_migration(connection: sqlite3.Connection, path: Path, present: int) -> None:
    """Copy the file in its old format, for a return to the older program."""
    found = _version(connection)
    copy = old_format_path(path, found)
    if not 0 < found < present or copy.exists():
        return
    unfinished = copy.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    # Made here so that it is never readable to others; SQLite fills an empty file.
    os.close(create_private(unfinished))
    connection.execute("VACUUM INTO ?", (str(unfinished),))
    unfinished.rename(copy)
    log.info("The store is copied to %s before its format changes from %d.", copy, found)


def old_format_path(path: Path, version: int) -> Path:
    """Name the copy of a store that was made before its format changed."""
    return path.with_name(f"{path.stem}-format-{version}{path.suffix}")


def migrate(connection: sqlite3.Connection, scripts: Sequence[str]) -> None:
    """Run the scripts the file has not seen yet; each succeeds whole or leaves no trace."""
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
    """End a transaction that failed, unless SQLite has ended it already."""
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


@contextlib.contextmanager
def sentences(path: Path) -> Iterator[None]:
    """Convert errors of SQLite and the system while opening or reading to sentences for people."""
    try:
        yield
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreDamaged(damage_sentence(path, str(error))) from error
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            raise StoreDamaged(damage_sentence(path, str(error))) from error
        raise StoreUnavailable(f"The store {path} cannot be used: {reason(error)}.") from error
    except OSError as error:
        raise StoreUnavailable(f"The store {path} cannot be used: {error.strerror}.") from error


def damage_sentence(path: Path, finding: str) -> str:
    """State in a sentence what is wrong with the file."""
    one_line = " ".join(finding.split())
    return f"The store {path} is damaged ({one_line})."


def is_damage(error: Exception) -> bool:
    """Return whether SQLite reports by this error that the file is not sound."""
    return _code(error) in _DAMAGE


def reason(error: Exception) -> str:
    """Return the reason of an error as the end of a sentence."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return REASONS.get(_error_code(error)) or REASONS.get(_code(error), str(error))


def _code(error: Exception) -> int:
    """Return SQLite's primary error code, without the details that it adds in the upper bits."""
    return _error_code(error) & 0xFF


def _error_code(error: Exception) -> int:
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code


# The check of a store's file: everything in it is read, and must make sense.

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
    """Read everything in a store's file; raises StoreDamaged if it is not sound.

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
