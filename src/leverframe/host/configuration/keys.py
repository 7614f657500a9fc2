"""Descriptions of the configuration's keys, and a complete example file."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import FieldInfo

from leverframe.core.errors import printable
from leverframe.host.configuration.fields import Config

# Descriptions of the keys of the configuration, read from the types of their fields.

#: The prefix of all environment variables.
PREFIX = "LEVERFRAME_"
#: Takes the place of a default if a key is required in its table.
REQUIRED = msgspec.NODEFAULT


class Key(Struct, frozen=True):
    """One configurable value, by its place: ("board", "i2c", "bus")."""

    place: tuple[str, ...]
    #: The declared type, for checking values.
    hint: Any
    #: The type without annotations and without None.
    plain: Any
    default: Any
    description: str
    metavar: str
    #: A value to show if there is no default.
    example: Any

    @property
    def name(self) -> str:
        return ".".join(self.place)

    @property
    def variable(self) -> str:
        return PREFIX + "_".join(self.place).upper()

    @property
    def flag(self) -> str:
        return "--" + "-".join(self.place).replace("_", "-")

    @property
    def is_switch(self) -> bool:
        return self.plain is bool

    @property
    def is_list(self) -> bool:
        return get_origin(self.plain) is tuple

    @property
    def allowed(self) -> str:
        return describe_type(self.hint)

    @property
    def usual(self) -> str:
        """The default as written after the option; empty for a switch or without a default."""
        if self.is_switch or self.default in (None, REQUIRED):
            return ""
        return ",".join(self.default) if self.is_list else str(self.default)


class Labelled(Struct, frozen=True):
    """A set of tables by label, such as `[board.outputs]`: OUT0, OUT1."""

    place: tuple[str, ...]
    description: str
    #: Tables to show as an example, by label.
    example: Mapping[str, Any]
    keys: tuple[Key, ...]


@cache
def keys() -> tuple[Key, ...]:
    """Return every key outside labelled tables, in the order of the fields."""
    return tuple(entry for entry in _entries(Config, ()) if isinstance(entry, Key))


def list_labelled() -> list[Labelled]:
    """Return every set of labelled tables; only a file can contain them."""
    return [entry for entry in _entries(Config, ()) if isinstance(entry, Labelled)]


def _entries(struct: type[Struct], above: tuple[str, ...]) -> Iterator[Key | Labelled]:
    for field in msgspec.structs.fields(struct):
        plain, metas = split_type(field.type)
        place = (*above, field.name)
        if is_table(plain):
            yield from _entries(plain, place)
        elif get_origin(plain) is dict:
            inner, _ = split_type(get_args(plain)[1])
            below = tuple(_key(part, (part.name,)) for part in msgspec.structs.fields(inner))
            yield Labelled(place, _description(metas), _example(metas) or {}, below)
        else:
            yield _key(field, place)


def _key(field: FieldInfo, place: tuple[str, ...]) -> Key:
    plain, metas = split_type(field.type)
    metavars = [meta.extra["metavar"] for meta in metas if meta.extra]
    metavar = metavars[0] if metavars else ("NUMBER" if plain is int else "TEXT")
    return Key(
        place, field.type, plain, field.default, _description(metas), metavar, _example(metas)
    )


def _description(metas: Iterable[Meta]) -> str:
    return next((meta.description for meta in metas if meta.description), "")


def _example(metas: Iterable[Meta]) -> Any:
    return next((meta.examples[0] for meta in metas if meta.examples), None)


def split_type(hint: Any) -> tuple[Any, list[Meta]]:
    """Split a type into the plain type, without None, and its annotations, outermost first."""
    metas: list[Meta] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *found = get_args(hint)
            metas += [meta for meta in reversed(found) if isinstance(meta, Meta)]
            continue
        members = alternatives(hint)
        if NoneType not in members:
            return hint, metas
        members.remove(NoneType)
        hint = Union[tuple(members)]  # noqa: UP007 - the members are known only here


def alternatives(hint: Any) -> list[Any]:
    """Return the members of a union, or an empty list for any other type."""
    return list(get_args(hint)) if get_origin(hint) in (Union, UnionType) else []


def is_table(plain: Any) -> bool:
    return isinstance(plain, type) and issubclass(plain, Struct)


def describe_type(hint: Any) -> str:
    """Describe the values that a type allows, such as "a whole number from 0 to 65535"."""
    plain, metas = split_type(hint)
    if members := alternatives(plain):
        return " or ".join(describe_type(member) for member in members)
    origin = get_origin(plain)
    if origin is Literal:
        *others, last = (f'"{word}"' for word in get_args(plain))
        return f"{', '.join(others)} or {last}"
    if origin is tuple:
        return "a list of strings"
    if origin is dict or is_table(plain):
        return "a table"
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
    return words[plain] + _limits(metas)


def _limits(metas: Iterable[Meta]) -> str:
    if any(meta.min_length for meta in metas):
        return " of at least one character"
    least = next((meta.ge for meta in metas if meta.ge is not None), None)
    most = next((meta.le for meta in metas if meta.le is not None), None)
    if least is None:
        return "" if most is None else f" of at most {most}"
    return f" of at least {least}" if most is None else f" from {least} to {most}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word closest to a misspelled one, or None."""
    # Imported here: a start without mistakes needs no suggestions.
    import difflib

    return next(iter(difflib.get_close_matches(word, list(known), 1)), None)


# A complete configuration file: every key with its meaning and its default.
#
# A key without a default is commented out, and shows an example value.

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
    """Format a value as TOML; apart from tables, TOML values are written as in JSON."""
    if isinstance(value, dict):
        inner = ", ".join(f"{name} = {as_toml(part)}" for name, part in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    return printable(msgspec.json.encode(value).decode())
