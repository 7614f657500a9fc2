"""A backup as readable text in TOML or JSON, and back.

Only the differences from the factory settings of the version are written, one line per setting by
its path. Encrypted secrets stay encrypted. A value that a format cannot express (TOML has no null)
is always the default.
"""

import re
from pathlib import Path
from typing import Any

import msgspec

from leverframe.config.toml_file import read_toml
from leverframe.engine.factory_settings import defaults
from leverframe.engine.tree import leaves
from leverframe.plain_text import printable, printable_json
from leverframe.profile import Profile, UnknownProfile
from leverframe.storage.backup import BackupFile, BackupRefused, pack, unpack

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
            f"{path} is no backup: {error}. `leverframe backup convert` makes one of a .bin file."
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
        f"{name if _BARE_KEY.fullmatch(name) else _encode(name)} = {_encode(value)}"
        for name, value in table.items()
        if value is not None
    ]


def _encode(value: Any) -> str:
    return printable(msgspec.json.encode(value).decode())
