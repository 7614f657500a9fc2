"""The cost of twins: import, start, reset, fork, waiting, memory, and tests with twins.

Work within one process is reported as processor time, which other work on the machine does not
lengthen, and as a ratio to a reference that is measured in alternation with it. The reference of
the import is a bare Python, that of `until` is `advance` over the same time, and that of all other
figures is a dict and twenty comparisons. Three others are measured for comparison: a twin as a
process; the server of pytest-httpserver, which returns canned answers and simulates nothing; and a
device of lewis, which exists only as a process. If one of the last two is not installed, it is left
out.
"""

import re
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from bench.engine_speed import REFERENCE, reference_round_s
from bench.figure import Figure, Reference, format_amount, progress
from bench.serving import free_port
from leverframe.testing import Twin

GOAL_IMPORT_MS, GOAL_HUNDRED_S, GOAL_TESTS_S = 250.0, 1.0, 5.0
#: Processor times on the machine of the goal, where a change of the reference takes `GOAL_ROUND_MS`
#: (`GOAL_DAY_ROUNDS` of busy_fleet.py are 1.2 s).
GOAL_START_MS, GOAL_RESET_MS, GOAL_FORK_MS = 5.0, 1.0, 10.0
GOAL_ROUND_MS = 1_200 / 426_000
GOAL_UNTIL = 2.0
MANY = 100
EXAMPLE = Path(__file__).parent.parent / "examples" / "pytest"
LEWIS_DEVICE = ("-k", "lewis.examples", "example_motor")
START_S = 30.0
#: The room takes more than an hour to warm up; the plant changes its reading every few seconds.
ROOM = "plant=room*heater:OUT0*reading:DS1*outside:5*power:30*time_constant:1h"
WARM = "DS1 >= 25"


def measure(quick: bool) -> list[Figure]:
    rounds = 5 if quick else 30
    with Twin() as twin:
        # The first measurement also loads the program. Memory comes first, because later
        # measurements reuse memory that earlier ones freed.
        figures = [
            _memory(),
            _start(rounds),
            _measure_hundred(),
            _reset(twin, rounds),
            _fork(twin, rounds),
        ]
    imported, until = _import(3 if quick else 9), _until(1 if quick else 3)
    return [imported, *figures, until, _processes(1 if quick else 5), _tests(1 if quick else 3)]


def _time(work: Callable[[], object]) -> float:
    """Return the processor time of the work in all threads of this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def _import(rounds: int) -> Figure:
    ours, bare = [], []
    for _ in range(rounds + 1):
        bare.append(_time_of_python("pass"))
        ours.append(_time_of_python("from leverframe.testing import Twin"))
        progress()
    # The first run may have to compile.
    took, start = statistics.median(ours[1:]), statistics.median(bare[1:])
    return Figure(
        "import of Twin",
        took - start,
        "ms",
        reference=Reference("a bare Python, its start included", start, "ms", took / start),
        goal=f"under {GOAL_IMPORT_MS:g} ms",
        met=took - start < GOAL_IMPORT_MS,
        rounds={"ms": ours[1:], "bare ms": bare[1:]},
    )


def _time_of_python(program: str) -> float:
    began = _time_of_children()
    subprocess.run([sys.executable, "-c", program], check=True)
    return (_time_of_children() - began) * 1e3


def _in_rounds(
    what: str, rounds: int, goal_ms: float, spend: Callable[[], float], beside: str = ""
) -> Figure:
    """Measure the seconds that `spend` returns, in units of the reference measured just before."""
    took, ratios, references = [], [], []
    for _ in range(rounds):
        progress()
        references.append(reference_round_s())
        took.append(spend())
        ratios.append(took[-1] / references[-1])
    median_ms, ratio = statistics.median(took) * 1e3, statistics.median(ratios)
    goal = goal_ms / GOAL_ROUND_MS
    return Figure(
        what,
        median_ms,
        "ms",
        reference=Reference(REFERENCE, statistics.median(references) * 1e6, "us", ratio, beside),
        goal=f"under {goal:,.0f} rounds ({goal_ms:g} ms on the machine of the goal)",
        met=ratio < goal,
        rounds={"rounds": ratios},
    )


def _start(rounds: int) -> Figure:
    theirs = [_http_server() * 1e3 for _ in range(rounds) if find_spec("pytest_httpserver")]
    beside = f"pytest-httpserver {format_amount(statistics.median(theirs), 'ms')}" if theirs else ""

    def start() -> float:
        twin = Twin()
        took = _time(twin.start)
        twin.close()
        return took

    return _in_rounds("start of a twin", rounds, GOAL_START_MS, start, beside)


def _http_server() -> float:
    from pytest_httpserver import HTTPServer

    server = HTTPServer()
    took = _time(server.start)
    server.stop()
    return took


def _measure_hundred() -> Figure:
    twins = [Twin() for _ in range(MANY)]
    took = _time(lambda: [twin.start() for twin in twins])
    for twin in twins:
        twin.close()
    return Figure(
        f"{MANY} twins",
        took,
        "s",
        goal=f"under {GOAL_HUNDRED_S:g} s",
        met=took < GOAL_HUNDRED_S,
    )


def _reset(twin: Twin, rounds: int) -> Figure:
    def reset() -> float:
        twin.command("outs.cgi?out0=1")
        twin.sense(DS1=21.5)
        return _time(twin.reset)

    return _in_rounds("reset", rounds, GOAL_RESET_MS, reset)


def _fork(twin: Twin, rounds: int) -> Figure:
    def fork() -> float:
        forks: list[Twin] = []
        took = _time(lambda: forks.append(twin.fork()))
        forks[0].close()
        return took

    return _in_rounds("fork", rounds, GOAL_FORK_MS, fork)


def _until(rounds: int) -> Figure:
    """Wait for a heated room, and let the same time pass without checking a condition."""
    waited, advanced = [], []
    with Twin() as twin:
        twin.sim(ROOM)
        twin.command("outs.cgi?out0=1")
        cold, began = twin.snapshot(), twin.now
        for _ in range(rounds):
            waited.append(_time(lambda: twin.until(WARM)))
            span = twin.now - began
            twin.restore(cold)
            advanced.append(_time(lambda span=span: twin.advance(span)))
            twin.restore(cold)
            progress()
    ratio = statistics.median(w / a for w, a in zip(waited, advanced, strict=True))
    return Figure(
        f"until {WARM}, after {span.total_seconds() / 60:.0f} min",
        statistics.median(waited),
        "s",
        reference=Reference("advance", statistics.median(advanced), "s", ratio),
        goal=f"under {GOAL_UNTIL:g} times",
        met=ratio < GOAL_UNTIL,
        rounds={"s": waited, "advance s": advanced},
    )


def _memory() -> Figure:
    before = _resident_kib()
    twins = [Twin().start() for _ in range(MANY)]
    each = (_resident_kib() - before) / MANY
    for twin in twins:
        twin.close()
    with Twin.process() as process:
        alone = _resident_kib(process.pid)
    reference = Reference("as a process", alone / 1024, "MiB")
    return Figure("memory of a twin", each, "KiB", reference=reference)


def _resident_kib(pid: int | str = "self") -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found is not None
    return int(found[1])


def _processes(rounds: int) -> Figure:
    ours, theirs = [], []
    for _ in range(rounds):
        progress()
        twin = Twin.process()
        began = time.perf_counter()
        twin.start()
        ours.append(time.perf_counter() - began)
        twin.close()
        if find_spec("lewis"):
            theirs.append(_lewis())
    return Figure(
        "start of a twin as a process",
        statistics.median(ours),
        "s",
        reference=Reference("lewis", statistics.median(theirs), "s") if theirs else None,
        rounds={"s": ours, "lewis s": theirs} if theirs else {"s": ours},
    )


def _lewis() -> float:
    port = free_port()
    options = ["-p", f"stream: {{bind_address: 127.0.0.1, port: {port}}}"]
    began = time.perf_counter()
    program = "import sys; from lewis.scripts.run import run_simulation; run_simulation()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *LEWIS_DEVICE, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while time.perf_counter() - began < START_S:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    return time.perf_counter() - began
            time.sleep(0.002)
        raise SystemExit("lewis failed to start")
    finally:
        process.kill()
        process.wait(10)


def _time_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _tests(rounds: int) -> Figure:
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:cacheprovider"]
    command += ["-p", "leverframe.testing.pytest_plugin", "-W", "ignore", "test_heating.py"]
    took, counts = [], ""
    for _ in range(rounds):
        progress()
        began = _time_of_children()
        done = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, check=True)
        took.append(_time_of_children() - began)
        counts = done.stdout.strip().splitlines()[-1].partition(" in ")[0]
    median = statistics.median(took)
    return Figure(
        "example project",
        median,
        "s",
        counts,
        goal=f"under {GOAL_TESTS_S:g} s",
        met=median < GOAL_TESTS_S,
        rounds={"s": took},
    )
