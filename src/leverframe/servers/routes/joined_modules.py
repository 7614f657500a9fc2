"""The modules of the first view as one file: a slow phone requests one instead of forty.

The pages are modules without a build step, and stay that: they are joined when they are served. Of
each a function is made, in the order in which they need each other; all other modules then import
from the one file. This understands what the pages write: imports of names or of a whole module at
the top, exports of declarations, and the list of names with which a vendored module ends.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Set

# Texts, which `re` compiles when they are first used: no start waits for them.
_IMPORT = r'(?m)^import (\{[^}]*\}|\* as \w+) from "(\.[^"]+)";$'
_EXPORT = r"(?m)^export (?=(?:async )?(?:function\*?|class|const) (\w+))"
_EXPORTED_LIST = r"export\{([^}]*)\};\s*(?://.*\s*)?\Z"
_LATE_IMPORT = r"\bimport\(([\"`])(\.[^\"`]*)"
_OWN_ADDRESS = "import.meta.url"
#: A joined module is not fetched again by later imports.
_BEGIN = """export const firstView = {};
const fetched = async (path) => firstView[path.slice(2)] ?? import(path);"""


def join_modules(text_of: Callable[[str], str], start: str, first: Set[str]) -> str:
    """Return the module that starts it all, with those of the first view in it."""
    parts = (_part(module, text_of(module)) for module in _in_order(text_of, start, first))
    return "\n".join([_BEGIN, *parts, ""])


def beside_joined(path: str, text: str, start: str, first: Set[str]) -> str:
    """Return any other module as it is where the first ones are joined."""
    if path in first:
        return _reexport(path, text, start)
    return _late(path, text, start, {start, *first})


def _in_order(text_of: Callable[[str], str], start: str, first: Set[str]) -> list[str]:
    """Order modules so that each comes after those that it imports; the start is the last."""
    ordered: dict[str, None] = {}

    def add(path: str) -> None:
        if path not in ordered:
            for _, needed in _imports(path, text_of(path)):
                add(needed)
            ordered[path] = None

    for path in sorted(first):
        add(path)
    add(start)
    return list(ordered)


def _imports(path: str, text: str) -> Iterator[tuple[str, str]]:
    return ((match[1], _resolve(path, match[2])) for match in re.finditer(_IMPORT, text))


def _resolve(path: str, relative: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), relative))


def _part(path: str, text: str) -> str:
    """Make a function of a module, which gives what the module exports."""
    names, body = _exports(text)
    body = re.sub(
        _IMPORT, lambda match: _import_from_joined(match[1], _resolve(path, match[2])), body
    )
    body = re.sub(
        _LATE_IMPORT, lambda match: f"fetched({match[1]}./{_resolve(path, match[2])}", body
    )
    body = body.replace(_OWN_ADDRESS, f'new URL("{path}", {_OWN_ADDRESS})')
    return f'firstView["{path}"] = (() => {{\n{body}\nreturn {{ {names} }};\n}})();'


def _exports(text: str) -> tuple[str, str]:
    """Return what a module exports, as an object names it, and its text without exports."""
    if listed := re.search(_EXPORTED_LIST, text):
        pairs = (one.split(" as ") for one in listed[1].split(","))
        return ", ".join(f"{own[-1]}: {own[0]}" for own in pairs), text[: listed.start()]
    return ", ".join(re.findall(_EXPORT, text)), re.sub(_EXPORT, "", text)


def _import_from_joined(clause: str, path: str) -> str:
    """Take from a joined module what an import names."""
    names = clause.replace("* as ", "").replace(" as ", ": ")
    return f'const {names} = firstView["{path}"];'


def _late(path: str, text: str, start: str, wanted: Set[str]) -> str:
    """Make a module that comes later import from the joined ones."""
    if not any(needed in wanted for _, needed in _imports(path, text)):
        return text
    place = posixpath.relpath(start, posixpath.dirname(path))

    def replace_import(match: re.Match[str]) -> str:
        needed = _resolve(path, match[2])
        return _import_from_joined(match[1], needed) if needed in wanted else match[0]

    return (
        f'import {{ firstView }} from "{_relative(place)}"; {re.sub(_IMPORT, replace_import, text)}'
    )


def _reexport(path: str, text: str, start: str) -> str:
    """Return a joined module at its own path, for imports by that path."""
    names = ", ".join(name.partition(":")[0] for name in _exports(text)[0].split(", "))
    place = posixpath.relpath(start, posixpath.dirname(path))
    return (
        f'import {{ firstView }} from "{_relative(place)}";\n'
        f'export const {{ {names} }} = firstView["{path}"];\n'
    )


def _relative(place: str) -> str:
    return place if place.startswith(".") else f"./{place}"
