"""A node with tenants, for tests: accounts, what is theirs, and requests in their names."""

from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from leverframe.fleet.member import Member
from leverframe.server.http.messages import Request, StreamReply
from leverframe.storage.lanes.lane import Lane
from tests.fleet.loop_node import LoopNode, loop_node

ANONYMOUS = ""
OPERATOR = "admin"


class Answer(msgspec.Struct, frozen=True):
    status: int
    text: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.text)

    @property
    def detail(self) -> str:
        detail: str = self.json["detail"]
        return detail


class TenantFleet:
    """A node that requires sign-in, with the passwords of all accounts."""

    def __init__(self, node: LoopNode, member: Callable[[str], Member] | None = None) -> None:
        self.node = node
        #: Finds a controller, wherever it runs.
        self.member = member or node.member
        self.passwords: dict[str, str] = {}

    async def add_account(self, name: str, tenant: str, role: str) -> None:
        asked = f"name={name}&tenant={tenant}&role={role}"
        made = (await self.ask(OPERATOR, f"account/add?{asked}", method="POST")).json
        self.passwords[name] = made["password"]
        if made["administrator_password"] is not None:
            self.passwords[made["administrator"]] = made["administrator_password"]

    async def add_tenant(self, name: str, *controllers: str, tag: str = "") -> None:
        """Add a tenant with an administrator NAME-chief, a user NAME-guest, and controllers."""
        await self.post(OPERATOR, f"tenant/add?tenant={name}")
        await self.add_account(f"{name}-chief", name, "administrator")
        await self.add_account(f"{name}-guest", name, "user")
        for one in controllers:
            await self.post(OPERATOR, f"add?name={one}&tenant={name}&tags={tag}")

    def basic(self, account: str) -> str:
        return "Basic " + b64encode(f"{account}:{self.passwords[account]}".encode()).decode()

    async def ask(
        self, account: str, what: str, body: bytes = b"", method: str | None = None
    ) -> Answer:
        """Send a request as an account; a target without a slash is a path of the API."""
        target = what if what.startswith("/") else f"/api/fleet/{what}"
        path, mark, query = target.partition("?")
        headers = {"authorization": self.basic(account)} if account in self.passwords else {}
        request = Request(
            method or "GET", path, query if mark else None, headers, body, "127.0.0.1"
        )
        answer: Any = self.node.web.handle(request)
        if not hasattr(answer, "status"):
            answer = await answer
        if isinstance(answer, StreamReply):
            chunks = answer.chunks
            first = await anext(aiter(chunks))
            await chunks.aclose()  # type: ignore[attr-defined]
            return Answer(answer.status, first.decode())
        return Answer(answer.status, answer.body.decode())

    async def post(self, account: str, what: str, body: bytes = b"") -> Any:
        answer = await self.ask(account, what, body, "POST")
        assert answer.status == 200, answer.text
        return answer.json

    async def names(self, account: str) -> list[str]:
        return [one["name"] for one in (await self.ask(account, "list")).json]


@asynccontextmanager
async def tenant_fleet(
    tenants: Sequence[tuple[str, Sequence[str], str]] = (), lane: Lane | None = None, **keys: Any
) -> AsyncIterator[TenantFleet]:
    """Run a node with an account of the operator and with tenants: name, controllers, tag."""
    async with loop_node(lane, **keys) as node:
        fleet = TenantFleet(node)
        await fleet.add_account("oscar", "", "administrator")
        for name, controllers, tag in tenants:
            await fleet.add_tenant(name, *controllers, tag=tag)
        yield fleet
