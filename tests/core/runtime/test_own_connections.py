"""Connections of this process to itself: recognised, and without the rights of an address."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from ipaddress import ip_network
from typing import Any, cast
from urllib.parse import quote

import pytest

from leverframe.core.engine.calls import Notify
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.core.runtime.outgoing import (
    OWN_CONNECTIONS,
    OWN_PEER,
    Targets,
    connect_socket,
    peer_of,
)
from leverframe.fleet.cluster.handshake import CHALLENGE_BYTES, Client, Handshake
from leverframe.host.assembly import build
from leverframe.host.controller import Controller
from leverframe.host.ports import http_limits
from leverframe.host.services import Sending
from leverframe.interface.table.lookup import ANONYMOUS, TRUSTED_ADMINISTRATOR
from leverframe.interface.table.refusals import DeviceFailed
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.messages import Request
from leverframe.server.http.server import HttpServer
from leverframe.server.routes.admission import TrustedNetworks
from leverframe.storage.store import MemoryStore
from tests.cases import for_each
from tests.core.runtime.test_channels import carry_out, perform
from tests.core.runtime.test_targets import own_network_addresses
from tests.fleet.cluster.joined_doors import HOME, join_nodes
from tests.fleet.http_client import ask, ask_once
from tests.fleet.loop_node import LoopNode, loop_node
from tests.notify.broker import until
from tests.patience import PATIENCE_S
from tests.ports import free_port

FIRST, SECOND = "127.0.0.21", "127.0.0.22"
ALL_ADDRESSES = ip_network("0.0.0.0/0"), ip_network("::/0")


@asynccontextmanager
async def server_at(address: str) -> AsyncIterator[tuple[int, "asyncio.Queue[str]"]]:
    """Serve at an address, and note who connects."""
    peers: asyncio.Queue[str] = asyncio.Queue()
    arrived: list[asyncio.Transport] = []

    class Arriving(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            arrived.append(cast(asyncio.Transport, transport))
            peers.put_nowait(peer_of(transport))

    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Arriving, address, 0, family=family)
    try:
        yield server.sockets[0].getsockname()[1], peers
    finally:
        server.close()
        for transport in arrived:
            transport.abort()
        await asyncio.sleep(0)


def _addresses() -> list[str]:
    return ["127.0.0.1", "127.0.0.77", "::1", *own_network_addresses()]


@for_each("address", _addresses())
async def test_connection_of_a_controller_is_recognised_where_it_arrives(address: str) -> None:
    async with server_at(address) as (port, peers):
        connected = await connect_socket(address, port)
        assert await asyncio.wait_for(peers.get(), PATIENCE_S) == OWN_PEER
        connected.close()


async def test_other_connections_of_this_machine_are_not_taken_for_it() -> None:
    async with server_at("127.0.0.1") as (port, peers):
        with socket.create_connection(("127.0.0.1", port)):
            assert await asyncio.wait_for(peers.get(), PATIENCE_S) == "127.0.0.1"


async def test_port_is_forgotten_with_its_connection() -> None:
    async with server_at("127.0.0.1") as (port, peers):
        connected = await connect_socket("127.0.0.1", port)
        own = connected.getsockname()[1]
        assert OWN_CONNECTIONS.have("127.0.0.1", own)
        # An asyncio transport has it from now on, and closes it.
        _, writer = await asyncio.open_connection(sock=connected)
        assert OWN_CONNECTIONS.have("127.0.0.1", own)
        assert not OWN_CONNECTIONS.have("192.168.255.254", own)
        writer.close()
        await writer.wait_closed()
        assert not OWN_CONNECTIONS.have("127.0.0.1", own)


def test_rights_of_addresses_are_not_granted_to_own_connections() -> None:
    request = Request("GET", "/", headers={"host": "localhost"}, peer=OWN_PEER)
    assert not OwnNames().is_at_this_machine(request)
    trusted = TrustedNetworks(ALL_ADDRESSES, TRUSTED_ADMINISTRATOR)
    assert trusted.account_of(request) is ANONYMOUS
    beside = Request("GET", "/", headers={"host": "localhost"}, peer="127.0.0.1")
    assert OwnNames().is_at_this_machine(beside)
    assert trusted.account_of(beside) is TRUSTED_ADMINISTRATOR


def test_another_node_learns_that_a_client_is_a_controller_of_this_one() -> None:
    handshake, challenge = Handshake(b"key", "a"), bytes(CHALLENGE_BYTES)
    for own in ("10.0.0.1", "fd00::1"):
        client = Client(OWN_PEER, 4711, own, 8080)
        header = handshake.header(challenge, client, "gh-1", "a")
        assert handshake.read(challenge, header).client == client


async def test_another_node_sees_ours_as_one() -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        streams = await asyncio.open_connection(sock=await connect_socket(HOME, nodes["a"].port))
        assert (await ask(streams, "/", "gh-1.localhost")).status == 200
        assert standing.requests[0].peer == OWN_PEER
        streams[1].close()


# --- a node whose operator allows local targets ---------------------------------------------------


@asynccontextmanager
async def two_controllers(**keys: Any) -> AsyncIterator[LoopNode]:
    keys = {"allow_local_targets": True, "modbus_port": free_port(), **keys}
    async with loop_node(real_time=True, **keys) as node:
        await node.node.door.listen("127.0.0.1", 0)
        await node.post("add", name="gh-{n}", count=2, address=FIRST)
        yield node


async def test_controller_reads_but_never_writes_another_by_modbus() -> None:
    async with two_controllers(modbus_writers=("0.0.0.0/0", "127.0.0.0/8")) as node:
        first, second = node.member("gh-1"), node.member("gh-2")
        await carry_out(second, "modbuson=1")
        port = second.controller.ports["modbus"]()
        await carry_out(first, f"modbus_sensor=01&modbushost0={SECOND}:{port}")
        # A coil: the output of the other one.
        with pytest.raises(DeviceFailed, match="refuses to be written: exception 1"):
            await carry_out(first, "mod_write=1*0*0*1")
        assert not second.controller.engine.values["OUT0"]
        # The machine's owner may.
        reader, writer = await asyncio.open_connection(SECOND, port)
        request = bytes.fromhex("0001 0000 0006 01 05 0000 ff00")
        writer.write(request)
        async with asyncio.timeout(PATIENCE_S):
            assert await reader.readexactly(12) == request
        assert second.controller.engine.values["OUT0"]
        writer.close()


async def _answer_to_http(node: LoopNode, url: str) -> str:
    """What an HTTP request of the first controller gets."""
    member = node.member("gh-1")
    await carry_out(member, f"http1={quote(url, safe='')}")
    member.controller.on_notify(Notify("http", 1, True, "test", text=url))

    def list_ended() -> list[Any]:
        report = member.controller.outbox_report()
        return [*report.sent, *report.failed, *(x for x in report.waiting if x.problem)]

    await until(lambda: bool(list_ended()))
    (message,) = list_ended()
    return str(message.problem or message.answer)


@for_each(
    "target",
    [
        f"{SECOND}:{{port}}/outs.cgi?out0=1",
        f"{SECOND}:{{port}}/api/state",
        f"{SECOND}:{{port}}/metrics",
        "127.0.0.1:{port}/api/fleet/list",
        "127.0.0.1:{port}/metrics",
    ],
)
async def test_open_node_is_not_open_to_its_own_controllers(target: str) -> None:
    async with two_controllers() as node:
        url = "http://" + target.format(port=node.node.door.port)
        assert "401" in await _answer_to_http(node, url)
        assert not node.member("gh-2").controller.engine.values["OUT0"]
        # The machine's owner is asked for nothing.
        host, _, path = url.removeprefix("http://").partition("/")
        address, _, port = host.partition(":")
        assert (await ask_once(address, int(port), f"/{path}", host)).status == 200


async def test_controller_alone_may_ask_itself() -> None:
    async with open_controller(Targets(allow_local=True)) as (controller, port):
        url = f"http://127.0.0.1:{port}/outs.cgi?out0=1"
        await perform(controller, f"http1={quote(url, safe='')}")
        controller.on_notify(Notify("http", 1, True, "test", text=url))
        await until(lambda: bool(controller.engine.values["OUT0"]))


@asynccontextmanager
async def open_controller(targets: Targets) -> AsyncIterator[tuple[Controller, int]]:
    sending = Sending(capture=False, targets=targets)
    built = await build(Profile(), MemoryStore(), SystemClock(), UTC, sending=sending)
    server = HttpServer(built.web.handle, http_limits())
    try:
        await server.start("127.0.0.1", 0)
        yield built.controller, server.port
    finally:
        await server.stop()
        await built.stop()


def test_connections_of_uvloop_are_recognised_and_forgotten_too() -> None:
    uvloop = pytest.importorskip("uvloop")
    uvloop.run(test_port_is_forgotten_with_its_connection())
