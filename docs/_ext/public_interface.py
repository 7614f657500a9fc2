"""The public interface as a list of lines, which a release may not remove without notice."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from docs._ext.library_page import MODULES, attributes_of, members_of, parameters_of
from leverframe.host.command_line.listings import list_all_tasks
from leverframe.server.routes.endpoints import ENDPOINTS

_OPENING = """\
# The public interface, one line for each part, written by `make docs`. `make release` compares it
# with that of the previous release: RELEASING.md says what may disappear, and when.
"""


def public_interface() -> str:
    lines = {*_list_library(), *_list_command_line(), *_list_paths()}
    return _OPENING + "".join(f"{line}\n" for line in sorted(lines))


def _list_library() -> Iterator[str]:
    for name in MODULES:
        module = import_module(name)
        for exported in module.__all__:
            value = getattr(module, exported)
            yield from _list_exported(f"{name}.{exported}", value)


def _list_exported(place: str, value: Any) -> Iterator[str]:
    yield f"library {place}"
    if inspect.isclass(value):
        for name, member in members_of(value):
            is_called = callable(member) or isinstance(member, classmethod | staticmethod)
            function = getattr(member, "__func__", member)
            yield f"library {place}.{name}{parameters_of(function) if is_called else ''}"
        yield from (f"library {place}.{name}" for name in attributes_of(value))
    elif inspect.ismodule(value):
        for name in value.__all__:
            function = getattr(value, name)
            yield f"library {place}.{name}{parameters_of(function) if callable(function) else ''}"


def _list_command_line() -> Iterator[str]:
    for task in list_all_tasks():
        yield f"command leverframe {task.words}"
        for option in task.options:
            yield from (f"command leverframe {task.words} {flag}" for flag in option.flags)


def _list_paths() -> Iterator[str]:
    for endpoint in ENDPOINTS:
        for method in endpoint.methods:
            yield f"path {method} {endpoint.path}"
            yield from (f"path {method} {endpoint.path}?{one.name}" for one in endpoint.query)
