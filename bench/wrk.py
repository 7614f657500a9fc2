"""HTTP load by `wrk`, measured as processor time of the server per request.

The processor time of the whole server process, all threads, is read before and after each round. A
ratio compares the two servers' times per request. On a shared machine this is more reliable than
requests per second, which are also reported.
"""

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.figure import Figure, Reference, format_amount, progress
from bench.python_build import is_optimised
from bench.serving import LOAD_CORE, Served, ran_ns

SCRIPTS = Path(__file__).parent
STATUS = "/json/status.json"
SWITCH = "/outs.cgi?out0=1"


@dataclass(frozen=True)
class Load:
    """The result of one round, as wrk and the kernel measured it."""

    per_second: float
    p50_ms: float
    p99_ms: float
    failed: int
    #: Processor time of the server per request.
    us: float


@dataclass(frozen=True)
class Goal:
    #: The goal for the ratio to the reference, on a Python without and with optimisation.
    min_ratio: float | None = None
    min_ratio_optimised: float | None = None
    max_p99_ms: float | None = None

    @property
    def ratio(self) -> float | None:
        return (self.min_ratio_optimised if is_optimised() else None) or self.min_ratio

    def text(self, other: str) -> str:
        wanted = []
        if self.ratio is not None:
            wanted.append(f">= {self.ratio:g} of {other}")
        if self.max_p99_ms is not None:
            wanted.append(f"p99 < {self.max_p99_ms:g} ms")
        return ", ".join(wanted)

    def is_met(self, ratio: float, p99_ms: float, failed: int) -> bool:
        return (
            not failed
            and (self.ratio is None or ratio >= self.ratio)
            and (self.max_p99_ms is None or p99_ms < self.max_p99_ms)
        )


@dataclass(frozen=True)
class Case:
    what: str
    connections: int
    goal: Goal
    #: A Lua script in this folder that creates the requests, no two alike in a row.
    script: str


@dataclass(frozen=True)
class Rounds:
    """The duration and number of the rounds."""

    seconds: int
    count: int

    @classmethod
    def of(cls, quick: bool) -> "Rounds":
        return cls(1, 1) if quick else cls(1, 9)


def load(server: Served, case: Case, seconds: int, headers: Sequence[str] = ()) -> Load:
    command = ["taskset", "-c", str(LOAD_CORE), "wrk", "-t1", f"-c{case.connections}"]
    command += [f"-d{seconds}s", "--latency", "-s", str(SCRIPTS / case.script)]
    for header in headers:
        command += ["-H", header]
    before = ran_ns(server.pid)
    text = subprocess.run(
        [*command, f"{server.address}/"], capture_output=True, text=True, check=True
    ).stdout
    ran_us = (ran_ns(server.pid) - before) / 1000
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return Load(
        _number(r"Requests/sec:\s+([\d.]+)", text),
        _milliseconds(text, "50%"),
        _milliseconds(text, "99%"),
        int(failed[1]) if failed else 0,
        ran_us / _number(r"(\d+) requests in", text),
    )


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found is not None, text
    return float(found[1])


def _milliseconds(text: str, percentile: str) -> float:
    found = re.search(rf"{percentile}\s+([\d.]+)(us|ms|s)", text)
    assert found is not None, text
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]


def compare(
    case: Case,
    rounds: Rounds,
    ours: Callable[[], Load],
    other: Callable[[], Load],
    other_name: str,
) -> Figure:
    """Measure our server and the other in alternation; the figure is the median of all rounds."""
    own, others = [], []
    for _ in range(rounds.count):
        own.append(ours())
        others.append(other())
        progress()
    our_us, other_us = (median([load.us for load in loads]) for loads in (own, others))
    p99_ms = median([load.p99_ms for load in own])
    failed = sum(load.failed for load in own)
    ratio = other_us / our_us
    more = [
        format_amount(median([load.per_second for load in own]), "/s"),
        f"p50 {format_amount(median([load.p50_ms for load in own]), 'ms')}",
        f"p99 {format_amount(p99_ms, 'ms')}",
    ]
    other_p99 = format_amount(median([load.p99_ms for load in others]), "ms")
    return Figure(
        case.what,
        our_us,
        "us",
        ", ".join([*more, f"{failed} failed"] if failed else more),
        Reference(other_name, other_us, "us", ratio, f"p99 {other_p99}"),
        case.goal.text(other_name),
        case.goal.is_met(ratio, p99_ms, failed) if case.goal != Goal() else None,
        {
            "us": [load.us for load in own],
            "p99 ms": [load.p99_ms for load in own],
            f"{other_name} us": [load.us for load in others],
        },
    )
