"""A node on the running event loop; requests go to the function that serves its API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import msgspec

from leverframe.core.runtime.clock import SystemClock, VirtualClock
from leverframe.core.runtime.event_loop import bulk_turns, close_all
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.node_web import NodeWeb
from leverframe.fleet.serve import node_of
from leverframe.host.configuration import NodeConfig
from leverframe.server.http.messages import Reply, Request, StreamReply
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.lanes.lane import Lane, MemoryLane


class LoopNode:
    def __init__(self, web: NodeWeb) -> None:
        self.web = web
        self.node: FleetNode = web.node

    async def ask(
        self, target: str, body: bytes = b"", method: str = "POST", **headers: str
    ) -> Reply:
        path, mark, query = target.partition("?")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(method, path, query if mark else None, named, body, "127.0.0.1")
        answer: Any = self.web.handle(request)
        reply: Reply = answer if isinstance(answer, Reply | StreamReply) else await answer
        return reply

    async def get(self, what: str, **options: object) -> Any:
        return await self._json("GET", what, options, b"")

    async def post(self, what: str, body: bytes = b"", /, **options: object) -> Any:
        return await self._json("POST", what, options, body)

    async def _json(self, method: str, what: str, options: dict[str, object], body: bytes) -> Any:
        reply = await self.ask(_target(what, options), body, method)
        assert reply.status == 200, reply.body
        return msgspec.json.decode(reply.body)

    async def expect_refusal(
        self, status: int, what: str, body: bytes = b"", /, **options: object
    ) -> str:
        """Return the message of a refusal with this status."""
        reply = await self.ask(_target(what, options), body)
        assert reply.status == status, reply.body
        detail: str = msgspec.json.decode(reply.body)["detail"]
        return detail

    def member(self, name: str) -> Member:
        return self.node.members[name]


def _target(what: str, options: dict[str, object]) -> str:
    items = (f"{name.rstrip('_')}={quote(str(value), safe='')}" for name, value in options.items())
    return f"/api/fleet/{what}".rstrip("/") + "?" + "&".join(items)


@asynccontextmanager
async def loop_node(
    lane: Lane | None = None,
    *,
    real_time: bool = False,
    history: SharedHistory | None = None,
    **keys: Any,
) -> AsyncIterator[LoopNode]:
    clock = SystemClock() if real_time else VirtualClock()
    web = await node_of(NodeConfig(**keys), lane or MemoryLane(), clock, history=history)
    try:
        yield LoopNode(web)
    finally:
        await close_all([web.time.freeze, web.node.door.stop, web.jobs.close, web.node.close])


async def give_way_at_each_part() -> None:
    """Let long work of this loop give way at every part, also if a slice is open."""
    turns = bulk_turns()
    turns.slice_s = 0.0
    await turns.wait()
