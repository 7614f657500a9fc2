"""How the process is told what to be: a TOML file, then the command line on top of it.

Everything is checked before anything starts; a mistake is one sentence that names the key and what
is allowed. What is configured here belongs to the process; what belongs to the controller is set by
commands and lives in its store.
"""

import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from leverframe.profile import Profile, UnknownProfile


class BadConfiguration(Exception):
    """One sentence: what is wrong, what is allowed."""


@dataclass(frozen=True, slots=True)
class Config:
    host: str = "127.0.0.1"
    port: int = 8080
    #: Folder of the store; nothing is kept without one.
    data: str = "data"
    #: None keeps the profile of the store, or takes the newest for a new one.
    hw: str | None = None
    sw: str | None = None
    timezone: str = "UTC"
    virtual_time: bool = False
    lenient: bool = False

    def profile(self, stored_hw: str | None, stored_sw: str | None) -> Profile:
        newest = Profile()
        try:
            return Profile(self.hw or stored_hw or newest.hw, self.sw or stored_sw or newest.sw)
        except UnknownProfile as error:
            raise BadConfiguration(str(error)) from error

    def zone(self) -> ZoneInfo:
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError):
            raise BadConfiguration(
                f"timezone {self.timezone!r} is unknown. Use a name such as Europe/Warsaw or UTC."
            ) from None


_KINDS = {"str": str, "int": int, "bool": bool, "str | None": str}
_KEYS = {field.name: _KINDS[str(field.type)] for field in fields(Config)}
_WORDS = {str: "a text in quotes", int: "a whole number", bool: "true or false"}


def read_config(path: Path | None, overrides: dict[str, Any]) -> Config:
    """The file's values with the command line's on top."""
    values = _file_values(path) if path is not None else {}
    values |= {name: value for name, value in overrides.items() if value is not None}
    config = replace(Config(), **values)
    if not 0 <= config.port <= 65535:
        raise BadConfiguration(f"port {config.port} is outside 0 to 65535.")
    config.zone()
    config.profile(None, None)
    return config


def _file_values(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfiguration(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfiguration(f"{path} is not valid TOML: {error}.") from error
    for name, value in values.items():
        if name not in _KEYS:
            raise BadConfiguration(f"{path}: {name} is unknown. Known are {', '.join(_KEYS)}.")
        if type(value) is not _KEYS[name]:
            raise BadConfiguration(f"{path}: {name} must be {_WORDS[_KEYS[name]]}.")
    return values
