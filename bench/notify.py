"""Messages: from a rule that fires to the broker, and many state changes without delaying the loop.

A controller with store and history on disk sends to a real Mosquitto on loopback. `mosquitto_sub`,
in a process of its own, records when messages arrive, by the same clock. The broker stores nothing
on disk and sends small packets immediately (`set_tcp_nodelay true`); with its default settings it
would add about 40 ms.
"""

import asyncio
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from bench.figure import Figure, Reference, format_amount, need, progress
from leverframe.core.engine.journal import Cause
from leverframe.core.labels import MAPPED
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.host.assembly import build
from leverframe.host.controller import Controller
from leverframe.host.services import Sending
from leverframe.interface.table.command_text import calls_in
from leverframe.interface.table.lookup import UNRESTRICTED
from leverframe.server.home_assistant import GATHER_S
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.worker import ThreadHistoryWorker
from leverframe.storage.sqlite import SqliteStore
from tests.notify.broker import PASSWORD, USER, Broker, until

PREFIX = "bench"
LABELS = MAPPED[:20]
CHANGES_PER_S = 1000
#: Twenty labels change together, fifty times per second.
ROUND_S = len(LABELS) / CHANGES_PER_S
#: A late round is made up for, but not immediately: a value that changes again before it is sent is
#: sent only once, which is correct.
MIN_PAUSE_S = 2 * GATHER_S
LAG_GOAL_MS = 20.0


class Arrivals:
    """The arrival times of messages in seconds since 1970, and their contents, by topic.

    The subscriber writes to a file, which is read only on request, so that the measured event loop
    has no additional work.
    """

    def __init__(self, broker: Broker, folder: Path) -> None:
        self._broker = broker
        self._path = folder / "arrivals"
        self._file = self._path.open("w+b")
        self._messages: dict[str, list[tuple[float, str]]] = {}
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        options = ["-q", "1", "-t", f"{PREFIX}/#", "-F", "%U %t %p"]
        with self._path.open("ab") as written:
            self._process = await asyncio.create_subprocess_exec(
                *self._broker.client("mosquitto_sub", *options), stdout=written
            )
        while "ready" not in self.messages:
            await self._broker.publish(f"{PREFIX}/ready", "yes")

    @property
    def messages(self) -> dict[str, list[tuple[float, str]]]:
        while (line := self._file.readline()).endswith(b"\n"):
            at, topic, text = line.decode().rstrip("\n").split(" ", 2)
            name = topic.removeprefix(f"{PREFIX}/")
            self._messages.setdefault(name, []).append((float(at), text))
        # An incomplete line is read again later.
        self._file.seek(-len(line), os.SEEK_CUR)
        return self._messages

    async def stop(self) -> None:
        assert self._process is not None
        # SIGTERM can make it hang: see Listener.stop of the tests.
        self._process.kill()
        await self._process.wait()
        self._file.close()


@dataclass
class Lag:
    """The delay of the event loop, measured every millisecond, and its own share of the delay.

    Other work on the machine delays every program; the loop's own processor time between two
    measurements does not depend on it.
    """

    longest_ms: float = 0.0
    longest_own_ms: float = 0.0

    async def watch(self) -> None:
        now = asyncio.get_running_loop().time
        while True:
            planned, worked_s = now() + 0.001, time.thread_time()
            await asyncio.sleep(0.001)
            self.longest_ms = max(self.longest_ms, (now() - planned) * 1000)
            own_ms = (time.thread_time() - worked_s) * 1000
            self.longest_own_ms = max(self.longest_own_ms, own_ms)


async def perform(controller: Controller, text: str) -> None:
    calls = [(call, None) for call in calls_in(text, controller.profile)]
    await controller.perform(calls, Cause("command", "bench"), account=UNRESTRICTED)


@asynccontextmanager
async def connect() -> AsyncIterator[tuple[Controller, Arrivals]]:
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder), durable=False)
        await broker.start()
        arrivals = Arrivals(broker, Path(folder))
        await arrivals.start()
        store = SqliteStore(Path(folder) / "store.sqlite")
        built = await build(
            Profile(),
            store,
            SystemClock(),
            UTC,
            sending=Sending(capture=False),
            history=ThreadHistoryWorker(Path(folder) / "history.sqlite", Bounds()),
        )
        await perform(
            built.controller, f"mqtt=1*127.0.0.1*{broker.port}*{USER}*{PASSWORD}*{PREFIX}*0"
        )
        await until(lambda: "m30" in arrivals.messages)
        # The program does the same after its start.
        gc.freeze()
        try:
            yield built.controller, arrivals
        finally:
            gc.unfreeze()
            await built.stop()
            await arrivals.stop()
            await broker.kill()


async def measure_rules(controller: Controller, arrivals: Arrivals, count: int) -> list[Figure]:
    await perform(controller, "event=0*104*0*1*0*0*41*0*0*0*0*0*1*0*0*0&eventon=0*1")
    for number in range(count):
        await perform(controller, f"vout0={(number + 1) % 2}")
        await asyncio.sleep(0.01)
    await until(lambda: len(arrivals.messages.get("notify", [])) >= count)
    took_ms = sorted(
        (at - json.loads(text)["time"]) * 1000 for at, text in arrivals.messages["notify"]
    )
    p50, p99 = statistics.median(took_ms), took_ms[int(len(took_ms) * 0.99) - 1]
    fired, p99_text = "rule fired to message at the subscriber", f"p99 {format_amount(p99, 'ms')}"
    arrived = len(took_ms)
    return [
        Figure(fired, p50, "ms", p99_text),
        Figure(
            "those messages that arrived",
            arrived,
            f"of {count:,}",
            goal="all",
            met=arrived == count,
        ),
    ]


async def measure_states(
    controller: Controller, arrivals: Arrivals, seconds: float
) -> list[Figure]:
    def count_arrivals() -> int:
        messages = arrivals.messages
        return sum(len(messages.get(label, [])) for label in LABELS)

    before = count_arrivals()
    idle, lag = Lag(), Lag()
    watching = asyncio.create_task(idle.watch())
    await asyncio.sleep(seconds)
    watching.cancel()
    watching = asyncio.create_task(lag.watch())
    loop = asyncio.get_running_loop()
    begin = loop.time()
    rounds = int(seconds / ROUND_S)
    for number in range(rounds):
        controller.sense({label: float(number) for label in LABELS})
        await asyncio.sleep(max(MIN_PAUSE_S, begin + (number + 1) * ROUND_S - loop.time()))
    took_s = loop.time() - begin
    watching.cancel()
    wanted = rounds * len(LABELS)
    await until(lambda: arrivals.messages[LABELS[-1]][-1][1] == f"{rounds - 1}.0")
    came = count_arrivals() - before
    in_time = lag.longest_ms <= LAG_GOAL_MS
    return [
        Figure("state changes per second", wanted / took_s),
        Figure(
            "those state changes that arrived",
            came,
            f"of {wanted:,}",
            goal="all",
            met=came == wanted,
        ),
        Figure(
            f"longest lag of the loop, {CHANGES_PER_S:,} state changes a second",
            lag.longest_ms,
            "ms",
            f"{format_amount(lag.longest_own_ms, 'ms')} of own work",
            Reference("with nothing to do", idle.longest_ms, "ms"),
            f"<= {LAG_GOAL_MS:g} ms",
            in_time,
        ),
    ]


def measure(quick: bool) -> list[Figure]:
    need("mosquitto", "mosquitto_sub")
    return asyncio.run(_measure(100 if quick else 1000, 2.0 if quick else 10.0))


async def _measure(messages: int, seconds: float) -> list[Figure]:
    async with connect() as (controller, arrivals):
        rules = await measure_rules(controller, arrivals, messages)
        progress()
        return rules + await measure_states(controller, arrivals, seconds)
