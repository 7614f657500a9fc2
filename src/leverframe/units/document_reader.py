"""Read settings from a TOML document by their paths, with the line of each mistake.

`${name}` in a text is replaced by a value (`$${` is a literal `${`), and `{ env = "NAME" }` or `{
secret = "name" }` by a secret that is not in the file.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec.structs import asdict

from leverframe.core.settings import Node, Rule, Settings
from leverframe.core.tree import branch_of, is_confidential, is_secret, pattern_of
from leverframe.host.configuration.keys import nearest
from leverframe.host.configuration.toml import TomlPath
from leverframe.units.file_keys import (
    PLACES,
    BadEntry,
    FileLine,
    FileProblem,
    hints,
    key_of,
    unknown,
    value_from_file,
)
from leverframe.units.rule_sentences import rule_from_sentence
from leverframe.units.unit_file import WHOLE_LISTS, FileEntry

#: The kinds of references to secrets outside the file.
REFERENCES = ("env", "secret")
_PLACEHOLDER = re.compile(r"\$\$\{|\$\{([A-Za-z0-9_-]+)\}")

Value = str | int | float | bool


class SecretReference(NamedTuple):
    """The place of a secret: an environment variable, or a name in the secrets file."""

    kind: str
    name: str

    @property
    def why_missing(self) -> str:
        if self.kind == "env":
            return f"refers to the environment variable {self.name}, which is not set"
        return f"refers to the secret {self.name!r}, which is not in any secrets file"


def reference_in(value: Any) -> SecretReference | None:
    """Return the reference that a value contains, or None."""
    if isinstance(value, dict) and len(value) == 1:
        kind, name = next(iter(value.items()))
        if kind in REFERENCES and isinstance(name, str) and name:
            return SecretReference(kind, name)
    return None


def escape_placeholders(text: str) -> str:
    """Escape a text so that nothing in it is read as a placeholder."""
    return text.replace("${", "$${")


def fill_placeholders(value: Any, values: Mapping[str, Value]) -> Any:
    """Replace the placeholders in a value of a document; raise `BadEntry` for unknown ones."""
    if isinstance(value, list):
        return [fill_placeholders(item, values) for item in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    alone = _PLACEHOLDER.fullmatch(value)
    if alone and alone[1]:
        return _value(alone[1], values)
    return _PLACEHOLDER.sub(
        lambda found: str(_value(found[1], values)) if found[1] else "${", value
    )


def _value(name: str, values: Mapping[str, Value]) -> Value:
    if name in values:
        return values[name]
    meant = nearest(name, values)
    advice = f"did you mean ${{{meant}}}?" if meant else "set it in `values` or in the inventory"
    raise BadEntry(f"uses ${{{name}}}, which has no value; {advice}")


#: The values of settings that a sentence does not mention.
_PLAIN_RULE = Rule()


class DocumentReader:
    """Reads the settings of one document; its attributes contain the result."""

    def __init__(
        self,
        line_at: Callable[[TomlPath], FileLine],
        values: Mapping[str, Value],
        secret: Callable[[SecretReference], str | None],
        own_keys: Iterable[str] = (),
    ) -> None:
        self._line_at = line_at
        self._values = values
        self._secret = secret
        #: Keys about the file, for suggestions about unknown keys.
        self._own_keys = own_keys
        self.entries: dict[str, FileEntry] = {}
        self.lists: dict[str, FileLine] = {}
        #: Unresolved references, by the path of the setting.
        self.unresolved: dict[str, FileProblem] = {}
        self.problems: list[FileProblem] = []

    def read(self, document: Mapping[str, Any]) -> None:
        self._table(Settings, document, "", ())

    def _table(self, node: type[Node], table: Any, path: str, place: TomlPath) -> None:
        fields = hints(node)
        for name, given in table.items():
            here = f"{path}.{name}" if path else name
            if here == "profile":
                self._wrong((name,), "Write hardware and software instead of version.")
                continue
            if name not in fields:
                key = ".".join(map(str, (*place, name)))
                own = () if place else self._own_keys
                known = [one for one in (*own, *fields) if one != "profile"]
                self._wrong((*place, name), unknown(key, known))
                continue
            branch, is_list = branch_of(fields[name])
            if branch is None:
                self._leaf(here, given, (*place, name))
            elif not isinstance(given, dict):
                self._wrong((*place, name), f"{name} must be a table, such as [{name}].")
            elif is_list:
                self._list(branch, given, here, (*place, name))
            else:
                self._table(branch, given, here, (*place, name))

    def _list(self, branch: type[Node], table: Any, path: str, place: TomlPath) -> None:
        labels = PLACES[pattern_of(path)]
        if path in WHOLE_LISTS:
            self.lists[path] = self._line_at(place)
        for label, given in table.items():
            inner, key = (*place, label), ".".join(map(str, (*place, label)))
            if label not in labels:
                self._wrong(inner, unknown(key, labels))
                continue
            here = f"{path}.{labels.index(label)}"
            if path == "rules" and isinstance(given, str):
                self._sentence(here, given, inner)
            elif isinstance(given, dict):
                self._table(branch, given, here, inner)
            else:
                self._wrong(inner, f"{key} must be a table, such as [{key}].")

    def _sentence(self, path: str, text: str, place: TomlPath) -> None:
        try:
            rule = rule_from_sentence(fill_placeholders(text, self._values))
        except BadEntry as error:
            self._wrong(place, f"{key_of(path)} {error}.")
            return
        for name, value in asdict(rule).items():
            # A sentence without an off delay does not define the off delay that the unit hides.
            is_said = value != getattr(_PLAIN_RULE, name)
            self.entries[f"{path}.{name}"] = FileEntry(value, self._line_at(place), is_said)

    def _leaf(self, path: str, raw: Any, place: TomlPath) -> None:
        reference, line = reference_in(raw), self._line_at(place)
        if reference is not None and not is_confidential(path):
            self._wrong(
                place,
                f"{key_of(path)} is not a secret; write its value here, or ${{name}} with a value"
                " for it.",
            )
            return
        if reference is not None:
            found = self._secret(reference)
            if found is None:
                sentence = f"{key_of(path)} {reference.why_missing}."
                self.unresolved[path] = FileProblem(line, key_of(path), sentence)
            else:
                self.entries[path] = FileEntry(found, line)
            return
        if is_secret(path) and raw != "":
            self._wrong(
                place,
                f"{key_of(path)} is a secret, which must not be in a unit file; write"
                ' { env = "NAME" } or { secret = "name" }.',
            )
            return
        try:
            value = value_from_file(path, fill_placeholders(raw, self._values))
        except BadEntry as error:
            self._wrong(place, f"{key_of(path)} {error}.")
            return
        self.entries[path] = FileEntry(value, line)

    def _wrong(self, place: TomlPath, sentence: str) -> None:
        key = ".".join(map(str, place))
        self.problems.append(FileProblem(self._line_at(place), key, sentence))
