"""HTTP load by `wrk`: what is asked for, and how ours compares with another server."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.figure import Figure, better, progress
from bench.serving import LOAD_CORE

SCRIPTS = Path(__file__).parent
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
class Goal:
    least_ratio: float | None = None
    most_p99_ms: float | None = None
    least_per_second: float | None = None

    def text(self, other: str) -> str:
        wanted = []
        if self.least_ratio is not None:
            wanted.append(f">= {self.least_ratio:g} of {other}")
        if self.most_p99_ms is not None:
            wanted.append(f"p99 < {self.most_p99_ms:g} ms")
        if self.least_per_second is not None:
            wanted.append(f">= {self.least_per_second:,.0f}/s")
        return ", ".join(wanted)

    def met(self, ratio: float | None, p99_ms: float, per_second: float, failed: int) -> bool:
        return (
            not failed
            and (self.least_ratio is None or ratio is None or ratio >= self.least_ratio)
            and (self.most_p99_ms is None or p99_ms < self.most_p99_ms)
            and (self.least_per_second is None or per_second >= self.least_per_second)
        )


@dataclass(frozen=True)
class Case:
    what: str
    target: str
    connections: int
    goal: Goal
    #: A Lua script in this folder that makes the requests.
    script: str | None = None


@dataclass(frozen=True)
class Rounds:
    """How long and how often."""

    seconds: int
    count: int

    @classmethod
    def of(cls, quick: bool) -> "Rounds":
        # Short and many: where the machine slows down for a moment, some rounds are without that.
        return cls(1, 1) if quick else cls(1, 9)


def load(address: str, case: Case, seconds: int, header: str | None = None) -> Load:
    command = ["taskset", "-c", str(LOAD_CORE), "wrk", "-t1", f"-c{case.connections}"]
    command += [f"-d{seconds}s", "--latency"]
    if case.script:
        command += ["-s", str(SCRIPTS / case.script)]
    if header:
        command += ["-H", header]
    text = subprocess.run(
        [*command, address + case.target], capture_output=True, text=True, check=True
    ).stdout
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    assert rate is not None, text
    return Load(
        float(rate[1]),
        _milliseconds(text, "50%"),
        _milliseconds(text, "99%"),
        int(failed[1]) if failed else 0,
    )


def _milliseconds(text: str, percentile: str) -> float:
    found = re.search(rf"{percentile}\s+([\d.]+)(us|ms|s)", text)
    assert found is not None, text
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]


def compare(
    case: Case,
    rounds: Rounds,
    ours: Callable[[], Load],
    other: Callable[[], Load] | None = None,
    other_name: str = "",
) -> Figure:
    """Ours and the other in turns."""
    own, others = [], []
    for _ in range(rounds.count):
        own.append(ours())
        if other is not None:
            others.append(other())
        progress()
    per_second = better([load.per_second for load in own], higher=True)
    p50_ms = better([load.p50_ms for load in own])
    p99_ms = better([load.p99_ms for load in own])
    failed = sum(load.failed for load in own)
    ratio, reference = None, ""
    if others:
        its_rate = better([load.per_second for load in others], higher=True)
        its_p99_ms = better([load.p99_ms for load in others])
        ratio = per_second / its_rate
        reference = f"{ratio:.2f} of {other_name} ({its_rate:,.0f}/s, p99 {its_p99_ms:.2f} ms)"
    measured = f"{per_second:,.0f}/s, p50 {p50_ms:.2f} ms, p99 {p99_ms:.2f} ms"
    return Figure(
        case.what,
        f"{measured}, {failed} failed" if failed else measured,
        reference,
        case.goal.text(other_name),
        case.goal.met(ratio, p99_ms, per_second, failed) if case.goal != Goal() else None,
    )
