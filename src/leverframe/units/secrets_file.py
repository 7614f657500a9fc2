"""Secrets that unit files and inventories refer to: in the environment, or in a separate file.

The file is TOML, one `name = "secret"` per line, readable only by its owner.
"""

import stat
from collections.abc import Mapping
from pathlib import Path

from leverframe.config.toml_file import read_toml
from leverframe.units.document_reading import SecretReference
from leverframe.units.problems import BadUnitFile


class KnownSecrets:
    """The environment, and the content of secrets files; the file added last takes precedence."""

    def __init__(
        self, environment: Mapping[str, str], named: Mapping[str, str] | None = None
    ) -> None:
        self._environment = environment
        self._named = dict(named or {})

    def copy(self) -> "KnownSecrets":
        return KnownSecrets(self._environment, self._named)

    def add_file(self, path: Path) -> None:
        """Add the content of a file; it overrides earlier secrets."""
        self._named |= read_secrets(path)

    def find(self, reference: SecretReference) -> str | None:
        named = self._environment if reference.kind == "env" else self._named
        return named.get(reference.name)


def read_secrets(path: Path) -> dict[str, str]:
    """Read a secrets file; reject a file that other users can read."""
    _, document = read_toml(path, BadUnitFile)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise BadUnitFile(
            f"{path} contains secrets but other users can read it; run chmod 600 {path.name}."
        )
    for name, value in document.items():
        if not isinstance(value, str):
            raise BadUnitFile(f'{path}: {name} must be a string, written as {name} = "...".')
    return document
