"""What reaches the SNMP library: requests of those who have a name here, within their time."""

import asyncio
import logging

import pytest

from leverframe.core.runtime.event_loop import (
    BURST_S,
    PART,
    LoopShare,
    LoopShares,
    LoopTurns,
    turns_alone,
)
from leverframe.core.settings import Snmp
from leverframe.devices.wire.snmp import V1, V2C
from leverframe.server.snmp_responder import MAX_DATAGRAM_BYTES, MAX_WAITING, SnmpGate
from tests.devices.wire.test_snmp_opening import community_message, v3_message
from tests.patience import PATIENCE_S
from tests.server.signing_up import HandMoved

COMMUNITIES = Snmp(enabled=True, read_community="watch", write_community="łąka")
WITH_USER = Snmp(enabled=True, user="keeper", authentication_key="a" * 12, privacy_key="b" * 12)


class Library:
    """Handles what it gets, and takes its time."""

    def __init__(self, snmp: Snmp, takes_s: float = 0.0, neighbour: bytes = b"") -> None:
        self.clock = HandMoved()
        self.handled = 0
        self.takes_s = takes_s
        self.gate = SnmpGate(snmp, turns_alone(), self.clock, self.clock, neighbour.__eq__)

    def get(self, datagram: bytes, peer: str = "192.0.2.1") -> bool:
        """Has it got it?"""
        before = self.handled
        self.gate.handle(datagram, peer, self.handle)
        return self.handled > before

    def handle(self) -> None:
        self.handled += 1
        self.clock.now += self.takes_s


@pytest.mark.parametrize("version", [V1, V2C])
def test_only_known_communities_pass(version: int) -> None:
    library = Library(COMMUNITIES)
    assert library.get(community_message(version, b"watch"))
    assert library.get(community_message(version, "łąka".encode()))
    for name in (b"", b"wrong", b"watch "):
        assert not library.get(community_message(version, name))
    assert not library.get(v3_message(b"keeper"))
    assert not library.get(v3_message(b"", 4))


def test_only_authenticated_private_users_and_discovery_requests_pass() -> None:
    library = Library(WITH_USER)
    assert library.get(v3_message(b"keeper"))
    assert library.get(v3_message(b"", 4))
    assert not library.get(v3_message(b"keeper", 5))
    assert not library.get(v3_message(b"nobody"))
    assert not library.get(community_message(V2C, b""))


def test_message_for_the_engine_of_another_controller_is_dropped() -> None:
    library = Library(WITH_USER, neighbour=b"neighbour")
    assert library.get(v3_message(b"keeper", engine_id=b"own engine"))
    assert library.get(v3_message(b"", 4, engine_id=b""))
    assert not library.get(v3_message(b"keeper", engine_id=b"neighbour"))


def test_too_large_datagram_is_dropped_from_any_sender() -> None:
    library = Library(COMMUNITIES)
    whole = community_message(V2C, b"watch", bytes(MAX_DATAGRAM_BYTES - 21))
    assert len(whole) == MAX_DATAGRAM_BYTES
    assert library.get(whole)
    assert not library.get(community_message(V2C, b"watch", bytes(MAX_DATAGRAM_BYTES - 20)))


def test_source_that_asks_too_much_is_not_heard_and_others_are() -> None:
    library, request = Library(COMMUNITIES, takes_s=0.02), community_message(V2C, b"watch")
    heard = sum(library.get(request) for _ in range(1000))
    assert 200 <= heard < 300
    assert library.get(request, "192.0.2.2")
    library.clock.now += 20
    assert library.get(request)


def test_asking_who_is_there_leaves_time_to_those_who_ask_as_a_user() -> None:
    library = Library(WITH_USER, takes_s=0.02)
    for number in range(1000):
        library.get(v3_message(b"", 4), f"198.51.100.{number % 250}")
    assert library.handled < 50
    assert library.get(v3_message(b"keeper"))


def test_any_error_of_the_library_is_one_line_without_a_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    gate = SnmpGate(COMMUNITIES, turns_alone(), HandMoved())

    def fail() -> None:
        raise RecursionError("deep")

    for _ in range(100):
        gate.handle(community_message(V2C, b"watch"), "192.0.2.1", fail)
        gate.handle(b"\xa2\x3d", "192.0.2.1", fail)
        gate.handle(community_message(V2C, b"secret guess"), "192.0.2.1", fail)
    assert len(caplog.records) == 3
    assert not any(record.exc_info for record in caplog.records)
    assert "secret guess" not in caplog.text


LAST = 4


class BesideAnother:
    """The gate of a controller that has used its time, while another one is asked."""

    def __init__(self, waits_s: float) -> None:
        shares, share = LoopShares(), LoopShare()
        self.gate = SnmpGate(COMMUNITIES, LoopTurns(shares, share))
        self.handled: list[int] = []
        self.all_handled = asyncio.Event()
        shares.answer(share, None, lambda _: None)
        shares.answer(LoopShare(), None, lambda _: None)
        # As after a long request.
        share.paid_until = shares.clock() + BURST_S / PART + waits_s

    def ask(self, number: int) -> None:
        request = community_message(V2C, b"watch")
        self.gate.handle(request, "192.0.2.1", lambda: self._handle(number))

    def _handle(self, number: int) -> None:
        self.handled.append(number)
        if number == LAST:
            self.all_handled.set()


async def test_client_that_exhausted_its_loop_time_waits_and_is_answered_in_order() -> None:
    controller = BesideAnother(0.2)
    for number in range(LAST + 1):
        controller.ask(number)
    assert controller.handled == []
    async with asyncio.timeout(PATIENCE_S):
        await controller.all_handled.wait()
    assert controller.handled == [0, 1, 2, 3, 4]


async def test_no_more_than_some_wait_and_none_after_the_end() -> None:
    controller = BesideAnother(10.0)
    for number in range(MAX_WAITING + 10):
        controller.ask(number)
    waiting = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert len(waiting) == MAX_WAITING
    controller.gate.close()
    await asyncio.wait(waiting)
    assert controller.handled == []
