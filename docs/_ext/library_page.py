"""The page of the library: the public modules, from their docstrings and signatures."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

#: The modules that are the library.
MODULES = ("leverframe", "leverframe.testing")

_OPENING = """\
# Library

The exports of these modules are stable: incompatible changes raise the version number as described
in `CHANGELOG.md`. They are typed (`py.typed`) and loaded lazily; importing them starts nothing and
changes no global state. Everything else in the package is internal.
"""


def library_page() -> str:
    parts = [_OPENING]
    for name in MODULES:
        module = import_module(name)
        parts += [f"## `{name}`", *_about(module)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _about(module: ModuleType) -> Iterator[str]:
    for name in sorted(module.__all__):
        value = getattr(module, name)
        if inspect.isclass(value):
            yield f"### `{module.__name__}.{name}`\n\n{_signature(name, value)}{_doc(value)}"
            members = [_member(owner, member) for owner, member in members_of(value)]
            attributes = attributes_of(value).items()
            members += [f"- `{one}`: {doc}" if doc else f"- `{one}`" for one, doc in attributes]
            if members:
                yield "\n".join(sorted(members, key=_by_kind))
        elif inspect.ismodule(value):
            yield f"### `{module.__name__}.{name}`\n\n{_doc(value)}"
            functions = ((key, getattr(value, key)) for key in sorted(value.__all__))
            yield "\n".join(_member(key, one) for key, one in functions if inspect.isfunction(one))


def _signature(name: str, value: Any) -> str:
    is_raised = inspect.isclass(value) and issubclass(value, BaseException)
    if is_raised or getattr(value, "_is_protocol", False):
        return ""
    return f"`{name}{parameters_of(value)}`\n\n"


def parameters_of(function: Any) -> str:
    """Write the parameters of a function without their types, which are in the source."""
    signature = inspect.signature(function)
    shown = [
        one.replace(annotation=inspect.Parameter.empty, default=_show_default(one.default))
        for one in signature.parameters.values()
        if one.name not in ("self", "cls")
    ]
    return str(inspect.Signature(shown))


class _Verbatim(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _show_default(default: Any) -> Any:
    """Return a readable default; objects are replaced by a placeholder."""
    if (
        default is inspect.Parameter.empty
        or default is None
        or isinstance(default, str | int | float)
    ):
        return default
    return _Verbatim("()") if default == () else _Verbatim("...")


def _doc(value: Any) -> str:
    return inspect.getdoc(value) or ""


def members_of(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public members that the class or an ancestor in this package defines."""
    seen: set[str] = set()
    for owner in cls.__mro__:
        if not owner.__module__.startswith("leverframe") or owner.__name__ == "Hooks":
            continue
        for name, value in vars(owner).items():
            is_shown = callable(value) or isinstance(value, property | classmethod | staticmethod)
            if not name.startswith("_") and is_shown and name not in seen:
                seen.add(name)
                # A member without a docstring behaves as its protocol describes.
                if _summary(value) and not _summary(value).startswith("Do nothing"):
                    yield name, value


def attributes_of(cls: type) -> dict[str, str]:
    """Return the public attributes other than properties, each with the comment before it."""
    found: dict[str, str] = {}
    for owner in cls.__mro__:
        if owner.__module__.startswith("leverframe"):
            for name, doc in _attributes_in(owner):
                is_member = callable(getattr(cls, name, None)) and name not in _fields_of(owner)
                if not found.get(name) and not is_member:
                    found[name] = doc
    shown = {name for name, _ in members_of(cls)}
    return {name: doc for name, doc in found.items() if name not in shown}


def _fields_of(cls: type) -> frozenset[str]:
    return frozenset(getattr(cls, "__annotations__", ()))


def _attributes_in(cls: type) -> Iterator[tuple[str, str]]:
    """Yield the attributes that a class declares and those that its constructor sets."""
    source = textwrap.dedent(inspect.getsource(cls))
    (tree,), lines = ast.parse(source).body, source.splitlines()
    assert isinstance(tree, ast.ClassDef)
    for statement in tree.body:
        yield from _list_declared(statement, lines, ast.Name)
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            for inner in statement.body:
                yield from _list_declared(inner, lines, ast.Attribute)


def _list_declared(
    statement: ast.stmt, lines: list[str], kind: type[ast.Name | ast.Attribute]
) -> Iterator[tuple[str, str]]:
    """Yield the names that a statement declares: in a class, or as attributes of `self`."""
    if not isinstance(statement, ast.AnnAssign | ast.Assign):
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        if isinstance(target, kind):
            name = target.id if isinstance(target, ast.Name) else target.attr
            if not name.startswith("_"):
                doc = _comment_before(statement.lineno - 1, lines)
                yield name, doc or _type_of(statement)


def _type_of(statement: ast.AnnAssign | ast.Assign) -> str:
    """Return the declared type, for attributes without a comment."""
    if isinstance(statement, ast.Assign):
        return ""
    return f"`{ast.unparse(statement.annotation)}`."


def _comment_before(line: int, lines: list[str]) -> str:
    """Return the comment that begins with `#:` and ends before a line."""
    begin = line
    while begin and lines[begin - 1].strip().startswith("#"):
        begin -= 1
    words = [one.strip().lstrip("#:").strip() for one in lines[begin:line]]
    return " ".join(words) if begin < line and lines[begin].strip().startswith("#:") else ""


def _by_kind(line: str) -> tuple[bool, str]:
    """Sort attributes and properties first, then methods."""
    name = line.partition("`")[2].partition("`")[0]
    return "(" in name, name.removeprefix("await ")


def _member(name: str, value: Any) -> str:
    if isinstance(value, property):
        return f"- `{name}`: {_summary(value)}"
    function = getattr(value, "__func__", value)
    wait = "await " if inspect.iscoroutinefunction(function) else ""
    return f"- `{wait}{name}{parameters_of(function)}`: {_summary(value)}"


def _summary(value: Any) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
