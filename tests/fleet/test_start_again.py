"""Controllers that failed to start with their node are repaired while the others run."""

import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from leverframe.devices.wiring import Wiring
from leverframe.fleet import member_start
from leverframe.fleet.node import FleetNode
from leverframe.fleet.operations import new_controllers
from leverframe.fleet.roster import CAUSE_WITHHELD
from leverframe.fleet.serve import start_controllers
from leverframe.host import ports
from leverframe.host.assembly import ControllerHost, build
from leverframe.host.configuration import Config
from leverframe.server.passwords import Passwords
from leverframe.storage.lanes.lane import MemoryLane
from leverframe.storage.store import StoreUnavailable
from tests.cases import for_each
from tests.fleet.failing import fail
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.still_nodes import StillNodes
from tests.fleet.tenant_fleet import tenant_fleet
from tests.fleet.test_door import HOME, listening
from tests.fleet.test_fleet_file import read
from tests.fleet.test_places import who_answers
from tests.ports import free_port

NOT_STARTED = b"leverframe_node_controllers_not_started "


class BlockedNode:
    """A node whose controller `a` failed to start, because its port is in use; `b` runs."""

    def __init__(self, node: LoopNode, lane: MemoryLane, port: int, other: socket.socket) -> None:
        self.node = node
        self.lane = lane
        self.port = port
        self.free_port = other.close


@asynccontextmanager
async def node_with_blocked_port() -> AsyncIterator[BlockedNode]:
    lane, port = MemoryLane(), free_port()
    async with loop_node(lane) as before:
        await listening(before)
        await before.post("add", name="a", port=port, tags="north")
        await before.post("add", name="b", tags="north")
        await before.post("send", command="stm.cgi?oname=0Pump", name="a")
        await before.post("snapshot", label="old")
    with socket.create_server((HOME, port)) as other:
        async with loop_node(lane) as node:
            await listening(node)
            await start_controllers(node.web, [], as_json=False)
            assert node.node.members.keys() == {"b"}
            yield BlockedNode(node, lane, port, other)


async def not_started_figure(node: LoopNode) -> bytes:
    figures = (await node.ask("/metrics", method="GET")).body
    (line,) = [one for one in figures.splitlines() if one.startswith(NOT_STARTED)]
    return line.removeprefix(NOT_STARTED)


async def test_controller_with_a_freed_port_starts_and_is_no_longer_reported() -> None:
    async with node_with_blocked_port() as blocked:
        node = blocked.node
        assert (await node.get(""))["can_start"] == ["a"]
        assert await not_started_figure(node) == b"1"
        answer = await node.post("start", name="a,b")
        assert (answer["done"], answer["refused"]) == (1, 1)
        a, b = answer["results"]
        assert a["status"] == 503
        assert a["detail"].startswith(f"a failed to start: port {blocked.port} of {HOME} cannot be")
        assert b == {"name": "b", "status": 200, "detail": "b is already running."}
        seen = []
        node.node.watchers.add(lambda: seen.append(node.node.roster.problems()))
        blocked.free_port()
        answer = await node.post("start")
        assert answer["results"] == [{"name": "a", "status": 200, "detail": "a is running now."}]
        assert await who_answers(HOME, blocked.port) == "a"
        assert node.member("a").controller.engine.settings.outputs[0].name == "Pump"
        overview = await node.get("")
        assert [overview[key] for key in ("troubles", "not_started", "can_start")] == [[], [], []]
        assert await not_started_figure(node) == b"0"
        health = msgspec.json.decode((await node.ask("/health", method="GET")).body)
        assert health == {"status": "ok", "controllers": 2}
        # Pages look again when it is forgotten, not before.
        assert seen[-1] == []
        assert (await node.post("start"))["results"] == []


async def test_retried_controller_starts_as_the_fleet_file_says(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane, port = MemoryLane(), free_port()
    text = f'[[controllers]]\nname = "a"\nport = {port}\n'
    fleet = read(tmp_path_factory.mktemp("fleet"), text)
    board = Wiring(sysfs="/elsewhere")
    wired = [replace(one, config=Config(board=board)) for one in fleet.controllers]
    wirings: list[Wiring] = []

    async def build_and_note(*arguments: Any, wiring: Wiring, **keys: Any) -> ControllerHost:
        wirings.append(wiring)
        return await build(*arguments, wiring=wiring, **keys)

    async with loop_node(lane) as before:
        await listening(before)
        await start_controllers(before.web, wired, as_json=False)
    with socket.create_server((HOME, port)) as other:
        async with loop_node(lane) as node:
            await listening(node)
            await start_controllers(node.web, wired, as_json=False)
            (one,) = (await node.post("start"))["results"]
            assert "fleet.toml, line 3: a failed to start: port" in one["detail"]
            other.close()
            monkeypatch.setattr(member_start, "build", build_and_note)
            assert (await node.post("start"))["done"] == 1
    assert [one.sysfs for one in wirings] == ["/elsewhere"]


async def test_failed_controller_starts_at_its_new_place() -> None:
    async with node_with_blocked_port() as blocked:
        node, port = blocked.node, free_port()
        answer = await node.post("place", name="a", port=port)
        assert (answer["name"], answer["port"]) == ("a", port)
        assert await who_answers(HOME, port) == "a"
        assert (await node.get(""))["not_started"] == []


async def test_unreachable_place_is_refused_and_the_old_place_stays() -> None:
    async with node_with_blocked_port() as blocked:
        node = blocked.node
        problem = await node.expect_refusal(409, "place", name="a", address="127.0.0.31")
        assert f"a: port {blocked.port} of {HOME} cannot be used" in problem
        await node.expect_refusal(404, "place", name="a,b", port=free_port())
        assert (await node.get(""))["can_start"] == ["a"]
        (number,) = node.node.roster.numbers_of_failed().values()
        assert node.node.registry.records[number].address is None


async def test_place_is_kept_and_reported_if_the_start_fails_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with node_with_blocked_port() as blocked:
        node, port = blocked.node, free_port()

        async def fail(*_: object) -> None:
            raise ValueError("The agent is broken.")

        with monkeypatch.context() as broken:
            broken.setattr(ports, "connect_snmp", fail)
            problem = await node.expect_refusal(503, "place", name="a", port=port)
        assert problem == ("The address and port are set. a failed to start: The agent is broken.")
        # What it had opened by then is free again.
        assert (await node.post("start"))["done"] == 1
        assert await who_answers(HOME, port) == "a"


@for_each("names", ["a", "a,b"])
async def test_removed_failed_controller_leaves_nothing_and_frees_its_name(names: str) -> None:
    async with node_with_blocked_port() as blocked:
        node = blocked.node
        (number,) = node.node.roster.numbers_of_failed().values()
        answer = await node.post("remove", name=names)
        assert {one["name"] for one in answer["results"]} == set(names.split(","))
        assert ("b" in node.node.members) == (names == "a")
        assert number not in node.node.registry.records
        stored = (await blocked.lane.fetch([number]))[number]
        assert (stored.settings, stored.kept) == ({}, {})
        parts = [one.parts for one in node.node.registry.snapshots.values()]
        assert not any(number in one for one in parts)
        overview = await node.get("")
        assert [overview[key] for key in ("troubles", "not_started", "can_start")] == [[], [], []]
        await node.post("add", name="a")


async def test_removal_by_tag_or_search_covers_running_controllers_only() -> None:
    async with node_with_blocked_port() as blocked:
        answer = await blocked.node.post("remove", tag="north")
        assert [one["name"] for one in answer["results"]] == ["b"]
        assert (await blocked.node.get(""))["can_start"] == ["a"]


@for_each(
    ("what", "options"),
    [
        ("rename", {"to": "c"}),
        ("fork", {"to": "c"}),
        ("tag", {"add": "south"}),
        ("send", {"command": "outs.cgi?out0=1"}),
        ("snapshot", {"label": "new"}),
        ("remove", {"tag": "north"}),
    ],
)
async def test_other_requests_for_a_failed_controller_are_refused_with_the_cause(
    what: str, options: dict[str, str]
) -> None:
    async with node_with_blocked_port() as blocked:
        problem = await blocked.node.expect_refusal(503, what, name="a", **options)
        assert problem.startswith("This controller failed to start. a failed to start: port ")
        assert problem.endswith(" Retry it with `leverframe fleet start a`.")


@for_each("what", ["show", "list", "export"])
async def test_failed_controller_shows_the_cause_to_visitors(what: str) -> None:
    async with node_with_blocked_port() as blocked:
        reply = await blocked.node.ask(f"/api/fleet/{what}?name=a", method="GET")
        assert reply.status == 503
        assert str(blocked.port) in msgspec.json.decode(reply.body)["detail"]
        await blocked.node.expect_refusal(404, "start", name="c")


async def test_controller_with_an_invalid_table_is_reported_and_not_started() -> None:
    async with node_with_blocked_port() as blocked:
        blocked.node.node.roster.note_mistake("c", "c failed to start: no.", "c")
        problem = await blocked.node.expect_refusal(503, "start", name="c")
        assert problem.endswith("c failed to start: no. The node retries it when it restarts.")


class NeverMade:
    """A node whose file names `a`, which could not be created because its port is in use."""

    def __init__(self, node: LoopNode, other: socket.socket) -> None:
        self.node = node
        self.free_port = other.close


@asynccontextmanager
async def never_made(folder: Path, **keys: Any) -> AsyncIterator[NeverMade]:
    port = free_port()
    fleet = read(folder, f'[[controllers]]\nname = "a"\nport = {port}\n')
    with socket.create_server((HOME, port)) as other:
        async with loop_node(**keys) as node:
            await listening(node)
            await start_controllers(node.web, fleet.controllers, as_json=False)
            assert not node.node.members
            yield NeverMade(node, other)


async def test_controller_that_was_never_created_is_created_by_a_retry(tmp_path: Path) -> None:
    async with never_made(tmp_path) as never:
        node = never.node
        assert (await node.get(""))["can_start"] == ["a"]
        (one,) = (await node.post("start", name="a"))["results"]
        assert one["status"] == 503
        assert "fleet.toml, line 3: a failed to start: port" in one["detail"]
        assert await not_started_figure(node) == b"1"
        never.free_port()
        answer = await node.post("start")
        assert answer["results"] == [{"name": "a", "status": 200, "detail": "a is running now."}]
        overview = await node.get("")
        assert [overview[key] for key in ("troubles", "not_started", "can_start")] == [[], [], []]
        assert node.node.registry.records.keys() == {node.member("a").number}
        assert (await node.post("start"))["results"] == []


def let_strangers_in(node: FleetNode) -> None:
    node.options = replace(node.options, must_sign_in=True)


async def is_password_of(node: LoopNode, name: str, password: str) -> bool:
    hashed = node.member(name).controller.engine.settings.access.admin.password
    return await Passwords(node.node.services.hashing).right(hashed, password)


@for_each("is_stored", [True, False])
async def test_first_password_is_shown_once_in_the_answer_only(
    is_stored: bool,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The controller is created now, or was open until the node became reachable."""
    caplog.set_level(logging.DEBUG)
    folder = tmp_path_factory.mktemp("fleet")
    async with node_with_blocked_port() if is_stored else never_made(folder) as found:
        let_strangers_in(found.node.node)
        found.free_port()
        capsys.readouterr()
        (one,) = (await found.node.post("start", name="a"))["results"]
        assert (one["status"], one["detail"]) == (200, "a is running now.")
        assert await is_password_of(found.node, "a", one["password"])
        (again,) = (await found.node.post("start", name="a"))["results"]
        assert "password" not in again
        assert one["password"] not in capsys.readouterr().out + caplog.text


async def test_first_password_without_an_answer_is_printed_by_the_node(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StoreUnavailable("The disk is full.")

    async with node_with_blocked_port() as blocked:
        let_strangers_in(blocked.node.node)
        blocked.free_port()
        monkeypatch.setattr(new_controllers, "_make_again", fail)
        await blocked.node.expect_refusal(507, "start")
        output = capsys.readouterr().out
        assert "The administrator of a has the password" in output
        assert await is_password_of(blocked.node, "a", output.split("password ")[1].split()[0])


async def test_added_controller_loses_its_old_failure(tmp_path: Path) -> None:
    async with never_made(tmp_path) as never:
        node = never.node
        await node.post("add", name="a")
        assert (await node.get(""))["troubles"] == []
        assert await not_started_figure(node) == b"0"
        assert (await node.post("start", name="a"))["results"] == [
            {"name": "a", "status": 200, "detail": "a is already running."}
        ]


async def test_node_of_a_cluster_creates_controllers_of_its_file(tmp_path: Path) -> None:
    async with never_made(tmp_path) as never:
        never.node.node.cluster = StillNodes(never.node.node)
        never.node.node.roster.retry_s = 1000.0
        never.free_port()
        assert (await never.node.post("start"))["done"] == 1
        assert (await never.node.post("start"))["results"] == []


async def test_removed_address_belongs_to_the_node_again() -> None:
    async with node_with_blocked_port() as blocked:
        node = blocked.node.node
        (number,) = node.roster.numbers_of_failed().values()
        record = replace(node.registry.records[number], address="127.0.0.31")
        node.registry.records[number] = node.roster.expect(record, number).record
        assert node.door.at_address("127.0.0.31") is not node.door.node
        await blocked.node.post("place", name="a", address="none", port=0)
        assert node.door.at_address("127.0.0.31") is node.door.node


async def test_tenants_see_their_failed_controllers_without_cause_and_may_remove_them() -> None:
    async with tenant_fleet([("acme", ["acme-1"], ""), ("zeta", ["zeta-1"], "")]) as fleet:
        node = fleet.node.node
        for name in ("acme-1", "zeta-1"):
            member = node.members[name]
            await node.drop([member])
            fail(node, member.record, member.number, "/home/x is wrong.")
        shown = await fleet.ask("acme-chief", "show?name=acme-1")
        assert (shown.status, shown.detail) == (503, CAUSE_WITHHELD)
        assert "/home/x is wrong." in (await fleet.ask("oscar", "show?name=acme-1")).detail
        assert (await fleet.ask("acme-chief", "/api/fleet")).json["can_start"] == []
        for what, method in (("show?name=zeta-1", "GET"), ("remove?name=zeta-1", "POST")):
            refused = await fleet.ask("acme-chief", what, method=method)
            assert refused.status == 404
            assert "There is no controller 'zeta-1'." in refused.detail
        assert (await fleet.post("acme-chief", "remove?name=acme-1"))["done"] == 1
        assert node.roster.numbers_of_failed().keys() == {"zeta-1"}
