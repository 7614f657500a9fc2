"""The layers of the program: who may import whom, and where no input or output may happen.

Nothing is imported here; the syntax tree of every source file is read. A part is a room (`core`),
or a folder of one that has rules of its own (`core/engine`). A new part must be placed in
MAY_IMPORT, on purpose: that is the moment to think about where it belongs.
"""

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cases import for_each

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "src" / "leverframe"

ENGINE = {"core", "core/engine"}
TABLE = ENGINE | {"interface/table"}
INTERFACE = TABLE | {
    *("interface", "interface/descriptions", "interface/plan", "interface/status_files"),
    *("interface/uploads", "interface/version_change"),
}
DEVICES = {"devices", "devices/linux", "devices/simulated", "devices/wire"}
STORAGE = {"storage", "storage/history", "storage/lanes"}
#: What a controller is made of.
PARTS = INTERFACE | DEVICES | STORAGE | {"core/runtime", "notify"}
CONTROLLER = PARTS | {"host/controller"}
SERVER = CONTROLLER | {"server", "server/http", "server/routes"}
HOST = SERVER | {"host", "host/configuration", "host/maintenance"}
FLEET = {"fleet", "fleet/cluster", "fleet/jobs", "fleet/operations"}

#: Part -> the other parts it may import. The edges (devices, notify, storage) do not know each
#: other: the controller joins them, and the servers speak to the controller.
MAY_IMPORT = {
    "core": set[str](),
    "core/engine": {"core"},
    "core/runtime": ENGINE,
    "interface": TABLE | {"devices/wire"},
    "interface/uploads": {"core"},
    "interface/table": ENGINE | {"interface/uploads"},
    "interface/version_change": TABLE,
    "interface/descriptions": TABLE,
    "interface/plan": TABLE | {"interface/version_change"},
    "interface/status_files": TABLE | {"interface/uploads", "interface/version_change"},
    "devices/wire": ENGINE,
    "devices": TABLE | {"core/runtime", "devices/simulated", "devices/wire"},
    "devices/simulated": ENGINE | {"devices"},
    "devices/linux": ENGINE | {"core/runtime", "devices", "devices/wire"},
    "notify": ENGINE | {"core/runtime", "devices/wire"},
    "storage": TABLE | {"core/runtime", "interface/version_change", "storage/history"},
    "storage/history": ENGINE | {"core/runtime", "storage"},
    "storage/lanes": ENGINE | {"storage", "storage/history"},
    "host/controller": PARTS - {"devices/linux", "storage/lanes", "notify"},
    "server/http": ENGINE | {"core/runtime", "server", "storage"},
    "server": CONTROLLER | {"server/http"},
    "server/routes": CONTROLLER | {"server", "server/http"},
    "host/configuration": ENGINE | {"devices", "interface/uploads"},
    # It names the functions that do the work, and imports the one that was asked for.
    "host/command_line": ENGINE | {"host/configuration", "interface/descriptions"},
    "host": SERVER | {"host/configuration"},
    "host/maintenance": SERVER | {"host", "host/configuration"},
    "fleet": HOST | FLEET,
    "fleet/operations": HOST | {"fleet", "fleet/jobs"},
    "fleet/jobs": HOST | {"fleet"},
    "fleet/cluster": HOST | {"fleet"},
    "testing/recordings": HOST,
    "units": HOST | {"testing/recordings"},
    "testing": HOST | FLEET | {"units", "testing/recordings"},
    "web": set[str](),
    # What the library exports, loaded when it is asked for.
    "__init__": {
        *("core", "core/runtime", "devices", "devices/simulated"),
        "host/controller",
        "storage",
    },
    "__main__": {"core", "host/command_line"},
}

#: Parts in which values go in and values come out, and nothing else happens.
PURE = {"core", "core/engine", "devices/wire"} | INTERFACE
IMPURE_MODULES = {
    *("asyncio", "socket", "threading", "subprocess"),
    *("time", "random", "os", "pathlib", "sqlite3"),
}
CLOCK_READINGS = {
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
    "time.time",
}

CLASS = re.compile(r"^ *class (\w+)[(:]", re.MULTILINE)
#: Names that say nothing about what is inside.
EMPTY_NAMES = {"utils", "helpers", "common", "base", "manager", "misc"}


class Import(NamedTuple):
    """One imported thing: the name it gets, what that name stands for, and what is loaded."""

    name: str
    meaning: str
    loaded: str


@functools.cache
def imports(source: str, package: str) -> list[Import]:
    """Every import in a file of `package`, wherever it stands in the file."""
    return list(_imports(ast.parse(source), package))


def _imports(tree: ast.Module, package: str) -> Iterator[Import]:
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # `import a.b` makes a known, `import a.b as c` makes a.b known as c.
                name = alias.asname or alias.name.partition(".")[0]
                yield Import(name, alias.name if alias.asname else name, alias.name)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parents = package.split(".")
                source = ".".join([*parents[: len(parents) + 1 - node.level], source]).rstrip(".")
            for alias in node.names:
                full = f"{source}.{alias.name}"
                yield Import(alias.asname or alias.name, full, full)


def name_with_dots(node: ast.expr) -> str | None:
    """`a.b.c` for the expression that reads so, None for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := name_with_dots(node.value)):
        return f"{owner}.{node.attr}"
    return None


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Walk all statements; expressions, most of a file, hold no import."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        inner = getattr(node, field, None)
        for one in inner if isinstance(inner, list) else ():
            yield one
            yield from _statements(one)


def clock_readings(source: str, package: str) -> Iterator[str]:
    """Every use of a function that reads the clock, under whatever name it was imported."""
    if not any(reading.rpartition(".")[2] in source for reading in CLOCK_READINGS):
        return
    meanings = {found.name: found.meaning for found in imports(source, package)}
    for node in ast.walk(ast.parse(source)):
        name = name_with_dots(node) if isinstance(node, ast.Attribute | ast.Name) else None
        if name:
            first, dot, rest = name.partition(".")
            full = meanings.get(first, first) + dot + rest
            if full in CLOCK_READINGS:
                yield full


def part_of(path: str) -> str:
    """The folder with rules of its own that a file or module is in, or else its room."""
    room, *inner = path.removesuffix(".py").split("/")
    folder = "/".join([room, *inner[:1]])
    return folder if folder in MAY_IMPORT else room


def complaints(file: str, source: str) -> list[str]:
    """What is wrong with a source file; `file` is its path below the package folder."""
    part = part_of(file)
    package = ".".join(["leverframe", *Path(file).parts[:-1]])
    found = []
    if part not in MAY_IMPORT:
        found.append(f"{file}: the part {part} has no place in MAY_IMPORT yet")
    for imported in imports(source, package):
        root, _, inner = imported.loaded.partition(".")
        if part in PURE and root in IMPURE_MODULES:
            found.append(f"{file}: {part} is pure and must not import {root}")
        target = part_of(inner.replace(".", "/"))
        is_part = root == "leverframe" and target in MAY_IMPORT
        if is_part and target != part and target not in MAY_IMPORT.get(part, set()):
            found.append(f"{file}: {part} must not import {target}")
    if part in PURE:
        found += [
            f"{file}: {part} is pure and must not call {x}" for x in clock_readings(source, package)
        ]
    return found


def imports_of(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """The files of the package that each of its files imports, for types only, too."""
    modules = {file.removesuffix(".py").replace("/", "."): file for file in sources}
    found: dict[str, set[str]] = {}
    for file, source in sources.items():
        package = ".".join(["leverframe", *Path(file).parts[:-1]])
        names = {x.loaded.removeprefix("leverframe.") for x in imports(source, package)}
        # A name may be a module, or something in one.
        names |= {name.rpartition(".")[0] for name in names}
        found[file] = {modules[name] for name in names & modules.keys()} - {file}
    return found


def circle_in(imported: Mapping[str, set[str]]) -> list[str]:
    """Files that import each other in a circle, if there are any."""
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def empty_names(file: str) -> list[str]:
    """The parts of a path that say nothing about what is inside."""
    return [name for name in Path(file).with_suffix("").parts if name.strip("_") in EMPTY_NAMES]


def source_files(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*.py"))


def test_source_files_keep_to_their_layer() -> None:
    sources = {file: (PACKAGE / file).read_text(encoding="utf-8") for file in source_files(PACKAGE)}
    assert [fault for file, source in sources.items() for fault in complaints(file, source)] == []


def test_no_files_import_each_other_in_a_circle() -> None:
    sources = {file: (PACKAGE / file).read_text(encoding="utf-8") for file in source_files(PACKAGE)}
    assert circle_in(imports_of(sources)) == []


def test_circle_of_imports_is_found() -> None:
    sources = {
        "a/b.py": "from leverframe.c import d",
        "c.py": "if TYPE_CHECKING:\n    from leverframe.a.b import e",
        "d.py": "import leverframe.c",
    }
    assert set(circle_in(imports_of(sources))) == {"a/b.py", "c.py"}


def test_module_names_say_what_is_inside() -> None:
    files = [file for top in ("src", "tests", "tools") for file in source_files(PROJECT / top)]
    assert {file: empty_names(file) for file in files if empty_names(file)} == {}


@for_each(
    ("file", "source", "complaint"),
    [
        ("core/engine/pid.py", "import asyncio", "pure and must not import asyncio"),
        (
            "server/http/server.py",
            "from leverframe.server.routes.router import Web",
            "server/http must not import server/routes",
        ),
        (
            "interface/table/system.py",
            "from leverframe.interface.version_change.limits import is_allowed",
            "interface/table must not import interface/version_change",
        ),
        ("core/engine/pid.py", "import os.path as p", "pure and must not import os"),
        (
            "core/engine/pid.py",
            "def f():\n    from time import time",
            "pure and must not import time",
        ),
        ("interface/table/row.py", "from pathlib import Path", "pure and must not import pathlib"),
        ("devices/wire/tftp.py", "import socket", "pure and must not import socket"),
        ("core/profile.py", "import random", "pure and must not import random"),
        (
            "core/engine/schedule.py",
            "from datetime import datetime\nx = datetime.now()",
            "must not call datetime.datetime.now",
        ),
        (
            "core/engine/schedule.py",
            "import datetime as dt\nx = dt.date.today",
            "must not call datetime.date.today",
        ),
        (
            "core/engine/schedule.py",
            "import datetime\nx = datetime.datetime.utcnow()",
            "must not call datetime.datetime.utcnow",
        ),
        (
            "core/engine/rules.py",
            "import leverframe.interface.table.row",
            "core/engine must not import interface/table",
        ),
        (
            "core/engine/rules.py",
            "from leverframe import interface",
            "core/engine must not import interface",
        ),
        (
            "core/engine/rules.py",
            "from ...storage import store",
            "core/engine must not import storage",
        ),
        (
            "core/engine/rules.py",
            "from ..runtime import clock",
            "core/engine must not import core/runtime",
        ),
        ("core/profile.py", "from .engine import state", "core must not import core/engine"),
        (
            "interface/table/row.py",
            "from leverframe.devices.wire import modbus",
            "interface/table must not import devices/wire",
        ),
        ("storage/x.py", "from leverframe.server import x", "storage must not import server"),
        (
            "server/routes/router.py",
            "from leverframe.host.serve import serve",
            "server/routes must not import host",
        ),
        ("gadgets/lamp.py", "", "the part gadgets has no place in MAY_IMPORT yet"),
    ],
)
def test_breach_of_the_layers_is_found(file: str, source: str, complaint: str) -> None:
    (found,) = complaints(file, source)
    assert complaint in found


@for_each(
    ("file", "source"),
    [
        ("core/engine/rules.py", "import msgspec\nfrom leverframe.core.profile import Profile"),
        ("core/engine/rules.py", "from . import outputs\nfrom .outputs import toggle"),
        ("core/engine/schedule.py", "from datetime import datetime\ndef f(step): return step.now"),
        ("interface/table/rules.py", "from leverframe.core.engine.rules import evaluate"),
        (
            "server/routes/router.py",
            "import asyncio\nfrom leverframe import __version__, interface",
        ),
        (
            "host/assembly.py",
            "from leverframe.server import web\nfrom leverframe.devices import board",
        ),
    ],
)
def test_allowed_import_is_not_reported(file: str, source: str) -> None:
    assert complaints(file, source) == []


@pytest.mark.parametrize("file", ["engine/utils.py", "helpers/time.py", "wire/_base.py"])
def test_empty_module_name_is_found(file: str) -> None:
    assert len(empty_names(file)) == 1


def test_no_class_name_stands_for_two_things() -> None:
    places: dict[str, list[str]] = {}
    for file in source_files(PACKAGE):
        for name in CLASS.findall((PACKAGE / file).read_text(encoding="utf-8")):
            places.setdefault(name, []).append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
