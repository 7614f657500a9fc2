"""Modbus TCP, SNMP and discovery: one socket each, distinguished by the local address."""

import asyncio
import socket
from pathlib import Path
from time import perf_counter

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.event_loop import BURST_S, PART, LoopShare
from leverframe.fleet.discovery import FleetDiscovery
from leverframe.fleet.member import NewController
from leverframe.fleet.records import MemberRecord
from leverframe.fleet.shared_ports import bind_to_loopback
from leverframe.server.discovery import QUESTION
from leverframe.server.shared_ports import Asked
from tests.fleet.loop_node import LoopNode, loop_node
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.server.snmp.net_snmp import ENTERPRISE, TrapReceiver

READ_COIL = bytes.fromhex("0001 0000 0006 01 01 0000 0001")
#: Asks for the name by SNMP v2c, with the community `watch`.
ASK_NAME = bytes.fromhex(
    "3026 020101 0405 7761746368 a01a 02020101 020100 020100 300e 300c 0608 2b06010201010500 0500"
)
FIRST = "127.0.0.21"
SECOND = "127.0.0.22"
GET_NAME = ("-v2c", "-c", "watch", "-Oqv")
SWITCHES = ("stm.cgi?modbuson=1", "stm.cgi?snmp=1*watch*")
SYS_NAME = "1.3.6.1.2.1.1.5.0"
TRAP_RULE = "inpa.cgi?event=0*104*0*1*0*0*40*0*0*0*0*0*1*0*0*0&eventon=0*1"


async def two(node: LoopNode) -> None:
    await node.node.door.listen("127.0.0.1", 0)
    await node.post("add", name="gh-{n}", count=2, address=FIRST)


async def coil(address: str, port: int) -> int:
    """Read the first coil, which is OUT0."""
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(READ_COIL)
        async with asyncio.timeout(PATIENCE_S):
            return (await reader.readexactly(10))[9]
    finally:
        writer.close()


async def test_modbus_answers_at_each_address_through_one_socket() -> None:
    port = free_port()
    async with loop_node(modbus_port=port) as node:
        await two(node)
        assert (await node.post("send", command="stm.cgi?modbuson=1"))["done"] == 2
        await node.post("send", command="outs.cgi?out0=1", name="gh-2")
        assert [await coil(one, port) for one in (FIRST, SECOND)] == [0, 1]
        # No controller has this address.
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await coil("127.0.0.23", port)
        await node.post("send", command="stm.cgi?modbuson=0", name="gh-1")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await coil(FIRST, port)
        assert await coil(SECOND, port) == 1
        await node.post("remove", name="gh-2")
        with pytest.raises(ConnectionRefusedError):
            await coil(SECOND, port)


def use_up_its_time(node: LoopNode, name: str) -> float:
    """Let a controller be busy while others are asked; return when it may continue."""
    share, shares = node.member(name).entrance.share, node.node.door.loop_shares
    for one in (share, LoopShare()):
        shares.must_wait(one, shares.clock())
    share.paid_until = shares.clock() + BURST_S / PART + 0.1
    return share.paid_until - BURST_S / PART


async def test_modbus_and_snmp_wait_for_the_turn_of_the_controller() -> None:
    modbus_port, snmp_port = free_port(), free_port()
    async with loop_node(modbus_port=modbus_port, snmp_port=snmp_port) as node:
        await two(node)
        for command in SWITCHES:
            assert (await node.post("send", command=command))["done"] == 2
        may_continue = use_up_its_time(node, "gh-1")
        assert await coil(FIRST, modbus_port) == 0
        assert perf_counter() > may_continue
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as manager:
            manager.setblocking(False)
            manager.connect((FIRST, snmp_port))
            may_continue = use_up_its_time(node, "gh-1")
            manager.send(ASK_NAME)
            async with asyncio.timeout(PATIENCE_S):
                answer = await loop.sock_recv(manager, 4096)
        assert answer.endswith(b"gh-1")
        assert perf_counter() > may_continue


async def test_port_in_use_refuses_modbus_and_snmp() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken_udp,
    ):
        taken_udp.bind(("127.0.0.1", 0))
        ports = taken.getsockname()[1], taken_udp.getsockname()[1]
        async with loop_node(modbus_port=ports[0], snmp_port=ports[1]) as node:
            await two(node)
            for command, port in (
                ("stm.cgi?modbuson=1", ports[0]),
                ("stm.cgi?snmp=1*a*b", ports[1]),
            ):
                answer = await node.post("send", command=command)
                assert answer["refused"] == 2
                detail = answer["results"][0]["detail"]
                assert f"Port {port} of {FIRST} cannot be used: Address already in use" in detail


async def test_controller_without_an_address_cannot_enable_modbus_and_snmp() -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        for command in SWITCHES:
            answer = await node.post("send", command=command)
            assert "has no address of its own" in answer["results"][0]["detail"]


async def test_modbus_and_snmp_without_an_address_are_reported_as_a_problem() -> None:
    leaves = {
        "modbus_tcp.enabled": True,
        "snmp.enabled": True,
        "snmp.read_community": "watch",
    }
    async with loop_node() as node:
        await node.node.add([NewController(MemberRecord("a"), Profile(), leaves)])
        (one,) = await node.get("list")
        assert one["status"] == "degraded"
        # The message says what helps, not to free a port that no program uses.
        assert sum("`leverframe fleet place NAME" in trouble for trouble in one["troubles"]) == 2
        assert not any("Free it" in trouble for trouble in one["troubles"])


@pytest.mark.needs_program("snmpget")
async def test_snmp_answers_from_the_requested_address() -> None:
    port = free_port()
    async with loop_node(snmp_port=port) as node:
        await two(node)
        assert (await node.post("send", command="stm.cgi?snmp=1*watch*change"))["done"] == 2
        for address, name in ((FIRST, "gh-1"), (SECOND, "gh-2")):
            assert await _snmp_name(address, port) == name
        await node.post("send", command="stm.cgi?snmp=0**", name="gh-1")
        assert await _snmp_name(FIRST, port) == ""
        assert await _snmp_name(SECOND, port) == "gh-2"
        await node.post("remove", name="gh-2")
        node.node.snmp.send(SECOND, b"late", ("127.0.0.1", 9))


async def _snmp_name(address: str, port: int) -> str:
    asking = await asyncio.create_subprocess_exec(
        *("snmpget", "-r0", "-t1", *GET_NAME, f"{address}:{port}", SYS_NAME),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    output, _ = await asking.communicate()
    return output.decode().strip().strip('"')


async def test_discovery_answers_at_each_address_and_for_all_once_a_second() -> None:
    port, now = free_port(), [0.0]
    async with loop_node() as node:
        await two(node)
        await node.post("add", name="hidden")
        troubles: dict[str, str] = {}
        members = node.node.members
        discovery = FleetDiscovery(lambda: members.values(), 8080, troubles, lambda: now[0])
        discovery.start("127.0.0.1", port)
        try:
            assert await _discover(SECOND, port, 1) == [(SECOND, "gh-2:8080")]
            all_controllers = [(FIRST, "gh-1:8080"), (SECOND, "gh-2:8080")]
            assert await _discover("127.255.255.255", port, 2) == all_controllers
            said: list[bytes] = []
            asked = Asked(("127.0.0.1", 9), 1, "127.0.0.1", by_broadcast=True)
            assert discovery._port is not None
            discovery._port.answer = lambda data, _: said.append(data)  # type: ignore[method-assign]
            discovery._take(QUESTION, asked)
            assert said == []
            now[0] = 1.0
            discovery._take(b"\x12\xf4\x81", asked)
            discovery._take(QUESTION, asked)
            assert len(said) == 2
            now[0] = 2.0
            members["gh-1"].controller.lose_power()
            discovery._take(QUESTION, asked)
            assert len(said) == 3
        finally:
            await discovery.close()
        assert troubles == {}


async def _discover(address: str, port: int, count: int) -> list[tuple[str, str]]:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.setblocking(False)
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        asking.bind(("", 0))
        await loop.sock_sendto(asking, QUESTION, (address, port))
        found = []
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(count):
                data, source = await loop.sock_recvfrom(asking, 256)
                found.append((source[0], data.decode().splitlines()[0]))
    return sorted(found)


async def test_unshareable_discovery_port_is_reported_as_a_problem() -> None:
    troubles: dict[str, str] = {}
    discovery = FleetDiscovery(list, 8080, troubles)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("", 0))
        discovery.start("127.0.0.1", taken.getsockname()[1])
    assert "so discovery is off" in troubles["discovery"]
    await discovery.close()


async def test_node_with_its_own_address_has_the_ports_there() -> None:
    assert bind_to_loopback(socket.SOCK_STREAM, "192.0.2.1", 0) is None
    port = free_port()
    async with loop_node(modbus_port=port, host="0.0.0.0") as node:
        await node.node.add([])
        factories = node.node.modbus
        await factories.enter("127.0.0.9", asyncio.Protocol)
        assert factories.port_of("127.0.0.9") == port
        await factories.leave("127.0.0.9")
        assert factories.port_of("127.0.0.9") is None


@pytest.mark.needs_program("snmptrapd")
async def test_traps_name_the_sending_controller(tmp_path: Path) -> None:
    port = free_port()
    receiver = TrapReceiver(tmp_path, port)
    await receiver.start("authCommunity log alarm")
    async with loop_node(capture=False, allow_local_targets=True) as node:
        await two(node)
        await node.post("add", name="plain")
        for command in (f"stm.cgi?snmptrap=1*127.0.0.1*{port}*alarm", TRAP_RULE):
            assert (await node.post("send", command=command))["done"] == 3
        await node.post("place", name="gh-2", address="127.0.0.24")
        await node.post("rename", name="gh-2", to="orchard")
        for name, shown, address in (
            ("gh-1", "gh-1", FIRST),
            ("orchard", "orchard", "127.0.0.24"),
            ("plain", "plain", "127.0.0.1"),
        ):
            await node.post("send", command="outs.cgi?vout0=1", name=name)
            said = await receiver.line_with(f"{ENTERPRISE}.0.1")
            assert f'{ENTERPRISE}.7.5.0 = STRING: "{node.member(name).built.mac}"' in said
            assert f'.{SYS_NAME} = STRING: "{shown}"' in said
            assert f".1.3.6.1.6.3.18.1.3.0 = IpAddress: {address}" in said
    await receiver.stop()
