"""The sources of the configuration's values: a file, environment variables, options.

Options override variables, variables override the file, and the file overrides the defaults. Texts
of variables and options are converted to the type of the key where possible; values that cannot be
converted are reported with all other mistakes.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leverframe.config.described import PREFIX, Key, keys, nearest
from leverframe.config.fields import BadConfiguration
from leverframe.config.toml_file import read_toml
from leverframe.config.toml_lines import TomlPath, line_of

_SWITCH_WORDS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


class Sources:
    """The configured values, in tables as in a file, and the source of each."""

    def __init__(
        self, file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]
    ) -> None:
        self.file = file
        self._text, self._in_file = ("", {}) if file is None else read_toml(file, BadConfiguration)
        self._over: dict[tuple[str, ...], str] = {}
        self.values: dict[str, Any] = _copy(self._in_file)
        #: Sentences about variables without a key.
        self.unknown = list(_unknown_variables(environment))
        for key in keys():
            # Many tools unset a variable by setting it to an empty text.
            if text := environment.get(key.variable):
                self._put(key, _from_text(key, text), key.variable)
        for key in keys():
            if (value := flags.get(key.name)) is not None:
                converted = _from_text(key, value) if isinstance(value, str) else value
                self._put(key, converted, key.flag)

    def _put(self, key: Key, value: Any, origin: str) -> None:
        table = self.values
        for part in key.place[:-1]:
            inner = table.get(part)
            # A parent that is not a table is replaced by a table: this key overrides it.
            table[part] = inner if isinstance(inner, dict) else {}
            table = table[part]
        table[key.place[-1]] = value
        self._over[key.place] = origin

    def origin(self, place: TomlPath) -> str | None:
        """Return the source of the value at a place, or of a value within it; None if not set."""
        if not place:
            return None
        for overridden, origin in self._over.items():
            if overridden == place[: len(overridden)] or place == overridden[: len(place)]:
                return origin
        if self.file is not None and _holds(self._in_file, place[:-1]):
            return self.line(place)
        return None

    def line(self, place: TomlPath) -> str:
        """Return the line of a place in the file."""
        return f"{self.file}, line {line_of(self._text, place)}"

    def is_in_file(self, origin: str) -> bool:
        return origin not in self._over.values()

    def has(self, place: TomlPath) -> bool:
        return _holds(self.values, place)


def _holds(table: Any, place: TomlPath) -> bool:
    for part in place:
        if not isinstance(table, dict) or part not in table:
            return False
        table = table[part]
    return True


def _copy(table: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _copy(value) if isinstance(value, dict) else value for name, value in table.items()
    }


def _from_text(key: Key, text: str) -> Any:
    if key.is_list:
        return [part for item in text.split(",") if (part := item.strip())]
    if key.is_switch:
        return _SWITCH_WORDS.get(text.lower(), text)
    if key.plain is int:
        try:
            return int(text, 0)
        except ValueError:
            return text
    return text


def _unknown_variables(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each unknown variable, without its value, which may be secret."""
    known = [key.variable for key in keys()]
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            suggestion = nearest(name, known)
            advice = f"Did you mean {suggestion}?" if suggestion else "Remove it."
            yield f"{name}: no key belongs to this environment variable. {advice}"
