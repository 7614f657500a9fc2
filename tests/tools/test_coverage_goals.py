"""Goals of coverage are missed by lines, by branches, and where nothing was measured."""

import marshal
import os
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
def test_a_goal_is_missed_by_lines_by_branches_and_by_a_folder_without_files(
    folders: list[str], lines: int, branches: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = Numbers(
        n_statements=100, n_missing=lines, n_branches=100, n_missing_branches=branches
    )
    files = [Judged(f"{PROJECT}/{folder}module.py", [], figures) for folder in folders]
    monkeypatch.setattr(coverage_goals, "measured", lambda: files)
    monkeypatch.setattr(coverage_goals, "write", lambda _: None)
    assert coverage_goals.main() == status


def test_without_a_measured_run_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage_goals, "MEASURED", tmp_path / "none")
    with pytest.raises(SystemExit, match="run pytest -p tools.measure first"):
        coverage_goals.measured()


def test_only_files_whose_text_marks_or_rules_changed_are_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage_goals, "MEASURED", tmp_path / "marks")
    monkeypatch.setattr(coverage_goals, "KNOWN", tmp_path / "judged")
    monkeypatch.setattr(coverage_goals, "PACKAGE", tmp_path)
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    marked = {str(first): b"\1\1", str(second): b"\1\0"}

    def newly_judged() -> tuple[set[str], list[Judged]]:
        (tmp_path / "marks").write_bytes(marshal.dumps(marked))
        states = {
            str(path): (path.stat().st_mtime_ns, marked[str(path)], coverage_goals._RULES_NOW)
            for path in (first, second)
        }
        new = states.keys() - coverage_goals._known(states)
        return new, sorted(coverage_goals.measured())

    for path in (first, second):
        path.write_text("if __name__:\n    print()\n")
    new, judged = newly_judged()
    assert new == marked.keys()
    assert [file.figures.n_missing for file in judged] == [0, 1]
    assert newly_judged() == (set(), judged)
    marked[str(second)] = b"\1\1"
    new, judged = newly_judged()
    assert new == {str(second)}
    assert [file.figures.n_missing for file in judged] == [0, 0]
    first.write_text("if __name__:\n    print(1)\n")
    os.utime(first, ns=(1, 1))
    assert newly_judged()[0] == {str(first)}
    monkeypatch.setattr(coverage_goals, "_RULES_NOW", "other")
    assert newly_judged()[0] == marked.keys()
