"""Compare a controller of an earlier commit with the present one: start, memory, idle, requests.

Both run on the same Python with the same packages, in alternation, and are measured from outside by
the same code; a ratio above 1 means that the present one is worse. The requests, which need wrk,
are those of `http_load.py`: switching, status files, polls of mixed clients, durable changes on 16
and 64 connections. A run needs a quiet machine for three minutes.

    make bench-compare COMMIT=abc123 [ARGS=--quick]
"""

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from bench.figure import Skipped, format_number, need, progress
from bench.http_load import CASES, DURABLE_CASES
from bench.serving import CONTROLLER, Served, printing_its_address
from bench.startup import controller, idle_figures, resident_mb
from bench.wrk import load

PROJECT = Path(__file__).parents[1]
BEFORE, NOW = "before", "now"

#: The figures of all rounds, by figure, then by version.
Rounds = dict[str, dict[str, list[float]]]


def main() -> int:
    options = argparse.ArgumentParser(
        usage="make bench-compare COMMIT=abc123 [ARGS=--quick]",
        description=__doc__.partition("\n")[0],
    )
    options.add_argument("commit", help="what to compare with")
    options.add_argument("--quick", action="store_true", help="short, to see that it works")
    given = options.parse_args()
    if not _is_commit(given.commit):
        options.error(f"no commit {given.commit} in this repository")
    found: Rounds = {}
    with tempfile.TemporaryDirectory() as folder:
        sources = {BEFORE: _source_of(given.commit, Path(folder)), NOW: PROJECT / "src"}
        environments = {which: _environment(path, folder) for which, path in sources.items()}
        count, idle_s = (1, 2.0) if given.quick else (9, 20.0)
        for number in range(count + 1):
            # The first start also writes bytecode and the data folder, so it is not recorded.
            _measure_start(found if number else {}, environments, Path(folder))
        _measure_idle(found, environments, Path(folder), idle_s)
        try:
            _measure_requests(found, environments, Path(folder), count)
        except Skipped as reason:
            print(f"\nWithout requests: {reason}", file=sys.stderr)
    print(f"\n\n| | {given.commit} | now | now / before |\n|---|---|---|---|")
    for what, rounds in found.items():
        before, now = median(rounds[BEFORE]), median(rounds[NOW])
        ratio = f"{now / before:.2f}" if before else ""
        print(f"| {what} | {format_number(before)} | {format_number(now)} | {ratio} |")
    return 0


def _is_commit(name: str) -> bool:
    command = ["git", "rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}"]
    return subprocess.run(command, cwd=PROJECT, capture_output=True).returncode == 0


def _source_of(commit: str, folder: Path) -> Path:
    packed = subprocess.run(
        ["git", "archive", commit, "src"], cwd=PROJECT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def _environment(source: Path, folder: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(source), "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}


def _note(found: Rounds, what: str, which: str, figure: float) -> None:
    found.setdefault(what, {BEFORE: [], NOW: []})[which].append(figure)


def _measure_start(found: Rounds, environments: Mapping[str, dict[str, str]], folder: Path) -> None:
    for which, environment in environments.items():
        with controller(folder / which, environment) as (_, took_s, ran_s):
            _note(found, "start to the first answer, ms", which, 1000 * took_s)
            _note(found, "processor time for it, ms", which, 1000 * ran_s)
        progress()


def _measure_idle(
    found: Rounds, environments: Mapping[str, dict[str, str]], folder: Path, idle_s: float
) -> None:
    for which, environment in environments.items():
        with controller(folder / which, environment) as (pid, _, _):
            percent, wakeups = idle_figures(pid, idle_s)
            _note(found, "memory of the idle process, MB", which, resident_mb(pid))
            _note(found, "idle, % of a core", which, percent)
            _note(found, "idle, wake-ups a second", which, wakeups)
        progress()


def _measure_requests(
    found: Rounds, environments: Mapping[str, dict[str, str]], folder: Path, count: int
) -> None:
    need("wrk", "taskset")
    with ExitStack() as running:
        servers = {
            which: running.enter_context(_serve(folder / which, environment))
            for which, environment in environments.items()
        }
        for server in servers.values():
            # The first requests load modules, so no case counts them.
            load(server, CASES[0], 1)
        for case in (*CASES, *DURABLE_CASES):
            for _ in range(count):
                for which, server in servers.items():
                    printed = load(server, case, 1)
                    if printed.failed:
                        raise SystemExit(f"{which}, {case.what}: {printed.failed} failed")
                    _note(found, f"{case.what}, us of a core", which, printed.us)
                    _note(found, f"{case.what}, p99 ms", which, printed.p99_ms)
                progress()


@contextmanager
def _serve(data: Path, environment: dict[str, str]) -> Iterator[Served]:
    command = ["env", f"PYTHONPATH={environment['PYTHONPATH']}", *CONTROLLER]
    with printing_its_address([*command, "--port", "0", "--data", str(data)]) as server:
        yield server


if __name__ == "__main__":
    sys.exit(main())
