"""Modbus TCP and SNMP of controllers that a node has yet to start."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from leverframe.devices.wire.modbus import DEVICE_BUSY
from leverframe.fleet import shared_ports
from leverframe.fleet.serve import start_controllers
from leverframe.server.fair_shares import DescriptorBudget
from tests.devices.waiting import until
from tests.fleet.http_client import Streams, connection_to
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.test_node_start import STARTED, HeldLane
from tests.fleet.test_shared_ports import ASK_NAME, READ_COIL, SWITCHES
from tests.patience import PATIENCE_S
from tests.ports import free_port

#: The third of them waits.
ADDRESSES = [f"127.0.0.{number}" for number in (71, 72, 73)]
BUSY = bytes.fromhex("0001 0000 0003 01 81") + bytes([DEVICE_BUSY])
COIL_OFF = bytes.fromhex("0001 0000 0004 01 01 01 00")


class HalfStarted:
    def __init__(self, node: LoopNode, modbus: int, snmp: int, resume: Callable[[], None]) -> None:
        self.node = node
        self.modbus = modbus
        self.snmp = snmp
        self._resume = resume

    async def wait_until_started(self) -> None:
        self._resume()
        await until(lambda: not self.node.node.roster.is_starting)


@asynccontextmanager
async def half_started(
    monkeypatch: pytest.MonkeyPatch, *commands: str
) -> AsyncIterator[HalfStarted]:
    """Start a node again whose third controller waits; commands are for that one."""
    monkeypatch.setattr("leverframe.fleet.node.READ_AT_A_TIME", STARTED)
    lane, modbus, snmp = HeldLane(), free_port(), free_port()
    async with loop_node(lane, modbus_port=modbus, snmp_port=snmp) as before:
        await before.node.door.listen("127.0.0.1", 0)
        await before.post("add", name="gh-{n}", count=3, address=ADDRESSES[0])
        for command in SWITCHES:
            assert (await before.post("send", command=command))["done"] == 3
        for command in commands:
            assert (await before.post("send", command=command, name="gh-3"))["done"] == 1
    lane.may_continue.clear()
    async with loop_node(lane, modbus_port=modbus, snmp_port=snmp) as again:
        again.node.begin_start([])
        await again.node.door.listen("127.0.0.1", 0)

        async def start() -> None:
            assert await start_controllers(again.web, [], as_json=False) == []
            await again.node.end_start()

        starting = asyncio.create_task(start())
        async with asyncio.timeout(PATIENCE_S):
            await lane.reached.wait()
        try:
            yield HalfStarted(again, modbus, snmp, lane.may_continue.set)
        finally:
            lane.may_continue.set()
            await starting


async def expect_answer(client: Streams, sent: bytes, expected: bytes) -> None:
    reader, writer = client
    writer.write(sent)
    async with asyncio.timeout(PATIENCE_S):
        assert await reader.readexactly(len(expected)) == expected


async def ends(client: Streams, sent: bytes = b"") -> None:
    reader, writer = client
    writer.write(sent)
    async with asyncio.timeout(PATIENCE_S):
        with suppress(ConnectionResetError):
            assert await reader.read() == b""


async def test_starting_controller_is_busy_then_answers_on_the_same_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with half_started(monkeypatch) as node:
        async with connection_to(ADDRESSES[0], node.modbus) as client:
            await expect_answer(client, READ_COIL, COIL_OFF)
        async with (
            connection_to(ADDRESSES[2], node.modbus) as client,
            connection_to(ADDRESSES[2], node.modbus) as halved,
        ):
            await expect_answer(client, READ_COIL + READ_COIL, BUSY + BUSY)
            halved[1].write(READ_COIL[:5])
            waiting = node.node.node.modbus.busy
            await until(lambda: any(one._frames.is_within_a_frame for one in waiting))
            await node.wait_until_started()
            await expect_answer(client, READ_COIL, COIL_OFF)
            # The request that began before gets the same answer as the others.
            await expect_answer(halved, READ_COIL[5:], BUSY)
            await expect_answer(halved, READ_COIL, COIL_OFF)
        # Both are counted once, and no longer when they are closed.
        clients = node.node.node.door.descriptors.clients
        await until(lambda: clients.used == 0)


async def test_unexpected_client_is_refused_during_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with (
        half_started(monkeypatch) as node,
        connection_to("127.0.0.74", node.modbus) as client,
    ):
        await ends(client)


async def test_controller_without_modbus_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with (
        half_started(monkeypatch, "stm.cgi?modbuson=0") as node,
        connection_to(ADDRESSES[2], node.modbus) as client,
    ):
        await expect_answer(client, READ_COIL, BUSY)
        await node.wait_until_started()
        await ends(client, READ_COIL)


async def test_invalid_modbus_or_long_silence_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with half_started(monkeypatch) as node:
        async with connection_to(ADDRESSES[2], node.modbus) as client:
            await ends(client, b"GET / HTTP/1.1\r\n\r\n")
        monkeypatch.setattr(shared_ports, "FIRST_FRAME_S", 0.01)
        async with connection_to(ADDRESSES[2], node.modbus) as client:
            await ends(client)


async def test_waiting_connections_are_counted_and_end_with_the_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with half_started(monkeypatch) as node:
        budget = node.node.node.door.descriptors
        async with connection_to(ADDRESSES[2], node.modbus) as client:
            await expect_answer(client, READ_COIL, BUSY)
            assert budget.clients.used == 1
            monkeypatch.setattr(DescriptorBudget, "lease", lambda *given: None)
            async with connection_to(ADDRESSES[2], node.modbus) as refused:
                await ends(refused)
            # No started controller has the port open any more.
            for address in ADDRESSES[:STARTED]:
                await node.node.node.modbus.leave(address)
            await ends(client)


async def test_snmp_is_silent_during_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    async with half_started(monkeypatch) as node:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as manager:
            manager.setblocking(False)
            manager.connect((ADDRESSES[2], node.snmp))
            manager.send(ASK_NAME)
            await node.wait_until_started()
            manager.send(ASK_NAME)
            async with asyncio.timeout(PATIENCE_S):
                assert (await loop.sock_recv(manager, 4096)).endswith(b"gh-3")
            with pytest.raises(BlockingIOError):
                manager.recv(4096)
