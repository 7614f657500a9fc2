"""A broker that sends whatever it likes, as fast as it can: the log stays short, without it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.host.assembly import build
from leverframe.host.controller import Controller
from leverframe.host.services import Sending
from leverframe.storage.store import MemoryStore
from tests.core.runtime.test_channels import perform
from tests.notify.broker import until

SECRET = b"hunter2-in-a-payload"
TOPIC = b"\x00\x0acellar/cmd"
FLOOD = 2_000
#: Lines for all that one broker does within a minute, where nothing is wrong but the broker.
MAX_LINES = 6
CONNACK = b"\x20\x03\x00\x00\x00"


def packet(kind: int, body: bytes) -> bytes:
    assert len(body) < 128
    return bytes((kind, len(body))) + body


#: Packets of MQTT 5 that a broker must not send.
HOSTILE = {
    "a publish with an unknown property": packet(0x30, TOPIC + b"\x01\x7f" + SECRET),
    "a publish whose properties end too soon": packet(0x30, TOPIC + b"\x40" + SECRET),
    "a publish without a topic": packet(0x30, b"\x00\x00\x00" + SECRET),
    "a topic that is no text": packet(0x30, b"\x00\x02\xff\xfe\x00" + SECRET),
    "a publish that is cut": packet(0x32, b"\x00\x7fce"),
    "an unknown alias": packet(0x30, b"\x00\x00\x03\x23\x00\x07" + SECRET),
    "an unexpected acknowledgement": packet(0x34, TOPIC + b"\x00\x07\x00" + SECRET),
    "a bad SUBACK": packet(0x90, b"\x00\x01\x01\x7f" + SECRET),
    "a bad UNSUBACK": packet(0xB0, b"\x00\x01\x01\x7f" + SECRET),
    "an acknowledgement of nothing": packet(0x40, b"\x12\x34\x87"),
    "a packet of no kind": packet(0x00, SECRET),
    "a command that is none": packet(0x30, TOPIC + b"\x00" + b"nonsense=" + SECRET),
    "a command that is no text": packet(0x30, TOPIC + b"\x00" + b"\xff\xfe" + SECRET),
}


class HostileBroker:
    """Accepts a client, and floods it with one packet; then with refusals that come and go."""

    def __init__(self, flood: bytes) -> None:
        self._flood = flood
        self.flooded = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(65536)
            writer.write(CONNACK)
            for _ in range(FLOOD // 100):
                writer.write(self._flood * 100)
                await writer.drain()
            # A client that reads this has read the flood before.
            for number in range(200):
                writer.write(packet(0x40, number.to_bytes(2, "big") + bytes((number % 2 * 0x87,))))
            writer.write(packet(0xC0, b""))
            await writer.drain()
            self.flooded.set()
            while await reader.read(65536):
                pass
        except ConnectionError:
            self.flooded.set()
        finally:
            writer.close()


@asynccontextmanager
async def controller_at(broker: HostileBroker) -> AsyncIterator[Controller]:
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sending = Sending(capture=False)
    built = await build(Profile(), MemoryStore(), SystemClock(), UTC, sending=sending)
    try:
        await perform(built.controller, f"mqtt=1*127.0.0.1*{port}*cellar*s3cret*cellar*0")
        yield built.controller
    finally:
        await built.stop()
        server.close()


@pytest.mark.parametrize("flood", HOSTILE.values(), ids=HOSTILE.keys())
async def test_flood_of_a_broker_does_not_reach_the_log(
    flood: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    broker = HostileBroker(flood)
    async with controller_at(broker) as controller:
        async with asyncio.timeout(60):
            await broker.flooded.wait()
        # It still does what others ask it for.
        await perform(controller, "out1=1")
        await until(lambda: bool(controller.engine.values["OUT1"]))
    assert len(caplog.records) <= MAX_LINES, caplog.text[:2000]
    for secret in (SECRET.decode(), "s3cret"):
        assert secret not in caplog.text


class FickleBroker(HostileBroker):
    """Refuses every other publish of the state of OUT1, so that each one is news."""

    def __init__(self) -> None:
        super().__init__(b"")
        self.turns = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(65536)
            writer.write(CONNACK)
            while kind := await reader.read(1):
                length, shift = 0, 0
                while True:
                    (digit,) = await reader.readexactly(1)
                    length |= (digit & 0x7F) << shift
                    shift += 7
                    if not digit & 0x80:
                        break
                body = await reader.readexactly(length)
                if kind[0] & 0xF0 == 0x30:
                    topic = 2 + int.from_bytes(body[:2], "big")
                    is_output = body[2:topic] == b"cellar/OUT1"
                    self.turns += is_output
                    reason = 0x87 if is_output and self.turns % 2 else 0x00
                    writer.write(packet(0x40, body[topic : topic + 2] + bytes((reason, 0))))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def test_refusals_that_come_and_go_are_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    broker = FickleBroker()
    async with controller_at(broker) as controller:
        for number in range(20):
            before = broker.turns
            await perform(controller, f"out1={number % 2}")
            await until(lambda before=before: broker.turns > before)  # type: ignore[misc]
    assert len(caplog.records) <= MAX_LINES, caplog.text[:2000]
