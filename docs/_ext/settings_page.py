"""The page of the settings tree, read from its classes and from the comments beside them."""

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_type_hints

import msgspec

from docs._ext.markdown import code, prose, table
from docs._ext.trials import ALL_SETTINGS, settings_changed
from leverframe.core import settings as classes
from leverframe.core.profile import Profile, spans_in_words
from leverframe.core.settings import MAX_RULES, SECRETS, Node, Settings
from leverframe.core.tree import branch_of, defaults
from leverframe.interface.descriptions.listing import variants
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.row import Row
from leverframe.interface.table.versions import NEWEST

_OPENING = """\
# Settings

All settings of a controller that commands change, as one tree: `GET /api/settings` returns it, and
the store and backups contain it. The path of a setting is its name; `*` stands for a position,
counted from 0. Values are in real units and words, never in the codes of the commands. Secret
settings never leave the controller: they are shown as `***` if set, and as null if not.
"""
_CLASS = re.compile(r"class (\w+)\(Node")
_COMMENT = re.compile(r"    #: (.*)")
_FIELD = re.compile(r"    (\w+): ")

Comments = dict[tuple[str, str], str]


class TreePlace(NamedTuple):
    """A leaf, or a list of branches."""

    path: str
    is_leaf: bool
    #: The default of the field, for leaves of entries that do not exist by default.
    default: Any
    comment: str


def settings_page() -> str:
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    yield _OPENING.rstrip()
    setters = _setters()
    places = list(places_in_tree())
    for name in Settings.__struct_fields__:
        yield f"\n## {code(name)}\n"
        here = [place for place in places if place.path.partition(".")[0] == name]
        lengths = [line for place in here if (line := _length(place))]
        if lengths:
            yield "\n".join([*lengths, ""])
        lines = [
            (
                code(place.path),
                _show(_default(place)),
                ", ".join(code(setter) for setter in setters.get(place.path, ())),
                _remark(place),
            )
            for place in here
            if place.is_leaf
        ]
        yield table(("path", "default", "set by", ""), lines)


def places_in_tree() -> Iterator[TreePlace]:
    """List every leaf of the tree, also of entries that are absent by default, and every list."""
    return _below(Settings, field_comments(inspect.getsource(classes)), "")


def field_comments(source: str) -> Comments:
    """Map (class, field) to the `#:` comment above the field."""
    comments: Comments = {}
    name, words = "", list[str]()
    for line in source.splitlines():
        if found := _CLASS.match(line):
            name = found[1]
        elif found := _COMMENT.match(line):
            words.append(found[1])
        elif found := _FIELD.match(line):
            comments[name, found[1]] = " ".join(words)
            words = []
    return comments


def _below(node: type[Node], comments: Comments, path: str) -> Iterator[TreePlace]:
    hints = get_type_hints(node)
    for field in msgspec.structs.fields(node):
        here = f"{path}.{field.name}" if path else field.name
        comment = comments.get((node.__name__, field.name), "")
        branch, is_list = branch_of(hints[field.name])
        if branch is None:
            yield TreePlace(here, True, field.default, comment)
            continue
        if is_list:
            yield TreePlace(here, False, field.default, comment)
        yield from _below(branch, comments, f"{here}.*" if is_list else here)


def _values(path: str, profile: Profile) -> list[Any]:
    """Return the default values at a path, one for each position."""
    found: list[Any] = [defaults(profile)]
    for step in path.split("."):
        if step == "*":
            found = [item for branch in found for item in branch if item is not None]
        else:
            found = [getattr(branch, step) for branch in found]
    return found


def _default(place: TreePlace) -> Any:
    """Return one default value, or a tuple of them if the positions differ."""
    values = _values(place.path, NEWEST)
    if not values:
        return place.default
    return values[0] if all(value == values[0] for value in values) else tuple(values)


def _length(place: TreePlace) -> str | None:
    """State the length of a list; for a list of values, only if versions differ."""

    def ask(profile: Profile) -> str | None:
        values = _values(place.path, profile)
        return str(len(values[0])) if values and isinstance(values[0], tuple) else None

    if place.path == "rules":
        return (
            f"{code('rules')} has up to {MAX_RULES} entries, and none by default. In the JSON of "
            f"{code('/api/settings')} a place without an entry, before others, is {code('null')}."
        )
    counts = variants(ask)
    if not counts or (place.is_leaf and len(counts) == 1):
        return None
    if len(counts) == 1:
        return f"{code(place.path)} has {counts[0].text} places."
    lines = (f"{found.text} ({spans_in_words(found.spans)})" for found in counts)
    return f"{code(place.path)} has this many places: {', '.join(lines)}."


def _remark(place: TreePlace) -> str:
    secret = "A secret." if place.path in SECRETS else ""
    return f"{prose(place.comment)} {secret}".strip()


def _setters() -> dict[str, list[str]]:
    """Map each path to the names of the commands that change it."""
    found: dict[str, list[str]] = {}
    for row in TABLE:
        for path in settings_changed(row):
            names = found.setdefault(path, [])
            if path != ALL_SETTINGS and _name(row) not in names:
                names.append(_name(row))
    return found


def _name(row: Row) -> str:
    names = [item.text.partition("=")[0] for item in row.form.items]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _show(value: Any) -> str:
    if isinstance(value, tuple) and len(value) > 4 and len(set(value)) == 1:
        return f"{len(value)} times {code(json.dumps(value[0]))}"
    return code(json.dumps(value))
