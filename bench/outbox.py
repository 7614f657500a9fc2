"""The outbox: the engine's cost of a message, the time until it arrives, and the loop's lag.

Everything runs in this process with a store on disk and an HTTP server on loopback. A message is on
disk before it is sent, so "to the server" includes the disk. "Lag" is the delay of a timer of 1 ms
while the outbox accepts messages for a server that refuses connections.
"""

import asyncio
import statistics
import tempfile
import time
from datetime import UTC
from pathlib import Path

from bench.figure import Figure, format_amount, progress
from leverframe.core.engine.calls import Notify
from leverframe.core.engine.journal import Cause
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.core.runtime.outgoing import Targets
from leverframe.core.tree import with_value
from leverframe.host.assembly import ControllerHost, build
from leverframe.host.services import Sending
from leverframe.storage.sqlite import SqliteStore

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Arrivals:
    """A server that records when a request arrived."""

    def __init__(self) -> None:
        self.came: asyncio.Queue[float] = asyncio.Queue()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.came.put_nowait(time.perf_counter())
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def start(folder: Path, port: int) -> ControllerHost:
    store = SqliteStore(folder / "store.db")
    sending = Sending(targets=Targets(allow_local=True))
    built = await build(Profile(), store, SystemClock(), UTC, sending=sending)
    controller = built.controller
    url = f"127.0.0.1:{port}/in?t=%0181"
    settings = with_value(controller.engine.settings, "http.0.url", url)
    controller.engine.apply(settings, (), controller.clock.read(), Cause("bench"))
    return built


def figure(what: str, seconds: list[float], unit: str) -> Figure:
    factor = {"ms": 1e3, "us": 1e6}[unit]
    p99 = format_amount(statistics.quantiles(seconds, n=100)[98] * factor, unit)
    return Figure(what, statistics.median(seconds) * factor, unit, f"p99 {p99}")


async def measure_arrival(folder: Path, messages: int) -> Figure:
    """Measure the time of single messages: from the effect of a rule to the request received."""
    arrivals = Arrivals()
    server = await asyncio.start_server(arrivals.serve, "127.0.0.1", 0)
    built = await start(folder, server.sockets[0].getsockname()[1])
    took = []
    for _ in range(messages + 1):
        began = time.perf_counter()
        built.controller.on_notify(effect(built))
        took.append(await arrivals.came.get() - began)
        # Stay below the maximum rate of a channel.
        await asyncio.sleep(0.021)
    await built.stop()
    server.close()
    # Skip the first message, which loads the HTTP library.
    return figure("rule fired to request at the server", took[1:], "ms")


def effect(built: ControllerHost) -> Notify:
    """Return the effect that the engine produces when a rule fires."""
    machine = built.controller.engine.machine
    machine.notify("http", 1, True, "rule 1", "DS1", 31.0)
    made = machine.effects.pop()
    assert isinstance(made, Notify)
    return made


async def measure_taking(folder: Path, messages: int) -> list[Figure]:
    """Measure the cost of accepting a message, and the delay of a timer, without a recipient."""
    built = await start(folder, 9)
    late: list[float] = []
    stop = asyncio.Event()

    async def watch() -> None:
        while not stop.is_set():
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append(time.perf_counter() - began - 0.001)

    watching = asyncio.create_task(watch())
    took = []
    for number in range(messages):
        began = time.perf_counter()
        built.controller.on_notify(effect(built))
        took.append(time.perf_counter() - began)
        # A thousand messages per second.
        if number % 5 == 4:
            await asyncio.sleep(0.005)
    stop.set()
    await watching
    await built.stop()
    lag = "longest lag of the loop, 1,000 messages taken in a second"
    return [figure("taking a message", took, "us"), Figure(lag, max(late) * 1e3, "ms")]


def measure(quick: bool) -> list[Figure]:
    return asyncio.run(_measure(100 if quick else 1000))


async def _measure(messages: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        arrival = await measure_arrival(Path(one), min(messages, 200))
        progress()
        return [arrival, *await measure_taking(Path(other), messages)]
