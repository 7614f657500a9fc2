"""Goals of coverage are missed by lines, by branches, and where nothing was measured."""

from pathlib import Path

import pytest
from coverage.results import Numbers

from tools import coverage_goals
from tools.coverage_goals import GOALS, PROJECT, Judged

FOLDERS = [folder for folder in GOALS if folder != "src/leverframe/"]


@pytest.mark.parametrize(
    ("folders", "lines", "branches", "status"),
    [
        (FOLDERS, 1, 1, 0),
        (FOLDERS, 1, 50, 1),
        (FOLDERS, 50, 1, 1),
        (FOLDERS[:1], 1, 1, 1),
    ],
    ids=["met", "branches", "lines", "folder gone"],
)
def test_goal_is_missed_by_lines_by_branches_and_by_a_folder_without_files(
    folders: list[str], lines: int, branches: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = Numbers(
        n_statements=100, n_missing=lines, n_branches=100, n_missing_branches=branches
    )
    files = [Judged(f"{PROJECT}/{folder}module.py", [], figures) for folder in folders]
    monkeypatch.setattr(coverage_goals, "judge_all", lambda: files)
    monkeypatch.setattr(coverage_goals, "write", lambda _: None)
    assert coverage_goals.main() == status


def test_without_a_measured_run_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage_goals, "MEASURED", tmp_path / "none")
    with pytest.raises(SystemExit, match="run pytest -p tools.measure first"):
        coverage_goals.judge_all()
