"""Where in a TOML file a value stands, for messages about it.

The parser of the standard library tells the line of a syntax error only. This finds the line of a
key from the text: by table headers and by keys at the beginning of a line, and within a list by
counting its texts. What cannot be found (a key that is missing) gets the line of what it is in.
"""

import re

#: Keys and the places of list items, from the outside in: ("at", 2, "commands", 0).
TomlPath = tuple[str | int, ...]

_HEADER = re.compile(r"\s*\[(\[?)\s*([A-Za-z0-9_-]+)\s*\]")
_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')


def line_of(text: str, place: TomlPath) -> int:
    """The line, counted from 1, of the innermost part of the place that can be found."""
    lines = text.splitlines()
    first, last = _own_part(lines)
    header: int | None = None
    rest = place
    if rest and (found := _table(lines, rest)) is not None:
        header, (first, last) = found[0], found[1:]
        rest = rest[2:] if len(rest) > 1 and isinstance(rest[1], int) else rest[1:]
    if rest:
        for number in range(first, last):
            key = _KEY.match(lines[number])
            if key is not None and key[1] == rest[0]:
                return 1 + _item(lines, number, key.end(), rest[1:])
    return 1 + (header or 0)


def _own_part(lines: list[str]) -> tuple[int, int]:
    """The lines before the first table."""
    for number, line in enumerate(lines):
        if _HEADER.match(line):
            return 0, number
    return 0, len(lines)


def _table(lines: list[str], place: TomlPath) -> tuple[int, int, int] | None:
    """The header of a table, and its first and last lines."""
    headers = [
        (number, found) for number, line in enumerate(lines) if (found := _HEADER.match(line))
    ]
    wanted = place[1] if len(place) > 1 and isinstance(place[1], int) else 0
    same = [number for number, found in headers if found[2] == place[0]]
    if not wanted < len(same):
        return None
    start = same[wanted]
    ends = [number for number, _ in headers if number > start]
    return start, start + 1, ends[0] if ends else len(lines)


def _item(lines: list[str], line: int, column: int, rest: TomlPath) -> int:
    """The line of an item of a list of texts that begins here."""
    if not rest or not isinstance(rest[0], int):
        return line
    remaining = rest[0]
    for number in range(line, len(lines)):
        if lines[number].lstrip().startswith("#"):
            continue
        texts = _TEXT.findall(lines[number], column if number == line else 0)
        if remaining < len(texts):
            return number
        remaining -= len(texts)
    return line
