"""Is enough of the program tested? Reads what the last test run with `--cov` has measured.

A goal holds for the lines and for the branches of a folder, each for itself: many covered lines
make up for no branch that was never taken.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import coverage

#: Folder -> least percentage.
GOALS = {
    "src/leverframe/commands/": 98.0,
    "src/leverframe/engine/": 98.0,
    "src/leverframe/": 92.0,
}


def measured() -> dict[str, dict[str, Any]]:
    """The figures of each file, by its path within the project."""
    data = coverage.Coverage()
    data.load()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "coverage.json")
        try:
            data.json_report(outfile=str(report))
        except coverage.exceptions.NoDataError:
            raise SystemExit("Nothing was measured; run pytest with --cov first.") from None
        files = json.loads(report.read_text())["files"]
    return {path: file["summary"] for path, file in files.items()}


def percentages(files: dict[str, dict[str, Any]], folder: str) -> tuple[float, float]:
    """Of the lines, and of the branches."""
    inside = [figures for path, figures in files.items() if path.startswith(folder)]
    return (
        _percent(inside, "covered_lines", "num_statements"),
        _percent(inside, "covered_branches", "num_branches"),
    )


def _percent(files: list[dict[str, Any]], covered: str, all_of_them: str) -> float:
    whole = sum(file[all_of_them] for file in files)
    return 100 * sum(file[covered] for file in files) / whole if whole else 0.0


def main() -> int:
    files = measured()
    missed = 0
    for folder, goal in GOALS.items():
        lines, branches = percentages(files, folder)
        met = min(lines, branches) >= goal
        missed += not met
        print(
            f"{folder:25} lines {lines:5.1f} %, branches {branches:5.1f} %,"
            f" wanted {goal:g} %{'' if met else '  MISSED'}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
