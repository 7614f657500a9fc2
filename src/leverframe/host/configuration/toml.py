"""TOML files that a person wrote: values with their lines, and mistakes reported as sentences."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leverframe.core.errors import ErrorForPeople

# Read a TOML file written by a user; every mistake in it is reported in a sentence.

#: Larger than any handwritten file; protects against devices that never end.
MAX_BYTES = 1 << 20


def read_toml(path: Path, refused: type[ErrorForPeople]) -> tuple[str, dict[str, Any]]:
    """Return the text of a file, for finding lines in it, and its content; raise `refused`."""
    # Imported here: most controllers have no configuration file.
    import tomllib

    try:
        # Some editors begin a file with a byte order mark, which TOML does not allow.
        text = _content(path, refused).decode("utf-8-sig").replace("\r\n", "\n")
        return text, tomllib.loads(text)
    except OSError as error:
        advice = "; check the path" if isinstance(error, FileNotFoundError) else ""
        raise refused(f"{path} cannot be read: {error.strerror}{advice}.") from None
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        raise refused(f"{path}, line {line} is not text in UTF-8; save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise refused(_invalid(path, text, str(error))) from None
    except RecursionError:
        raise refused(f"{path} is not valid TOML: brackets are nested too deeply.") from None
    except ValueError:
        # Python rejects such a path before the operating system sees it.
        raise refused(
            f"{str(path)!r} cannot be read: a file name must not contain a NUL character."
        ) from None


def _invalid(path: Path, text: str, error: str) -> str:
    """Put the line number after the path, as in all messages; the parser puts it last."""
    found = re.fullmatch(r"(.*) \(at line (\d+), (column \d+)\)", error, re.DOTALL)
    if found is None:
        line = 1 + text.rstrip("\n").count("\n")
        return f"{path}, line {line} is not valid TOML: {error}."
    reason, line_number, column = found.groups()
    return f"{path}, line {line_number} is not valid TOML: {reason} ({column})."


def _content(path: Path, refused: type[ErrorForPeople]) -> bytes:
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise refused(f"{path} is too large: at most {MAX_BYTES:,} bytes are allowed.")
    return content


# Find the lines of values in a TOML file, for messages about them.
#
# The parser of the standard library reports only the line of a syntax error. This module searches
# the text: it finds a key by table headers and by keys at the beginning of a line, and a list item
# by counting strings. A key that is missing or within braces gets the line of its table.

#: Keys and indexes of list items, from the outermost to the innermost: ("at", 2, "commands", 0).
TomlPath = tuple[str | int, ...]

# These are strings, because `re` compiles strings only at their first use, not at startup.
_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"\\]*"|'[^']*')"""
_NAMES = rf"({_NAME}(?:\s*\.\s*{_NAME})*)"
_HEADER = rf"\s*\[(\[?)\s*{_NAMES}\s*\]"
_KEY = rf"\s*{_NAMES}\s*="
_TEXT = r'"(?:[^"\\]|\\.)*"|\'[^\']*\''


def line_of(text: str, place: TomlPath) -> int:
    """Return the line, counted from 1, of the innermost part of the place that can be found."""
    return TomlLines(text).line_of(place)


class TomlLines:
    """The lines of one text, for repeated lookups."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._placed = list(_find_places(self._lines))
        #: The line of every header and key; the first line if a table has several headers.
        self._exact = {place: line for place, line, _ in reversed(self._placed)}

    def line_of(self, place: TomlPath) -> int:
        """Return the line, counted from 1, of the innermost part of the place that is found."""
        exact = self._exact.get(place)
        return _nearest_line(self._lines, self._placed, place) if exact is None else exact + 1


def _nearest_line(
    lines: list[str], placed: list[tuple[TomlPath, int, int]], place: TomlPath
) -> int:
    best, number, column = 0, 0, 0
    for found, line, behind in placed:
        shared = _common_length(found, place)
        # A place without a line of its own gets the line of a table below it.
        is_within = shared == len(found) or shared == len(place)
        if is_within and shared > best:
            best, number, column = shared, line, behind
    return 1 + _item(lines, number, column, place[best:])


def _find_places(lines: list[str]) -> Iterator[tuple[TomlPath, int, int]]:
    """Yield the place of every header and key, its line, and the column after it."""
    table: TomlPath = ()
    counted: dict[TomlPath, int] = {}
    for number, line in enumerate(lines):
        if header := re.match(_HEADER, line):
            table = _within(_parts(header[2]), counted)
            if header[1]:
                index = counted[table] = counted.get(table, -1) + 1
                table = (*table, index)
            yield table, number, header.end()
        elif key := re.match(_KEY, line):
            yield (*table, *_parts(key[1])), number, key.end()


def _within(parts: TomlPath, counted: dict[TomlPath, int]) -> TomlPath:
    """Return the place that a header names: `[at.more]` belongs to the last `[[at]]` before it."""
    place: TomlPath = ()
    for part in parts:
        if place in counted:
            place = (*place, counted[place])
        place = (*place, part)
    return place


def _parts(names: str) -> TomlPath:
    return tuple(part.strip("\"'") for part in re.findall(_NAME, names))


def _common_length(first: TomlPath, second: TomlPath) -> int:
    """Count the leading steps that two places have in common."""
    pairs = zip(first, second, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _item(lines: list[str], line: int, column: int, rest: TomlPath) -> int:
    """Find the line of a list item; the list of strings begins at this line and column."""
    if not rest or not isinstance(rest[0], int):
        return line
    remaining = rest[0]
    for number in range(line, len(lines)):
        if lines[number].lstrip().startswith("#"):
            continue
        texts = re.findall(_TEXT, lines[number][column if number == line else 0 :])
        if remaining < len(texts):
            return number
        remaining -= len(texts)
    return line
