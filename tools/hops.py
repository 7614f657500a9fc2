"""Trace paths through the program: the functions that they call, and their files.

    python -m tools.hops [--path requests|fleet|unit ...] [--tree] [--source src]

`requests` are requests to one controller, `fleet` is `fleet send` on two nodes that share a
database (PostgreSQL is needed), `unit` is `unit plan` of a controller. Without `--path` all of them
are traced. Each path runs in a separate process, where a profile function counts the calls in all
threads: the calls of a first request, and of a similar one after other requests. The program is not
changed for this.

The two nodes and the command run in one process, so regular work of the nodes is counted, too, if
it falls into that time. The unit of `unit plan` is another process, which is not counted.

`--tree` prints every call, indented by its depth. `--source` measures another source folder.
"""

import argparse
import asyncio
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from urllib.request import urlopen

from tests.ports import free_port
from tools.fleet_demo import NoDemo, database

PROJECT = Path(__file__).parent.parent
#: The target of each route. A number in a target makes each request differ from the previous one.
ROUTES = {
    "switch an output": "/outs.cgi?out0={flip}",
    "read a status file": "/json/status.json",
    "read the state": "/api/state",
    "change a setting": "/stm.cgi?oname=0n{number}",
}
WARM_UP = 4
#: Watchers run after the answer, in the same or the next rounds of the event loop.
SETTLE_S = 0.3
PATIENCE_S = 60
#: The two nodes, and the number of controllers that they share.
NODES = ("north", "south")
COUNT = 2
UNIT_FILE = """
[outputs.OUT0]
name = "Pump"
return_time = "60s"
"""
ADDRESS = re.compile(r"http://([\d.]+):(\d+)/")


class Call(NamedTuple):
    depth: int
    file: str
    function: str


#: The traced request and its calls.
Traced = tuple[str, list[Call]]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--path", action="append", choices=PATHS, help="default: all")
    options.add_argument("--tree", action="store_true", help="print every call")
    options.add_argument("--source", type=Path, default=PROJECT / "src", help="default: src")
    chosen = options.parse_args()
    for path in chosen.path or PATHS:
        try:
            for title, calls in PATHS[path](chosen.source):
                files = {call.file for call in calls}
                print(f"{title}: {len(calls)} calls in {len(files)} files")
                if chosen.tree:
                    for call in calls:
                        print(f"  {'  ' * call.depth}{call.file}: {call.function}")
        except NoDemo as error:
            print(f"{path} is not traced: {error}", file=sys.stderr)


# --- requests to a controller ---------------------------------------------------------------------


def trace_requests(source: Path) -> Iterator[Traced]:
    with trace_controller(source) as (process, host, port, report):
        client = http.client.HTTPConnection(host, port, timeout=PATIENCE_S)
        for route, target in ROUTES.items():
            for times in (0, WARM_UP):
                yield _title(route, times), trace(process, client, target, times, report)


def _title(what: str, times: int) -> str:
    return f"{what}, {'again' if times else 'for the first time'}"


@contextmanager
def trace_controller(
    source: Path,
) -> Iterator[tuple[subprocess.Popen[str], str, int, Path]]:
    """Run a controller that counts its calls; yield its process, its address and its report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "calls.json")
        process = subprocess.Popen(
            [sys.executable, "-c", "from tools.hops import serve; serve()", str(report)],
            cwd=PROJECT,
            env={**environment(source), "HOPS_DATA": folder},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            found = ADDRESS.search(process.stdout.readline())
            if found is None:
                raise SystemExit("the controller failed to start")
            yield process, found[1], int(found[2]), report
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
            process.stdout.close()


def environment(source: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(source.resolve())}


def trace(
    process: subprocess.Popen[str],
    client: http.client.HTTPConnection,
    target: str,
    times: int,
    report: Path,
) -> list[Call]:
    """Request a route several times, then once more, and return the calls of the last request."""
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
    """Send a signal and wait until the process has handled it and rewritten the report."""
    report.unlink(missing_ok=True)
    process.send_signal(number)
    until = time.monotonic() + PATIENCE_S
    while not report.exists():
        if time.monotonic() > until:
            raise SystemExit("the controller does not answer signals")
        time.sleep(0.01)


def serve() -> None:
    """Run a controller in this process and record its calls between two signals."""
    from leverframe.__main__ import main as run

    report = Path(sys.argv[1])
    recorder = Recorder()

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
    recorder.start()
    folder = str(Path(os.environ["HOPS_DATA"], "data"))
    sys.argv[1:] = ["run", "--port", "0", "--no-mdns", "--no-discovery", "--data", folder]
    run()


class Recorder:
    """A profile function that records the calls of the program's functions."""

    def __init__(self) -> None:
        import leverframe

        self._package = str(Path(leverframe.__file__).parent)
        self.calls: list[Call] = []

    def start(self) -> None:
        """Record the calls of this thread, and of threads that start from now on."""
        threading.setprofile(self.profile)
        sys.setprofile(self.profile)

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


# --- commands -------------------------------------------------------------------------------------


def trace_fleet(source: Path) -> Iterator[Traced]:
    """Trace `fleet send` on two nodes; raise `NoDemo` without a database."""
    with tempfile.TemporaryDirectory() as folder:
        # The database server's user must be able to enter the folder.
        Path(folder).chmod(0o711)
        with database(Path(folder)) as address:
            leverframe(source, "fleet", "migrate", "--database", address)
            yield from trace_commands(source, "send_on_two_nodes", folder, address)


def trace_unit(source: Path) -> Iterator[Traced]:
    with (
        trace_controller(source) as (_, host, port, _),
        tempfile.TemporaryDirectory() as folder,
    ):
        Path(folder, "unit.toml").write_text(UNIT_FILE)
        yield from trace_commands(source, "plan_unit", folder, f"http://{host}:{port}")


def leverframe(source: Path, *words: str) -> None:
    command = [sys.executable, "-m", "leverframe", *words]
    subprocess.run(command, env=environment(source), check=True, stdout=subprocess.DEVNULL)


def trace_commands(source: Path, function: str, *given: str) -> Iterator[Traced]:
    """Run a function of this module in a separate process and yield the calls it recorded."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "calls.json")
        code = f"import sys; from tools import hops; hops.{function}(*sys.argv[1:])"
        subprocess.run(
            [sys.executable, "-c", code, str(report), *given],
            cwd=PROJECT,
            env=environment(source),
            stdout=subprocess.DEVNULL,
            check=True,
        )
        recorded: dict[str, list[Any]] = json.loads(report.read_text())
    for title, calls in recorded.items():
        yield title, [Call(*call) for call in calls]


def plan_unit(report: str, folder: str, unit: str) -> None:
    recorder = Recorder()
    recorder.start()
    file = str(Path(folder, "unit.toml"))
    record_commands(recorder, Path(report), "unit plan", lambda _: ["unit", "plan", file, unit])


def send_on_two_nodes(report: str, folder: str, database: str) -> None:
    """Run two nodes in this process and send a command to the controllers of both."""
    from leverframe.__main__ import main as run

    # uvloop's loops cannot be changed; without uvloop the program uses asyncio's.
    sys.modules["uvloop"] = None  # type: ignore[assignment]
    asyncio.set_event_loop_policy(LoopsWithoutSignals())
    recorder = Recorder()
    recorder.start()
    urls: list[str] = []
    for name in NODES:
        data = Path(folder, name)
        if urls:
            # The key that encrypts secrets is never stored in the database.
            data.mkdir(mode=0o700)
            shutil.copy(Path(folder, NODES[0], "fleet.key"), data)
        port = free_port()
        urls.append(f"http://127.0.0.1:{port}")
        words = ["fleet", "run", "--database", database, "--node", name, "--port", str(port)]
        words += ["--data", str(data), "--modbus-port", "0", "--no-mdns", "--no-discovery"]
        threading.Thread(target=run, args=(words,), daemon=True).start()
        wait_until(lambda: controllers_at(urls[-1]) is not None)
    run(["fleet", "add", "--node", urls[0], "--count", str(COUNT), "--name", "c-{n}"])
    wait_until(lambda: sorted(controllers_at(urls[0]) or ()) == [COUNT // len(NODES)] * len(NODES))
    record_commands(
        recorder,
        Path(report),
        "fleet send on two nodes",
        lambda number: ["fleet", "send", f"outs.cgi?out0={number % 2}", "--node", urls[0]],
    )
    # The nodes handle no signals; their folders and their database are deleted.
    os._exit(0)


class LoopsWithoutSignals(asyncio.DefaultEventLoopPolicy):
    """Event loops for threads other than the main thread, which alone can handle signals."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()
        loop.add_signal_handler = lambda *_: None  # type: ignore[method-assign]
        loop.remove_signal_handler = lambda sig: False  # type: ignore[method-assign]
        return loop


def record_commands(
    recorder: Recorder, report: Path, title: str, words: Callable[[int], list[str]]
) -> None:
    """Record the first run of a command, and a second run."""
    from leverframe.__main__ import main as run

    recorded = {}
    for number in (0, 1):
        recorder.calls = []
        status = run(words(number))
        if status != 0:
            raise SystemExit(f"{title} ended with {status}")
        recorded[_title(title, number)] = recorder.calls
    report.write_text(json.dumps(recorded))


def controllers_at(url: str) -> list[int] | None:
    """Return the number of controllers of each node; None if this node does not answer."""
    try:
        with urlopen(f"{url}/api/fleet/nodes", timeout=PATIENCE_S) as reply:
            return [one["controllers"] for one in json.load(reply)["nodes"]]
    except OSError:
        return None


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > until:
            raise SystemExit("the nodes are not ready")
        time.sleep(0.1)


#: The paths that can be traced.
PATHS = {"requests": trace_requests, "fleet": trace_fleet, "unit": trace_unit}

if __name__ == "__main__":
    main()
