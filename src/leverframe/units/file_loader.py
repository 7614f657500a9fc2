"""Load unit files, and the secrets that they and inventories refer to.

A secret is in the environment or in a separate file. That file is TOML, one `name = "secret"` per
line, readable only by its owner.
"""

import os
import stat
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from leverframe.core.profile import Profile, UnknownProfile, existing, newest_software
from leverframe.host.configuration.toml import TomlLines, TomlPath, read_toml
from leverframe.units.document_reader import DocumentReader, SecretReference, Value
from leverframe.units.file_keys import BadUnitFile, FileLine, FileProblem, path_of
from leverframe.units.unit_file import Entries, FileEntry, UnitFile, unit_file_of


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


# Read unit files: the file, its includes, its values and its secrets.
#
#     hardware = "3.9"             # version of the settings; by default the version of the unit
#     software = "1.75"
#     include = ["common.toml"]    # read first; this file overrides it
#     secrets = "secrets.toml"     # the file for references such as { secret = "name" }
#     values = { zone = "north" }  # for ${zone}; values of an inventory override them
#
#     [outputs.OUT0]
#     name = "Pump ${zone}"
#     return_time = "5m"

#: Keys about the file, with their allowed values.
OWN_KEYS: dict[str, tuple[type, str]] = {
    "hardware": (str, 'a string such as "3.9"'),
    "software": (str, 'a string such as "1.75"'),
    "include": (list, 'a list of files such as ["common.toml"]'),
    "secrets": (str, 'the name of a file such as "secrets.toml"'),
    "values": (dict, 'a table such as { zone = "north" }'),
    "complete": (bool, "true or false"),
    "unread": (list, 'a list of parts such as ["email", "http"]'),
}
MAX_INCLUDES = 100


def load_unit_file(
    path: Path,
    *,
    profile: Profile | None = None,
    values: Mapping[str, Value] | None = None,
    secrets: KnownSecrets | None = None,
    need_secrets: bool = True,
    only: Collection[str] = (),
) -> UnitFile:
    """Read a unit file; raise `BadUnitFile` with every mistake in it.

    `profile` is the version of the unit; it applies if the file names no version. The default is
    the newest version. Without `need_secrets`, a setting whose secret is missing counts as not
    mentioned. With `only`, the result contains only these branches: the other branches may refer to
    missing secrets, and contain settings that the version does not support.
    """

    def counts(key: str) -> bool:
        return not only or key.partition(".")[0] in only

    loading = _Loading(values or {}, secrets or KnownSecrets(os.environ))
    loading.gather(path, (), None)
    loading.read_all()
    problems = loading.problems
    if need_secrets:
        problems += (one for path, one in loading.unresolved.items() if counts(path))
    own = loading.own
    version = _version(own, profile, loading)
    if version is None:
        raise BadUnitFile(problems)
    unread = loading.unread_paths()
    entries = {key: e for key, e in loading.entries.items() if key not in loading.unresolved}
    file, unfit = unit_file_of(
        str(path),
        version,
        Entries(entries, loading.lists),
        names_version="hardware" in own or "software" in own,
        complete=own.get("complete", False),
        unread=unread,
        unresolved=loading.unresolved,
    )
    problems += (one for one in unfit if counts(one.key))
    if problems:
        raise BadUnitFile(sorted(problems, key=lambda one: one.line))
    return file.restrict(only)


class _Loading:
    """Collects the documents, includes first, and then reads them in this order."""

    def __init__(self, values: Mapping[str, Value], secrets: KnownSecrets) -> None:
        self._outer_values = values
        self._secrets = secrets
        self._values: dict[str, Value] = {}
        self._documents: list[tuple[dict[str, Any], Callable[[TomlPath], FileLine]]] = []
        #: Keys about the files; the outermost file takes precedence.
        self.own: dict[str, Any] = {}
        self.own_lines: dict[str, FileLine] = {}
        self.entries: dict[str, FileEntry] = {}
        self.lists: dict[str, FileLine] = {}
        self.unresolved: dict[str, FileProblem] = {}
        self.problems: list[FileProblem] = []

    def gather(self, path: Path, above: tuple[Path, ...], at: FileLine | None) -> None:
        text, document = self._document(path, at)
        if document is None:
            return

        lines = TomlLines(text)

        def line_at(place: TomlPath) -> FileLine:
            return FileLine(str(path), lines.line_of(place))

        own = self._own_keys(document, line_at)
        for index, name in enumerate(own.get("include", ())):
            line = line_at(("include", index))
            included = path.parent / str(name)
            resolved = included.resolve()
            if resolved in (path.resolve(), *above):
                self._wrong(
                    line,
                    "include",
                    (
                        f"{name} includes itself, directly or through another file; remove this"
                        " include."
                    ),
                )
            elif len(self._documents) >= MAX_INCLUDES:
                self._wrong(line, "include", f"More than {MAX_INCLUDES} files are included.")
            else:
                self.gather(included, (*above, path.resolve()), line)
        if "secrets" in own:
            self._secrets_file(path.parent / own["secrets"], line_at(("secrets",)))
        self._values |= own.get("values", {})
        for key in own:
            self.own_lines[key] = line_at((key,))
        self.own |= own
        self._documents.append((document, line_at))

    def read_all(self) -> None:
        values = {**self._values, **self._outer_values}
        for document, line_at in self._documents:
            reader = DocumentReader(line_at, values, self._secrets.find, OWN_KEYS)
            reader.read(document)
            self.entries |= reader.entries
            self.lists |= reader.lists
            self.problems += reader.problems
            for path in reader.entries:
                self.unresolved.pop(path, None)
            self.unresolved |= reader.unresolved

    def unread_paths(self) -> list[str]:
        paths = []
        for key in self.own.get("unread", ()):
            path = path_of(str(key))
            if path is None:
                self._wrong(self.own_lines["unread"], "unread", f"unread: unknown key {key}.")
            else:
                paths.append(path)
        return paths

    def _document(self, path: Path, at: FileLine | None) -> tuple[str, dict[str, Any] | None]:
        try:
            return read_toml(path, BadUnitFile)
        except BadUnitFile as error:
            if at is None:
                raise
            self._wrong(at, "include", str(error))
            return "", None

    def _own_keys(
        self, document: dict[str, Any], line_at: Callable[[TomlPath], FileLine]
    ) -> dict[str, Any]:
        own = {}
        for key, (kind, words) in OWN_KEYS.items():
            if key not in document:
                continue
            given = document.pop(key)
            if isinstance(given, kind) and holds_plain(given):
                own[key] = given
            else:
                self._wrong(line_at((key,)), key, f"{key} must be {words}.")
        return own

    def _secrets_file(self, path: Path, line: FileLine) -> None:
        try:
            self._secrets.add_file(path)
        except BadUnitFile as error:
            self._wrong(line, "secrets", str(error))

    def _wrong(self, line: FileLine, key: str, sentence: str) -> None:
        self.problems.append(FileProblem(line, key, sentence))


def holds_plain(value: Any) -> bool:
    """Return whether a list or table contains only texts, numbers and flags."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(isinstance(item, str | int | float | bool) for item in items)


def _version(own: Mapping[str, Any], profile: Profile | None, loading: _Loading) -> Profile | None:
    usual = profile or Profile()
    if "hardware" not in own and "software" not in own:
        return usual
    hw = own.get("hardware", usual.hw)
    try:
        return existing(hw, own.get("software") or newest_software(hw))
    except UnknownProfile as error:
        key = "software" if "software" in own else "hardware"
        loading.problems.append(FileProblem(loading.own_lines[key], key, str(error)))
        return None
