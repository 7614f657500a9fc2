"""Without power a controller is silent on every way in and out, and back on all of them after."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC
from pathlib import Path

import httpx
import pytest
from zeroconf import ServiceStateChange
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from leverframe.core.engine.calls import Notify
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock, VirtualClock
from leverframe.core.runtime.outgoing import Targets
from leverframe.devices.wire import serial_sensors
from leverframe.host.assembly import build
from leverframe.host.configuration import Config
from leverframe.host.controller import Controller
from leverframe.host.controller.snapshot import go_back, take_snapshot
from leverframe.host.ports import connect_bootloader, connect_snmp, open_redirect
from leverframe.host.services import Sending
from leverframe.interface.uploads.firmware import build_image, new_key_pair, sign_image
from leverframe.notify.channel import ChannelLimits
from leverframe.server.discovery import QUESTION, DiscoveryServer
from leverframe.server.fair_shares import DescriptorBudget
from leverframe.server.mdns import TYPES
from leverframe.server.routes.router import THIS_MACHINE
from leverframe.server.sms_commands import SmsCommands
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin, faults
from tests.devices.modbus_ports import connect_modbus
from tests.devices.waiting import until
from tests.notify.post_office import PostOffice, ScriptedChannel
from tests.notify.test_mqtt import PREFIX, on_broker, send_command
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.server.discovery.test_discovery import ASKED, Client
from tests.server.discovery.test_mdns import HERE, MAC, NAME, Browser, announcer_of
from tests.server.snmp.net_snmp import ENTERPRISE, run
from tests.server.tftp_sender import packets

OFF_S = 8.0
SILENCE_S = 0.2


@pytest.fixture
async def twin() -> AsyncIterator[LoopTwin]:
    async with await LoopTwin.start() as twin:
        yield twin


def cut_power(controller: Controller) -> None:
    assert controller.faults is not None
    controller.faults.add(faults.reboot(takes=OFF_S))


async def test_power_watchers_are_notified_once_each_way(twin: LoopTwin) -> None:
    states: list[bool] = []
    twin.controller.power_watchers.append(states.append)
    assert twin.controller.faults is not None
    twin.controller.faults.add(faults.brown_out(cycles=2, off=1, on=2))
    assert states == [False]
    assert not twin.controller.has_power
    await twin.controller.advance(1)
    assert states == [False, True]
    await twin.controller.advance(2)
    await twin.controller.advance(1)
    assert states == [False, True, False, True]
    assert twin.controller.has_power


async def test_going_back_in_time_brings_the_power_back_or_takes_it(twin: LoopTwin) -> None:
    on = await take_snapshot(twin.controller)
    cut_power(twin.controller)
    off = await take_snapshot(twin.controller)
    states: list[bool] = []
    twin.controller.power_watchers.append(states.append)
    await go_back(twin.controller, on)
    await go_back(twin.controller, off)
    await go_back(twin.controller, off)
    await twin.controller.advance(OFF_S)
    assert states == [True, False, True]


async def test_power_cut_ends_the_wait_of_the_bootloader(twin: LoopTwin) -> None:
    waits: list[bool] = []
    twin.controller.bootloader_watchers.append(waits.append)
    await twin.ok("/stm.cgi?upgrade=devstart3")
    cut_power(twin.controller)
    await twin.controller.advance(OFF_S)
    assert waits == [True, False]
    await twin.ok("/json/status.json")


async def test_discovery(twin: LoopTwin) -> None:
    port = free_port()
    server = DiscoveryServer(twin.controller, name=NAME, mac=MAC)
    server.start(None, port)
    client = Client(port)
    try:
        before = await client.ask(QUESTION)
        cut_power(twin.controller)
        with pytest.raises(TimeoutError):
            await client.ask(QUESTION, SILENCE_S)
        await twin.controller.advance(OFF_S)
        assert await client.ask_all(ASKED, 1) == [(before.decode().splitlines()[0], ASKED)]
    finally:
        client.close()
        await server.close()


@pytest.mark.needs_program("snmpget")
async def test_snmp() -> None:
    built = await build(Profile(), MemoryStore(), VirtualClock(), UTC)
    controller = built.controller
    await send_command(controller, "snmp=1*watch*")
    agent = await connect_snmp(built, Config(snmp_port=0))
    place = f"127.0.0.1:{controller.open_ports()['snmp']}"

    async def ask(answer_s: float) -> tuple[int, str]:
        as_manager = ("-v2c", "-c", "watch", "-t", str(answer_s), "-r", "0")
        return await run("snmpget", *as_manager, place, f"{ENTERPRISE}.1.1.0")

    try:
        assert (await ask(PATIENCE_S))[0] == 0
        cut_power(controller)
        code, words = await ask(SILENCE_S)
        assert code != 0
        assert "Timeout" in words
        await controller.advance(OFF_S)
        assert (await ask(PATIENCE_S))[0] == 0
    finally:
        await agent.close()
        await built.stop()


async def test_modbus_tcp() -> None:
    built = await build(Profile(), MemoryStore(), VirtualClock(), UTC)
    controller = built.controller
    await send_command(controller, "modbuson=1")
    services = await connect_modbus(controller)
    port = controller.open_ports()["modbus"]
    read_one = bytes.fromhex("000100000006010300000001")

    async def answer() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(read_one)
        try:
            return await reader.read(100)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    try:
        assert await answer()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(read_one)
        assert await reader.read(100)
        cut_power(controller)
        with suppress(ConnectionResetError):
            assert await reader.read(100) == b""
        assert await answer() == b""
        await controller.advance(OFF_S)
        assert await answer()
        writer.close()
    finally:
        for service in services:
            await service.close()
        await built.stop()


async def test_port_that_leads_to_https(twin: LoopTwin) -> None:
    port = free_port()
    redirect = await open_redirect(
        twin.controller, Config(redirect_port=port), THIS_MACHINE, DescriptorBudget(), 443
    )
    assert redirect is not None
    url = f"http://127.0.0.1:{port}/"
    try:
        async with httpx.AsyncClient(
            verify=ssl.create_default_context(), timeout=PATIENCE_S
        ) as client:
            assert (await client.get(url)).is_redirect
            cut_power(twin.controller)
            with pytest.raises(httpx.TransportError):
                await client.get(url)
            await twin.controller.advance(OFF_S)
            assert (await client.get(url)).is_redirect
    finally:
        await redirect.stop(0)


async def test_bootloader_s_port(twin: LoopTwin) -> None:
    private, public = new_key_pair()
    server = connect_bootloader(twin.controller, "127.0.0.1", 0, public)
    await twin.ok("/stm.cgi?upgrade=devstart3")
    await until(lambda: server.port is not None)
    assert server.port is not None
    first = next(iter(packets(sign_image(build_image(["3.9"], "1.48", None), private))))
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.setblocking(False)
        client.connect(("127.0.0.1", server.port))
        await loop.sock_sendall(client, first)
        assert await loop.sock_recv(client, 600)
        cut_power(twin.controller)
        await loop.sock_sendall(client, first)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(SILENCE_S):
                await loop.sock_recv(client, 600)
    await twin.controller.advance(OFF_S)
    assert server.port is None
    await server.close()


@pytest.mark.parametrize("content", ["good", "bad"])
async def test_firmware_that_came_whole_does_not_start_a_unit_without_power(
    twin: LoopTwin, content: str
) -> None:
    private, public = new_key_pair()
    server = connect_bootloader(twin.controller, "127.0.0.1", 0, public)
    await twin.ok("/stm.cgi?upgrade=devstart3")
    cut_power(twin.controller)
    image = sign_image(build_image(["3.9"], "1.48", None), private)
    await server._judge(image if content == "good" else b"no firmware", ("127.0.0.1", 9))
    assert not twin.controller.has_power
    await twin.controller.advance(OFF_S)
    assert twin.controller.profile == Profile()
    await server.close()


@pytest.mark.usefixtures("mdns_turn")
async def test_mdns() -> None:
    name = "attic-1"
    browser = Browser()
    announcer = announcer_of(Profile(), name=name)
    announcer.set_power(False)  # nothing is announced yet
    announcer.start([HERE], {})
    try:
        await browser.wait_for(ServiceStateChange.Added, "attic-")
        announcer.set_power(False)
        # A listener that has not heard of it before.
        stranger = AsyncZeroconf(interfaces=[HERE])
        info = AsyncServiceInfo(TYPES[0], f"{name}.{TYPES[0]}")
        assert not await info.async_request(stranger.zeroconf, 500)
        announcer.rename("attic-2")
        heard = [browser.changes.get_nowait()[0] for _ in range(browser.changes.qsize())]
        # A unit that loses its power does not say good-bye.
        assert [other for other in heard if other.startswith("attic-")] == []
        announcer.set_power(True)
        info = AsyncServiceInfo(TYPES[0], f"attic-2.{TYPES[0]}")
        assert await info.async_request(stranger.zeroconf, 1000 * PATIENCE_S)
        await stranger.async_close()
    finally:
        await announcer.close()
        await browser.close()


@pytest.mark.needs_program("mosquitto")
async def test_mqtt(tmp_path: Path) -> None:
    async with on_broker(tmp_path) as (controller, broker, listener):
        controller.lose_power()
        # The last will: the connection ended without a good-bye.
        await listener.until_last(f"{PREFIX}/status", "offline")
        await broker.publish(f"{PREFIX}/cmd", "out0=1")
        heard = len(listener.of(f"{PREFIX}/OUT0"))
        controller.restart()
        await listener.until_last(f"{PREFIX}/status", "online")
        await broker.publish(f"{PREFIX}/cmd", "out1=1")
        await listener.until_last(f"{PREFIX}/OUT1", "1")
        assert listener.of(f"{PREFIX}/cmdr") == ["1"]
        assert set(listener.of(f"{PREFIX}/OUT0")[heard:]) <= {"0"}


async def test_messages_that_go_out() -> None:
    office = PostOffice()
    channel = ScriptedChannel(office.bell)
    office.outbox.add("email", channel)
    channel.hanging = True
    office.notify("first")
    await office.until(lambda: channel.attempted == ["first"])
    office.outbox.set_power(False)
    channel.hanging = False
    office.notify("second")
    await until(lambda: channel.closed == 1)
    await office.until_stored()
    assert (channel.attempted, channel.delivered) == (["first"], [])
    office.outbox.set_power(True)
    await office.until(lambda: channel.delivered == ["first", "second"])
    await office.outbox.close()


async def test_message_cut_and_restarted_immediately_is_sent_once() -> None:
    office = PostOffice()
    channel = ScriptedChannel(office.bell)
    office.outbox.add("email", channel)
    channel.hanging = True
    office.notify("alarm")
    await office.until(lambda: channel.attempted == ["alarm"])
    office.outbox.set_power(False)
    channel.hanging = False
    office.outbox.set_power(True)
    await office.until_ended()
    assert channel.delivered == ["alarm"]
    await office.outbox.close()


async def test_deferred_message_is_cut_and_resumed_as_well() -> None:
    office = PostOffice()
    limits = ChannelLimits(per_s=1e6, burst=1000, max_aside=2, patience_s=0.001)
    channel = ScriptedChannel(office.bell, limits)
    office.outbox.add("email", channel)
    channel.hanging = True
    office.notify("first")
    office.notify("second")
    await office.until(lambda: channel.attempted == ["first", "second"])
    office.outbox.set_power(False)
    channel.hanging = False
    await until(lambda: channel.closed == 1)
    office.outbox.set_power(True)
    await office.until(lambda: channel.delivered == ["first", "second"])
    await office.outbox.close()


async def test_outbox_follows_the_power_of_its_controller() -> None:
    sending = Sending(capture=False, targets=Targets(allow_local=True))
    asked = asyncio.Event()
    cut = asyncio.Event()

    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        while await reader.read(1000):
            pass
        cut.set()
        writer.close()

    server = await asyncio.start_server(never_answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    built = await build(Profile(), MemoryStore(), SystemClock(), UTC, sending=sending)
    try:
        await send_command(built.controller, f"http1=http%3A%2F%2F127.0.0.1%3A{port}%2Falarm")
        address = f"http://127.0.0.1:{port}/alarm"
        built.controller.on_notify(Notify("http", 1, True, "test", text=address))
        async with asyncio.timeout(PATIENCE_S):
            await asked.wait()
            built.controller.lose_power()
            await cut.wait()
            asked.clear()
            cut.clear()
            built.controller.restart()
            await asked.wait()
    finally:
        await built.stop()
        async with asyncio.timeout(PATIENCE_S):
            await cut.wait()
        server.close()


async def test_commands_by_sms(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?gsmcode=1234")
    commands = SmsCommands(twin.controller)
    cut_power(twin.controller)
    assert await commands.take("+48501234567", "1234:out1=1") is None
    await twin.controller.advance(OFF_S)
    assert await commands.take("+48501234567", "1234:out1=1") is not None


async def test_serial_port() -> None:
    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    built = await build(
        Profile(), MemoryStore(), VirtualClock(), UTC, serial_port=os.ttyname(theirs)
    )
    controller, heard = built.controller, bytearray()
    asyncio.get_running_loop().add_reader(ours, lambda: heard.extend(os.read(ours, 1000)))
    try:
        await send_command(controller, "usart_sensor=3")
        await until(lambda: serial_sensors.SDS011_WAKE in heard)
        cut_power(controller)
        await controller.advance(OFF_S / 2)
        heard.clear()
        await controller.advance(OFF_S / 2)
        await until(lambda: serial_sensors.SDS011_WAKE in heard)
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        await built.stop()
        os.close(ours)
        os.close(theirs)
