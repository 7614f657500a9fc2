"""Measure which lines and branches of the package the tests run: `pytest -p tools.measure`.

Every module of the package is rewritten when it is imported: it sets a mark before each statement
and for each branch that is not taken. tools/coverage_goals.py writes the marks to .coverage like
coverage.py with `sys.monitoring`: a line is a step to itself, a branch is a step to the line to
which it leads.

Measured on 350 tests of rules, wire and status files with Python 3.11: 10.1 s of processor time
without measuring, 10.4 s with marks, 22.0 s with coverage.py's tracer. `COVERAGE_CORE=sysmon` is no
alternative yet: it needs Python 3.12, and coverage.py 7.17 falls back to the tracer if branches are
measured, as the goals require, because `sys.monitoring` reports no branches before Python 3.14
(tried with 3.13: 21.0 s with branches instead of 9.4 s without, on 291 of the tests).
"""

import ast
import marshal
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import cache_from_source
from itertools import chain, compress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
from coverage.parser import PythonParser

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "src" / "leverframe"
#: The result of the last run: the marks of each module by its path.
MEASURED = PROJECT / "build" / "coverage-marks"
#: The name of the list in each rewritten module that has an item for every mark.
MARKS = "__marks__"

#: The meaning of a mark: either the line was run (body end 0), or the branch at the line was taken
#: into the body that ends there, or was not taken.
Fact = tuple[int, int, bool]
Step = tuple[int, int]

_marks_of: dict[str, list[int]] = {}


class Rewriter:
    """Inserts marks into the statements of one module."""

    def __init__(self) -> None:
        #: The meaning of each mark, by its position.
        self.facts: list[list[Fact]] = []

    def block(
        self, body: Sequence[ast.stmt], reached: list[Fact], owner: ast.AST
    ) -> list[ast.stmt]:
        """Mark each statement; the first mark also shows how the block was reached."""
        marked: list[ast.stmt] = []
        for statement in body:
            reached = [*reached, *((line, 0, True) for line in _lines(statement))]
            if not _must_stay_first(statement):
                marked.append(self._mark(reached, statement))
                reached = []
            self._inside(statement)
            marked.append(statement)
        if reached and not _is_scope(owner):
            marked.append(self._mark(reached, owner))
        return marked

    def _inside(self, statement: ast.stmt) -> None:
        match statement:
            case ast.If() | ast.For() | ast.AsyncFor() | ast.While():
                line, end = statement.lineno, _end(statement.body)
                statement.body = self.block(statement.body, [(line, end, True)], statement)
                statement.orelse = self.block(statement.orelse, [(line, end, False)], statement)
            case ast.Match():
                self._cases(statement)
            case ast.Try() | ast.TryStar():
                statement.body = self.block(statement.body, [], statement)
                for handler in statement.handlers:
                    caught = [(handler.lineno, 0, True)]
                    handler.body = self.block(handler.body, caught, handler)
                statement.orelse = self.block(statement.orelse, [], statement)
                statement.finalbody = self.block(statement.finalbody, [], statement)
            case (
                ast.With()
                | ast.AsyncWith()
                | ast.FunctionDef()
                | ast.AsyncFunctionDef()
                | ast.ClassDef()
            ):
                statement.body = self.block(statement.body, [], statement)

    def _cases(self, statement: ast.Match) -> None:
        """Record for each reached case that the previous cases did not match."""
        passed: list[Fact] = []
        for case in statement.cases:
            line, end = case.pattern.lineno, _end(case.body)
            case.body = self.block(case.body, [*passed, (line, end, True)], statement)
            passed.append((line, end, False))
        last = statement.cases[-1]
        if last.guard or not isinstance(last.pattern, ast.MatchAs) or last.pattern.pattern:
            none = ast.match_case(ast.MatchAs(), None, [self._mark(passed, statement)])
            statement.cases.append(none)

    def _mark(self, facts: list[Fact], at: ast.AST) -> ast.stmt:
        place = ast.Subscript(
            ast.Name(MARKS, ast.Load()), ast.Constant(len(self.facts)), ast.Store()
        )
        self.facts.append(facts)
        return ast.copy_location(ast.Assign([place], ast.Constant(1)), at)


def _lines(statement: ast.stmt) -> list[int]:
    decorators = getattr(statement, "decorator_list", [])
    return [*(decorator.lineno for decorator in decorators), statement.lineno]


def _end(body: Sequence[ast.stmt]) -> int:
    return body[-1].end_lineno or 0


def _must_stay_first(statement: ast.stmt) -> bool:
    """Return whether this is a docstring, or changes how the module is compiled."""
    match statement:
        case ast.Expr(ast.Constant(str())) | ast.ImportFrom(module="__future__"):
            return True
    return False


def _is_scope(owner: ast.AST) -> bool:
    return isinstance(owner, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def rewritten(path: str) -> tuple[list[list[Fact]], CodeType]:
    """Return the meaning of a module's marks, and its marked code; cache both on disk."""
    kept = Path(cache_from_source(path, optimization="measured"))
    made_from = [os.stat(file).st_mtime_ns for file in (path, __file__)]
    with suppress(OSError, EOFError, ValueError, TypeError):
        made, facts, code = marshal.loads(kept.read_bytes())
        if made == made_from:
            return facts, code
    tree = ast.parse(Path(path).read_bytes())
    rewriter = Rewriter()
    tree.body = rewriter.block(tree.body, [], tree)
    code = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
    kept.parent.mkdir(exist_ok=True)
    half = kept.with_name(f"{kept.name}.{os.getpid()}")
    half.write_bytes(marshal.dumps((made_from, rewriter.facts, code)))
    half.replace(kept)
    return rewriter.facts, code


class MarkingLoader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        facts, code = rewritten(self.path)
        vars(module)[MARKS] = _marks_of.setdefault(self.path, [0] * len(facts))
        exec(code, vars(module))


class MarkingFinder:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] != PACKAGE.name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.origin and PACKAGE in Path(spec.origin).parents:
            spec.loader = MarkingLoader(name, spec.origin)
        return spec


def steps_of(path: str, marks: Sequence[int], parser: PythonParser) -> Iterator[Step]:
    """Convert the marks of a module to steps from line to line, as coverage.py stores them."""
    facts, _ = rewritten(path)
    leads: dict[int, set[int]] = defaultdict(set)
    for start, end in parser.arcs():
        leads[start].add(end)
    for line, body_end, taken in chain.from_iterable(compress(facts, marks)):
        start = parser.first_line(line)
        if not body_end:
            yield start, start
            continue
        for end in leads[start]:
            if (start < end <= body_end) is taken:
                yield start, end


def write() -> None:
    """Store the marks of all workers for tools/coverage_goals.py."""
    MEASURED.parent.mkdir(exist_ok=True)
    MEASURED.write_bytes(marshal.dumps({path: bytes(marks) for path, marks in _marks_of.items()}))


def pytest_addoption() -> None:
    """Start at loading, because other plugins and conftest files import the package."""
    sys.meta_path.insert(0, MarkingFinder)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the marks of a worker that has ended."""
    for path, marks in getattr(node, "workeroutput", {}).get("marks", {}).items():
        here = _marks_of.get(path, marks)
        _marks_of[path] = [a | b for a, b in zip(here, marks, strict=True)]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["marks"] = {
            path: bytes(marks) for path, marks in _marks_of.items()
        }
    else:
        write()
