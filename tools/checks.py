"""Run the project's checks and sum them up.

`checks.py check` runs the quick ones (lint, format, types, known weaknesses of the code and of its
dependencies, layers), `checks.py test` these and the tests, `checks.py test-all` what the tests
leave out for its time: thorough forms of tests, and coverage.
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

LINT = {
    "lint": ["ruff", "check"],
    "format": ["ruff", "format", "--check"],
    "types": ["mypy"],
    # What it finds with little confidence are assertions and SQL without any text from outside.
    "security": ["bandit", "-q", "-r", "-ll", "-ii", "src"],
    "weakness": ["tools.audit_dependencies"],
    "pages": ["tools.pages"],
}
# Tests differ in length by a thousand times: a worker that has none left takes some of the other's.
SHARED_OUT = ["--dist", "worksteal"]
PYTEST = ["pytest", "-n", str(WORKERS), *SHARED_OUT]
#: What is typed in pages, and what is killed and started, waits even more.
WAITING = ["pytest", "-n", str(WORKERS + 1), *SHARED_OUT]
#: Traced tests keep a core busy, and every further worker traces the imports of all of them.
TRACED = ["pytest", "-n", str(CORES), *SHARED_OUT]
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


CHECKS = {
    "check": {"layers": ["pytest", "-q", "tests/test_layers.py"]},
    "test": {"tests": PYTEST},
    "test-all": {
        # Hypothesis marks its tests by itself; tests without a mark are the same in both runs.
        "thorough": [
            *WAITING,
            *("-m", "thorough or hypothesis or sampled"),
            *files_that_try_more(),
        ],
        "measured": [
            *TRACED,
            # Properties try again, many times over, what other tests have covered.
            *("-q", "--cov", "--cov-report=term", "-m", "not hypothesis"),
            # What a test leaves behind is judged where it runs without tracing, which changes when
            # things are collected.
            *("-W", "ignore::pytest.PytestUnraisableExceptionWarning"),
            *left_out(UNMEASURED.read_text(encoding="utf-8")),
        ],
        "coverage": ["tools.coverage_goals"],
    },
}
#: Arguments that are shown; more than these are tests left out, or chosen.
MAX_SHOWN = 10
# Without compiled modules each of hundreds of processes compiles the whole program, which takes as
# much processor time again as the tests of processes need.
KEEP_COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
ENVIRONMENT = {"thorough": {"TEST_EFFORT": "thorough"}}


@dataclass(frozen=True)
class Result:
    name: str
    passed: bool
    seconds: float


def run_check(name: str, command: list[str], *, captured: bool = False) -> Result:
    """Run one tool of this Python environment; what is captured is printed when it has ended."""
    heading = f"\n--- {name}: {' '.join(command[:MAX_SHOWN])}"
    if not captured:
        print(heading, flush=True)
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", *command],
        check=False,
        env=os.environ | KEEP_COMPILED | ENVIRONMENT.get(name, {}),
        stdout=subprocess.PIPE if captured else None,
        stderr=subprocess.STDOUT if captured else None,
        text=True,
    )
    seconds = time.monotonic() - start
    if captured:
        print(f"{heading}\n{done.stdout}", end="", flush=True)
    return Result(name, done.returncode == 0, seconds)


def run_lint() -> list[Result]:
    """Run the tools that take one core each, as many at once as there are cores."""
    with ThreadPoolExecutor(CORES) as pool:
        running = [
            pool.submit(run_check, name, command, captured=True) for name, command in LINT.items()
        ]
    return [one.result() for one in running]


def main(selection: str) -> int:
    """Run a selection of checks and print one line for each."""
    results = [] if selection == "test-all" else run_lint()
    results += [run_check(name, command) for name, command in CHECKS[selection].items()]
    print("\n--- summary")
    for result in results:
        print(f"{result.name:8} {'passed' if result.passed else 'FAILED'} {result.seconds:6.1f} s")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
