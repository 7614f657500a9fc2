"""Check whether enough of the program is tested, by the last run of `pytest -p tools.measure`.

Also write .coverage, so that `coverage report -m` shows what was missed. A goal applies to the
lines and to the branches of a folder separately: many covered lines do not make up for a branch
that was never taken.
"""

import functools
import marshal
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import coverage
from coverage.python import PythonFileReporter
from coverage.results import Numbers

from tools.measure import MEASURED, PACKAGE, PROJECT, Step, steps_of

#: Folder -> minimum percentage.
GOALS = {
    "src/leverframe/interface/": 98.0,
    "src/leverframe/core/engine/": 98.0,
    "src/leverframe/": 92.0,
}
#: Number of files that a process gets at a time.
TOGETHER = 16


class Judged(NamedTuple):
    """The coverage of one file."""

    path: str
    steps: list[Step]
    figures: Numbers


def judge(path: str, marks: bytes) -> Judged:
    """Count covered lines and branches like coverage.py; parsing takes most of the time."""
    report = _report()
    reader = PythonFileReporter(path, report)
    steps = list(steps_of(path, marks, reader.parser)) if marks else []
    report.get_data().add_arcs({path: steps})
    return Judged(path, steps, report._analyze(path, reader).numbers)


@functools.cache
def _report() -> coverage.Coverage:
    """Create one object per process: reading its settings takes longer than judging a file."""
    return coverage.Coverage(data_file=None, config_file=str(PROJECT / "pyproject.toml"))


def judge_all() -> list[Judged]:
    """Judge every file of the package; a file that was never imported has no marks."""
    try:
        marks: dict[str, bytes] = marshal.loads(MEASURED.read_bytes())
    except FileNotFoundError:
        raise SystemExit("Nothing was measured; run pytest -p tools.measure first.") from None
    paths = [str(path) for path in PACKAGE.rglob("*.py")]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        each = [marks.get(path, b"") for path in paths]
        return list(pool.map(judge, paths, each, chunksize=TOGETHER))


def write(files: list[Judged]) -> None:
    """Write .coverage for the reports of coverage.py."""
    data = coverage.CoverageData(str(PROJECT / ".coverage"))
    data.erase()
    data.add_arcs({file.path: file.steps for file in files})
    data.touch_files([file.path for file in files])
    data.write()


def main() -> int:
    files = judge_all()
    write(files)
    missed = 0
    for folder, goal in GOALS.items():
        inside = [file.figures for file in files if file.path.startswith(f"{PROJECT}/{folder}")]
        figures = sum(inside, Numbers())
        met = bool(inside) and min(figures.pc_statements, figures.pc_branches) >= goal
        missed += not met
        print(
            f"{folder:25} lines {figures.pc_statements:5.1f} %,"
            f" branches {figures.pc_branches:5.1f} %,"
            f" wanted {goal:g} %{'' if met else '  MISSED'}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
