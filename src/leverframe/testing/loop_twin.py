"""A twin on the running event loop, without a port, for asyncio tests that look inside.

`LoopTwin.ask` sends one request through the same function that serves HTTP; the controller, its
engine and its board can be looked at directly, because nothing runs in another thread.
"""

from datetime import UTC, tzinfo
from typing import Any, Self, cast

import msgspec

from leverframe.clock import VirtualClock
from leverframe.controller import Controller
from leverframe.process.build import NORMALLY, build
from leverframe.process.services import Sending
from leverframe.profile import Profile
from leverframe.servers.http.messages import Reply, Request, complete_answer
from leverframe.servers.routes.router import THIS_MACHINE, Reach, Web
from leverframe.storage.store import MemoryStore, Store

NEWEST = Profile()


class LoopTwin:
    """A controller on the running event loop: memory store, virtual clock, no port."""

    def __init__(self, controller: Controller, web: Web) -> None:
        self.controller = controller
        self.web = web
        self._stop = controller.stop

    @classmethod
    async def start(
        cls,
        profile: Profile = NEWEST,
        *,
        store: Store | None = None,
        timezone: tzinfo = UTC,
        lenient: bool = False,
        reach: Reach = THIS_MACHINE,
        sending: Sending = NORMALLY,
    ) -> Self:
        """Switch one on; what it remembers is in the store, if one is given."""
        built = await build(
            profile,
            store or MemoryStore(),
            VirtualClock(),
            timezone,
            lenient=lenient,
            reach=reach,
            sending=sending,
        )
        twin = cls(built.controller, built.web)
        twin._stop = built.stop
        return twin

    async def close(self) -> None:
        """Switch it off; a store that is durable has everything then."""
        await self._stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def ask(
        self,
        target: str,
        method: str = "GET",
        body: bytes = b"",
        **headers: str,
    ) -> Reply:
        """Return the reply to a request; `Content_Type="..."` is a header."""
        path, mark, query = target.partition("?")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(method, path, query if mark else None, named, body, "127.0.0.1")
        # A long reply is a StreamReply, which only its tests look at.
        return cast(Reply, await complete_answer(self.web.handle(request)))

    async def ok(self, target: str, method: str = "GET", body: bytes = b"") -> Reply:
        """Return the reply to a request that must succeed."""
        reply = await self.ask(target, method, body)
        assert reply.status == 200, reply.body
        return reply

    async def refused(self, target: str, status: int, method: str = "GET") -> dict[str, Any]:
        """Return the problem of a request that must be refused with this status."""
        reply = await self.ask(target, method)
        assert reply.status == status, reply.body
        assert reply.content_type == "application/problem+json"
        problem: dict[str, Any] = msgspec.json.decode(reply.body)
        return problem

    async def json(self, path: str) -> Any:
        """Return the decoded reply to a request that must succeed."""
        return msgspec.json.decode((await self.ok(path)).body)

    async def settings(self) -> dict[str, Any]:
        """Return every setting as a tree."""
        settings: dict[str, Any] = await self.json("/api/settings")
        return settings

    async def state(self) -> dict[str, Any]:
        """Return every value by its label."""
        state: dict[str, Any] = await self.json("/api/state")
        return state

    async def outputs(self) -> str:
        """Return the six characters of the status reply."""
        body = (await self.ok("/outs.cgi")).body.decode()
        return body.partition("<out>")[2].partition("</out>")[0]
