"""Checks beside others count as much as these."""

import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools import checks
from tools.turns import LONGEST


@pytest.mark.parametrize(("module", "status"), [("this", 0), ("no_such_module", 1)])
def test_failure_outside_the_tests_fails_the_run_and_is_shown(
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


def test_quick_run_is_lint_format_and_tests_that_never_wait() -> None:
    assert [name for row in checks.BESIDE["quick"] for name in row] == ["lint", "format"]
    for place in checks.PURE:
        assert list(Path(place).glob("test_*.py")), place
        assert not place.startswith(LONGEST), f"{place} waits, or takes long: see tools/turns.py"


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(checks, "MEMORY", tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2 * 1024**3))
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=0))
    return tmp_path


def test_files_of_tests_are_in_memory_until_the_run_ends(memory: Path) -> None:
    with checks.temporary_files() as environment:
        (folder,) = memory.iterdir()
        assert environment == {"TMPDIR": str(folder)}
        (folder / "left behind").touch()
    assert list(memory.iterdir()) == []


def test_tests_get_the_folder_for_their_files(
    memory: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = ["timeit", "-n1", "-r1", "import tempfile; print(tempfile.gettempdir())"]
    monkeypatch.setattr(checks, "IN_FRONT", {"test": {"tests": asked}})
    monkeypatch.setattr(checks, "BESIDE", {"test": []})
    assert checks.main("test") == 0
    assert f"{memory}/tests-" in capfd.readouterr().out


@pytest.mark.parametrize(
    "lack",
    [
        {"disk_usage": SimpleNamespace(free=2 * 1024**3 - 1)},
        {"statvfs": SimpleNamespace(f_flag=os.ST_NOEXEC)},
        {"access": False},
    ],
    ids=str,
)
@pytest.mark.usefixtures("memory")
def test_files_of_tests_stay_where_they_are_without_room_or_programs(
    lack: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, answer in lack.items():
        monkeypatch.setattr(os if hasattr(os, name) else shutil, name, lambda *_, a=answer: a)
    with checks.temporary_files() as environment:
        assert environment == {}
