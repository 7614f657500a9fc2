"""Doors of several nodes in one process, with directories that a test fills by hand."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from leverframe.fleet.cluster.directory import Directory, Place
from leverframe.fleet.cluster.inner_port import FleetDoor
from leverframe.fleet.door import Door
from leverframe.fleet.entrance import Entrance
from leverframe.server.http.limits import MIB, HttpLimits, ends_with_client
from leverframe.server.http.messages import CONTINUE, Answer, Reply, Request, StreamReply
from tests.patience import PATIENCE_S

HOME = "127.0.0.1"
KEY = b"the key of the fleet in these tests"
LIMITS = HttpLimits(body_limit=lambda *_: 32 * MIB)


class Standing:
    """Stands behind a door in place of a controller, and records its requests."""

    def __init__(self, name: str, node: str) -> None:
        self.name = name
        self.node = node
        self.requests: list[Request] = []
        #: Requests to /wait are answered when it is set.
        self.may_answer = asyncio.Event()
        #: What /stream sends.
        self.sent = 0
        self.stream_ended = asyncio.Event()
        #: Set when /work was cancelled, which ends with its client.
        self.work_ended = asyncio.Event()
        self.entrance = Entrance(name, self.answer, lambda request: CONTINUE)

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        if request.path == "/wait":
            return self._later()
        if request.path == "/work":
            return self._work()
        if request.path == "/stream":
            return StreamReply(200, "text/plain", self._chunks())
        if request.path == "/large":
            return Reply(200, "text/plain", b"x" * 8 * MIB)
        size = f" {len(request.body)}" if request.body else ""
        return Reply(200, "text/plain", f"{self.name} at {self.node}{size}".encode())

    async def _later(self) -> Reply:
        await self.may_answer.wait()
        return Reply(200, "text/plain", b"late")

    async def _work(self) -> Reply:
        try:
            with ends_with_client():
                await self.may_answer.wait()
        except asyncio.CancelledError:
            self.work_ended.set()
            raise
        return Reply(200, "text/plain", b"late")

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            while True:
                self.sent += 1
                yield b"piece" * 2000
                await asyncio.sleep(0)
        finally:
            self.stream_ended.set()


class JoinedNode:
    place: Place

    def __init__(self, name: str, key: bytes, hold_s: float) -> None:
        self.name = name
        self.door = Door(LIMITS, ("fleet.example",))
        self.directory = Directory(name)
        self.fleet_door = FleetDoor(self.door, self.directory, key, hold_s)

    @property
    def port(self) -> int:
        return self.door.port

    async def start(self) -> None:
        await self.fleet_door.inner.listen(HOME, 0)
        self.place = Place(self.name, HOME, self.fleet_door.inner.port)
        await self.door.listen(HOME, 0)

    async def stop(self, grace_s: float = 1.0) -> None:
        await self.fleet_door.inner.close()
        await self.door.stop(grace_s)


class JoinedNodes:
    def __init__(self, names: str, key: bytes = KEY, hold_s: float = 5.0) -> None:
        self.nodes = {name: JoinedNode(name, key, hold_s) for name in names}
        self.owners: dict[str, str | None] = {}
        self.standing: dict[str, Standing] = {}

    def __getitem__(self, name: str) -> JoinedNode:
        return self.nodes[name]

    def publish(self, *nodes: str) -> None:
        """Update the directories of these nodes, or of all."""
        places = {name: node.place for name, node in self.nodes.items()}
        for name in nodes or self.nodes:
            self.nodes[name].directory.replace(self.owners, places)

    async def put(self, name: str, node: str, *publish_to: str) -> Standing:
        """Start a controller at a node, and publish that to these nodes, or all."""
        self.standing[name] = standing = Standing(name, node)
        await self.nodes[node].door.open(standing.entrance, None, None)
        self.owners[name] = node
        self.publish(*publish_to)
        return standing

    async def take(self, name: str, *publish_to: str) -> None:
        """Stop a controller where it is."""
        standing = self.standing.pop(name)
        await self.nodes[standing.node].door.close(standing.entrance)
        self.owners[name] = None
        self.publish(*publish_to)


@asynccontextmanager
async def join_nodes(names: str = "ab", hold_s: float = 5.0) -> AsyncIterator[JoinedNodes]:
    nodes = JoinedNodes(names, hold_s=hold_s)
    for node in nodes.nodes.values():
        await node.start()
    nodes.publish()
    try:
        yield nodes
    finally:
        for node in nodes.nodes.values():
            await node.stop()


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition that has no event."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.001)
