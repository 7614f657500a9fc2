"""HTTP: commands and status reads per second, as a ratio to a responder that only parses.

The server under test and the bare responder (same parser, same loop, same bytes, nothing behind
it) run on one core, the load on the other; rounds alternate between them, and the ratio is taken
within each round, because the machine's speed drifts. Requests that are like the one before them
on their connection are parsed only once by our layer; "in turn" shows the cost without that. Needs
`wrk` and `taskset`.

    python bench/http_load.py [--seconds 3] [--rounds 5]
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SERVER_CORE, LOAD_CORE = "1", "0"
STATUS = "/json/status.json"
SWITCH = "/outs.cgi?out0=1"


@dataclass(frozen=True)
class Load:
    """What wrk saw."""

    per_second: float
    p50_ms: float
    p99_ms: float
    failed: int


@dataclass(frozen=True)
class Case:
    name: str
    target: str
    connections: int
    #: What the figure should reach: a ratio where there is a reference.
    goal: str
    script: str | None = None
    compared: bool = True


CASES = (
    Case("switch an output, 16 connections", SWITCH, 16, ">= 0.4 of bare, p99 < 10 ms"),
    Case("switch an output, 64 connections", SWITCH, 64, ">= 0.4 of bare"),
    Case("switch outputs in turn, 64 connections", "/", 64, ">= 0.4 of bare", "switch_in_turn.lua"),
    Case("read status.json, 16 connections", STATUS, 16, ">= 0.7 of bare"),
    Case("read status.json, 64 connections", STATUS, 64, ">= 0.7 of bare"),
    Case("durable change, 16 connections", "/", 16, "p99 < 10 ms", "change_name.lua", False),
    Case("durable change, 64 connections", "/", 64, ">= 2,000/s", "change_name.lua", False),
)


@contextmanager
def started(arguments: list[str], *, ready: str) -> Iterator[str]:
    """A program on the server core; gives the address that its first line names."""
    program = subprocess.Popen(
        ["taskset", "-c", SERVER_CORE, sys.executable, *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    try:
        line = program.stdout.readline()
        found = re.search(ready, line)
        if found is None:
            raise SystemExit(f"the server did not start: {line!r}")
        yield found[0]
    finally:
        program.terminate()
        program.wait(10)


def load(address: str, case: Case, seconds: float, header: str | None = None) -> Load:
    command = ["taskset", "-c", LOAD_CORE, "wrk", "-t1", f"-c{case.connections}"]
    command += [f"-d{seconds}s", "--latency"]
    if case.script:
        command += ["-s", str(HERE / case.script)]
    if header:
        command += ["-H", header]
    target = address.rstrip("/") + case.target
    text = subprocess.run([*command, target], capture_output=True, text=True, check=True).stdout
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return Load(
        float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]),  # type: ignore[index]
        _milliseconds(text, "50%"),
        _milliseconds(text, "99%"),
        int(failed[1]) if failed else 0,
    )


def _milliseconds(text: str, percentile: str) -> float:
    found = re.search(rf"{percentile}\s+([\d.]+)(us|ms|s)", text)
    assert found is not None
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]


def fetch(address: str, path: str) -> bytes:
    with urllib.request.urlopen(address.rstrip("/") + path) as answer:
        body: bytes = answer.read()
    return body


def measure(seconds: float, rounds: int) -> list[dict[str, str]]:
    address = r"http://[\d.]+:\d+/"
    with tempfile.TemporaryDirectory() as folder:
        controller = ["-m", "leverframe", "run", "--port", "0", "--data", f"{folder}/data"]
        with started(controller, ready=address) as ours:
            status, reply = Path(folder, "status"), Path(folder, "reply")
            status.write_bytes(fetch(ours, STATUS))
            reply.write_bytes(fetch(ours, SWITCH))
            bare_arguments = [str(HERE / "bare_responder.py"), "--body-file", str(reply)]
            bare_arguments += ["--reply", f"{STATUS}={status}"]
            with started(bare_arguments, ready=address) as bare:
                return [_measure_case(case, ours, bare, seconds, rounds) for case in CASES]


def _measure_case(case: Case, ours: str, bare: str, seconds: float, rounds: int) -> dict[str, str]:
    own, ratios = [], []
    for _ in range(rounds):
        mine = load(ours, case, seconds)
        own.append(mine)
        if case.compared:
            ratios.append(mine.per_second / load(bare, case, seconds).per_second)
    print(".", end="", file=sys.stderr, flush=True)
    return {
        "case": case.name,
        "per second": f"{statistics.median(load.per_second for load in own):,.0f}",
        "p50 ms": f"{statistics.median(load.p50_ms for load in own):.2f}",
        "p99 ms": f"{statistics.median(load.p99_ms for load in own):.2f}",
        "of bare": f"{statistics.median(ratios):.2f}" if ratios else "-",
        "goal": case.goal,
        "failed": str(sum(load.failed for load in own)),
    }


def print_measured(measure: Callable[[float, int], list[dict[str, str]]], doc: str) -> None:
    """The command line of an HTTP benchmark: measure, then print a Markdown table."""
    options = argparse.ArgumentParser(description=doc.partition("\n")[0])
    options.add_argument("--seconds", type=int, default=3)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    rows = measure(chosen.seconds, chosen.rounds)
    print(file=sys.stderr)
    columns = list(rows[0])
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row.values()) + " |")


if __name__ == "__main__":
    print_measured(measure, __doc__)
