"""Nodes as processes on one database, and the doors that clients find open."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from math import inf
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet

import psycopg
from msgspec import Struct
from psycopg.conninfo import make_conninfo

from tests.ports import free_port

START_S = 60.0
STOP_S = 30.0


class Hang(Struct):
    """A time in which a node did nothing, by the clock of the machine."""

    since: float
    until: float = inf


class NodeProcess:
    """A node through all its lives, at the same port."""

    def __init__(self, name: str, database: str, folder: Path, shorten: float) -> None:
        self.name = name
        self.port = free_port()
        self.data = folder / name
        self.log = folder / f"{name}.log"
        #: Whether clients should use it: not if it was killed or frozen.
        self.is_open = False
        self.hangs: list[Hang] = []
        config = folder / f"{name}.toml"
        config.write_text(
            f"port = {self.port}\ndata = {json.dumps(str(self.data))}\ndiscovery = false\n"
            f"allow_local_targets = true\n[cluster]\ndatabase = {json.dumps(database)}\n"
            f'node = "{name}"\n'
        )
        program = ["-m", "tests.fleet.faults.quick_node", str(shorten)]
        self._command = [sys.executable, *program, "fleet", "run", "--config", str(config)]
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, "--json", stdout=subprocess.PIPE, stderr=log
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(START_S):
            line = await self._process.stdout.readline()
        if b'"ready"' not in line:
            raise AssertionError(f"{self.name} failed to start: {line!r} {self.last_words()}")
        self.is_open = True

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    async def kill(self) -> None:
        self.is_open = False
        if self._process is not None and self.runs:
            self._process.kill()
            await self._process.wait()

    async def stop(self) -> int:
        """Stop it in order; return its exit status."""
        self.is_open = False
        assert self._process is not None
        self._process.terminate()
        async with asyncio.timeout(STOP_S):
            return await self._process.wait()

    def freeze(self) -> None:
        self.is_open = False
        self.hangs.append(Hang(time.time()))
        self._signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it continue, and open its door to clients."""
        self.hangs[-1].until = time.time()
        self._signal(signal.SIGCONT)
        self.is_open = True

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)


class LeavingClient(Protocol):
    def leave(self, port: int) -> None:
        """Close the connection to that door."""


class FaultedFleet:
    """All nodes, and what the database says about them."""

    def __init__(self, database: str, folder: Path, shorten: float) -> None:
        self.database = database
        self.shorten = shorten
        self.nodes: dict[str, NodeProcess] = {}
        self._folder = folder
        #: Those that leave a door that has closed.
        self.clients: WeakSet[LeavingClient] = WeakSet()

    async def add_node(self, name: str, database: str | None = None) -> NodeProcess:
        node = NodeProcess(name, database or self.database, self._folder, self.shorten)
        others = list(self.nodes.values())
        if others:
            # The key is copied by hand before a node starts.
            node.data.mkdir()
            shutil.copy(others[0].data / "fleet.key", node.data)
        self.nodes[name] = node
        await node.start()
        return node

    def doors(self) -> list[int]:
        return [node.port for node in self.nodes.values() if node.is_open]

    def close_door(self, node: NodeProcess) -> None:
        """Let clients leave a node, as a balancer in front that watches it would."""
        node.is_open = False
        for client in tuple(self.clients):
            client.leave(node.port)

    def ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask the database itself, past the nodes."""
        address = make_conninfo(self.database, connect_timeout=5)
        with psycopg.connect(address, autocommit=True) as connection:
            done = connection.execute(query.encode(), values or None)
            return [] if done.description is None else done.fetchall()

    def owners(self) -> dict[str, str | None]:
        return dict(self.ask("SELECT name, node FROM controller"))

    def is_shared_out(self) -> bool:
        """Has every node its part, and no node more than one controller above another?"""
        owners = list(self.owners().values())
        counts = [owners.count(name) for name, node in self.nodes.items() if node.runs]
        return None not in owners and max(counts) - min(counts) <= 1

    async def close(self) -> None:
        for node in self.nodes.values():
            await node.kill()
