"""Receivers of traps and informs, and the security of SNMPv3, with net-snmp on the other side."""

import socket
from pathlib import Path

import pytest
from pysnmp.error import PySnmpError

from leverframe.host.controller import Controller
from leverframe.notify.snmp_identity import engine_id
from tests.notify.broker import until
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.server.snmp.net_snmp import ENTERPRISE, Manager, TrapReceiver
from tests.server.snmp.test_agent import running, send_command

pytestmark = [pytest.mark.needs_program("snmpget"), pytest.mark.needs_program("snmptrapd")]

RULE = "event=0*104*0*1*0*0*40*0*0*0*0*0*1*0*0*0&eventon=0*1"
KEYS = "snmpv3=keeper*auth-key-123*priv-key-123"
#: The setting, and what net-snmp calls it: level, privacy, how a receiver creates its user.
PRIVACY = {
    0: (["-l", "authNoPriv"], "auth", ""),
    1: (["-l", "authPriv", "-x", "AES", "-X", "priv-key-123"], "priv", "AES priv-key-123"),
    2: (["-l", "authPriv", "-x", "AES-256", "-X", "priv-key-123"], "priv", "AES-256 priv-key-123"),
}


@pytest.fixture(autouse=True)
def soon_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leverframe.notify.snmp_sender.ANSWER_S", 0.5)


async def raise_alarm(controller: Controller) -> None:
    await send_command(controller, RULE)
    await send_command(controller, "vout0=1")


def answers(controller: Controller) -> dict[str, str]:
    """What was said of sent messages, by channel."""
    return {sent.channel: sent.answer or "" for sent in controller.outbox_report().sent}


def problem_of(controller: Controller, channel: str) -> str:
    return controller.outbox_report().channels[channel].problem or ""


async def test_inform_is_sent_when_it_is_acknowledged(tmp_path: Path) -> None:
    port = free_port()
    receiver = TrapReceiver(tmp_path, port)
    commands = f"snmptrap=1*127.0.0.1*{port}*alarm&snmpinform1=1"
    async with running(commands) as (controller, _, _):
        await raise_alarm(controller)
        await until(lambda: "did not acknowledge" in problem_of(controller, "snmp"))
        assert answers(controller) == {}
        assert controller.troubles["snmp"] == problem_of(controller, "snmp")
        await receiver.start("authCommunity log alarm")
        # The receiver is set up; what waits is retried immediately.
        await send_command(controller, "snmpprivacy=2")
        assert '"EVENT1"' in await receiver.line_with(f"{ENTERPRISE}.0.1")
        await until(lambda: answers(controller) == {"snmp": "acknowledged"})
        assert "snmp" not in controller.troubles
    await receiver.stop()


@pytest.mark.parametrize("privacy", PRIVACY)
async def test_inform_of_version_3_is_acknowledged(tmp_path: Path, privacy: int) -> None:
    port = free_port()
    receiver = TrapReceiver(tmp_path, port)
    _, level, key = PRIVACY[privacy]
    # The receiver of an inform is the authority: its user belongs to its own engine.
    await receiver.start(
        f"createUser keeper SHA-256 auth-key-123 {key}", f"authUser log keeper {level}"
    )
    commands = f"{KEYS}&snmpprivacy={privacy}&snmptrap=1*127.0.0.1*{port}*&snmpinform1=1"
    async with running(commands) as (controller, _, _):
        await raise_alarm(controller)
        assert '"EVENT1"' in await receiver.line_with(f"{ENTERPRISE}.0.1")
        await until(lambda: answers(controller) == {"snmp": "acknowledged"})
    await receiver.stop()


@pytest.mark.parametrize("privacy", [0, 2])
async def test_agent_and_traps_have_the_privacy_that_is_chosen(
    tmp_path: Path, privacy: int
) -> None:
    port = free_port()
    receiver = TrapReceiver(tmp_path, port)
    options, level, key = PRIVACY[privacy]
    user = ["-v3", "-u", "keeper", "-a", "SHA-256", "-A", "auth-key-123"]
    commands = f"{KEYS}&snmpprivacy={privacy}&snmp=1**&snmptrap=1*127.0.0.1*{port}*"
    async with running(commands) as (controller, agent, mac):
        assert agent.port is not None
        assert await Manager(agent.port, *user, *options).get("1.1.0") == ["INTEGER: 0"]
        for wrong in (["-l", "noAuthNoPriv"], PRIVACY[1][0]):
            code, output = await Manager(agent.port, *user, *wrong).ask(
                "snmpget", "-t", "1", f"{ENTERPRISE}.1.1.0"
            )
            assert code != 0
            assert "INTEGER" not in output
        await receiver.start(
            f"createUser -e 0x{engine_id(mac).hex()} keeper SHA-256 auth-key-123 {key}",
            f"authUser log keeper {level}",
        )
        await raise_alarm(controller)
        assert '"EVENT1"' in await receiver.line_with(f"{ENTERPRISE}.0.1")
    await receiver.stop()


async def test_every_receiver_gets_it_and_a_dead_one_holds_up_no_other(tmp_path: Path) -> None:
    first, third, dead = free_port(), free_port(), free_port()
    receivers = {port: TrapReceiver(tmp_path / str(port), port) for port in (first, third)}
    for port, receiver in receivers.items():
        (tmp_path / str(port)).mkdir()
        await receiver.start("authCommunity log alarm")
    commands = (
        f"snmptrap=1*127.0.0.1*{first}*alarm&snmptrap2=1*127.0.0.1*{dead}*alarm&snmpinform2=1"
        f"&snmptrap3=1*127.0.0.1*{third}*alarm&snmpinform3=1"
    )
    async with running(commands) as (controller, _, _):
        await raise_alarm(controller)
        for receiver in receivers.values():
            await receiver.line_with(f"{ENTERPRISE}.0.1")
        await until(lambda: len(answers(controller)) == 2)
        assert answers(controller) == {
            "snmp": "sent; traps are not acknowledged",
            "snmp3": "acknowledged",
        }
        await until(lambda: f"127.0.0.1:{dead} did not ack" in problem_of(controller, "snmp2"))
        await send_command(controller, "snmptrap2=0**162*")
        await until(lambda: controller.outbox_report().channels["snmp2"].failed == 1)
        assert "switched off" in (controller.outbox_report().failed[0].problem or "")
    for receiver in receivers.values():
        await receiver.stop()


async def test_foreign_datagrams_to_the_port_of_an_inform_are_not_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.settimeout(PATIENCE_S)
        commands = f"snmptrap=1*127.0.0.1*{silent.getsockname()[1]}*alarm&snmpinform1=1"
        async with running(commands) as (controller, _, _):
            await raise_alarm(controller)
            silent.setblocking(False)
            received: list[tuple[bytes, tuple[str, int]]] = []

            def has_arrived() -> bool:
                try:
                    received.append(silent.recvfrom(4096))
                except BlockingIOError:
                    return False
                return True

            await until(has_arrived)
            sender = received[0][1]
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.sendto(b"\xa2\x3d", sender)
            silent.sendto(b"\xa2\x3d", sender)
            await until(lambda: "did not acknowledge" in problem_of(controller, "snmp"))
    assert "Traceback" not in caplog.text


async def test_late_inform_is_reported_as_not_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leverframe.notify.snmp_sender.SEND_S", 0.1)
    commands = f"snmptrap=1*127.0.0.1*{free_port()}*alarm&snmpinform1=1"
    async with running(commands) as (controller, _, _):
        await raise_alarm(controller)
        await until(lambda: "no answer within 0.1 s" in problem_of(controller, "snmp"))


async def test_refusal_of_the_library_is_reported_and_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_: object) -> None:
        raise PySnmpError("no")

    monkeypatch.setattr("leverframe.notify.snmp_sender.snmp_api.send_notification", refuse)
    async with running("snmptrap=1*127.0.0.1*162*alarm") as (controller, _, _):
        await raise_alarm(controller)
        await until(lambda: "cannot be sent to 127.0.0.1:162" in problem_of(controller, "snmp"))
