"""Trace the way of one request through the program: which functions it calls, in which files.

A controller runs in a process of its own with a profile function, which counts calls in all
threads: for the first request of a route, and for one after others that differ from it. Nothing of
the program is changed for it.

    python -m tools.hops [--tree] [--source src]

`--tree` prints every call, indented by its depth. `--source` measures another source folder.
"""

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

PROJECT = Path(__file__).parent.parent
#: Route -> its target; no two requests of a route are alike where it has a number.
ROUTES = {
    "switch an output": "/outs.cgi?out0={flip}",
    "read a status file": "/json/status.json",
    "read the state": "/api/state",
    "change a setting": "/stm.cgi?oname=0n{number}",
}
WARM_UP = 4
#: Watchers run after the answer, in the same or the next rounds of the event loop.
SETTLE_S = 0.3
PATIENCE_S = 20
ADDRESS = re.compile(r"http://([\d.]+):(\d+)/")


class Call(NamedTuple):
    depth: int
    file: str
    function: str


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--tree", action="store_true", help="print every call")
    options.add_argument("--source", type=Path, default=PROJECT / "src", help="default: src")
    chosen = options.parse_args()
    with traced_controller(chosen.source) as (process, host, port, report):
        client = http.client.HTTPConnection(host, port, timeout=PATIENCE_S)
        for route, target in ROUTES.items():
            for times in (0, WARM_UP):
                calls = trace(process, client, target, times, report)
                files = {call.file for call in calls}
                when = "again" if times else "for the first time"
                print(f"{route}, {when}: {len(calls)} calls in {len(files)} files")
                if chosen.tree:
                    for call in calls:
                        print(f"  {'  ' * call.depth}{call.file}: {call.function}")


@contextmanager
def traced_controller(
    source: Path,
) -> Iterator[tuple[subprocess.Popen[str], str, int, Path]]:
    """Run a controller that counts its calls; give its process, its address and its report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "calls.json")
        process = subprocess.Popen(
            [sys.executable, "-c", "from tools.hops import serve; serve()", str(report)],
            cwd=PROJECT,
            env={**os.environ, "PYTHONPATH": str(source.resolve()), "HOPS_DATA": folder},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            found = ADDRESS.search(process.stdout.readline())
            if found is None:
                raise SystemExit("the controller did not start")
            yield process, found[1], int(found[2]), report
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
            process.stdout.close()


def trace(
    process: subprocess.Popen[str],
    client: http.client.HTTPConnection,
    target: str,
    times: int,
    report: Path,
) -> list[Call]:
    """Ask a route some times, then once more, and return the calls of that."""
    for number in range(1, times + 1):
        ask(client, target, number)
    time.sleep(SETTLE_S)
    signal_and_wait(process, signal.SIGUSR1, report)
    ask(client, target, times + 1)
    time.sleep(SETTLE_S)
    signal_and_wait(process, signal.SIGUSR2, report)
    return [Call(*call) for call in json.loads(report.read_text())]


def ask(client: http.client.HTTPConnection, target: str, number: int) -> None:
    client.request("GET", target.format(flip=number % 2, number=number))
    reply = client.getresponse()
    reply.read()
    if reply.status != 200:
        raise SystemExit(f"{target} was answered with {reply.status}")


def signal_and_wait(process: subprocess.Popen[str], number: signal.Signals, report: Path) -> None:
    """Send a signal and wait until it has been taken: the report is then written anew."""
    report.unlink(missing_ok=True)
    process.send_signal(number)
    until = time.monotonic() + PATIENCE_S
    while not report.exists():
        if time.monotonic() > until:
            raise SystemExit("the controller does not answer signals")
        time.sleep(0.01)


def serve() -> None:
    """Run a controller in this process and record its calls between two signals."""
    import leverframe
    from leverframe.__main__ import main as run

    package = str(Path(leverframe.__file__).parent)
    report = Path(sys.argv[1])
    recorder = Recorder(package)

    def write(calls: list[Call]) -> None:
        unfinished = report.with_suffix(".new")
        unfinished.write_text(json.dumps(calls))
        unfinished.rename(report)

    def begin(*_: Any) -> None:
        recorder.calls = []
        write([])

    def end(*_: Any) -> None:
        write(recorder.calls)

    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, end)
    threading.setprofile(recorder.profile)
    sys.setprofile(recorder.profile)
    folder = str(Path(os.environ["HOPS_DATA"], "data"))
    sys.argv[1:] = ["run", "--port", "0", "--no-mdns", "--no-discovery", "--data", folder]
    run()


class Recorder:
    """A profile function that notes calls of functions of one package."""

    def __init__(self, package: str) -> None:
        self._package = package
        self.calls: list[Call] = []

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(self._package):
            place = file[len(self._package) + 1 :]
            self.calls.append(Call(self._depth(frame), place, frame.f_code.co_qualname))

    def _depth(self, frame: FrameType) -> int:
        depth, caller = 0, frame.f_back
        while caller is not None:
            depth += caller.f_code.co_filename.startswith(self._package)
            caller = caller.f_back
        return depth


if __name__ == "__main__":
    main()
