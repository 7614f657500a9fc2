"""Long work of one controller: in a process of its own, and no other controller waits for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from os import getpid
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.bounded_work import WorkPlaces
from leverframe.core.settings import Rule
from leverframe.interface.table.rules import event_query
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.shared import SharedHistory
from tests.fleet.http_client import Streams, ask, ask_once, connection_to
from tests.fleet.loop_node import LoopNode, loop_node
from tests.patience import PATIENCE_S
from tests.stopwatch import within

HOME = "127.0.0.1"
ROOM = "room*heater:OUT0*reading:DS1*outside:5*power:40*time_constant:10m*start:25"
WHAT_IF = "/api/what-if?for=7d"
#: What it may cost the node that a controller computes at its limits.
MOST_MORE_BYTES = 30 * 1024 * 1024


def oscillating(count: int = 20) -> bytes:
    """Return commands that make as many rules switch every second."""
    lines = []
    for number in range(count):
        label = f"OUT{number % 6}"
        rule = Rule(source=label, compare="=", reference=0, action=label, value=1, on_delay=1)
        lines.append(f"/inpa.cgi?{event_query(number, rule, Profile())}&eventon={number}*1")
    return "\n".join(lines).encode()


def work_processes() -> set[int]:
    """Find the processes that this one has started for long work."""
    found = set()
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            found |= set(map(int, (thread / "children").read_text().split()))
    return {process for process in found if b"bounded_child" in _command(process)}


def _command(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def memory_bytes() -> int:
    return int(Path(f"/proc/{getpid()}/statm").read_text().split()[1]) * 4096


async def until_work_runs(*, runs: bool = True) -> set[int]:
    async with asyncio.timeout(PATIENCE_S):
        while bool(found := work_processes()) is not runs:  # noqa: ASYNC110 - seen in /proc only
            await asyncio.sleep(0.01)
    return found


@asynccontextmanager
async def busy_node() -> AsyncIterator[tuple[LoopNode, int]]:
    """Give a node with two controllers, and the port at which it answers."""
    async with loop_node(history=SharedHistory(None, Bounds()), real_time=True) as node:
        await node.node.door.listen(HOME, 0)
        port = node.node.door.port
        await node.post("add", name="gh-{n}", count=2)
        plant = await ask_once(HOME, port, f"/sim.cgi?plant={ROOM}", "gh-1.localhost")
        assert plant.status == 200
        yield node, port


def send_what_if(client: Streams) -> None:
    body = oscillating()
    head = f"POST {WHAT_IF} HTTP/1.1\r\nHost: gh-1.localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    client[1].write(head.encode() + body)


async def test_largest_what_if_delays_no_controller_and_needs_no_memory() -> None:
    async with busy_node() as (_, port):
        async with connection_to(HOME, port) as busy, connection_to(HOME, port) as other:
            before = memory_bytes()
            send_what_if(busy)
            (process,) = await until_work_runs()
            for _ in range(20):
                with within(1.0):
                    history = await ask(other, "/api/history?labels=OUT0", "gh-2.localhost")
                    switched = await ask(other, "/outs.cgi?out0=1", "gh-2.localhost")
                assert (history.status, switched.status) == (200, 200)
            assert work_processes() == {process}
            assert memory_bytes() - before < MOST_MORE_BYTES
        # Both clients have left, and with its client the work ends.
        await until_work_runs(runs=False)


async def test_second_what_if_of_a_controller_waits_or_is_refused_with_a_time() -> None:
    async with busy_node() as (node, port):
        places = node.node.services.places
        places.wait_s = 0.05
        async with connection_to(HOME, port) as busy, connection_to(HOME, port) as second:
            send_what_if(busy)
            await until_work_runs()
            body = oscillating(1)
            refused = await ask(second, WHAT_IF, "gh-1.localhost", "POST", body)
            assert refused.status == 503
            assert "Retry-After: 10" in refused.head
            assert "for other long tasks" in refused.body
            places.wait_s = PATIENCE_S
            other = await ask(second, "/api/what-if?for=1m", "gh-2.localhost", "POST", body)
            assert other.status == 200
        await until_work_runs(runs=False)


async def test_places_of_controllers_count_for_their_present_tenant() -> None:
    async with busy_node() as (node, port):
        await node.post("tenant/add", tenant="acme", open=True)
        await node.post("tenant/give", name="gh-1", tenant="acme")
        async with connection_to(HOME, port) as busy:
            send_what_if(busy)
            await until_work_runs()
            assert list(node.node.services.places.running.values()) == ["acme"]
        await until_work_runs(runs=False)


@pytest.mark.parametrize("path", ["/api/fleet/export", "/api/fleet/list"])
async def test_reading_of_many_controllers_is_answered(path: str) -> None:
    async with busy_node() as (_, port):
        assert (await ask_once(HOME, port, path, "localhost")).status == 200


async def test_tenant_runs_one_export_at_a_time() -> None:
    async with busy_node() as (node, port):
        streams: WorkPlaces = node.node.services.streams
        streams.wait_s = 0.01
        async with streams.place(("export", None)):
            refused = await ask_once(HOME, port, "/api/fleet/export", "localhost")
        assert refused.status == 503
        assert (await ask_once(HOME, port, "/api/fleet/export", "localhost")).status == 200
