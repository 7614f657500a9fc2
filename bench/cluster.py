"""Nodes on a shared PostgreSQL: durable changes by HTTP, full batches, two nodes, a takeover.

The database writes to disk before it answers. The node has a core of its own; the database and the
clients share the other core. Each client has a connection to its own controller, and sets the name
of an output to a new number each time. Processor times are those of the node's process and of all
processes of the database.
"""

import asyncio
import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.figure import Figure, Reference, Skipped, format_amount, need, progress
from bench.serving import HOST, PATIENCE_S, Served, fetch, printing_its_address, ran_ns
from leverframe.fleet.cluster import membership
from leverframe.storage.lanes.postgres_connection import connect
from leverframe.storage.lanes.postgres_lane import PostgresLane
from leverframe.storage.store import Changes
from tests.postgres_server import PostgresServer, is_installed, postgres_server

GOAL_PER_SECOND, GOAL_TIMES = 3_500, 20.0
CLIENTS = 128
BATCH = 256
MANY = 10_000
#: Clients that query the controllers of a node that was killed.
ASKING = 32
#: A request of a client; each client has its own controller.
_REQUEST = "GET /stm.cgi?oname={output}n{number} HTTP/1.1\r\nHost: {name}.localhost\r\n\r\n"


def measure(quick: bool) -> list[Figure]:
    need("taskset")
    if not is_installed():
        raise Skipped("PostgreSQL is not installed")
    with postgres_server(is_durable=True) as server, tempfile.TemporaryDirectory() as folder:
        return [
            *_over_http(server, Path(folder), 1 if quick else 5),
            asyncio.run(_batches(server, Path(folder), 1 if quick else 7)),
            *_many(server, Path(folder), MANY // (100 if quick else 1)),
        ]


#: Running nodes by their names.
Nodes = Mapping[str, Served]


class Changed(NamedTuple):
    """The result of one round of all clients."""

    per_second: float
    p50_ms: float
    p99_ms: float
    node_us: float
    database_us: float


class Database:
    """The processor time of a database server whose sessions come and go."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    def ran_ns(self) -> int:
        return sum(map(_ran_ns_or_none, self._server.processes()))


def _ran_ns_or_none(pid: int) -> int:
    try:
        return ran_ns(pid)
    except FileNotFoundError:
        return 0


# --- changes over HTTP --------------------------------------------------------------------------


def _over_http(server: PostgresServer, folder: Path, rounds: int) -> list[Figure]:
    """Compare one node and two nodes on the database with one on a file, in alternation."""
    database = Database(server)
    with ExitStack() as stack:
        one = {"one": stack.enter_context(_node("one", folder, server.new_fleet()))}
        shared = server.new_fleet()
        two = {"a": stack.enter_context(_node("a", folder, shared))}
        _share_key(folder, "a", "b")
        two["b"] = stack.enter_context(_node("b", folder, shared))
        of_file = {"file": stack.enter_context(_node("file", folder))}
        fleets = (one, two, of_file)
        for nodes in fleets:
            _add(next(iter(nodes.values())), CLIENTS)
        _wait_until(lambda: all(_count_owned(node) == CLIENTS // 2 for node in two.values()))
        results: tuple[list[Changed], ...] = ([], [], [])
        for _ in range(rounds):
            for nodes, found in zip(fleets, results, strict=True):
                found.append(asyncio.run(_change(nodes, database, 2.0)))
                progress()
    single, double, filed = results
    per_second = _median(single, "per_second")
    filed_us = format_amount(_median(filed, "node_us"), "us")
    node_us, database_us = _median(single, "node_us"), _median(single, "database_us")
    return [
        Figure(
            f"durable changes by {CLIENTS} controllers on a node",
            per_second,
            "/s",
            _describe(single),
            Reference("on a file", _median(filed, "per_second"), "/s", more=filed_us),
            f"over {GOAL_PER_SECOND:,}/s",
            per_second > GOAL_PER_SECOND,
            {
                "/s": [one.per_second for one in single],
                "on a file /s": [one.per_second for one in filed],
            },
        ),
        Figure(
            "the same on two nodes that share a core",
            _median(double, "per_second"),
            "/s",
            _describe(double),
            Reference(
                "one node in all",
                node_us + database_us,
                "us",
                more="by these times a core of the database feeds"
                f" {format_amount(node_us / database_us, 'of nodes')}",
            ),
            rounds={"/s": [one.per_second for one in double]},
        ),
        _with_a_core_each(single, double),
    ]


def _with_a_core_each(single: Sequence[Changed], double: Sequence[Changed]) -> Figure:
    """Calculate the rate of two nodes with a core each, which this two-core machine cannot show."""
    alone_us, each_us = _median(single, "node_us"), _median(double, "node_us")
    by_nodes, by_database = 2e6 / each_us, 1e6 / _median(double, "database_us")
    return Figure(
        "two nodes with a core each and one of the database, by calculation",
        min(by_nodes, by_database),
        "/s",
        format_amount(alone_us / each_us, "of twice one node"),
        Reference("the database carries", by_database, "/s"),
    )


def _describe(rounds: Sequence[Changed]) -> str:
    parts = {"p50": "ms", "p99": "ms", "node": "us", "database": "us"}
    return ", ".join(
        f"{name} {format_amount(_median(rounds, f'{name}_{unit}'), unit)}"
        for name, unit in parts.items()
    )


def _median(rounds: Sequence[Changed], name: str) -> float:
    return statistics.median(getattr(one, name) for one in rounds)


async def _change(nodes: Nodes, database: Database, seconds: float) -> Changed:
    """Have every client change its controller at the owner, as fast as the owner answers."""
    waited: list[float] = []
    clients = _places(nodes).items()
    before = sum(ran_ns(node.pid) for node in nodes.values()), database.ran_ns()
    end = time.perf_counter() + seconds
    await asyncio.gather(*(_client(node, name, end, waited) for name, node in clients))
    after = sum(ran_ns(node.pid) for node in nodes.values()), database.ran_ns()
    waited.sort()
    node_us, database_us = (
        (late - early) / 1000 / len(waited) for early, late in zip(before, after, strict=True)
    )
    return Changed(
        len(waited) / seconds,
        waited[len(waited) // 2] * 1000,
        waited[len(waited) * 99 // 100] * 1000,
        node_us,
        database_us,
    )


async def _client(node: Served, name: str, end: float, waited: list[float]) -> None:
    reader, writer = await asyncio.open_connection(HOST, _port(node))
    # Start with a number that no earlier round has used.
    number = time.monotonic_ns() % 10**9
    while (began := time.perf_counter()) < end:
        number += 1
        writer.write(_REQUEST.format(output=number % 6, number=number, name=name).encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        body = await reader.readexactly(length)
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{name} refused a change: {body.decode()}")
        waited.append(time.perf_counter() - began)
    writer.close()


# --- batches ------------------------------------------------------------------------------------


async def _batches(server: PostgresServer, folder: Path, rounds: int) -> Figure:
    """Compare full batches of a lane with a transaction for each change."""
    address = server.new_fleet()
    with connect(address) as connection:
        claim = membership.register(connection, "lane", "", 1)
    lane = PostgresLane(address, claim, folder / "lane.key")
    together, alone = [], []
    for number in range(rounds):
        together.append(await _write(lane, number, BATCH * 20, together=BATCH))
        alone.append(await _write(lane, number, BATCH, together=1))
        progress()
    await lane.close()
    times = statistics.median(ours / one for ours, one in zip(together, alone, strict=True))
    return Figure(
        f"changes in batches of {BATCH}",
        statistics.median(together),
        "/s",
        reference=Reference("a transaction each", statistics.median(alone), "/s", times),
        goal=f"over {GOAL_TIMES:g} times",
        met=times > GOAL_TIMES,
        rounds={"/s": together, "a transaction each /s": alone},
    )


async def _write(lane: PostgresLane, round_number: int, count: int, *, together: int) -> float:
    """Return the changes per second if `together` changes wait for the disk at the same time."""
    stores = [lane.store(number) for number in range(1, together + 1)]
    began = time.perf_counter()
    for number in range(count // together):
        changes = Changes({"outputs.0.name": f"n{round_number}-{number}"})
        await asyncio.gather(*(store.commit(changes) for store in stores))
    return count / (time.perf_counter() - began)


# --- many controllers ---------------------------------------------------------------------------


def _many(server: PostgresServer, folder: Path, count: int) -> list[Figure]:
    """Start many controllers on two nodes, then kill one of them."""
    database = server.new_fleet()
    with _node("first", folder, database) as node:
        _add(node, count)
    progress()
    with ExitStack() as stack:
        began = time.perf_counter()
        _share_key(folder, "first", "second")
        nodes = [stack.enter_context(_node(name, folder, database)) for name in ("first", "second")]
        _wait_until(lambda: sum(map(_count_owned, nodes)) == count)
        started_s = time.perf_counter() - began
        progress()
        _wait_until(lambda: all(abs(_count_owned(node) - count / 2) <= 1 for node in nodes))
        sizes = [_resident_mb(node.pid) for node in nodes]
        survivor, killed = nodes
        names = [name for name, node in _owners(survivor).items() if node == "second"]
        subprocess.run(["kill", f"-{signal.SIGKILL:d}", str(killed.pid)], check=True)
        taken_s, answer_s = asyncio.run(_measure_take_over(survivor, count, names))
        progress()
        size = _resident_mb(survivor.pid)
    return [
        Figure(
            f"{count:,} controllers on two nodes",
            started_s,
            "s",
            "cold start",
            Reference("each node", statistics.mean(sizes), "MB"),
        ),
        Figure(
            f"the other node has all {count:,} after a kill",
            taken_s,
            "s",
            reference=Reference("it then has", size, "MB"),
        ),
        Figure(
            "all controllers of the killed node answer there",
            answer_s,
            "s",
            f"after the kill, {len(names):,} controllers",
            Reference(f"asked by {ASKING} clients from the kill on"),
        ),
    ]


async def _measure_take_over(node: Served, count: int, names: Sequence[str]) -> tuple[float, float]:
    """Return when a node owns all controllers, and when all that it took over have answered."""
    began = time.perf_counter()
    asking = asyncio.gather(*(_wait_for_answers(node, names[one::ASKING]) for one in range(ASKING)))
    await asyncio.to_thread(_wait_until, lambda: _count_owned(node) == count)
    taken_s = time.perf_counter() - began
    return taken_s, max(await asking, default=began) - began


async def _wait_for_answers(node: Served, names: Sequence[str]) -> float:
    """Query the controllers in turn, each until it answers; return when the last one answered."""
    async with asyncio.timeout(10 * PATIENCE_S):
        for name in names:
            while not await _answers(node, name):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    return time.perf_counter()


async def _answers(node: Served, name: str) -> bool:
    """Query the states of a controller; a node that does not own it yet delays the answer."""
    reader, writer = await asyncio.open_connection(HOST, _port(node))
    head = f"GET /outs.cgi HTTP/1.1\r\nHost: {name}.localhost\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())
    try:
        return (await reader.read()).startswith(b"HTTP/1.1 200")
    except OSError:
        return False
    finally:
        writer.close()


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return float(status.partition("VmRSS:")[2].split()[0]) / 1024


# --- nodes --------------------------------------------------------------------------------------


@contextmanager
def _node(name: str, folder: Path, database: str | None = None) -> Iterator[Served]:
    command = [sys.executable, "-m", "leverframe", "fleet", "run", "--port", "0"]
    command += ["--data", str(folder / name), "--no-discovery"]
    if database is not None:
        command += ["--database", database, "--node", name]
    with printing_its_address(command) as node:
        yield node


def _share_key(folder: Path, first: str, second: str) -> None:
    (folder / second).mkdir(exist_ok=True)
    shutil.copy(folder / first / "fleet.key", folder / second)


def _add(node: Served, count: int) -> None:
    fetch(node.address, f"/api/fleet/add?count={count}&name=c-%7Bn%7D", b"")


def _count_owned(node: Served) -> int:
    """Return the number of controllers that a node reports as its own."""
    nodes: list[dict[str, Any]] = json.loads(fetch(node.address, "/api/fleet/nodes"))["nodes"]
    return int(next(one["controllers"] for one in nodes if one["is_this"]))


def _places(nodes: Nodes) -> dict[str, Served]:
    """Return the owner of each controller, by the name of the controller."""
    if len(nodes) == 1:
        (only,) = nodes.values()
        return {f"c-{number}": only for number in range(1, CLIENTS + 1)}
    owners = _owners(next(iter(nodes.values())))
    return {name: nodes[owner] for name, owner in owners.items()}


def _owners(node: Served) -> dict[str, str]:
    """Return the owners of controllers as a node reports them."""
    owners: dict[str, str] = json.loads(fetch(node.address, "/api/fleet/owners"))
    return owners


def _port(node: Served) -> int:
    return int(node.address.rpartition(":")[2])


def _wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 10 * PATIENCE_S
    while time.monotonic() < until:
        if is_so():
            return
        time.sleep(0.05)
    raise SystemExit("the nodes did not come to an agreement in time")
