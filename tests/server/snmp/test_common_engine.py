"""One SNMP engine for several controllers: each is asked and speaks as if it had one alone."""

import asyncio
import socket
from pathlib import Path

import pytest

from leverframe.core.settings import Snmp, SnmpTrap
from leverframe.devices.wire.snmp import ACTIVATED, TrapContent
from leverframe.notify.channel import CannotSend
from leverframe.notify.snmp_identity import EngineIdentity, engine_id
from leverframe.notify.snmp_sender import TrapSender
from leverframe.server import snmp_engine
from tests.fleet.loop_node import loop_node
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.server.snmp.net_snmp import ENTERPRISE, V3, TrapReceiver, run

pytestmark = [pytest.mark.needs_program("snmpget"), pytest.mark.needs_program("snmptrapd")]

FIRST, SECOND = "127.0.0.31", "127.0.0.32"
OUT0 = f"{ENTERPRISE}.1.1.0"
#: How long a client without an answer waits.
SILENCE_S = 0.5
KEYS = {FIRST: "first-key-123", SECOND: "second-key-123"}


async def ask(place: str, *credentials: str, answer_s: float = PATIENCE_S) -> str:
    """Return the value of OUT0, or what net-snmp says instead."""
    waiting = ("-t", str(answer_s), "-r", "0")
    _, said = await run("snmpget", *credentials, "-Oqv", *waiting, place, OUT0)
    return said


async def ask_in_vain(place: str, *credentials: str) -> str:
    """The same for a client that gets no answer, or not the value."""
    return await ask(place, *credentials, answer_s=SILENCE_S)


def keeper(key: str) -> tuple[str, ...]:
    return (*V3, "-u", "keeper", "-A", key, "-X", key)


async def test_controllers_of_a_node_share_an_engine_and_each_has_its_own_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[snmp_engine.AgentEngine] = []

    class CountedEngine(snmp_engine.AgentEngine):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(snmp_engine, "AgentEngine", CountedEngine)
    port = free_port()
    places = {one: f"{one}:{port}" for one in KEYS}
    async with loop_node(snmp_port=port) as node:
        await node.node.door.listen("127.0.0.1", 0)
        await node.post("add", name="gh-{n}", count=2, address=FIRST)
        for name, key in zip(("gh-1", "gh-2"), KEYS.values(), strict=True):
            await node.post("send", command=f"stm.cgi?snmpv3=keeper*{key}*{key}", name=name)
            await node.post("send", command="stm.cgi?snmp=1*watch*", name=name)
        await node.post("send", command="outs.cgi?out0=1", name="gh-2")
        assert len(made) == 1
        for _ in range(2):
            for community in (("-v1", "-c", "watch"), ("-v2c", "-c", "watch")):
                assert [await ask(place, *community) for place in places.values()] == ["0", "1"]
            by_key = [await ask(places[one], *keeper(key)) for one, key in KEYS.items()]
            assert by_key == ["0", "1"]
        # The keys of one do not open the other, by whichever engine they are meant for.
        first = f"0x{engine_id(node.member('gh-1').built.mac).hex()}"
        second = f"0x{engine_id(node.member('gh-2').built.mac).hex()}"
        for report in (
            await ask_in_vain(places[SECOND], *keeper(KEYS[FIRST])),
            await ask_in_vain(places[SECOND], *keeper(KEYS[FIRST]), "-e", first, "-E", second),
            await ask_in_vain(places[SECOND], *keeper(KEYS[FIRST]), "-E", first),
            await ask_in_vain(places[SECOND], *keeper(KEYS[SECOND]), "-E", first),
        ):
            assert report not in ("0", "1")
        assert await ask(places[SECOND], *keeper(KEYS[SECOND]), "-e", second) == "1"
        # One that is switched off, or gone, is none of the other's business.
        await node.post("send", command="stm.cgi?snmp=0**", name="gh-1")
        assert "imeout" in await ask_in_vain(places[FIRST], "-v2c", "-c", "watch")
        assert await ask(places[SECOND], "-v2c", "-c", "watch") == "1"
        await node.post("remove", name="gh-2")
        await node.post("send", command="stm.cgi?snmp=1*watch*", name="gh-1")
        assert await ask(places[FIRST], *keeper(KEYS[FIRST])) == "0"
        assert len(made) == 2


def settings(trap: SnmpTrap, key: str = "") -> Snmp:
    return Snmp(trap=trap, user="keeper", authentication_key=key, privacy_key=key)


def identity(last: int) -> EngineIdentity:
    return EngineIdentity(engine_id(f"02:00:00:00:00:{last:02x}"), 1)


def test_sender_speaks_for_each_controller_by_its_own_community() -> None:
    sender = TrapSender()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(PATIENCE_S)
        for number, community in enumerate(("red", "blue", "red")):
            trap = SnmpTrap(
                enabled=True,
                host="127.0.0.1",
                port=receiver.getsockname()[1],
                community=community,
            )
            content = TrapContent(ACTIVATED, 1, {})
            sender.send(identity(number), settings(trap), trap, trap.host, content)
            assert community.encode() in receiver.recv(2000)
    sender.close()


@pytest.mark.thorough
async def test_inform_has_the_keys_of_its_controller_also_where_users_have_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leverframe.notify.snmp_sender.ANSWER_S", 0.5)
    port, right = free_port(), "right-key-123"
    receiver = TrapReceiver(tmp_path, port)
    await receiver.start(
        f"createUser keeper SHA-256 {right} AES {right}", "authUser log keeper priv"
    )
    trap = SnmpTrap(enabled=True, host="127.0.0.1", port=port, inform=True)

    def send() -> list[bool]:
        sender, acknowledged = TrapSender(), []
        for number, key in enumerate(("wrong-key-123", right, "wrong-key-123", right)):
            try:
                content = TrapContent(ACTIVATED, 1, {})
                sender.send(identity(number % 2), settings(trap, key), trap, trap.host, content)
                acknowledged.append(True)
            except CannotSend:
                acknowledged.append(False)
        sender.close()
        return acknowledged

    assert await asyncio.to_thread(send) == [False, True, False, True]
    await receiver.stop()
