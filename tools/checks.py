"""Run the project's checks and summarise them.

`checks.py quick` runs lint, format and the pure tests. `checks.py check` runs all checks that are
not tests (lint, format, types, words, known weaknesses of the code and of its dependencies,
layers). `checks.py test` adds the tests and their coverage, and `checks.py test-all` the thorough
forms of tests, which take longer. The tests wait for a third of their time, so checks that only
need a core run at the same time; their output follows when they have ended. A failing check does
not stop the later ones, so that one run shows everything to be fixed. The exit status is 0 only if
every check passed.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

CORES = 2
#: More than cores: tests with browsers and other processes wait a third of their time.
WORKERS = 4
#: More again: the thorough forms wait for half of their time.
THOROUGH_WORKERS = 6

#: The longest check first, so that it does not run alone at the end.
LINT = {
    "pages": ["tools.pages"],
    "types": ["mypy"],
    "weakness": ["tools.audit_dependencies"],
    "words": ["tools.words"],
    "lint": ["ruff", "check"],
    "format": ["ruff", "format", "--check"],
}


def pytest_with(workers: int) -> list[str]:
    # Show the cost of new tests before it adds up.
    shown = ("--durations", "12", "--durations-min", "3")
    return ["pytest", "-p", "tools.workers", "--workers", str(workers), *shown]


#: A word in every file with tests that try more in a thorough run; tests/conftest.py enforces this.
TRIES_MORE = re.compile(r"\b(thorough|hypothesis|effort)\b")


def files_that_try_more() -> list[str]:
    """Return the files of tests for a thorough run: each worker reads all of them."""
    tests = sorted(Path("tests").rglob("test_*.py"))
    return [str(file) for file in tests if TRIES_MORE.search(file.read_text(encoding="utf-8"))]


# Unmarked tests are the same in both runs; properties take more examples in long runs only.
MORE = ["-m", "thorough or sampled"]
THOROUGH = [*pytest_with(THOROUGH_WORKERS), *MORE, *files_that_try_more()]
#: Tests that need no server, process or browser, and never wait.
PURE = [
    *(
        "tests/interface/commands",
        "tests/host/configuration",
        "tests/conformance",
        "tests/host/controller",
        "tests/core/engine",
    ),
    *(
        "tests/interface/exchanges",
        "tests/interface/names",
        "tests/host/simulation",
        "tests/interface/status_files",
        "tests/devices/wire",
    ),
]
LAYERS = "tests/test_layers.py"
#: Checks whose output is shown while they run, one after the other.
IN_FRONT = {
    "quick": {"pure": [*pytest_with(CORES), "-q", *PURE, LAYERS]},
    "check": {"layers": ["pytest", "-q", LAYERS]},
    "test": {
        "tests": [*pytest_with(WORKERS), "-p", "tools.measure"],
        "coverage": ["tools.coverage_goals"],
    },
    # Tests may not use the network: the files of the page "Try it" are fetched before.
    "test-all": {"files": ["tools.try_page"], "thorough": THOROUGH},
}
TOOLS = [{name: command} for name, command in LINT.items()]
#: Sequences of checks that run at the same time as those of `IN_FRONT`.
BESIDE = {
    "quick": [{name: LINT[name] for name in ("lint", "format")}],
    "check": TOOLS,
    "test": TOOLS,
    "test-all": [],
}
#: The maximum number of arguments to show; longer lists are test files.
MAX_SHOWN = 10
# Without compiled modules, each of hundreds of processes compiles the whole program, which doubles
# the processor time of the tests with processes.
KEEP_COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
#: Give the tests priority over other tools, because some tests wait for an answer only for a
#: limited time; but leave the tools enough time to end before the tests.
PATIENT = ["nice", "-n", "5"]
ENVIRONMENT = {"thorough": {"TEST_EFFORT": "thorough"}}
#: Most systems have a file system in memory here.
MEMORY = Path("/dev/shm")
#: At any time, a run uses less than a quarter of this.
MIN_MEMORY_BYTES = 2 * 1024**3


@dataclass(frozen=True)
class Result:
    name: str
    passed: bool
    seconds: float
    #: Processor time, including that of child processes: a busy machine hardly changes it.
    processor_seconds: float
    #: The output of the check, if it was not shown while the check ran.
    shown: str


@contextmanager
def temporary_files() -> Iterator[dict[str, str]]:
    """Provide a folder in memory for the tests, which would wait for a disk at each durable change.

    If that folder has too little space, or does not allow programs to be started, the tests use the
    usual folder.
    """
    if not _holds_files(MEMORY):
        yield {}
        return
    with TemporaryDirectory(prefix="tests-", dir=MEMORY) as folder:
        # PostgreSQL runs as another user.
        Path(folder).chmod(0o1777)
        yield {"TMPDIR": folder}


def _holds_files(folder: Path) -> bool:
    return (
        os.access(folder, os.W_OK)
        and shutil.disk_usage(folder).free >= MIN_MEMORY_BYTES
        and not os.statvfs(folder).f_flag & os.ST_NOEXEC
    )


def run_check(
    name: str,
    command: list[str],
    *,
    beside: bool = False,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Result:
    """Run a tool of this Python environment; if it runs beside others, collect its output."""
    heading = f"\n--- {name}: {' '.join(command[:MAX_SHOWN])}"
    if not beside:
        print(heading, flush=True)
    start = time.monotonic()
    with subprocess.Popen(
        [*(PATIENT if name in LINT else []), sys.executable, "-m", *command],
        env={**os.environ, **KEEP_COMPILED, **ENVIRONMENT.get(name, {}), **environment},
        stdout=subprocess.PIPE if beside else None,
        stderr=subprocess.STDOUT if beside else None,
        text=True,
    ) as process:
        said = process.stdout.read() if process.stdout else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Result(
        name,
        process.returncode == 0,
        time.monotonic() - start,
        used.ru_utime + used.ru_stime,
        f"{heading}\n{said}" if beside else "",
    )


def run_row(checks: dict[str, list[str]]) -> list[Result]:
    return [run_check(name, command, beside=True) for name, command in checks.items()]


def main(selection: str) -> int:
    """Run a selection of checks and print one line for each."""
    with ThreadPoolExecutor(CORES) as pool:
        beside = [pool.submit(run_row, row) for row in BESIDE[selection]]
        with temporary_files() as environment:
            results = [
                run_check(name, command, environment=environment)
                for name, command in IN_FRONT[selection].items()
            ]
    results = [*(result for row in beside for result in row.result()), *results]
    print(*(result.shown for result in results), sep="", end="")
    print("\n--- summary")
    for result in results:
        print(
            f"{result.name:8} {'passed' if result.passed else 'FAILED'} {result.seconds:6.1f} s,"
            f" {result.processor_seconds:6.1f} s of the processor"
        )
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
