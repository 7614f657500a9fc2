"""A complete configuration file: every key with its meaning and its default.

A key without a default is a comment with an example value.
"""

import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec

from leverframe.config.described import Key, Labelled, keys, list_labelled
from leverframe.plain_text import printable

_WIDTH = 100
_OPENING = """\
# Configuration of a Leverframe controller: every key with its default. Keys after a # have no
# default and show an example value.
#
#   leverframe config check --config FILE    effective settings and the source of each
#   leverframe run --config FILE             run a controller with this file
#
# An environment variable overrides this file (LEVERFRAME_PORT=8081); an option overrides both
# (--port 8081).
"""


def example() -> str:
    """Return the text of the example file."""
    lines = [_OPENING.rstrip()]
    for table, members in groupby(keys(), lambda key: key.place[:-1]):
        lines += _table(table, list(members))
    for tables in list_labelled():
        lines += _lines_of_labelled(tables)
    return "\n".join(lines) + "\n"


def _table(place: tuple[str, ...], members: list[Key]) -> Iterator[str]:
    # Nested tables are optional: a bus that is not configured does not exist.
    is_wanted = len(place) < 2
    if place:
        yield ""
        yield f"{'' if is_wanted else '#'}[{'.'.join(place)}]"
    for key in members:
        yield ""
        yield from _comment(key.description, key)
        in_force = is_wanted and key.default is not None
        shown = key.default if in_force or key.example is None else key.example
        yield f"{'' if in_force else '#'}{key.place[-1]} = {as_toml(shown)}"


def _lines_of_labelled(tables: Labelled) -> Iterator[str]:
    yield ""
    yield from _comment(tables.description)
    for key in tables.keys:
        yield from _comment(f"{key.place[-1]}: {key.description}", key)
    yield f"#[{'.'.join(tables.place)}]"
    for label, table in tables.example.items():
        yield f"#{label} = {as_toml(table)}"


def _comment(text: str, key: Key | None = None) -> Iterable[str]:
    if key is not None and key.plain not in (str, bool, float) and not key.is_list:
        text += f" Allowed: {key.allowed}."
    return textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )


def as_toml(value: Any) -> str:
    """Format a value as TOML, which writes all values but tables as JSON does."""
    if isinstance(value, dict):
        inner = ", ".join(f"{name} = {as_toml(part)}" for name, part in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    return printable(msgspec.json.encode(value).decode())
