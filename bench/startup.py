"""The time from a controller's start to its first answer, and the cost of an idle controller.

The start is compared with that of an idle Python, in alternation, as installed (bytecode is written
beforehand, as by pip). The idle controller is measured from outside: the time that its threads ran,
and the number of times that they woke up.
"""

import http.client
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.figure import Figure, Reference, format_amount, progress
from bench.serving import CONTROLLER, free_port

GOAL_START_S = 0.25
GOAL_IDLE_PERCENT = 0.2
GOAL_MEMORY_MB = 38
#: Long enough for all work that the start leaves for later.
SETTLE_S = 2.0
POLL_S = 0.002


@contextmanager
def controller(folder: Path, environment: dict[str, str]) -> Iterator[tuple[int, float, float]]:
    """Run a controller; yield its process, and wall and processor seconds to its first answer."""
    port = free_port()
    command = [*CONTROLLER, "--port", str(port), "--data", str(folder)]
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        while not _answers(port):
            if process.poll() is not None:
                raise SystemExit("the controller failed to start")
            time.sleep(POLL_S)
        took_s = time.perf_counter() - began
        yield process.pid, took_s, _ran(process.pid)[0] / 1e9
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def bare_start(environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True)
    return time.perf_counter() - began


def idle_figures(pid: int, span_s: float) -> tuple[float, float]:
    """Return the percentage of a core, and the wake-ups per second."""
    time.sleep(SETTLE_S)
    before, began = _ran(pid), time.perf_counter()
    time.sleep(span_s)
    after, took_s = _ran(pid), time.perf_counter() - began
    return 100 * (after[0] - before[0]) / 1e9 / took_s, (after[1] - before[1]) / took_s


def _ran(pid: int) -> tuple[int, int]:
    """Return the nanoseconds that all threads ran, and the number of times that they slept."""
    nanoseconds = naps = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        nanoseconds += int((thread / "schedstat").read_text().split()[0])
        status = (thread / "status").read_text()
        naps += int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return nanoseconds, naps


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(quick: bool) -> list[Figure]:
    rounds, idle_s = (2, 3.0) if quick else (9, 30.0)
    starts, ran, bare = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        data = Path(folder) / "data"
        with controller(data, environment):
            pass
        for _ in range(rounds):
            bare.append(bare_start(environment))
            with controller(data, environment) as (_, took_s, ran_s):
                starts.append(took_s)
                ran.append(ran_s)
            progress()
        with controller(data, environment) as (pid, _, _):
            percent, wakeups = idle_figures(pid, idle_s)
            memory = resident_mb(pid)
    start_s, bare_s = statistics.median(starts), statistics.median(bare)
    ran_s = statistics.median(ran)
    return [
        Figure(
            "start to the first answer",
            1000 * start_s,
            "ms",
            reference=Reference("a bare Python", 1000 * bare_s, "ms", start_s / bare_s),
            goal=f"< {1000 * GOAL_START_S:.0f} ms",
            met=start_s < GOAL_START_S,
            rounds={
                "ms": [1000 * took for took in starts],
                "bare ms": [1000 * took for took in bare],
            },
        ),
        # On a busy machine, this is more reliable than wall time.
        Figure("processor time for it", 1000 * ran_s, "ms"),
        Figure(
            f"idle, {idle_s:.0f} s",
            percent,
            "% of a core",
            more=format_amount(wakeups, "wake-ups a second"),
            goal=f"< {GOAL_IDLE_PERCENT} %",
            met=percent < GOAL_IDLE_PERCENT,
        ),
        Figure(
            "memory of the whole idle process",
            memory,
            "MB",
            goal=f"< {GOAL_MEMORY_MB} MB",
            met=memory < GOAL_MEMORY_MB,
        ),
    ]
