"""The SNMP agent and traps, asked by net-snmp's own programs."""

import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path
from random import Random

import msgspec
import pytest

from leverframe import __version__
from leverframe.core.engine.journal import Cause
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import Clock, SystemClock
from leverframe.devices.wire.snmp import objects_of
from leverframe.host.assembly import build
from leverframe.host.configuration import Config
from leverframe.host.controller import Controller
from leverframe.host.controller.hooks import Hindrance
from leverframe.host.ports import connect_snmp
from leverframe.host.services import Sending
from leverframe.interface.table.command_text import calls_in
from leverframe.interface.table.lookup import UNRESTRICTED
from leverframe.notify.snmp_identity import engine_id
from leverframe.server.shared_ports import SNMP_AGENT
from leverframe.server.snmp_agent import SnmpAgent
from leverframe.storage.store import MemoryStore, Store
from leverframe.testing.in_process import NEWEST
from tests.devices.wire.test_snmp_opening import community_message, field, number, text, v3_message
from tests.notify.broker import until
from tests.ports import free_port
from tests.server.snmp.net_snmp import ENTERPRISE, V3, Manager, TrapReceiver

pytestmark = [pytest.mark.needs_program("snmpget"), pytest.mark.needs_program("snmptrapd")]

USER = ["-u", "keeper", "-A", "auth-key-123", "-X", "priv-key-123"]
SETTINGS = "snmp=1*watch*zmiana-%C5%82%C4%85ka&snmpv3=keeper*auth-key-123*priv-key-123"


async def send_command(controller: Controller, text: str) -> None:
    """What the administrator sends by HTTP."""
    calls = [(call, None) for call in calls_in(text, controller.profile)]
    await controller.perform(calls, Cause("command", "test"), account=UNRESTRICTED)


@asynccontextmanager
async def running(
    commands: str,
    port: int = 0,
    *,
    profile: Profile = NEWEST,
    store: Store | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[tuple[Controller, SnmpAgent, str]]:
    """A controller with its agent on a free port, and its MAC address."""
    sending = Sending(capture=False)
    built = await build(
        profile, store or MemoryStore(), clock or SystemClock(), UTC, sending=sending
    )
    await send_command(built.controller, commands)
    agent = await connect_snmp(built, Config(snmp_port=port))
    assert isinstance(agent, SnmpAgent)
    try:
        yield built.controller, agent, built.mac
    finally:
        await agent.close()
        await built.stop()


def managers(port: int | None) -> dict[str, Manager]:
    assert port is not None
    return {
        "v1": Manager(port, "-v1", "-c", "watch"),
        "v2c": Manager(port, "-v2c", "-c", "watch"),
        "v2c writing": Manager(port, "-v2c", "-c", "zmiana-łąka"),
        "v3": Manager(port, *V3, *USER),
    }


async def test_every_version_reads_the_same_values() -> None:
    async with running(SETTINGS) as (controller, agent, _):
        controller.sense({"DS1": 21.54, "VCC": 12.0, "INPD2": 1, "m30": -7.25})
        await send_command(controller, "out2=1")
        for manager in managers(agent.port).values():
            report = await manager.get("1.3.0", "2.2.0", "3.7.0", "4.1.0", "4.2.0", "6.30.0")
            assert report == [f"INTEGER: {n}" for n in (1, 1, 1200, 215, -600, -725)]


async def test_walk_visits_the_whole_tree_once_and_in_order() -> None:
    async with running(SETTINGS) as (_, agent, _):
        for name, program in (("v1", "snmpwalk"), ("v2c", "snmpbulkwalk"), ("v3", "snmpwalk")):
            code, output = await managers(agent.port)[name].ask(program, ENTERPRISE)
            assert code == 0
            places = [tuple(map(int, line.split(" ")[0].split(".")[8:])) for line in
                      output.splitlines() if "INTEGER" in line]  # fmt: skip
            assert places == sorted(set(places))
            assert {place[0] for place in places} == {1, 2, 3, 4, 5, 6}
            assert len(places) == 18 + 4 + 8 + 24 + 12 + 30


async def test_system_group_says_what_it_is() -> None:
    async with running(SETTINGS) as (_, agent, _):
        _, output = await managers(agent.port)["v2c"].ask("snmpwalk", ".1.3.6.1.2.1.1")
        assert f"Leverframe {__version__}, networked relay controller, HW 3.9 SW 1.75" in output
        assert f".1.3.6.1.2.1.1.2.0 = OID: {ENTERPRISE}" in output


async def test_sysname_is_the_name_of_the_controller() -> None:
    store = MemoryStore()
    async with running(SETTINGS, store=store) as (_, agent, _):
        _, output = await managers(agent.port)["v2c"].ask("snmpget", ".1.3.6.1.2.1.1.5.0")
        assert output.endswith(f'STRING: "{store.load().kept["identity.name"]}"')


async def test_hw_30_is_read_and_switched_by_the_older_tree() -> None:
    async with running(SETTINGS, profile=Profile("3.0", "1.43")) as (controller, agent, _):
        controller.sense({"DS1": 21.54, "VCC": 12.0, "INPD2": 1, "TEMP": 31.5, "T1": 20.5})
        await send_command(controller, "sensor=01")
        controller.sense({"INPA1": 1.25, "H1": 40.0})
        who = managers(agent.port)
        switched = ("3.1.0.0", 1), ("3.1.3.0", 1), ("3.1.9.0", 1)
        assert (await who["v2c writing"].set(*switched))[0] == 0
        report = await who["v1"].get(
            *("3.1.0.0", "3.1.3.0", "3.1.9.0", "3.2.2.0", "3.3.8.0", "3.3.7.0", "3.4.1.0"),
            *("3.4.7.0", "3.4.8.0", "3.1.0"),
        )
        assert report == [f"INTEGER: {n}" for n in (1, 1, 1, 1, 3150, 1200, 215, 205, 400, 125)]
        values = controller.engine.values
        assert (values["OUT0"], values["OUT3"], values["PWM3"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("name", "program"), [("v1", "snmpwalk"), ("v2c", "snmpwalk"), ("v2c", "snmpbulkwalk")]
)
async def test_walk_of_hw_30_visits_both_trees_once_and_in_order(name: str, program: str) -> None:
    profile = Profile("3.0", "1.43")
    async with running(SETTINGS, profile=profile) as (_, agent, _):
        code, output = await managers(agent.port)[name].ask(program, ENTERPRISE)
        assert code == 0
        places = [
            tuple(map(int, line.split(" ")[0].split(".")[1:]))
            for line in output.splitlines()
            if "INTEGER" in line
        ]
        assert places == sorted(objects_of(profile))


async def test_name_of_the_system_is_the_one_that_was_given() -> None:
    async with running(SETTINGS) as (controller, agent, _):
        await send_command(controller, "sname=Boiler room")
        _, output = await managers(agent.port)["v2c"].ask("snmpget", ".1.3.6.1.2.1.1.5.0")
        assert output.strip().endswith('STRING: "Boiler room"')


async def test_outputs_are_set_by_those_who_may_write_all_or_nothing() -> None:
    async with running(SETTINGS) as (controller, agent, _):
        who = managers(agent.port)
        values = controller.engine.values
        assert (await who["v2c writing"].set(("1.1.0", 1), ("1.8.0", 1)))[0] == 0
        assert (values["OUT0"], values["PWM1"]) == (1, 1)
        assert (await who["v3"].set(("1.1.0", 0)))[0] == 0
        assert values["OUT0"] == 0
        for code, output in (
            await who["v2c"].set(("1.1.0", 1)),
            await who["v2c writing"].set(("1.1.0", 1), ("1.2.0", 2)),
            await who["v2c writing"].set(("1.1.0", 1), ("2.1.0", 1)),
        ):
            assert code != 0, output
        assert values["OUT0"] == values["OUT1"] == 0
        entries = await controller.action_audit.entries()
        noted = [msgspec.json.decode(entry) for entry in entries.values()]
        assert [entry["source"] for entry in noted] == ["127.0.0.1", "127.0.0.1"]
        assert noted[1]["changes"] == [{"path": "OUT0", "old": 1, "new": 0}]


async def test_lock_of_the_outputs_holds_for_snmp() -> None:
    async with running(SETTINGS) as (controller, agent, _):
        await send_command(controller, "outblock=1")
        code, output = await managers(agent.port)["v2c writing"].set(("1.1.0", 1))
        assert code != 0
        assert "inconsistentValue" in output
        assert controller.engine.values["OUT0"] == 0


@pytest.mark.parametrize(
    "credentials",
    [
        ["-v2c", "-c", "wrong"],
        [*V3, "-u", "keeper", "-A", "auth-key-wrong", "-X", "priv-key-123"],
        [*V3, "-u", "stranger", "-A", "auth-key-123", "-X", "priv-key-123"],
        ["-v3", "-l", "noAuthNoPriv", "-u", "keeper"],
    ],
)
async def test_strangers_get_no_value(credentials: list[str]) -> None:
    async with running(SETTINGS) as (_, agent, _):
        assert agent.port is not None
        stranger = Manager(agent.port, *credentials)
        code, output = await stranger.ask("snmpget", "-t", "1", f"{ENTERPRISE}.1.1.0")
        assert code != 0
        assert "INTEGER" not in output


def send_all(port: int, datagrams: Iterable[bytes]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("127.0.0.2", 0))
        for datagram in datagrams:
            sender.sendto(datagram, ("127.0.0.1", port))


async def test_datagrams_of_strangers_hold_up_no_manager_and_write_no_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    request = community_message(1, b"watch", bytes(20))
    large = field(0x30, number(1), text(b"wrong"), field(0xA0, b"\x30\x00" * 28_000))
    chance = Random(7)
    damaged = []
    for _ in range(300):
        bytes_ = bytearray(chance.choice([request, v3_message(b"keeper"), v3_message(b"", 4)]))
        for _ in range(chance.randrange(1, 4)):
            bytes_[chance.randrange(len(bytes_))] = chance.randrange(256)
        damaged.append(bytes(bytes_))
    async with running(SETTINGS) as (_, agent, _):
        assert agent.port is not None
        watch = managers(agent.port)["v2c"]
        await watch.get("1.1.0")
        # Not more at a time than the system keeps for a socket.
        parts = [damaged[start : start + 50] for start in range(0, len(damaged), 50)]
        for part in (*[[large]] * 3, *[[b"\xa2\x3d"] * 50] * 2, *parts, [request] * 20):
            send_all(agent.port, part)
            # Answered after all of them: datagrams are taken in order.
            assert await watch.get("1.1.0") == ["INTEGER: 0"]
    assert "Traceback" not in caplog.text
    report = [text for text in caplog.messages if "127.0.0.2" in text]
    assert len(report) == len({text.partition("(")[0] for text in report}) <= 4


async def test_agent_has_followed_the_settings_before_their_answer() -> None:
    async with running("snmp=0**") as (controller, agent, _):
        assert agent.port is None
        await send_command(controller, "snmp=1**")
        assert "No client has access" in controller.troubles[SNMP_AGENT]
        await send_command(controller, "snmp=1*seen*")
        assert SNMP_AGENT not in controller.troubles
        assert agent.port is not None
        assert await Manager(agent.port, "-v2c", "-c", "seen").get("1.1.0") == ["INTEGER: 0"]
        await send_command(controller, "snmp=0**")
        assert agent.port is None


async def test_agent_keeps_its_port_when_its_settings_change() -> None:
    port = free_port()
    async with running("snmp=1*first*", port) as (controller, agent, _):
        settings = controller.engine.settings
        for community in ("second", "third"):
            snmp = msgspec.structs.replace(settings.snmp, read_community=community)
            await agent.follow(msgspec.structs.replace(settings, snmp=snmp))
            assert SNMP_AGENT not in controller.troubles
            assert agent.port == port


async def test_trap_carries_source_value_and_text(tmp_path: Path) -> None:
    port = free_port()
    receiver = TrapReceiver(tmp_path, port)
    await receiver.start("authCommunity log pożar")
    async with running(f"snmptrap=1*127.0.0.1*{port}*po%C5%BCar") as (controller, _, _):
        await send_command(controller, "event=0*10*0*2500*0*0*40*0*0*0*0*0*1*0*0*0&eventon=0*1")
        controller.sense({"DS1": 27.5})
        said = await receiver.line_with(f"{ENTERPRISE}.0.1")
        for part in ('STRING: "DS1"', 'STRING: "27.5"', '"rule 1 activated: DS1 27.5"', '"rule 1"'):
            assert part in said
        controller.sense({"DS1": 20.0})
        assert '"20"' in await receiver.line_with(f"{ENTERPRISE}.0.2")
    await receiver.stop()


async def test_trap_names_the_controller_that_sends_it(tmp_path: Path) -> None:
    port = free_port()
    receiver = TrapReceiver(tmp_path, port)
    await receiver.start("authCommunity log alarm")
    async with running(f"snmptrap=1*127.0.0.1*{port}*alarm") as (controller, _, mac):
        await send_command(controller, "event=0*104*0*1*0*0*40*0*0*0*0*0*1*0*0*0&eventon=0*1")
        await send_command(controller, "sname=Boiler room")
        await send_command(controller, "vout0=1")
        said = await receiver.line_with(f"{ENTERPRISE}.0.1")
        assert f'{ENTERPRISE}.7.5.0 = STRING: "{mac}"' in said
        assert '.1.3.6.1.2.1.1.5.0 = STRING: "Boiler room"' in said
        # Without an address of its own it is that of the machine.
        assert ".1.3.6.1.6.3.18.1.3.0 = IpAddress: 127.0.0.1" in said
    await receiver.stop()


async def test_trap_for_every_edge_leaves_in_order_before_the_lane_lets_go(
    tmp_path: Path,
) -> None:
    port = free_port()
    receiver = TrapReceiver(tmp_path, port)
    await receiver.start("authCommunity log alarm")
    async with running(f"snmptrap=1*127.0.0.1*{port}*alarm") as (controller, _, _):
        await send_command(controller, "event=0*104*0*1*0*0*40*0*0*0*0*0*1*0*0*0&eventon=0*1")
        for number in range(1, 11):
            await send_command(controller, f"vout0={number % 2}")
        for number in range(1, 11):
            said = await receiver.line_with(ENTERPRISE)
            assert f"{ENTERPRISE}.0.{1 if number % 2 else 2}" in said
    await receiver.stop()


async def test_trap_without_a_community_is_authenticated_and_private(tmp_path: Path) -> None:
    port = free_port()
    receiver = TrapReceiver(tmp_path, port)
    commands = f"snmpv3=keeper*auth-key-123*priv-key-123&snmptrap=1*127.0.0.1*{port}*"
    async with running(commands) as (controller, _, mac):
        await receiver.start(
            f"createUser -e 0x{engine_id(mac).hex()} keeper SHA-256 auth-key-123 AES priv-key-123",
            "authUser log keeper priv",
        )
        await send_command(controller, "event=0*104*0*1*0*0*40*0*0*0*0*0*1*0*0*0&eventon=0*1")
        await send_command(controller, "vout0=1")
        assert '"EVENT1"' in await receiver.line_with(f"{ENTERPRISE}.0.1")
    await receiver.stop()


async def test_trap_that_cannot_be_sent_waits_and_says_why() -> None:
    async with running("snmptrap=1*no-such-host.invalid*162*alarm") as (controller, _, _):
        await send_command(controller, "event=0*104*0*1*0*0*40*0*0*0*0*0*1*0*0*0&eventon=0*1")
        await send_command(controller, "vout0=1")
        await until(lambda: controller.outbox_report().channels["snmp"].problem is not None)
        assert "no-such-host.invalid" in controller.outbox_report().channels["snmp"].problem


async def test_nothing_is_set_while_another_node_may_have_the_controller() -> None:
    async with running(SETTINGS) as (controller, agent, _):
        away = Hindrance("The database is away.", store_is_away=True)
        controller.why_refused = lambda: away
        code, output = await managers(agent.port)["v2c writing"].set(("1.1.0", 1))
        assert code != 0
        assert "resourceUnavailable" in output
        assert controller.engine.values["OUT0"] == 0
