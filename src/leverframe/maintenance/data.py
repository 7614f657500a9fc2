"""`leverframe data check|repair|show|reset`: the data folder of a stopped controller."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from leverframe.commands.version_change.version_change import EARLIER
from leverframe.engine.tree import is_confidential, mask_secret
from leverframe.exit_codes import DONE, NO
from leverframe.storage.action_audit import parse_entries
from leverframe.storage.datafolder import DataFolder, folder_with_store
from leverframe.storage.history.chunks import check_file
from leverframe.storage.snapshots import Snapshots, recover, set_aside
from leverframe.storage.soundness import check, findings
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.sqlite_file import StoreDamaged, connect, sentences
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
    """Return the changes that were lost since the last use: SQLite would drop them silently."""
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
        # The readable part contradicts itself: start from scratch.
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
    """Restore the factory settings and delete the key, so that its secrets stay unreadable."""
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
