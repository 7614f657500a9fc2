"""What a twin costs a test: its start, a reset, a fork, its memory, and tests with twins.

Beside it, in turns: a twin as a process, the server of pytest-httpserver, which answers what it is
told and has no machine behind it, and a device of lewis, as a process because it has no other form.
References that are not installed are left out. What happens in one process is told as processor
time, which other work on the machine does not lengthen.
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

from bench.figure import Figure, listed, progress
from bench.serving import free_port
from leverframe.testing import Twin

GOAL_START_MS, GOAL_HUNDRED_S, GOAL_RESET_MS, GOAL_FORK_MS, GOAL_TESTS_S = 5.0, 1.0, 1.0, 10.0, 5.0
MANY = 100
EXAMPLE = Path(__file__).parent.parent / "examples" / "pytest"
LEWIS_DEVICE = ("-k", "lewis.examples", "example_motor")
START_S = 30.0


def measure(quick: bool) -> list[Figure]:
    rounds = 5 if quick else 30
    with Twin() as twin:
        # The first one also loads the program. Memory comes first: what others gave back is reused.
        figures = [_memory(), _start(rounds), _hundred(), _reset(twin, rounds), _fork(twin, rounds)]
    return [*figures, _processes(1 if quick else 5), _tests(1 if quick else 3)]


def _timed(work: Callable[[], object]) -> float:
    """Return the processor time that it took, in all threads of this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def _start(rounds: int) -> Figure:
    ours, theirs = [], []
    for _ in range(rounds):
        progress()
        twin = Twin()
        ours.append(_timed(twin.start) * 1e3)
        twin.close()
        if find_spec("pytest_httpserver"):
            theirs.append(_http_server() * 1e3)
    took = statistics.median(ours)
    return Figure(
        "start of a twin",
        f"{took:.1f} ms",
        f"pytest-httpserver {statistics.median(theirs):.1f} ms" if theirs else "",
        f"under {GOAL_START_MS:g} ms",
        took < GOAL_START_MS,
        f"{listed(ours)}; {listed(theirs, 'ms')}",
    )


def _http_server() -> float:
    from pytest_httpserver import HTTPServer

    server = HTTPServer()
    took = _timed(server.start)
    server.stop()
    return took


def _hundred() -> Figure:
    twins = [Twin() for _ in range(MANY)]
    took = _timed(lambda: [twin.start() for twin in twins])
    for twin in twins:
        twin.close()
    return Figure(
        f"{MANY} twins", f"{took:.2f} s", "", f"under {GOAL_HUNDRED_S:g} s", took < GOAL_HUNDRED_S
    )


def _reset(twin: Twin, rounds: int) -> Figure:
    took = []
    for _ in range(rounds):
        twin.command("outs.cgi?out0=1")
        twin.sense(DS1=21.5)
        took.append(_timed(twin.reset) * 1e3)
    median = statistics.median(took)
    goal = f"under {GOAL_RESET_MS:g} ms"
    return Figure("reset", f"{median:.2f} ms", "", goal, median < GOAL_RESET_MS, listed(took, "ms"))


def _fork(twin: Twin, rounds: int) -> Figure:
    took = []
    for _ in range(rounds):
        began = time.process_time()
        other = twin.fork()
        took.append((time.process_time() - began) * 1e3)
        other.close()
    median = statistics.median(took)
    goal = f"under {GOAL_FORK_MS:g} ms"
    return Figure("fork", f"{median:.1f} ms", "", goal, median < GOAL_FORK_MS, listed(took, "ms"))


def _memory() -> Figure:
    before = _resident_kib()
    twins = [Twin().start() for _ in range(MANY)]
    each = (_resident_kib() - before) / MANY
    for twin in twins:
        twin.close()
    with Twin.process() as process:
        alone = _resident_kib(process.pid)
    return Figure("memory of a twin", f"{each:.0f} KiB", f"as a process {alone / 1024:.0f} MiB")


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
        f"{statistics.median(ours):.2f} s",
        f"lewis {statistics.median(theirs):.2f} s" if theirs else "",
        rounds=f"{listed(ours)}; {listed(theirs, 's')}",
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
        raise SystemExit("lewis did not start")
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
        f"example project, {counts}",
        f"{median:.1f} s",
        "",
        f"under {GOAL_TESTS_S:g} s",
        median < GOAL_TESTS_S,
        listed(took, "s"),
    )
