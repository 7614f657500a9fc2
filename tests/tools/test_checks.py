"""Checks beside others count as much as these, and what is left out of the coverage run exists."""

import re
from pathlib import Path

import pytest

from tests.cases import for_each
from tools import checks
from tools.checks import UNMEASURED, left_out

TESTS = Path(__file__).parents[1]


def test_files_are_ignored_and_single_tests_deselected() -> None:
    text = "# Why.\n\nweb\nwire/test_tftp.py::test_it\n"
    assert left_out(text) == ["--ignore=tests/web", "--deselect=tests/wire/test_tftp.py::test_it"]


@for_each("argument", left_out(UNMEASURED.read_text(encoding="utf-8")))
def test_what_is_left_out_exists(argument: str) -> None:
    path, _, name = argument.partition("=tests/")[2].partition("::")
    assert (TESTS / path).exists()
    assert not name or re.search(rf"def {name}\(", (TESTS / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("module", "status"), [("this", 0), ("no_such_module", 1)])
def test_what_fails_beside_the_tests_fails_the_run_and_is_shown(
    module: str, status: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checks, "IN_FRONT", {"test": {"tests": ["this"]}})
    monkeypatch.setattr(checks, "BESIDE", {"test": [{"types": [module], "lint": ["this"]}]})
    assert checks.main("test") == status
    shown, summary = capfd.readouterr().out.split("--- summary")
    assert f"--- types: {module}\n" in shown
    assert ("No module named no_such_module" in shown) is bool(status)
    assert re.findall("passed|FAILED", summary) == [
        "FAILED" if status else "passed",
        *["passed"] * 2,
    ]
