"""Run the project's checks and sum them up.

`checks.py check` runs the quick ones (lint, format, types, known weaknesses of the code and of its
dependencies, layers), `checks.py test` these and the tests, `checks.py test-all` what the tests
leave out for its time: thorough forms of tests, and coverage.
Beside the tests, which wait for a third of their time, run checks that only take a core: what they
say follows when they have ended.
A failing check does not stop the later ones: one run shows everything there is to mend. The exit
status is 0 only if every check passed.
"""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

CORES = 2
#: More than cores: tests of browsers and of other processes wait a third of their time.
WORKERS = 3

#: The longest first, so that none is left at the end when all others are done.
LINT = {
    "pages": ["tools.pages"],
    "types": ["mypy"],
    "weakness": ["tools.audit_dependencies"],
    # What it finds with little confidence are assertions and SQL without any text from outside.
    "security": ["bandit", "-q", "-r", "-ll", "-ii", "src"],
    "lint": ["ruff", "check"],
    "format": ["ruff", "format", "--check"],
}
# Tests differ in length by a thousand times: a worker that has none left takes some of the other's.
PYTEST = ["pytest", "-n", str(WORKERS), "--dist", "worksteal"]
#: Tests that cover no line that others do not, or few for their time; the file says why.
UNMEASURED = Path(__file__).with_name("unmeasured.txt")


def left_out(unmeasured: str) -> list[str]:
    """Arguments for pytest that leave out the files, folders and single tests of a list."""
    entries = [line for line in unmeasured.splitlines() if line and not line.startswith("#")]
    return [f"--{'deselect' if '::' in entry else 'ignore'}=tests/{entry}" for entry in entries]


#: Is in every file of tests that try more in a thorough run; tests/conftest.py sees to it.
TRIES_MORE = re.compile(r"\b(thorough|hypothesis|effort)\b")


def files_that_try_more() -> list[str]:
    """Files of tests for a thorough run: each worker reads all of them before it begins."""
    tests = sorted(Path("tests").rglob("test_*.py"))
    return [str(file) for file in tests if TRIES_MORE.search(file.read_text(encoding="utf-8"))]


# Hypothesis marks its tests by itself; tests without a mark are the same in both runs.
THOROUGH = [*PYTEST, "-m", "thorough or hypothesis or sampled", *files_that_try_more()]
#: Without workers, each of which would trace the imports of all tests.
MEASURED = [
    "pytest",
    # Properties try again, many times over, what other tests have covered.
    *("-q", "--cov", "--cov-report=term", "-m", "not hypothesis"),
    # What a test leaves behind is judged where it runs without tracing, which changes when things
    # are collected.
    *("-W", "ignore::pytest.PytestUnraisableExceptionWarning"),
    *left_out(UNMEASURED.read_text(encoding="utf-8")),
]
#: Checks whose output is shown while they run, one after the other.
IN_FRONT = {
    "check": {"layers": ["pytest", "-q", "tests/test_layers.py"]},
    "test": {"tests": PYTEST},
    "test-all": {"thorough": THOROUGH},
}
TOOLS = [{name: command} for name, command in LINT.items()]
#: Rows of checks that run at the same time as these; in a row, each after the one before.
BESIDE = {
    "check": TOOLS,
    "test": TOOLS,
    "test-all": [{"measured": MEASURED, "coverage": ["tools.coverage_goals"]}],
}
#: Arguments that are shown; more than these are tests left out, or chosen.
MAX_SHOWN = 10
# Without compiled modules each of hundreds of processes compiles the whole program, which takes as
# much processor time again as the tests of processes need.
KEEP_COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
#: Tools leave the cores to the tests, some of which wait for an answer only so long.
PATIENT = ["nice"]
ENVIRONMENT = {"thorough": {"TEST_EFFORT": "thorough"}}


@dataclass(frozen=True)
class Result:
    name: str
    passed: bool
    seconds: float
    #: What it said, if that was not seen while it ran.
    shown: str


def run_check(name: str, command: list[str], *, beside: bool = False) -> Result:
    """Run one tool of this Python environment; what runs beside others is shown when it ends."""
    heading = f"\n--- {name}: {' '.join(command[:MAX_SHOWN])}"
    if not beside:
        print(heading, flush=True)
    start = time.monotonic()
    done = subprocess.run(
        [*(PATIENT if name in LINT else []), sys.executable, "-m", *command],
        check=False,
        env=os.environ | KEEP_COMPILED | ENVIRONMENT.get(name, {}),
        stdout=subprocess.PIPE if beside else None,
        stderr=subprocess.STDOUT if beside else None,
        text=True,
    )
    shown = f"{heading}\n{done.stdout}" if beside else ""
    return Result(name, done.returncode == 0, time.monotonic() - start, shown)


def run_each(checks: dict[str, list[str]], *, beside: bool = False) -> list[Result]:
    return [run_check(name, command, beside=beside) for name, command in checks.items()]


def main(selection: str) -> int:
    """Run a selection of checks and print one line for each."""
    with ThreadPoolExecutor(CORES) as pool:
        beside = [pool.submit(run_each, row, beside=True) for row in BESIDE[selection]]
        results = run_each(IN_FRONT[selection])
    results = [*(result for row in beside for result in row.result()), *results]
    print(*(result.shown for result in results), sep="", end="")
    print("\n--- summary")
    for result in results:
        print(f"{result.name:8} {'passed' if result.passed else 'FAILED'} {result.seconds:6.1f} s")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
