"""A whole controller in the test's own process: memory store, virtual clock, no port.

`Twin.ask` sends one request through the same function that serves HTTP.
"""

from datetime import UTC, tzinfo
from typing import Any

import msgspec

from leverframe.clock import VirtualClock
from leverframe.controller import Controller
from leverframe.process.build import build
from leverframe.profile import Profile
from leverframe.servers.http.messages import Reply, Request
from leverframe.servers.routes.router import THIS_MACHINE, Reach, Web
from leverframe.storage.store import MemoryStore, Store

NEWEST = Profile()


class Twin:
    def __init__(self, controller: Controller, web: Web) -> None:
        self.controller = controller
        self.web = web

    @classmethod
    async def start(
        cls,
        profile: Profile = NEWEST,
        *,
        store: Store | None = None,
        timezone: tzinfo = UTC,
        lenient: bool = False,
        reach: Reach = THIS_MACHINE,
    ) -> "Twin":
        built = await build(
            profile, store or MemoryStore(), VirtualClock(), timezone, lenient=lenient, reach=reach
        )
        return cls(built.controller, built.web)

    async def ask(
        self,
        target: str,
        method: str = "GET",
        body: bytes = b"",
        **headers: str,
    ) -> Reply:
        path, mark, query = target.partition("?")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(method, path, query if mark else None, named, body, "127.0.0.1")
        answer = self.web.handle(request)
        return answer if isinstance(answer, Reply) else await answer

    async def ok(self, target: str, method: str = "GET", body: bytes = b"") -> Reply:
        """A request that must succeed."""
        reply = await self.ask(target, method, body)
        assert reply.status == 200, reply.body
        return reply

    async def refused(self, target: str, status: int, method: str = "GET") -> dict[str, Any]:
        """A request that must be refused with this status; gives the problem."""
        reply = await self.ask(target, method)
        assert reply.status == status, reply.body
        assert reply.content_type == "application/problem+json"
        problem: dict[str, Any] = msgspec.json.decode(reply.body)
        return problem

    async def json(self, path: str) -> Any:
        return msgspec.json.decode((await self.ok(path)).body)

    async def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = await self.json("/api/settings")
        return settings

    async def state(self) -> dict[str, Any]:
        state: dict[str, Any] = await self.json("/api/state")
        return state

    async def outputs(self) -> str:
        """The six characters of the status reply."""
        body = (await self.ok("/outs.cgi")).body.decode()
        return body.partition("<out>")[2].partition("</out>")[0]
