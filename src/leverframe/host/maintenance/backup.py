"""`leverframe backup`: create, show, compare, convert and restore backups without a controller."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from leverframe.core.errors import DONE, NO, print_json, print_line, printable, printable_json
from leverframe.core.profile import Profile, UnknownProfile, existing
from leverframe.core.tree import (
    MISSING,
    defaults,
    difference,
    is_confidential,
    is_secret,
    leaves,
    settings_from_leaves,
)
from leverframe.host.configuration import Config
from leverframe.host.configuration.toml import read_toml
from leverframe.host.start_version import profile_rows, read_stored_profile
from leverframe.host.terminal import ask_secret
from leverframe.interface.table.refusals import NotCarriedOver, Refusal, Restored
from leverframe.interface.table.system import RESTORE_REPORT
from leverframe.interface.version_change.conversion import EARLIER, carry_over
from leverframe.storage.backup import (
    BackupFile,
    BackupRefused,
    confidential_leaves,
    content_of,
    encode_backup,
    pack,
    unpack,
)
from leverframe.storage.datafolder import existing_folder, folder_with_store
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.snapshots import Snapshots
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import DELETED, Changes

# A backup as readable text in TOML or JSON, and back.
#
# Only the differences from the factory settings of the version are written, one line per setting
# by its path. Encrypted secrets stay encrypted. A value that a format cannot express (TOML has no
# null) is always the default.

SUFFIXES = (".toml", ".json", ".bin")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def read(path: Path) -> BackupFile:
    """Read a backup in any of the three formats, chosen by the suffix of its name."""
    _check_form(path)
    if path.suffix == ".toml":
        _, document = read_toml(path, BackupRefused)
        return _convert(path, document)
    try:
        data = path.read_bytes()
    except OSError as error:
        advice = "; check the path" if isinstance(error, FileNotFoundError) else ""
        raise BackupRefused(f"{path} cannot be read: {error.strerror}{advice}.") from error
    if path.suffix != ".bin":
        return _from_json(path, data)
    try:
        return unpack(data)
    except BackupRefused as error:
        raise BackupRefused(f"{path}: {error}") from None


def _from_json(path: Path, data: bytes) -> BackupFile:
    try:
        return _convert(path, msgspec.json.decode(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BackupRefused(f"{path} is not valid JSON: {error}.") from None


def _convert(path: Path, document: Any) -> BackupFile:
    try:
        return msgspec.convert(document, BackupFile)
    except msgspec.ValidationError as error:
        raise BackupRefused(
            f"{path} is not a backup: {error}. `leverframe backup convert` creates one from a .bin"
            " file."
        ) from None


def write(path: Path, file: BackupFile) -> None:
    _check_form(path)
    try:
        path.write_bytes(
            pack(file) if path.suffix == ".bin" else as_text(file, path.suffix).encode()
        )
    except OSError as error:
        raise BackupRefused(f"{path} cannot be written: {error.strerror}.") from error


def _check_form(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise BackupRefused(
            f"Unknown backup format {path.name}; end the name with .toml, .json or .bin."
        )


def as_text(file: BackupFile, suffix: str) -> str:
    document = msgspec.to_builtins(file)
    document["settings"] = list_changes(file)
    if suffix == ".json":
        text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
        return printable_json(text) + "\n"
    return _toml(document)


def list_changes(file: BackupFile) -> dict[str, Any]:
    """Return the settings that differ from the factory settings."""
    standard, missing = factory_settings(file), object()
    return {
        path: value for path, value in file.settings.items() if value != standard.get(path, missing)
    }


def factory_settings(file: BackupFile) -> dict[str, Any]:
    """Return the factory settings of the backup's version as a backup."""
    try:
        profile = Profile(file.hw, file.sw)
    except UnknownProfile as error:
        raise BackupRefused(f"The version of the backup is unknown. {error}") from None
    text = msgspec.json.encode(dict(leaves(defaults(profile))))
    return msgspec.json.decode(text, type=dict[str, Any])


def _toml(document: dict[str, Any]) -> str:
    """Format a document as TOML, one table per branch."""
    plain = {name: value for name, value in document.items() if not isinstance(value, dict)}
    lines = [*_lines(plain)]
    for name, table in document.items():
        if isinstance(table, dict):
            lines += ["", f"[{name}]", *_lines(table)]
    return "\n".join(lines) + "\n"


def _lines(table: dict[str, Any]) -> list[str]:
    return [
        f"{name if _BARE_KEY.fullmatch(name) else _as_json(name)} = {_as_json(value)}"
        for name, value in table.items()
        if value is not None
    ]


def _as_json(value: Any) -> str:
    return printable(msgspec.json.encode(value).decode())


# The secrets of a backup: encrypted with a passphrase, or left out by an explicit choice.
#
# Secrets are never dropped silently. At a terminal the passphrase is prompted for. A script names
# a file with it, writes it to standard input, or chooses to leave the secrets out.

_PASSPHRASE = "Passphrase of the backup"
#: The number of secrets that a sentence lists.
_MAX_NAMED = 8


class SecretsChoice(Struct, frozen=True):
    """The options of a command about secrets; they exclude each other."""

    #: Prompt for the passphrase, or read it from standard input.
    passphrase: bool = False
    #: Read it from the first line of this file.
    passphrase_file: Path | None = None
    without_secrets: bool = False

    def check(self) -> None:
        if self.passphrase + (self.passphrase_file is not None) + self.without_secrets > 1:
            raise BackupRefused(
                "Use only one of --passphrase, --passphrase-file and --without-secrets."
            )

    def read_passphrase(self) -> str | None:
        """Return the passphrase that the options provide, or None."""
        if self.passphrase_file is not None:
            return _first_line(self.passphrase_file)
        return ask_secret(_PASSPHRASE) if self.passphrase else None


def passphrase_to_open(file: BackupFile, choice: SecretsChoice) -> str | None:
    """Return the passphrase that decrypts a backup; None if its secrets are left out on purpose."""
    choice.check()
    if file.sealed is None or choice.without_secrets:
        return None
    if (named := choice.read_passphrase()) is not None:
        return named
    sealed = (
        f"The backup contains secrets, encrypted with a passphrase: {list_secrets(file.secrets)}."
    )
    if not _is_terminal():
        raise BackupRefused(
            f"{sealed} Pass --passphrase or --passphrase-file to restore them, or"
            " --without-secrets to leave them out."
        )
    print_line(sealed)
    typed = ask_secret(f"{_PASSPHRASE} (Ctrl+C stops; --without-secrets leaves them out)")
    if not typed:
        raise BackupRefused(
            "No passphrase was entered; nothing was changed. Use --without-secrets to leave the"
            " secrets out."
        )
    return typed


def passphrase_to_seal(secrets: Sequence[str], choice: SecretsChoice) -> str | None:
    """Return the passphrase that encrypts a new backup; None to leave its secrets out."""
    choice.check()
    if choice.without_secrets:
        return None
    if choice.passphrase_file is not None or (choice.passphrase and not _is_terminal()):
        return choice.read_passphrase()
    if not _is_terminal() or not (secrets or choice.passphrase):
        return None
    print_line(f"The controller has secrets: {list_secrets(secrets)}.")
    typed = ask_secret("Passphrase to encrypt them (empty to leave them out)")
    if typed and ask_secret("Repeat the passphrase") != typed:
        raise BackupRefused("The two passphrases differ; nothing was written.")
    return typed or None


def list_secrets(secrets: Sequence[str]) -> str:
    """List the paths of the first few secrets."""
    more = len(secrets) - _MAX_NAMED
    return ", ".join(secrets[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _is_terminal() -> bool:
    # `sys.stdin` is None if the program was started with standard input closed.
    return sys.stdin is not None and sys.stdin.isatty()


def _first_line(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BackupRefused(f"{path} cannot be read: {why}.") from None
    first = text.partition("\n")[0].rstrip("\r")
    if not first:
        raise BackupRefused(f"{path} holds no passphrase; its first line is empty.")
    return first


def show(file: Path, json: bool) -> None:
    """Print a backup as TOML or JSON."""
    print(as_text(read(file), ".json" if json else ".toml"), end="")


def diff(first: Path, second: Path, as_json: bool) -> int:
    """Print the differences between two backups."""
    files = read(first), read(second)
    old, new = (_everything(file) for file in files)
    for path in sorted(old.keys() | new.keys(), key=_order):
        if old.get(path) == new.get(path):
            continue
        if as_json:
            print_json({"path": path, "old": old.get(path), "new": new.get(path)})
        else:
            print_line(f"{path}: {_show(old, path)} -> {_show(new, path)}")
    return NO if old != new else DONE


async def create(
    file: Path,
    config: Config,
    passphrase: bool,
    passphrase_file: Path | None,
    without_secrets: bool,
    as_json: bool,
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
    left_out = secrets if words is None else ()
    if as_json:
        print_json({"file": str(file), "left_out": left_out})
        return
    print_line(f"Written to {file}.")
    if left_out:
        print_line(f"Secrets not included: {list_secrets(secrets)}.")


def _refuse_existing(file: Path) -> None:
    if file.exists():
        raise BackupRefused(f"{file} already exists; choose another name, or remove it first.")


def convert(
    file: Path,
    output: Path,
    hw: str | None,
    sw: str | None,
    passphrase: bool,
    passphrase_file: Path | None,
    without_secrets: bool,
    as_json: bool,
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
        print_losses(restored.not_carried_over, as_json=as_json)
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
    as_json: bool,
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
    print_losses(restored.not_carried_over, as_json=as_json)
    if as_json:
        print_json({"data": config.data, "changed": len(changes)})
    else:
        print_line(f"{len(changes)} settings changed in {config.data}.")


def print_losses(lost: tuple[NotCarriedOver, ...], *, as_json: bool) -> None:
    for entry in lost:
        if as_json:
            print_json({"left_out": entry.path, "value": entry.value, "reason": entry.reason})
            continue
        value = "" if entry.value is None else f" ({_encode(entry.value)})"
        print_line(f"left out: {entry.path}{value}: {entry.reason}")


def _everything(file: BackupFile) -> dict[str, Any]:
    """Return all settings by path, with factory settings, so that short and full files compare."""
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
