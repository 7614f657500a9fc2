"""Every way out of a node's controller, tried at the node's own machine: nothing arrives there.

`TRIALS` names every channel, so that a new one cannot be forgotten; and no module but those in
`CONNECTING` opens connections or sends datagrams.
"""

import ast
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leverframe.core.engine.calls import Notify, PingHost
from leverframe.core.engine.journal import Cause
from leverframe.core.runtime.outgoing import CHANNELS, Targets
from leverframe.fleet.member import Member
from leverframe.host.controller import Controller
from leverframe.host.firmware_check import ask_for_release
from leverframe.interface.table.command_text import calls_in
from leverframe.interface.table.lookup import UNRESTRICTED
from leverframe.notify.channel import CannotSend, Trust
from tests.cases import for_each
from tests.core.runtime.test_targets import own_network_addresses
from tests.fleet.loop_node import loop_node
from tests.notify.broker import until

SOURCES = Path(__file__).parents[3] / "src" / "leverframe"
SENTENCE = "--allow-local-targets"
CAUSE = Cause("command", "test")


async def carry_out(member: Member, command: str) -> None:
    await perform(member.controller, command)


async def perform(controller: Controller, command: str) -> None:
    calls = [(call, None) for call in calls_in(command, controller.profile)]
    await controller.perform(calls, CAUSE, account=UNRESTRICTED)


class Trap:
    """Ports of this machine at which nothing may arrive."""

    def __init__(self, host: str, connections: socket.socket, datagrams: socket.socket) -> None:
        self.host = host
        self.port: int = connections.getsockname()[1]
        self._sockets = connections, datagrams

    @property
    def is_untouched(self) -> bool:
        connections, datagrams = self._sockets
        for attempt in (connections.accept, lambda: datagrams.recv(1)):
            try:
                attempt()
            except BlockingIOError:
                continue
            return False
        return True


@contextmanager
def trap_at(host: str, address: str) -> Iterator[Trap]:
    with (
        socket.create_server((address, 0)) as connections,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        datagrams.bind(connections.getsockname())
        connections.setblocking(False)
        datagrams.setblocking(False)
        yield Trap(host, connections, datagrams)


async def _failure(member: Member, command: str, notice: Notify) -> str:
    """Why a message is given up."""
    await carry_out(member, command)
    member.controller.on_notify(notice)
    await until(lambda: bool(member.controller.outbox_report().failed))
    (failed,) = member.controller.outbox_report().failed
    return str(failed.problem)


async def _trouble(member: Member, command: str, part: str) -> str:
    """What `/health` says after a command."""
    await carry_out(member, command)
    await until(lambda: part in member.controller.troubles)
    return member.controller.troubles[part]


async def _http(member: Member, trap: Trap, log: pytest.LogCaptureFixture) -> str:
    url = f"http://{trap.host}:{trap.port}/x"
    command = f"http1=http%3A%2F%2F{trap.host}%3A{trap.port}%2Fx"
    return await _failure(member, command, Notify("http", 1, True, "test", text=url))


async def _email(member: Member, trap: Trap, log: pytest.LogCaptureFixture) -> str:
    command = f"em1={trap.host}&em2={trap.port}&em5=a@example.org&em6=b@example.org"
    return await _failure(member, command, Notify("email", 0, True, "test", text="hot"))


async def _trap(member: Member, trap: Trap, log: pytest.LogCaptureFixture) -> str:
    command = f"snmptrap=1*{trap.host}*{trap.port}*public"
    return await _failure(member, command, Notify("snmp", 0, True, "test"))


async def _mqtt(member: Member, trap: Trap, log: pytest.LogCaptureFixture) -> str:
    return await _trouble(member, f"mqtt=1*{trap.host}*{trap.port}***cellar*0", "MQTT broker")


async def _modbus(member: Member, trap: Trap, log: pytest.LogCaptureFixture) -> str:
    command = f"modbus_sensor=01&modbushost0={trap.host}:{trap.port}"
    return await _trouble(member, command, "Modbus slot 1")


async def _ping(member: Member, trap: Trap, log: pytest.LogCaptureFixture) -> str:
    member.controller.on_ping(PingHost(0, trap.host, 5.0))
    await until(lambda: f"watchdog does not ping: {trap.host} " in log.text)
    return log.text


async def _release(member: Member, trap: Trap, log: pytest.LogCaptureFixture) -> str:
    way_out = Targets(in_node=True).channel("release")
    with pytest.raises(CannotSend) as refusal:
        await ask_for_release(f"http://{trap.host}:{trap.port}/", Trust(), way_out)
    return str(refusal.value)


TRIALS: dict[str, Callable[[Member, Trap, pytest.LogCaptureFixture], Awaitable[str]]] = {
    "http": _http,
    "release": _release,
    "mqtt": _mqtt,
    "email": _email,
    "trap": _trap,
    "modbus": _modbus,
    "ping": _ping,
}


def _places() -> list[tuple[str, str]]:
    """Names and addresses of this machine, with the address that each leads to."""
    by_network = [(x, x) for x in own_network_addresses() if ":" not in x]
    return [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), *by_network[:1]]


def test_every_channel_has_a_trial() -> None:
    assert TRIALS.keys() == CHANNELS.keys()


@for_each(("channel", "place"), [(x, place) for x in CHANNELS for place in _places()])
async def test_controller_of_a_node_reaches_nothing_of_its_machine(
    channel: str, place: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with loop_node(real_time=True) as node:
        await node.post("add", name="gh-1", count=1)
        with trap_at(*place) as trap:
            said = await TRIALS[channel](node.member("gh-1"), trap, caplog)
            assert SENTENCE in said
            assert f"{trap.host} is an address of this machine" in said
            assert trap.is_untouched


# --- no other way out -----------------------------------------------------------------------------

#: Calls that open a connection or send a datagram, and libraries that do.
CALLS = {
    *("create_connection", "open_connection", "sock_connect", "sock_sendto", "sendto", "sendmsg"),
    *("connect_ex", "urlopen", "create_datagram_endpoint", "getaddrinfo", "gethostbyname"),
    *("open_unix_connection", "create_unix_connection", "connect_tcp", "async_ping"),
}
LIBRARIES = {
    *("aiosmtplib", "smtplib", "gmqtt", "httpx", "httpcore", "anyio", "icmplib", "pysnmp"),
    *("http.client", "urllib.request", "ftplib", "telnetlib", "psycopg", "zeroconf", "aiohttp"),
    *("xmlrpc.client", "requests", "websockets", "ntplib", "paho"),
}

OUT = "opens what settings aim, to addresses that `outgoing` has checked"
OPERATOR = "opens what the operator names: on the command line, in the configuration, in a test"
ANSWERS = "answers, or listens"
FLEET = "opens what nodes of one fleet have agreed on"

#: Modules that open connections or send datagrams, and to whom.
CONNECTING = {
    "core/runtime/outgoing.py": OUT,
    "devices/pinger.py": OUT,
    "devices/modbus_lines.py": OUT,
    "notify/http.py": OUT,
    "notify/http_request.py": OUT,
    "notify/mqtt_client.py": OUT,
    "notify/mqtt.py": OUT,
    "notify/smtp.py": OUT,
    "notify/snmp_sender.py": OUT,
    "host/reach.py": ANSWERS,
    "server/bootloader.py": ANSWERS,
    "server/mdns.py": ANSWERS,
    "server/discovery.py": ANSWERS,
    "server/shared_ports.py": ANSWERS,
    "server/http/server.py": ANSWERS,
    "server/snmp_engine.py": ANSWERS,
    "server/snmp_responder.py": ANSWERS,
    "fleet/cluster/heartbeat.py": FLEET,
    "fleet/cluster/forwarding.py": FLEET,
    "fleet/cluster/lease.py": FLEET,
    "fleet/cluster/member.py": FLEET,
    "fleet/cluster/membership.py": FLEET,
    "fleet/cluster/node_calls.py": FLEET,
    "fleet/cluster/registry.py": FLEET,
    "storage/lanes/postgres_connection.py": FLEET,
    "storage/lanes/postgres_history_session.py": FLEET,
    "storage/lanes/postgres_lane.py": FLEET,
    "storage/lanes/postgres_schema.py": FLEET,
    "host/api_client.py": OPERATOR,
    "testing/recordings/proxy.py": OPERATOR,
    "testing/recordings/unit_client.py": OPERATOR,
    "units/client.py": OPERATOR,
    "units/search.py": OPERATOR,
    "units/proof.py": OPERATOR,
}


def connecting_modules() -> set[str]:
    found = set()
    for file in SOURCES.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if not any(name in source for name in (*CALLS, *LIBRARIES)):
            continue
        for node in ast.walk(ast.parse(source)):
            names: list[str] = []
            match node:
                case ast.Import():
                    names = [alias.name for alias in node.names]
                case ast.ImportFrom(module=str() as module):
                    names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
                case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in CALLS:
                    found.add(str(file.relative_to(SOURCES)))
            if any(name == x or name.startswith(f"{x}.") for name in names for x in LIBRARIES):
                found.add(str(file.relative_to(SOURCES)))
    return found


def test_no_other_module_opens_connections() -> None:
    """A new one goes by `leverframe.outgoing`, or gets a reason here why it need not."""
    assert connecting_modules() == CONNECTING.keys()
