"""A twin in a browser tab, asked without the browser: values in, values out."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from leverframe.core.profile import UnknownProfile
from leverframe.testing.in_tab import TabTwin


class Client:
    """Keeps one reply, as the service worker receives it."""

    def __init__(self) -> None:
        self.status, self.body, self.end = 0, b"", ""
        self.headers: dict[str, str] = {}
        self.changed = asyncio.Event()

    def begin(self, status: int, headers: list[str]) -> None:
        self.status = status
        self.headers = dict(zip(headers[::2], headers[1::2], strict=True))

    def send(self, piece: bytes) -> None:
        self.body += piece
        self.changed.set()

    def finish(self) -> None:
        self.end = "complete"
        self.changed.set()

    def lose(self) -> None:
        self.end = "lost"
        self.changed.set()

    async def wait(self) -> "Client":
        while not self.end:
            self.changed.clear()
            await self.changed.wait()
        return self


async def ask(twin: TabTwin, target: str, method: str = "GET", body: bytes = b"") -> Client:
    client = Client()
    twin.answer(1, method, target, ["accept", "*/*"], body, client)
    return await client.wait()


@pytest.fixture
async def twin() -> AsyncIterator[TabTwin]:
    started = await TabTwin.start()
    yield started
    await started.close()


async def test_command_is_answered_with_status_headers_and_body(twin: TabTwin) -> None:
    reply = await ask(twin, "/outs.cgi?out0=1")
    assert (reply.status, reply.end) == (200, "complete")
    assert reply.headers["Content-Type"] == "text/xml"
    assert b"<out>100000</out>" in reply.body


async def test_head_has_the_length_of_the_body_without_the_body(twin: TabTwin) -> None:
    reply = await ask(twin, "/json/all.json", "HEAD")
    whole = await ask(twin, "/json/all.json")
    assert (reply.status, reply.body, reply.end) == (200, b"", "complete")
    assert int(reply.headers["Content-Length"]) == len(whole.body)


async def test_stream_shows_a_change_and_ends_when_cancelled(twin: TabTwin) -> None:
    stream = Client()
    twin.answer(7, "GET", "/api/stream", [], b"", stream)
    await stream.changed.wait()
    assert (stream.status, stream.headers["Content-Type"]) == (200, "text/event-stream")
    seen = len(stream.body)
    await ask(twin, "/outs.cgi?out0=1")
    async with asyncio.timeout(5):
        while b"OUT0" not in stream.body[seen:]:
            stream.changed.clear()
            await stream.changed.wait()
    reply = twin._replies[7]
    twin.cancel(7)
    await asyncio.wait([reply])
    assert (reply.cancelled(), stream.end) == (True, "")


async def test_version_is_the_one_that_was_chosen() -> None:
    twin = await TabTwin.start("3.0", "1.36", "2026-07-01T12:00", "Europe/Warsaw")
    begun = msgspec.json.decode((await ask(twin, "/api/sim")).body)
    refused = await ask(twin, "/outs.cgi?pwmd0=50")
    await twin.close()
    assert begun["time"] == 1782900000
    assert refused.status == 404


async def test_unknown_version_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(UnknownProfile, match=r"Choose one of 3\.0, 3\.5"):
        await TabTwin.start("2.0")


@pytest.mark.parametrize(
    ("fault", "status", "end"),
    [
        ("status*code:503", 503, "complete"),
        ("cut*bytes:10", 200, "lost"),
        ("wrong_length*by:5", 200, "lost"),
        ("wrong_length*by:-5", 200, "complete"),
        ("reset*bytes:0", 0, "lost"),
        ("garbage*of:answer", 0, "lost"),
        ("refuse*for:1h", 0, "lost"),
    ],
)
async def test_faulty_reply_is_what_a_browser_makes_of_it(
    twin: TabTwin, fault: str, status: int, end: str
) -> None:
    assert (await ask(twin, f"/sim.cgi?fault={fault}")).status == 200
    reply = await ask(twin, "/json/all.json")
    assert (reply.status, reply.end) == (status, end)
    assert (await ask(twin, "/sim.cgi?fault=none")).status == 200
    assert (await ask(twin, "/json/all.json")).end == "complete"


async def test_frozen_reply_never_comes(twin: TabTwin) -> None:
    await ask(twin, "/sim.cgi?fault=frozen")
    waiting = Client()
    twin.answer(2, "GET", "/json/all.json", [], b"", waiting)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await waiting.wait()
    assert waiting.status == 0
