"""`leverframe backup`: create, show, compare, convert and restore backups without a controller."""

from pathlib import Path
from typing import Any

import msgspec

from leverframe.commands.table.refusals import Refusal
from leverframe.commands.table.restored import NotCarriedOver, Restored
from leverframe.commands.table.system import RESTORE_REPORT
from leverframe.commands.version_change.carry_over import carry_over
from leverframe.commands.version_change.version_change import EARLIER
from leverframe.config import Config
from leverframe.engine.factory_settings import defaults
from leverframe.engine.tree import (
    MISSING,
    difference,
    is_confidential,
    is_secret,
    settings_from_leaves,
)
from leverframe.exit_codes import DONE, NO
from leverframe.maintenance.backup_secrets import (
    SecretsChoice,
    list_secrets,
    passphrase_to_open,
    passphrase_to_seal,
)
from leverframe.maintenance.readable_backup import as_text, factory_settings, read, write
from leverframe.plain_text import print_line
from leverframe.process.stored_profile import profile_rows, read_stored_profile
from leverframe.profile import Profile, existing
from leverframe.storage.backup import (
    BackupFile,
    BackupRefused,
    confidential_leaves,
    content_of,
    encode_backup,
    unpack,
)
from leverframe.storage.datafolder import existing_folder, folder_with_store
from leverframe.storage.encrypting import EncryptingStore
from leverframe.storage.snapshots import Snapshots
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import DELETED, Changes


def show(file: Path, json: bool) -> None:
    """Print a backup as TOML or JSON."""
    print(as_text(read(file), ".json" if json else ".toml"), end="")


def diff(first: Path, second: Path) -> int:
    """Print the differences between two backups."""
    files = read(first), read(second)
    old, new = (_everything(file) for file in files)
    for path in sorted(old.keys() | new.keys(), key=_order):
        if old.get(path) != new.get(path):
            print_line(f"{path}: {_show(old, path)} -> {_show(new, path)}")
    return NO if old != new else DONE


async def create(
    file: Path,
    config: Config,
    passphrase: bool,
    passphrase_file: Path | None,
    without_secrets: bool,
) -> None:
    """Write the settings of a stopped controller to a new backup."""
    _refuse_existing(file)
    with folder_with_store(Path(config.data)) as folder:
        store = EncryptingStore(SqliteStore(folder.store_path), folder.key_path)
        try:
            profile = config.version.profile(*read_stored_profile(store))
            settings, _ = settings_from_leaves(profile, store.load().settings)
        finally:
            await store.close()
    secrets = tuple(confidential_leaves(settings))
    choice = SecretsChoice(passphrase, passphrase_file, without_secrets)
    words = passphrase_to_seal(secrets, choice)
    write(file, unpack(encode_backup(profile, settings, words)))
    print_line(f"Written to {file}.")
    if secrets and words is None:
        print_line(f"Secrets not included: {list_secrets(secrets)}.")


def _refuse_existing(file: Path) -> None:
    if file.exists():
        raise BackupRefused(f"{file} is there already; choose another name, or remove it first.")


def convert(
    file: Path,
    output: Path,
    hw: str | None,
    sw: str | None,
    passphrase: bool,
    passphrase_file: Path | None,
    without_secrets: bool,
) -> None:
    """Convert a backup to another format or version."""
    choice = SecretsChoice(passphrase, passphrase_file, without_secrets)
    choice.check()
    backup = read(file)
    profile = Profile(backup.hw, backup.sw)
    if hw or sw:
        profile = existing(hw or backup.hw, sw or backup.sw)
    if profile != Profile(backup.hw, backup.sw):
        words = passphrase_to_open(backup, choice)
        restored = _carry_over(backup, profile, words)
        left_out = () if words else backup.secrets
        backup = unpack(encode_backup(profile, restored.settings, words))
        # A file of an earlier version may contain secrets in plain text that are omitted today.
        backup.left_out = tuple(dict.fromkeys((*left_out, *backup.left_out)))
        print_losses(restored.not_carried_over)
    elif without_secrets:
        backup = backup.without_secrets()
    write(output, backup)


def _carry_over(file: BackupFile, target: Profile, passphrase: str | None) -> Restored:
    try:
        return carry_over(content_of(file, passphrase), target, defaults(target))
    except Refusal as refusal:
        raise BackupRefused(refusal.detail) from None


async def restore(
    file: Path,
    config: Config,
    passphrase: bool,
    passphrase_file: Path | None,
    without_secrets: bool,
) -> None:
    """Restore a backup into the data folder of a stopped controller."""
    backup = read(file)
    words = passphrase_to_open(backup, SecretsChoice(passphrase, passphrase_file, without_secrets))
    with existing_folder(Path(config.data)) as folder:
        store = EncryptingStore(SqliteStore(folder.store_path), folder.key_path)
        try:
            profile = config.version.profile(*read_stored_profile(store))
            content = content_of(backup, words)
            present, _ = settings_from_leaves(profile, store.load().settings)
            try:
                restored = carry_over(content, profile, present)
            except Refusal as refusal:
                raise BackupRefused(refusal.detail) from None
            changes = {
                path: DELETED if value is MISSING else value
                for path, _, value in difference(present, restored.settings)
            }
            report = msgspec.json.encode(restored.not_carried_over)
            blobs = {RESTORE_REPORT: report, EARLIER: None}
            await store.commit(Changes(changes, profile_rows(profile), blobs))
        finally:
            await store.close()
        if any(is_secret(path) for path in changes):
            Snapshots(folder.store_path).renew()
    print_losses(restored.not_carried_over)
    print_line(f"{len(changes)} settings changed in {config.data}.")


def print_losses(lost: tuple[NotCarriedOver, ...]) -> None:
    for entry in lost:
        value = "" if entry.value is None else f" ({_encode(entry.value)})"
        print_line(f"left out: {entry.path}{value}: {entry.reason}")


def _everything(file: BackupFile) -> dict[str, Any]:
    """Return all settings by path, also factory settings, so that short and full files compare."""
    known = {**factory_settings(file), **file.settings}
    return {path: value for path, value in known.items() if not is_confidential(path)} | {
        "profile.hw": file.hw,
        "profile.sw": file.sw,
    }


def _order(path: str) -> list[tuple[int, int | str]]:
    """Return a sort key that compares numbers as numbers: entry 10 comes after entry 9."""
    return [(0, int(step)) if step.isdecimal() else (1, step) for step in path.split(".")]


def _show(settings: dict[str, Any], path: str) -> str:
    return _encode(settings[path]) if path in settings else "not set"


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()
