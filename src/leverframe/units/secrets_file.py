"""Secrets that unit files and inventories refer to: in the environment, or in a file of their own.

The file is TOML, one `name = "secret"` a line, and for its owner alone.
"""

import stat
from collections.abc import Mapping
from pathlib import Path

from leverframe.config.toml_file import read_toml
from leverframe.units.document_reading import SecretReference
from leverframe.units.problems import BadUnitFile


class KnownSecrets:
    """The environment, and what secrets files hold; the file that is added last wins."""

    def __init__(
        self, environment: Mapping[str, str], named: Mapping[str, str] | None = None
    ) -> None:
        self._environment = environment
        self._named = dict(named or {})

    def copy(self) -> "KnownSecrets":
        return KnownSecrets(self._environment, self._named)

    def add_file(self, path: Path) -> None:
        """Add what a file holds; it wins over what is known already."""
        self._named |= read_secrets(path)

    def find(self, reference: SecretReference) -> str | None:
        named = self._environment if reference.kind == "env" else self._named
        return named.get(reference.name)


def read_secrets(path: Path) -> dict[str, str]:
    """Read a secrets file; refuse one that others can read."""
    _, document = read_toml(path, BadUnitFile)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise BadUnitFile(f"{path} holds secrets and others can read it; chmod 600 {path.name}.")
    for name, value in document.items():
        if not isinstance(value, str):
            raise BadUnitFile(f'{path}: {name} must be a text, written as {name} = "...".')
    return document
