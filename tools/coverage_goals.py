"""Is enough of the program tested? Judges what the last run of `pytest -p tools.measure` marked.

Also writes .coverage, so that `coverage report -m` shows what was missed. A goal holds for the
lines and for the branches of a folder, each for itself: many covered lines make up for no branch
that was never taken.
"""

import dataclasses
import functools
import marshal
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import coverage
from coverage.python import PythonFileReporter
from coverage.results import Numbers

from tools.measure import MEASURED, PACKAGE, PROJECT, Step, steps_of

#: Folder -> least percentage.
GOALS = {
    "src/leverframe/commands/": 98.0,
    "src/leverframe/engine/": 98.0,
    "src/leverframe/": 92.0,
}
#: Files that a process is given at once.
AT_ONCE = 16

#: What was judged before: most files are run alike in every run, and to judge all of them takes
#: 8 s of the processor.
KNOWN = MEASURED.with_name("coverage-judged")
#: What decides about a file beside its own text and marks.
RULES = (Path(__file__), PROJECT / "tools" / "measure.py", PROJECT / "pyproject.toml")
_RULES_NOW = sha256(b"".join(file.read_bytes() for file in RULES)).hexdigest()

#: When a file was written, its marks, and by which rules they are judged.
State = tuple[int, bytes, str]


class Judged(NamedTuple):
    """What was run of one file."""

    path: str
    steps: list[Step]
    figures: Numbers


def judged(path: str, marks: bytes) -> Judged:
    """Count what was run as coverage.py does, which reads the file for that: most of the time."""
    report = _report()
    reader = PythonFileReporter(path, report)
    steps = list(steps_of(path, marks, reader.parser)) if marks else []
    report.get_data().add_arcs({path: steps})
    return Judged(path, steps, report._analyze(path, reader).numbers)


@functools.cache
def _report() -> coverage.Coverage:
    """Make one for each process: to read its settings takes longer than to judge a file."""
    return coverage.Coverage(data_file=None, config_file=str(PROJECT / "pyproject.toml"))


def measured() -> list[Judged]:
    """Judge every file of the package; those that nothing imported have no marks."""
    try:
        marks: dict[str, bytes] = marshal.loads(MEASURED.read_bytes())
    except FileNotFoundError:
        raise SystemExit("Nothing was measured; run pytest -p tools.measure first.") from None
    states = {
        str(path): (path.stat().st_mtime_ns, marks.get(str(path), b""), _RULES_NOW)
        for path in PACKAGE.rglob("*.py")
    }
    known = _known(states)
    new = {path: state for path, state in states.items() if path not in known}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        each = [marked for _, marked, _ in new.values()]
        known |= zip(new, pool.map(judged, new, each, chunksize=AT_ONCE), strict=True)
    _keep(known, states)
    return list(known.values())


def _known(states: dict[str, State]) -> dict[str, Judged]:
    """Find the files that were judged in the same state before."""
    kept: dict[str, Any] = {}
    with suppress(OSError, EOFError, ValueError, TypeError):
        kept = marshal.loads(KNOWN.read_bytes())
    return {
        path: Judged(path, steps, Numbers(*figures))
        for path, (state, steps, figures) in kept.items()
        if states.get(path) == state
    }


def _keep(files: dict[str, Judged], states: dict[str, State]) -> None:
    KNOWN.write_bytes(
        marshal.dumps(
            {
                path: (states[path], file.steps, dataclasses.astuple(file.figures))
                for path, file in files.items()
            }
        )
    )


def write(files: list[Judged]) -> None:
    """Write .coverage for the reports of coverage.py."""
    data = coverage.CoverageData(str(PROJECT / ".coverage"))
    data.erase()
    data.add_arcs({file.path: file.steps for file in files})
    data.touch_files([file.path for file in files])
    data.write()


def main() -> int:
    files = measured()
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
