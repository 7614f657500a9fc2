"""Many controllers in one process: the cost of each, idle and used, and their rate of writes.

Memory and processor time are those of this process. A pause is the delay of a task on the same loop
that should run every millisecond. The durable changes use the controllers' own path, without HTTP.
"""

import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC
from pathlib import Path

from bench.figure import Figure, Reference, format_amount, progress
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import Clock, SystemClock, VirtualClock
from leverframe.host.assembly import ControllerHost, build
from leverframe.host.serve import collect_rarely
from leverframe.host.services import NodeServices
from leverframe.server.http.messages import Reply, Request
from leverframe.storage.history.worker import NullHistory
from leverframe.storage.lanes.lane import Lane, MemoryLane
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from leverframe.storage.sqlite import SqliteStore

GOAL_IDLE_KB, GOAL_USED_KB, GOAL_BUILD_S = 30.0, 200.0, 30.0
GOAL_IDLE_PERCENT, GOAL_PAUSE_MS = 2.0, 50.0
#: The goal as a share of the rate of a single store in the same run: 6,000/s at a time when a
#: single store reached 9,062/s.
GOAL_SHARE = 0.66
FEW, MANY, ADDED = 1_000, 10_000, 1_000
BATCH = 50
USES = 1_000
WRITING, CLIENTS_EACH = 100, 1
PROFILE = Profile()


def measure(quick: bool) -> list[Figure]:
    collect_rarely()
    scale = 10 if quick else 1
    figures = asyncio.run(_memory_and_building(FEW // scale, MANY // scale))
    figures.append(asyncio.run(_idle(MANY // scale, 2.0 if quick else 20.0)))
    figures.append(asyncio.run(_pause(ADDED // scale)))
    figures.append(asyncio.run(_measure_use(USES // scale)))
    figures.append(asyncio.run(_durable(1.0 if quick else 5.0, 1 if quick else 5)))
    return figures


class Node:
    """Controllers on one lane, built as a node builds them."""

    def __init__(self, lane: Lane, clock: Callable[[], Clock]) -> None:
        self.lane = lane
        self._clock = clock
        self._services = NodeServices()
        self.built: list[ControllerHost] = []

    async def add(self, count: int) -> None:
        while count > 0:
            first = len(self.built) + 1
            numbers = range(first, first + min(BATCH, count))
            stored = await self.lane.fetch(numbers)
            for number in numbers:
                self.built.append(
                    await build(
                        PROFILE,
                        self.lane.store(number),
                        self._clock(),
                        UTC,
                        history=NullHistory(),
                        node=self._services,
                        stored=stored[number],
                    )
                )
            count -= len(numbers)
            gc.freeze()
            await asyncio.sleep(0)

    async def close(self) -> None:
        for built in self.built:
            await built.stop()
        await self._services.close()
        await self.lane.close()


def _resident_kb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return float(line.split()[1])
    raise SystemExit("/proc does not say how large this process is")


async def _memory_and_building(few: int, many: int) -> list[Figure]:
    node = Node(MemoryLane(), VirtualClock)
    began = time.process_time()
    await node.add(few)
    small = _resident_kb()
    await node.add(many - few)
    took, each = time.process_time() - began, (_resident_kb() - small) / (many - few)
    scaled = took * MANY / many
    progress()
    await node.close()
    return [
        Figure(
            f"one more idle controller, {few} to {many}",
            each,
            "KB",
            reference=Reference("a process each", 26, "MB"),
            goal=f"under {GOAL_IDLE_KB:g} KB",
            met=each < GOAL_IDLE_KB,
        ),
        Figure(
            f"{MANY} built",
            scaled,
            "s",
            reference=Reference("one", took / many * 1e3, "ms"),
            goal=f"under {GOAL_BUILD_S:g} s",
            met=scaled < GOAL_BUILD_S,
        ),
    ]


async def _idle(count: int, seconds: float) -> Figure:
    node = Node(MemoryLane(), SystemClock)
    await node.add(count)
    await asyncio.sleep(seconds / 2)
    began = time.process_time()
    await asyncio.sleep(seconds)
    percent = (time.process_time() - began) / seconds * 100
    progress()
    await node.close()
    return Figure(
        f"{count} idle in real time",
        percent,
        "% of a core",
        goal=f"under {GOAL_IDLE_PERCENT:g} %",
        met=percent < GOAL_IDLE_PERCENT,
    )


async def _pause(count: int) -> Figure:
    pauses: list[float] = []

    async def listen() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            pauses.append((time.perf_counter() - began - 0.001) * 1e3)

    with tempfile.TemporaryDirectory() as folder:
        node = Node(SqliteLane(Path(folder) / "fleet.db", Path(folder) / "key"), SystemClock)
        await node.add(count)
        listening = asyncio.create_task(listen())
        await node.add(count)
        listening.cancel()
        progress()
        await node.close()
    longest = max(pauses)
    return Figure(
        f"longest pause while {count} are added to {count}",
        longest,
        "ms",
        reference=Reference("median", statistics.median(pauses), "ms"),
        goal=f"under {GOAL_PAUSE_MS:g} ms",
        met=longest < GOAL_PAUSE_MS,
    )


async def _ask(built: ControllerHost, target: str) -> None:
    path, _, query = target.partition("?")
    answer = built.web.handle(Request("GET", path, query, {}, b"", "127.0.0.1"))
    reply = answer if isinstance(answer, Reply) else await answer
    if not isinstance(reply, Reply) or reply.status != 200:
        raise SystemExit(f"{target} was refused")


async def _measure_use(uses: int) -> Figure:
    count = 20
    with tempfile.TemporaryDirectory() as folder:
        node = Node(SqliteLane(Path(folder) / "fleet.db", Path(folder) / "key"), SystemClock)
        await node.add(2 * count)
        # Use some controllers first, so that the parts that all of them share are loaded.
        await _use(node.built[:count], uses)
        before = _resident_kb()
        await _use(node.built[count:], uses)
        each = (_resident_kb() - before) / count
        progress()
        await node.close()
    return Figure(
        f"what {uses} changes and {uses} switches add to each",
        each,
        "KB",
        goal=f"under {GOAL_USED_KB:g} KB",
        met=each < GOAL_USED_KB,
    )


async def _use(controllers: Sequence[ControllerHost], uses: int) -> None:
    for number in range(uses):
        await asyncio.gather(*(_ask(built, f"/stm.cgi?oname=0n{number}") for built in controllers))
        for built in controllers:
            await _ask(built, f"/outs.cgi?out0={number % 2}")
    gc.collect()


async def _durable(seconds: float, rounds: int) -> Figure:
    """Compare, in alternation, with one controller that has its own store and as many clients."""
    with tempfile.TemporaryDirectory() as folder:
        node = Node(SqliteLane(Path(folder) / "fleet.db", Path(folder) / "key"), SystemClock)
        await node.add(WRITING)
        alone = await build(PROFILE, SqliteStore(Path(folder) / "store.db"), SystemClock(), UTC)
        rates, of_one, costs = [], [], []
        for _ in range(rounds):
            progress()
            began = time.process_time()
            done = await _changes_within(node.built, CLIENTS_EACH, seconds)
            rates.append(done / seconds)
            costs.append((time.process_time() - began) / done * 1e6)
            of_one.append(await _changes_within([alone], WRITING, seconds) / seconds)
        await alone.stop()
        await node.close()
    rate = statistics.median(rates)
    share = statistics.median(ours / one for ours, one in zip(rates, of_one, strict=True))
    return Figure(
        f"durable changes by {WRITING} controllers",
        rate,
        "/s",
        f"{format_amount(statistics.median(costs), 'us')} of a core",
        Reference("a single store", statistics.median(of_one), "/s", share),
        f"over {GOAL_SHARE:g} of a single store",
        share > GOAL_SHARE,
        {"/s": rates, "single store /s": of_one},
    )


async def _changes_within(
    controllers: Sequence[ControllerHost], clients_each: int, seconds: float
) -> int:
    done, end = 0, time.perf_counter() + seconds

    async def change(built: ControllerHost, client: int) -> None:
        nonlocal done
        number = 0
        while time.perf_counter() < end:
            number += 1
            await _ask(built, f"/stm.cgi?oname={client % 6}n{client}-{number}")
            done += 1

    clients = [change(built, client) for built in controllers for client in range(clients_each)]
    await asyncio.gather(*clients)
    return done
