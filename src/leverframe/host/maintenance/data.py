"""`leverframe data check|repair|show|reset`: the data folder of a stopped controller."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from leverframe.core.errors import DONE, NO, ErrorForPeople
from leverframe.core.tree import is_confidential, mask_secret
from leverframe.host.configuration import Config
from leverframe.host.reach import PasswordRefused, administrator_name, random_password, set_password
from leverframe.host.start_version import read_stored_profile
from leverframe.host.terminal import ask_secret
from leverframe.interface.version_change.conversion import EARLIER
from leverframe.storage.action_audit import parse_entries
from leverframe.storage.datafolder import DataFolder, existing_folder, folder_with_store
from leverframe.storage.history.chunks import ChunkStore, check_file
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.queries import (
    RECORDED,
    TimeSpan,
    csv_pieces,
    list_recorded_labels,
    since,
)
from leverframe.storage.snapshots import Snapshots, recover, set_aside
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.sqlite_file import StoreDamaged, check, connect, findings, sentences
from leverframe.storage.store import Changes, Stored, StoreUnavailable
from leverframe.storage.unclean_stop import secure


def check_data(data_folder: Path) -> int:
    """Check store, snapshots and history; damaged snapshots do not change the result."""
    with folder_with_store(data_folder) as folder:
        damage = _secure(folder.store_path) or findings(folder.store_path)
        print(damage or f"The store {folder.store_path} is not damaged.")
        for number, snapshot in Snapshots(folder.store_path).all():
            print(findings(snapshot) or f"Snapshot {number} is not damaged.")
        return DONE if _history_is_sound(folder) and not damage else NO


def _secure(store_path: Path) -> str | None:
    """Return a sentence about changes lost since the last use, which SQLite would drop silently."""
    with sentences(store_path):
        return secure(store_path)


def _history_is_sound(folder: DataFolder) -> bool:
    if not folder.history_path.exists():
        return True
    try:
        check_file(folder.history_path)
    except (StoreDamaged, StoreUnavailable) as error:
        print(error)
        return False
    print(f"The history {folder.history_path} is not damaged.")
    return True


async def repair_data(data_folder: Path) -> None:
    """Repair a damaged store from a snapshot, or else from its readable part.

    A damaged history is moved aside; the next start begins a new one.
    """
    with folder_with_store(data_folder) as folder:
        lost = _secure(folder.store_path)
        try:
            report = recover(folder.store_path) or lost
        except StoreDamaged:
            report = await _save_readable(folder.store_path)
        print(report or "The store is not damaged; nothing needs repair.")
        if not _history_is_sound(folder):
            print(f"The damaged history was moved to {set_aside(folder.history_path)}.")


async def _save_readable(store_path: Path) -> str:
    rows = {
        table: _readable_rows(store_path, table, key)
        for table, key in (("setting", "path"), ("kept", "name"))
    }
    blobs = _readable_blobs(store_path)
    aside = set_aside(store_path)
    store = SqliteStore(store_path)
    await store.commit(Changes(settings=rows["setting"], kept=rows["kept"], blobs=blobs))
    await store.close()
    try:
        check(store_path)
    except StoreDamaged:
        # The recovered part is inconsistent: start from scratch.
        set_aside(store_path)
        return f"Nothing in the store could be recovered; it was moved to {aside}."
    return (
        f"{len(rows['setting'])} settings were recovered into a new store; the damaged store was "
        f"moved to {aside}."
    )


def _readable_rows(store_path: Path, table: str, key: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    try:
        with closing(connect(store_path)) as connection:
            query = f"SELECT CAST({key} AS BLOB), CAST(value AS BLOB) FROM {table}"  # noqa: S608
            for name, text in connection.execute(query):
                try:
                    if (path := name.decode()).isprintable():
                        values[path] = msgspec.json.decode(text)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    continue
    except sqlite3.Error:
        # Rows after the damaged page cannot be reached.
        return values
    return values


def _readable_blobs(store_path: Path) -> dict[str, bytes | None]:
    blobs: dict[str, bytes | None] = {}
    try:
        with closing(connect(store_path)) as connection:
            for name, data in connection.execute("SELECT CAST(name AS BLOB), data FROM blob"):
                blobs[name.decode(errors="replace")] = data
    except sqlite3.Error:
        return blobs
    return blobs


async def show_data(data_folder: Path) -> None:
    """Print the whole store as JSON, with secrets masked."""
    with folder_with_store(data_folder) as folder:
        stored, audit = await _load(folder)
    document = {
        "settings": {path: _mask(path, value) for path, value in stored.settings.items()},
        "kept": stored.kept,
        "audit": parse_entries(audit),
    }
    print(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def _mask(path: str, value: Any) -> Any:
    return mask_secret(value) if is_confidential(path) else value


async def _load(folder: DataFolder) -> tuple[Stored, dict[str, str]]:
    store = SqliteStore(folder.store_path)
    try:
        return store.load(), await store.audit()
    finally:
        await store.close()


async def reset_data(data_folder: Path, accounts: bool) -> None:
    """Restore the factory settings and delete the key, so that old secrets stay unreadable."""
    with folder_with_store(data_folder) as folder:
        store = SqliteStore(folder.store_path)
        try:
            stored = store.load().settings
            stays = {} if accounts else _accounts(stored)
            await store.commit(
                Changes(settings=stays, blobs={EARLIER: None}, replace_settings=True)
            )
        finally:
            await store.close()
        Snapshots(folder.store_path).renew()
        folder.key_path.unlink(missing_ok=True)
        what = "All settings and accounts" if accounts else "All settings except the accounts"
        print(f"{what} were reset to the factory settings.")
        for aside in sorted(folder.path.glob("damaged-*")):
            print(f"{aside} still contains an older store; delete it if it is no longer needed.")


def _accounts(settings: dict[str, Any]) -> dict[str, Any]:
    return {path: value for path, value in settings.items() if path.startswith("access.")}


# `leverframe data export`: the history of a stopped controller as CSV.

#: Large enough to export every stored value without averaging.
_ALL_POINTS = 10**9


class NoHistory(ErrorForPeople):
    """The history is empty; the message is one sentence."""


class BadExport(ErrorForPeople):
    """An export cannot be written; the message is one sentence."""


def export_history(
    data_folder: Path,
    labels: str | None,
    first: str | None,
    last: str | None,
    output: Path | None,
) -> None:
    asked = _labels(labels)
    begin, end = _second(first, -inf), _second(last, inf)
    with folder_with_store(data_folder) as folder:
        if not folder.history_path.exists():
            raise NoHistory(
                f"There is no history in {data_folder}; choose the data folder with --data."
            )
        with closing(ChunkStore(folder.history_path, Bounds().max_bytes)) as chunk_store:
            _write(_pieces(Compactor(chunk_store, Bounds()), asked, begin, end), output)


def _pieces(
    compactor: Compactor, labels: tuple[str, ...], begin: float, end: float
) -> Iterator[bytes]:
    now, earliest = compactor.chunk_store.end_of_record(), since(compactor)
    if now is None or earliest is None:
        raise NoHistory("The history is empty.")
    first, last = max(begin, earliest), min(end, now)
    if first > last:
        raise NoHistory(
            f"The history has no values in this period; it begins {_format_time(earliest)}."
        )
    return csv_pieces(
        compactor,
        TimeSpan(labels or list_recorded_labels(compactor), first, last, _ALL_POINTS, now),
    )


def _write(pieces: Iterator[bytes], output: Path | None) -> None:
    if output is None:
        for piece in pieces:
            sys.stdout.write(piece.decode().replace("\r\n", "\n"))
        return
    try:
        with output.open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise BadExport(f"{output} cannot be written: {error.strerror}.") from error


def _labels(text: str | None) -> tuple[str, ...]:
    labels = tuple(dict.fromkeys(text.split(","))) if text else ()
    for label in labels:
        if label not in RECORDED:
            raise BadExport(f"Unknown label {label!r}; write labels like DS1,OUT0.")
    return labels


def _second(text: str | None, usual: float) -> float:
    """Parse an ISO 8601 time (UTC without an offset) or seconds since 1970."""
    if text is None:
        return usual
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadExport(
            f"{text!r} is not a time; write it like 2026-01-05, 2026-01-05T12:00 or 1767571200."
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(sep=" ", timespec="seconds")


# `leverframe passwd`: set the password of an account while the controller is stopped.
#
# It sets the first password, or replaces a lost one, for users with access to the data folder.
# The password is prompted for, or read from standard input. It never appears on the command line,
# where other users of the machine could read it.


async def change_password(config: Config, account: str | None, generate: bool) -> None:
    with existing_folder(Path(config.data)) as folder:
        store = SqliteStore(folder.store_path)
        try:
            name = account or administrator_name(store)
            password = new_password(name, generate=generate)
            profile = config.version.profile(*read_stored_profile(store))
            await set_password(store, profile, name, password)
        finally:
            await store.close()
    if generate:
        print(f"The password of {name} is now {password}")
    else:
        print(f"The password of {name} was changed; sign-in is required from now on.")


def new_password(name: str, *, generate: bool) -> str:
    """Generate a password for an account, or prompt for it."""
    return random_password() if generate else _ask_for(name)


def _ask_for(name: str) -> str:
    password = ask_secret(f"New password of {name}")
    if sys.stdin.isatty() and ask_secret("Repeat the password") != password:
        raise PasswordRefused("The two passwords differ; nothing was changed.")
    return password
