"""The layers of the program: who may import whom, and where no input or output may happen.

Nothing is imported here; the syntax tree of every source file is read. A part is a folder or a
module directly under the package (`engine`, `profile`). A new part has to be placed in MAY_IMPORT,
on purpose: that is the moment to think about where it belongs.
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

CORE = {"profile", "errors", "plain_text"}
ENGINE = CORE | {"engine"}
INTERFACE = ENGINE | {"uploads", "commands", "wire"}
EDGES = {"notify", "hardware", "storage"}
JOINED = (
    INTERFACE
    | EDGES
    | {"status_files", "foreign_documents", "naming", "clock", "controller"}
    | {"log_throttle", "loop_shares", "bounded_work", "outgoing"}
)
SERVED = JOINED | {
    *("servers", "config", "wiring", "durations", "moments", "shutdown", "exit_codes", "exchanges"),
    "log_context",
}
#: What the commands of the program are made of; these do not know each other.
WORK = {"simulation", "maintenance", "recording", "reference"}

#: Part -> the other parts it may import. The edges do not know each other: the controller joins
#: them, and the servers speak to the controller.
MAY_IMPORT = {
    "errors": set[str](),
    "plain_text": set[str](),
    "foreign_documents": set[str](),
    "profile": {"errors"},
    "web": set[str](),
    "engine": CORE,
    "uploads": CORE,
    "commands": ENGINE | {"uploads"},
    "wire": ENGINE,
    "naming": ENGINE | {"wire"},
    "exchanges": ENGINE | {"commands", "foreign_documents"},
    "status_files": INTERFACE | {"foreign_documents"},
    "clock": ENGINE,
    "shutdown": set[str](),
    "log_throttle": set[str](),
    "log_context": set[str](),
    "loop_shares": set[str](),
    # It runs what others hand it, and knows nothing of them.
    "bounded_work": {"errors"},
    "outgoing": {"errors"},
    "durations": {"errors"},
    "moments": {"errors", "durations"},
    "wiring": ENGINE,
    "config": ENGINE | {"wiring", "uploads"},
    **{
        edge: INTERFACE
        | {"clock", "durations", "wiring", "shutdown", "log_throttle", "loop_shares", "outgoing"}
        for edge in EDGES
    },
    "storage": INTERFACE | {"clock", "shutdown", "log_throttle", "exchanges"},
    "controller": INTERFACE | EDGES | {"clock", "log_throttle", "loop_shares", "naming"},
    "servers": JOINED | {"durations"},
    "process": SERVED,
    **{work: SERVED | {"process"} for work in WORK},
    "reference": SERVED | {"process", "command_line", "fleet", "units"},
    "fleet": SERVED | {"process", "maintenance", "simulation"},
    "testing": SERVED | {"process", "maintenance", "fleet", "units"},
    "units": SERVED | {"process", *WORK - {"reference"}},
    "exit_codes": set[str](),
    # It names the functions that do the work, and imports the one that was asked for.
    "command_line": CORE | {"engine", "config", "durations", "exit_codes"},
    # What the library exports, loaded when it is asked for.
    "__init__": {"profile", "clock", "hardware", "storage", "controller"},
    "__main__": {"command_line", "exit_codes"},
}

#: What clients may hold, and who counts as one of them.
SHARING = {"descriptors", "fair_shares"}
#: The same within the servers: part of them -> the others it may import.
SERVERS_MAY_IMPORT = {
    "fair_shares": set[str](),
    "descriptors": {"fair_shares"},
    "http": SHARING,
    # What becomes of bytes on their way is the same for both kinds of connection.
    "modbus": SHARING | {"tried_address", "byte_faults"},
    "http_faults": {"http"},
    "byte_faults": {"http"},
    "problems": {"http"},
    "accounts": {"http", "problems", "fair_shares"},
    "routes": {"http", "problems", "accounts", "sms_commands"} | SHARING,
    "discovery": {"accounts", "udp_socket"},
    "snmp": {"udp_socket", "fair_shares"},
    "bootloader": {"udp_socket"},
}

#: The same within the commands: what others build on the table, the table does not know.
COMMANDS_MAY_IMPORT = {
    "table": set[str](),
    "version_change": {"table"},
    "describe": {"table"},
    "plan": {"table", "version_change"},
}

WITHIN = {"servers": SERVERS_MAY_IMPORT, "commands": COMMANDS_MAY_IMPORT}

#: Parts in which values go in and values come out, and nothing else happens.
PURE = {
    *(
        "errors",
        "profile",
        "durations",
        "moments",
        "engine",
        "uploads",
        "commands",
        "wire",
        "naming",
    ),
    *("status_files", "wiring", "exit_codes", "exchanges", "plain_text", "foreign_documents"),
}
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


def complaints(file: str, source: str) -> list[str]:
    """What is wrong with a source file; `file` is its path below the package folder."""
    path = Path(file)
    part = path.parts[0].removesuffix(".py")
    package = ".".join(["leverframe", *path.parts[:-1]])
    found = []
    if part not in MAY_IMPORT and part != "__init__":
        found.append(f"{file}: the part {part} has no place in MAY_IMPORT yet")
    for imported in imports(source, package):
        root, _, inner = imported.loaded.partition(".")
        target = inner.partition(".")[0]
        if part in PURE and root in IMPURE_MODULES:
            found.append(f"{file}: {part} is pure and must not import {root}")
        is_part = root == "leverframe" and target in MAY_IMPORT
        if is_part and target != part and target not in MAY_IMPORT.get(part, set()):
            found.append(f"{file}: {part} must not import {target}")
        if part == target and part in WITHIN:
            found += strangers_within(file, inner)
    if part in PURE:
        found += [
            f"{file}: {part} is pure and must not call {x}" for x in clock_readings(source, package)
        ]
    return found


def strangers_within(file: str, imported: str) -> Iterator[str]:
    """The complaint about an import of one part of a folder by another, if there is one."""
    folder, inner = Path(file).parts[:2]
    part, target = inner.removesuffix(".py"), imported.split(".")[1]
    if target != part and target not in WITHIN[folder].get(part, set()):
        yield f"{file}: {folder}/{part} must not import {folder}/{target}"


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


def test_a_circle_of_imports_is_found() -> None:
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
            "servers/http must not import servers/routes",
        ),
        (
            "interface/table/system.py",
            "from leverframe.interface.version_change.limits import is_allowed",
            "commands/table must not import commands/version_change",
        ),
        ("core/engine/pid.py", "import os.path as p", "pure and must not import os"),
        (
            "core/engine/pid.py",
            "def f():\n    from time import time",
            "pure and must not import time",
        ),
        ("interface/table/row.py", "from pathlib import Path", "pure and must not import pathlib"),
        ("devices/wire/tftp.py", "import socket", "pure and must not import socket"),
        ("profile.py", "import random", "pure and must not import random"),
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
            "engine must not import commands",
        ),
        (
            "core/engine/rules.py",
            "from leverframe import commands",
            "engine must not import commands",
        ),
        ("core/engine/rules.py", "from ..commands import row", "engine must not import commands"),
        ("core/engine/rules.py", "from .. import clock", "engine must not import clock"),
        ("profile.py", "from .engine import state", "profile must not import engine"),
        (
            "interface/table/row.py",
            "from leverframe.devices.wire import modbus",
            "commands must not import wire",
        ),
        ("storage/x.py", "from leverframe.server import x", "storage must not import servers"),
        (
            "server/routes/router.py",
            "from leverframe.host.serve import serve",
            "servers must not import process",
        ),
        ("gadgets/lamp.py", "", "the part gadgets has no place in MAY_IMPORT yet"),
    ],
)
def test_a_breach_of_the_layers_is_found(file: str, source: str, complaint: str) -> None:
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
            "import asyncio\nfrom leverframe import __version__, commands",
        ),
        (
            "host/assembly.py",
            "from leverframe.server import web\nfrom leverframe.devices import board",
        ),
    ],
)
def test_what_the_layers_allow_is_not_complained_about(file: str, source: str) -> None:
    assert complaints(file, source) == []


@pytest.mark.parametrize("file", ["engine/utils.py", "helpers/time.py", "wire/_base.py"])
def test_an_empty_module_name_is_found(file: str) -> None:
    assert len(empty_names(file)) == 1


def test_no_class_name_stands_for_two_things() -> None:
    places: dict[str, list[str]] = {}
    for file in source_files(PACKAGE):
        for name in CLASS.findall((PACKAGE / file).read_text(encoding="utf-8")):
            places.setdefault(name, []).append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
