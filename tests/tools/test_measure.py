"""Marks in rewritten modules show the same lines and branches as coverage.py's own tracing."""

from pathlib import Path
from types import ModuleType
from typing import Any

import coverage
import pytest
from coverage.parser import PythonParser

from tests.cases import for_each
from tools import measure

#: Every kind of statement that leads to more than one line, and those around which it goes.
SOURCE = '''\
"""Something to measure."""

from __future__ import annotations

import functools
from contextlib import nullcontext


class Lamp:
    """With a docstring."""

    colour: str = "red"
    power: int

    @property
    def shown(self) -> str:
        return self.colour


@functools.cache
def only_documented() -> None:
    """Nothing else."""


def choose(number: int) -> str:
    """With a docstring."""
    global seen
    seen = number
    if (
        number == 1
        or number == 11
    ):
        return "one"
    elif number == 2:
        shown = "two"
    elif number == 3:
        pass
    else:
        shown = "many"
    with nullcontext():
        if number == 3:
            shown = Lamp().shown
    return shown


def loop(number: int) -> list[int]:
    found = []
    for one in range(number):
        if one == 3:
            continue
        if one == 4:
            break
        found.append(one)
    else:
        found.append(-1)
    while number > 2:
        number -= 1
        if number == 7:
            break
    for _ in found:
        with nullcontext(), nullcontext():
            if number > 5:
                found = [*found]
    while True:
        number += 1
        if number > 3:
            break
    return found


def match(value: object) -> object:
    match value:
        case 1 | 2:
            return "few"
        case int() if (
            value > 100
        ):
            value = "much"
        case str():
            pass
    match value:
        case {"a": a}:
            return a
        case _:
            return None


def catch(number: int) -> int:
    try:
        if number:
            number = 10 // (number - 1)
    except ZeroDivisionError:
        number = 7
    except TypeError:
        raise
    else:
        number += 1
    finally:
        if number == 7:
            number = 8
    try:
        return [n for n in range(number) if n][number]
    except IndexError:
        return -1


def generate(number: int):
    try:
        for one in range(number):
            yield one
    finally:
        if number:
            number = 0


def last_of(number: int) -> int | None:
    last = None
    for one in generate(number):
        last = one
        if one == 2:
            return (
                last
            )
    return last
'''
CALLS = [
    [],
    ["choose(1)"],
    ["choose(2)"],
    ["choose(3)", "loop(0)"],
    ["choose(4)", "loop(1)"],
    ["loop(2)", "loop(9)"],
    ["loop(4)", "match(1)"],
    ["loop(5)", "match(200)", "match('')"],
    ["match({'a': 1})", "match(3)"],
    ["match(200)"],
    ["catch(0)"],
    ["catch(1)", "last_of(0)"],
    ["catch(2)", "last_of(1)"],
    ["last_of(5)", "only_documented()"],
]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    # This run may be measured itself.
    monkeypatch.setattr(measure, "_marks_of", {})
    (tmp_path / "sample.py").write_text(SOURCE, encoding="utf-8")
    return str(tmp_path / "sample.py")


def report(measured: coverage.Coverage, source: str) -> tuple[list[int], dict[int, Any]]:
    """Lines that were not run, and how many branches each line has and took."""
    _, _, _, missing, _ = measured.analysis2(source)
    branches = measured.branch_stats(source)
    measured.get_data().close(force=True)
    return missing, branches


def trace(source: str, calls: list[str]) -> tuple[list[int], dict[int, Any]]:
    code = compile(SOURCE, source, "exec", dont_inherit=True)
    measured = coverage.Coverage(data_file=None, branch=True, config_file=False, include=[source])
    measured.start()
    try:
        names: dict[str, Any] = {}
        exec(code, names)
        for call in calls:
            eval(call, names)
    finally:
        measured.stop()
    return report(measured, source)


def mark(source: str, calls: list[str]) -> tuple[list[int], dict[int, Any]]:
    measure._marks_of.clear()
    module = ModuleType("sample")
    measure.MarkingLoader("sample", source).exec_module(module)
    for call in calls:
        eval(call, vars(module))
    measured = coverage.Coverage(data_file=None, branch=True, config_file=False, include=[source])
    data = measured.get_data()
    parser = PythonParser(filename=source)
    parser.parse_source()
    marks = vars(module)[measure.MARKS]
    data.add_arcs({source: list(measure.steps_of(source, marks, parser))})
    return report(measured, source)


@for_each("calls", CALLS)
def test_marks_show_the_same_as_tracing(calls: list[str], source: str) -> None:
    assert mark(source, calls) == trace(source, calls)


def test_rewritten_module_says_where_it_failed(source: str) -> None:
    module = ModuleType("sample")
    measure.MarkingLoader("sample", source).exec_module(module)
    with pytest.raises(TypeError) as raised:
        module.catch("text")
    lines = SOURCE.splitlines()
    assert "10 // (number - 1)" in lines[raised.traceback[-1].lineno]
    assert module.choose.__doc__ == "With a docstring."
