"""The sources of the configuration's values: a file, the environment, flags.

Later ones win: a flag over a variable over the file over the default. Texts of variables and flags
become values of the kind that the key has, where they can; what cannot is complained about with
everything else that is wrong.
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
    """The values that were given, in tables as in a file, and where each of them was given."""

    def __init__(
        self, file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]
    ) -> None:
        self.file = file
        self._text, self._in_file = ("", {}) if file is None else read_toml(file, BadConfiguration)
        self._over: dict[tuple[str, ...], str] = {}
        self.values: dict[str, Any] = _copy(self._in_file)
        #: Sentences about variables that stand for no key.
        self.unknown = list(_unknown_variables(environment))
        for key in keys():
            # Many tools set a variable to an empty text to unset it.
            if text := environment.get(key.variable):
                self._put(key, _from_text(key, text), key.variable)
        for key in keys():
            if (value := flags.get(key.name)) is not None:
                given = _from_text(key, value) if isinstance(value, str) else value
                self._put(key, given, key.flag)

    def _put(self, key: Key, value: Any, origin: str) -> None:
        table = self.values
        for part in key.place[:-1]:
            inner = table.get(part)
            # A parent that is no table is replaced by one: this key overrides it.
            table[part] = inner if isinstance(inner, dict) else {}
            table = table[part]
        table[key.place[-1]] = value
        self._over[key.place] = origin

    def origin(self, place: TomlPath) -> str | None:
        """Return where the value at a place, or one within it, was given; None where it was not."""
        if not place:
            return None
        for given, origin in self._over.items():
            if given == place[: len(given)] or place == given[: len(place)]:
                return origin
        if self.file is not None and _holds(self._in_file, place[:-1]):
            return self.line(place)
        return None

    def line(self, place: TomlPath) -> str:
        """Return the line of a place in the file."""
        return f"{self.file}, line {line_of(self._text, place)}"

    def is_given(self, place: TomlPath) -> bool:
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
    """Yield a complaint per unknown variable, by name alone: its value may be confidential."""
    known = [key.variable for key in keys()]
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            meant = nearest(name, known)
            advice = f"did you mean {meant}?" if meant else "remove it from the environment."
            yield f"{name}: this variable stands for no key; {advice}"
