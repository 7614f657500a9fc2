"""A starting node reports that, and does not pretend to have all its controllers."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.fleet import client as node_client
from leverframe.fleet.client import NodeAnswer, NodeAsking, NodeRefused
from leverframe.fleet.cluster.directory import Directory
from leverframe.fleet.member import NewController
from leverframe.fleet.operation import Operation
from leverframe.fleet.operations.table import OPERATIONS
from leverframe.fleet.records import MemberRecord, TenantRecord
from leverframe.fleet.serve import start_controllers
from leverframe.storage.lanes.lane import MemoryLane
from leverframe.storage.store import Stored
from tests.cases import for_each
from tests.fleet.http_client import Answered, ask, ask_once, connection_to
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.still_nodes import NORTH, StillNodes
from tests.fleet.test_door import HOME, name_in
from tests.patience import PATIENCE_S
from tests.ports import free_port

#: How many of the four stored controllers have started when the rest waits.
STARTED = 2
ADDRESS = "127.0.0.9"


class HeldLane(MemoryLane):
    """Lets a node read its first controllers, and the rest on request."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()
        self.may_continue = asyncio.Event()
        self.may_continue.set()

    async def fetch(self, controllers: Sequence[int]) -> dict[int, Stored]:
        if not self.may_continue.is_set() and min(controllers) > STARTED:
            self.reached.set()
            await self.may_continue.wait()
        return await super().fetch(controllers)


class StartingNode:
    def __init__(self, node: LoopNode, lane: HeldLane, starting: asyncio.Task[None]) -> None:
        self.node = node
        self.port = node.node.door.port
        self._lane = lane
        self._starting = starting

    async def ask(self, target: str, host: str = HOME, address: str = HOME) -> Answered:
        return await ask_once(address, self.port, target, host)

    async def wait_until_started(self) -> None:
        self._lane.may_continue.set()
        async with asyncio.timeout(PATIENCE_S):
            await self._starting


@asynccontextmanager
async def starting_node(
    monkeypatch: pytest.MonkeyPatch, *tenants: str, own_port: int | None = None
) -> AsyncIterator[StartingNode]:
    """Start a node again that has four controllers, and hold it after the first two."""
    monkeypatch.setattr("leverframe.fleet.node.READ_AT_A_TIME", STARTED)
    lane = HeldLane()
    written = [NewController(MemberRecord("new"), Profile())]
    async with loop_node(lane) as before:
        for tenant in tenants:
            await before.node.registry.put_tenant(TenantRecord(tenant))
        await before.post("add", name="gh-{n}", count=3, tags="a")
        await before.post("add", name="gh-4", address=ADDRESS, **_with(own_port), tags="b")
    lane.may_continue.clear()
    async with loop_node(lane) as again:
        again.node.begin_start(one.record for one in written)
        await again.node.door.listen(HOME, 0)

        async def start() -> None:
            assert await start_controllers(again.web, written, as_json=False) == []
            await again.node.end_start()

        starting = asyncio.create_task(start())
        async with asyncio.timeout(PATIENCE_S):
            await lane.reached.wait()
        node = StartingNode(again, lane, starting)
        try:
            yield node
        finally:
            await node.wait_until_started()


def _with(port: int | None) -> dict[str, object]:
    return {} if port is None else {"port": port}


def assert_not_yet(answer: Answered) -> None:
    assert answer.status == 503
    assert "The node is starting" in answer.body
    assert "retry-after:" in answer.head.lower()


async def test_health_reports_a_start_until_all_controllers_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with starting_node(monkeypatch) as node:
        answer = await node.ask("/health")
        assert answer.status == 503
        assert "retry-after:" in answer.head.lower()
        report = msgspec.json.decode(answer.body)
        assert report == {"status": "starting", "controllers": STARTED, "of": 5}
        await node.wait_until_started()
        answer = await node.ask("/health")
        assert answer.status == 200
        assert msgspec.json.decode(answer.body) == {"status": "ok", "controllers": 5}


async def test_health_during_a_start_hides_controllers_of_tenants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with starting_node(monkeypatch, "acme") as node:
        answer = msgspec.json.decode((await node.ask("/health")).body)
        assert answer == {"status": "starting", "controllers": None, "of": None}


@for_each("name", ["gh-4", "new", "missing"])
async def test_name_is_not_reported_as_unknown_during_the_start(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with starting_node(monkeypatch) as node:
        host = f"{name}.localhost"
        assert_not_yet(await node.ask("/json/all.json", host))
        await node.wait_until_started()
        answer = await node.ask("/json/all.json", host)
        assert answer.status == (404 if name == "missing" else 200)


async def test_started_controller_answers_while_others_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with starting_node(monkeypatch) as node:
        answer = await node.ask("/json/all.json", "gh-1.localhost")
        assert (answer.status, name_in(answer.body)) == (200, "gh-1")


async def test_foreign_name_is_refused_also_during_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with starting_node(monkeypatch) as node:
        assert (await node.ask("/json/all.json", "gh-4.evil.example")).status == 404


async def test_connection_to_an_address_or_port_waits_for_its_controller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = free_port()
    async with starting_node(monkeypatch, own_port=own) as node:
        async with (
            connection_to(ADDRESS, node.port) as by_address,
            connection_to(HOME, own) as by_port,
        ):
            for client in (by_address, by_port):
                assert_not_yet(await ask(client, "/json/all.json", HOME))
            async with connection_to(HOME, own) as silent:
                await node.wait_until_started()
                assert name_in((await ask(silent, "/json/all.json", HOME)).body) == "gh-4"
        for address, port in ((ADDRESS, node.port), (HOME, own)):
            answer = await ask_once(address, port, "/json/all.json", HOME)
            assert name_in(answer.body) == "gh-4"


async def test_port_of_a_failed_controller_is_closed_after_the_start() -> None:
    own = free_port()
    async with loop_node() as node:
        node.node.begin_start([MemberRecord("gone", port=own)])
        await node.node.door.listen(HOME, 0)
        assert_not_yet(await ask_once(HOME, own, "/json/all.json", HOME))
        await node.node.end_start()
        with pytest.raises(ConnectionRefusedError):
            await ask_once(HOME, own, "/json/all.json", HOME)


@for_each("endpoint", [one for one in OPERATIONS if not one.while_starting])
async def test_requests_about_controllers_are_refused_during_the_start(
    endpoint: Operation,
) -> None:
    async with loop_node() as node:
        node.node.begin_start([MemberRecord("gh-1")])
        reply = await node.ask(endpoint.path, method=endpoint.methods[0])
        assert reply.status == 503
        headers = dict(reply.headers)
        assert headers["Leverframe-Starting"] == "0 of 1"
        assert "Retry-After" in headers
        assert b"The node is starting: 0 of 1 controllers are running." in reply.body


async def test_requests_that_choose_controllers_are_refused_during_the_start() -> None:
    chooses = {one.path for one in OPERATIONS if {"name", "tag"} & {it.name for it in one.query}}
    answering = {one.path for one in OPERATIONS if one.while_starting}
    # The page learns that the node is starting; an account has a name, too.
    assert chooses & answering == {
        "/api/fleet/stream",
        *(f"/api/fleet/account/{what}" for what in ("add", "remove", "password")),
    }


async def test_page_stream_shows_the_progress_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    async with starting_node(monkeypatch) as node:
        assert (await node.node.get(""))["starting"] == {"done": STARTED, "of": 5}
        await node.wait_until_started()
        assert (await node.node.get(""))["starting"] is None


@for_each("path", ["/api/fleet", "/api/fleet/owners", "/api/fleet/nodes", "/api/fleet/stream"])
async def test_joining_node_is_not_reported_as_the_only_node(path: str) -> None:
    async with loop_node() as node:
        node.node.door.directory = Directory(NORTH)
        node.node.begin_start([])
        assert (await node.ask(path, method="GET")).status == 503
        node.node.cluster = StillNodes(node.node)
        # It starts controllers that it takes now as it does later on.
        assert (await node.ask(path, method="GET")).status == 200


class AskingStarting(NodeAsking):
    """Asks a node that is starting for some time."""

    def __init__(self, counts: list[str]) -> None:
        self.said: list[str] = []
        super().__init__("The node", when_starting=self.said.append)
        self._counts = counts

    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str]
    ) -> NodeAnswer:
        if self._counts:
            return NodeAnswer(503, b'{"detail":"Starting."}', starting=self._counts.pop(0))
        return NodeAnswer(200, b"[]")


def test_commands_wait_for_a_starting_node_and_print_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node_client, "START_LOOK_S", 0.0)
    node = AskingStarting(["257 of 1,000", "257 of 1,000", "900 of 1,000"])
    assert node.post("send", {}) == []
    assert node.said == ["257 of 1,000", "900 of 1,000"]


def test_commands_give_up_on_a_node_that_never_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_client, "START_S", 0.0)
    with pytest.raises(NodeRefused, match="Starting"):
        AskingStarting(["0 of 1"]).get("list", {})
