"""The page of the library: what packages may import, told by its docstrings and signatures."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

#: The modules that are the library.
MODULES = ("leverframe", "leverframe.testing")

_OPENING = """\
# Library

What these modules export can be imported and relied on: it changes as the
version number in `CHANGELOG.md` says. It is typed (`py.typed`), loaded when it is asked for,
and starts nothing and sets nothing by being imported. Everything else in the package is the
program's own.
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
            members = [_member(owner, member) for owner, member in _members(value)]
            if members:
                yield "\n".join(members)
        elif inspect.ismodule(value):
            yield f"### `{module.__name__}.{name}`\n\n{_doc(value)}"
            functions = ((key, getattr(value, key)) for key in sorted(value.__all__))
            yield "\n".join(_member(key, one) for key, one in functions if inspect.isfunction(one))


def _signature(name: str, value: Any) -> str:
    is_raised = inspect.isclass(value) and issubclass(value, BaseException)
    if is_raised or getattr(value, "_is_protocol", False):
        return ""
    return f"`{name}{_parameters(value)}`\n\n"


def _parameters(function: Any) -> str:
    """Write the parameters of a function without their types, which are in the source."""
    signature = inspect.signature(function)
    shown = [
        one.replace(annotation=inspect.Parameter.empty, default=_shown_default(one.default))
        for one in signature.parameters.values()
        if one.name not in ("self", "cls")
    ]
    return str(inspect.Signature(shown))


class _Verbatim(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _shown_default(default: Any) -> Any:
    """Return a default that can be read: one that is an object is told as such."""
    if (
        default is inspect.Parameter.empty
        or default is None
        or isinstance(default, str | int | float)
    ):
        return default
    return _Verbatim("()") if default == () else _Verbatim("...")


def _doc(value: Any) -> str:
    return inspect.getdoc(value) or ""


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public members that the class or an ancestor in this package defines."""
    seen: set[str] = set()
    for owner in cls.__mro__:
        if not owner.__module__.startswith("leverframe") or owner.__name__ == "Hooks":
            continue
        for name, value in vars(owner).items():
            is_shown = callable(value) or isinstance(value, property | classmethod | staticmethod)
            if not name.startswith("_") and is_shown and name not in seen:
                seen.add(name)
                # What has no docstring does what the protocol says.
                if _summary(value) and not _summary(value).startswith("Do nothing"):
                    yield name, value


def _member(name: str, value: Any) -> str:
    if isinstance(value, property):
        return f"- `{name}`: {_summary(value)}"
    function = getattr(value, "__func__", value)
    wait = "await " if inspect.iscoroutinefunction(function) else ""
    return f"- `{wait}{name}{_parameters(function)}`: {_summary(value)}"


def _summary(value: Any) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
