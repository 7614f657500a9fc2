"""Checks beside others count as much as these."""

import re

import pytest

from tools import checks


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
