"""Addresses and ports that are set and removed while controllers run."""

import asyncio
import socket

import pytest

from leverframe.fleet.serve import start_controllers
from leverframe.storage.lanes.lane import MemoryLane
from leverframe.storage.store import StoreUnavailable
from tests.fleet.http_client import ask, ask_once, connection_to
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.test_door import HOME, listening, name_in
from tests.fleet.test_fleet_file import read
from tests.fleet.test_shared_ports import SWITCHES, coil
from tests.patience import PATIENCE_S
from tests.ports import free_port

FIRST = "127.0.0.31"
SECOND = "127.0.0.32"
ASK_ALL = "/json/all.json"


async def who_answers(address: str, port: int) -> str:
    return name_in((await ask_once(address, port, ASK_ALL, address)).body)


async def test_controller_moves_to_its_new_address() -> None:
    async with loop_node() as node:
        port = await listening(node)
        await node.post("add", name="gh-1")
        for address, before in ((FIRST, HOME), (SECOND, FIRST)):
            answer = await node.post("place", name="gh-1", address=address)
            assert answer["address"] == address
            assert await who_answers(address, port) == "gh-1"
            # The node answers there, which has no such path.
            assert (await ask_once(before, port, ASK_ALL, before)).status == 404
        answer = await node.post("place", name="gh-1", address="none")
        assert answer["address"] is None
        assert (await ask_once(SECOND, port, ASK_ALL, SECOND)).status == 404
        assert name_in((await ask_once(HOME, port, ASK_ALL, "gh-1.localhost")).body) == "gh-1"


async def test_controller_listens_on_its_port_until_it_is_removed() -> None:
    async with loop_node() as node:
        await listening(node)
        await node.post("add", name="gh-1")
        before, after = free_port(), free_port()
        await node.post("place", name="gh-1", port=before)
        assert await who_answers(HOME, before) == "gh-1"
        # A field that is not named stays.
        await node.post("place", name="gh-1", address=FIRST)
        assert await who_answers(HOME, before) == "gh-1"
        answer = await node.post("place", name="gh-1", port=after)
        assert (answer["address"], answer["port"]) == (FIRST, after)
        assert await who_answers(HOME, after) == "gh-1"
        await node.post("place", name="gh-1", port=0)
        for port in (before, after):
            with pytest.raises(ConnectionRefusedError):
                await who_answers(HOME, port)


async def test_moved_controller_keeps_running_and_its_connections_end() -> None:
    async with loop_node() as node:
        port = await listening(node)
        await node.post("add", name="gh-1", address=FIRST)
        await node.post("send", command="outs.cgi?out0=1")
        controller = node.member("gh-1").controller
        async with connection_to(FIRST, port) as (reader, writer):
            assert (await ask((reader, writer), ASK_ALL, FIRST)).status == 200
            await node.post("place", name="gh-1", address=SECOND)
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.read() == b""
        assert node.member("gh-1").controller is controller
        assert controller.engine.values["OUT0"] == 1


async def test_modbus_and_snmp_can_be_enabled_and_move_with_the_address() -> None:
    modbus_port, snmp_port = free_port(), free_port()
    async with loop_node(modbus_port=modbus_port, snmp_port=snmp_port) as node:
        await listening(node)
        await node.post("add", name="gh-1")
        assert (await node.post("send", command=SWITCHES[0]))["refused"] == 1
        await node.post("place", name="gh-1", address=FIRST)
        for command in SWITCHES:
            assert (await node.post("send", command=command))["done"] == 1
        assert await coil(FIRST, modbus_port) == 0
        await node.post("place", name="gh-1", address=SECOND)
        assert await coil(SECOND, modbus_port) == 0
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await coil(FIRST, modbus_port)
        assert node.node.snmp._receivers.keys() == {SECOND}
        await node.post("place", name="gh-1", address="none")
        (one,) = await node.get("list")
        assert sum("no address of its own" in trouble for trouble in one["troubles"]) == 2
        assert node.node.snmp._receivers.keys() == set()
        await node.post("place", name="gh-1", address=FIRST)
        assert (await node.get("list"))[0]["troubles"] == []
        assert await coil(FIRST, modbus_port) == 0


async def _refusals(node: LoopNode, taken: int) -> list[str]:
    return [
        await node.expect_refusal(400, "place", name="gh-1"),
        await node.expect_refusal(404, "place", name="gh-9", port=9),
        await node.expect_refusal(400, "place", name="gh-1", address="no"),
        await node.expect_refusal(409, "place", name="gh-1", address=HOME),
        await node.expect_refusal(409, "place", name="gh-1", address="10.9.8.7"),
        await node.expect_refusal(409, "place", name="gh-1", address=SECOND),
        await node.expect_refusal(409, "place", name="gh-1", port=taken),
    ]


async def test_impossible_place_is_refused_and_the_old_place_stays() -> None:
    async with loop_node() as node:
        port = await listening(node)
        await node.post("add", name="gh-{n}", count=2, address=FIRST)
        with socket.create_server((HOME, 0)) as other:
            taken = other.getsockname()[1]
            problems = await _refusals(node, taken)
        for sentence, part in zip(
            problems,
            (
                *(
                    "No address or port is set",
                    "There is no controller 'gh-9'",
                    "is not a valid address for a",
                ),
                *(
                    "the node itself is available",
                    "would not reach this controller",
                    "gh-2 already uses it",
                ),
                f"port {taken} of {HOME} cannot be used",
            ),
            strict=True,
        ):
            assert part in sentence
        assert node.member("gh-1").record.address == FIRST
        assert await who_answers(FIRST, port) == "gh-1"


async def test_place_that_cannot_be_stored_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with loop_node() as node:
        await listening(node)
        await node.post("add", name="gh-1")

        async def fail(records: object) -> None:
            raise StoreUnavailable("The disk is full.")

        wanted = free_port()
        monkeypatch.setattr(node.node.registry, "put", fail)
        reply = await node.ask(f"/api/fleet/place?name=gh-1&port={wanted}")
        assert reply.status == 507
        assert node.member("gh-1").record.port is None
        with pytest.raises(ConnectionRefusedError):
            await who_answers(HOME, wanted)


async def test_place_survives_a_restart() -> None:
    lane = MemoryLane()
    async with loop_node(lane) as node:
        await listening(node)
        await node.post("add", name="gh-1")
        await node.post("place", name="gh-1", address=FIRST)
    async with loop_node(lane) as again:
        port = await listening(again)
        assert await start_controllers(again.web, [], as_json=False) == []
        assert await who_answers(FIRST, port) == "gh-1"


async def test_fleet_file_decides_the_place_of_its_controllers(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    fleet = read(tmp_path_factory.mktemp("fleet"), '[[controllers]]\nname = "cellar"\n')
    async with loop_node() as node:
        await listening(node)
        await start_controllers(node.web, fleet.controllers, as_json=False)
        problem = await node.expect_refusal(409, "place", name="cellar", address=FIRST)
        assert "The fleet file sets the place of cellar" in problem
        assert "Change address or port there" in problem
        # By another name it is a controller of the node alone.
        await node.post("rename", name="cellar", to="attic")
        await node.post("place", name="attic", address=FIRST)
