"""The threads of traps, which many channels share."""

import asyncio
import threading

import pytest
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.runtime.outgoing import Targets
from leverframe.core.settings import Snmp, SnmpTrap
from leverframe.core.tree import defaults
from leverframe.devices.wire.snmp import TRAP_FIELDS
from leverframe.notify import snmp_sender
from leverframe.notify.channel import Message
from leverframe.notify.snmp import SnmpTraps, TrapOrigin, TrapSenders, TrapThreads
from leverframe.notify.snmp_identity import EngineIdentity
from tests.devices.waiting import until
from tests.patience import PATIENCE_S


def test_threads_end_when_the_last_gives_them_back() -> None:
    threads = TrapThreads()
    (first, senders), second = threads.take(), threads.take()
    assert (first, senders) == second
    threads.give_back().result()
    assert first.submit(int).result() == 0
    threads.give_back().result()
    with pytest.raises(RuntimeError, match="after shutdown"):
        first.submit(int)
    assert threads.take() != second
    threads.give_back().result()


def test_senders_are_lent_again_and_closed_also_when_they_come_back_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[object] = []

    class CountedSender:
        def __init__(self) -> None:
            opened.append(self)

        def close(self) -> None:
            opened.remove(self)

    monkeypatch.setattr(snmp_sender, "TrapSender", CountedSender)
    senders = TrapSenders()
    with senders.sender() as first, senders.sender() as second:
        assert first is not second
    with senders.sender() as again:
        assert again in (first, second)
        assert len(opened) == 2
        senders.close()
        assert opened == [again]
    assert opened == []


async def test_channel_that_is_closed_while_it_sends_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, may_continue, opened = threading.Event(), threading.Event(), list[str]()

    class SlowSender:
        def __init__(self) -> None:
            made.set()
            may_continue.wait(PATIENCE_S)
            opened.append("open")

        def send(self, *_: object) -> None:
            """Send nothing."""

        def close(self) -> None:
            opened.pop()

    monkeypatch.setattr(snmp_sender, "TrapSender", SlowSender)
    threads = TrapThreads()
    origin = TrapOrigin(EngineIdentity(b"x", 1), "02:00:00:00:00:01")
    channel = SnmpTraps(origin, Targets().channel("trap"), threads=threads)
    snmp = Snmp(trap=SnmpTrap(enabled=True, host="127.0.0.1"))
    settings = replace(defaults(Profile()), snmp=snmp)
    content = dict.fromkeys(TRAP_FIELDS, "")
    message = Message(1, "snmp", 0, True, "rule 0", "", content=content)
    sending = asyncio.create_task(channel.deliver(message, settings))
    await asyncio.to_thread(made.wait, 10)
    sending.cancel()
    closing = asyncio.create_task(channel.close())
    await until(lambda: channel._taken is None)
    may_continue.set()
    await closing
    assert opened == []
