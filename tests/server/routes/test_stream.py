"""The live state as server-sent events."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from leverframe.server.http.messages import Reply, Request, StreamReply
from leverframe.server.routes import state
from leverframe.server.routes.context import MAX_STREAMS
from leverframe.testing import LoopTwin
from tests.cases import for_each
from tests.server.signing_up import (
    ADMINISTRATOR,
    OWN_PAGE,
    USER,
    base64,
    basic,
    cookie_of,
    sign_in,
    start_with_accounts,
)

HEARTBEAT = b"event: heartbeat\n"


async def without_heartbeats(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    try:
        async for chunk in chunks:
            if not chunk.startswith(HEARTBEAT):
                yield chunk
    finally:
        await chunks.aclose()  # type: ignore[attr-defined]


async def open_stream(twin: LoopTwin) -> AsyncGenerator[bytes, None]:
    reply = twin.web.handle(Request("GET", "/api/stream"))
    assert isinstance(reply, StreamReply)
    assert reply.content_type == "text/event-stream"
    return without_heartbeats(reply.chunks)


def content(message: bytes, kind: str) -> dict[str, Any]:
    head, data, end = message.split(b"\n", 2)
    assert (head, end) == (f"event: {kind}".encode(), b"\n")
    decoded: dict[str, Any] = msgspec.json.decode(data.removeprefix(b"data: "))
    return decoded


async def test_stream_begins_with_the_full_state() -> None:
    twin = await LoopTwin.start()
    stream = await open_stream(twin)
    assert content(await anext(stream), "state") == await twin.state()


async def test_stream_then_sends_changes() -> None:
    twin = await LoopTwin.start()
    stream = await open_stream(twin)
    await anext(stream)
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/sim.cgi?DS1=21.5&advance=3")
    change = content(await anext(stream), "change")
    assert (change["OUT0"], change["DS1"]) == (1, 21.5)
    assert "OUT1" not in change


async def test_stream_beats_at_its_start_and_every_two_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state, "HEARTBEAT_S", 0.05)
    twin = await LoopTwin.start()
    reply = twin.web.handle(Request("GET", "/api/stream"))
    assert isinstance(reply, StreamReply)
    await anext(reply.chunks)
    clocks = [content(await anext(reply.chunks), "heartbeat")["clock"] for _ in range(3)]
    assert time.time() - 60 < clocks[0] < clocks[1] < clocks[2] <= time.time()


async def test_stream_reports_changed_settings_without_naming_them() -> None:
    twin = await LoopTwin.start()
    stream = await open_stream(twin)
    await anext(stream)
    await twin.ok("/stm.cgi?gsmcode=1234")
    assert content(await anext(stream), "settings") == {}


async def test_stream_that_ends_leaves_no_watcher() -> None:
    twin = await LoopTwin.start()
    others = set(twin.controller.watchers)
    stream = await open_stream(twin)
    await anext(stream)
    assert len(twin.controller.watchers) == len(others) + 1
    await stream.aclose()
    assert twin.controller.watchers == others


async def test_stream_reports_an_advance_of_virtual_time_without_due_events() -> None:
    twin = await LoopTwin.start()
    stream = await open_stream(twin)
    began = content(await anext(stream), "state")["time"]
    await twin.ok("/sim.cgi?advance=5")
    assert content(await anext(stream), "change")["time"] == began + 5


async def follow(twin: LoopTwin, **headers: str) -> AsyncIterator[bytes]:
    answer = twin.web.handle(Request("GET", "/api/stream", None, headers, b"", "127.0.0.1"))
    reply = answer if isinstance(answer, StreamReply) else await answer  # type: ignore[misc]
    assert isinstance(reply, StreamReply)
    stream = without_heartbeats(reply.chunks)
    await anext(stream)
    return stream


async def test_stream_ends_when_its_session_does() -> None:
    twin = await start_with_accounts()
    cookie, other = [cookie_of(await sign_in(twin, USER)) for _ in range(2)]
    stream, others = await follow(twin, cookie=cookie), await follow(twin, cookie=other)
    await twin.ask("/post.cgi?signout", "POST", b"", cookie=cookie, origin=OWN_PAGE)
    assert [message async for message in stream] == []
    await twin.ask("/outs.cgi?out0=1", authorization=basic(*ADMINISTRATOR))
    assert content(await anext(others), "change")["OUT0"] == 1


async def test_stream_ends_when_its_password_is_no_longer_right() -> None:
    twin = await start_with_accounts()
    stream = await follow(twin, authorization=basic(*USER))
    fields = "*".join(base64(text) for text in (*ADMINISTRATOR, USER[0], "another long secret"))
    await twin.ask(f"/stm.cgi?auth=11{fields}&oname=0Lamp", authorization=basic(*ADMINISTRATOR))
    assert content(await anext(stream), "settings") == {}
    await twin.ask("/outs.cgi?out0=1", authorization=basic(*ADMINISTRATOR))
    assert [message async for message in stream] == []


async def open_from(twin: LoopTwin, peer: str, **headers: str) -> AsyncIterator[bytes] | int:
    """A stream that has begun, or the status of its refusal."""
    request = Request("GET", "/api/stream", headers=headers, peer=peer)
    answer = twin.web.handle(request)
    reply = await answer if isinstance(answer, Coroutine) else answer
    if isinstance(reply, Reply):
        return reply.status
    stream = without_heartbeats(reply.chunks)
    await anext(stream)
    return stream


async def open_all(twin: LoopTwin, peer: str, **headers: str) -> list[AsyncIterator[bytes]]:
    opened = []
    while not isinstance(stream := await open_from(twin, peer, **headers), int):
        opened.append(stream)
    assert stream == 503
    return opened


async def close_all(streams: list[AsyncIterator[bytes]]) -> None:
    for stream in streams:
        await stream.aclose()  # type: ignore[attr-defined]


async def test_one_address_gets_a_share_of_the_streams_and_others_theirs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    twin = await LoopTwin.start()
    first = await open_all(twin, "192.0.2.1")
    assert MAX_STREAMS // 2 < len(first) < MAX_STREAMS
    await open_all(twin, "192.0.2.1")
    second = await open_all(twin, "192.0.2.2")
    assert len(second) > MAX_STREAMS // 8
    assert len([text for text in caplog.messages if "stream to 192.0.2.1" in text]) == 1
    metrics = (await twin.ok("/metrics")).body.decode()
    assert f"leverframe_streams {len(first + second)}\n" in metrics
    assert "leverframe_streams_refused_total 3\n" in metrics
    await close_all(first + second)
    assert "leverframe_streams 0\n" in (await twin.ok("/metrics")).body.decode()
    assert len(await open_all(twin, "192.0.2.1")) == len(first)


async def test_one_account_gets_a_share_from_wherever_it_asks_and_other_accounts_theirs() -> None:
    twin = await start_with_accounts()
    first = await open_all(twin, "192.0.2.1", authorization=basic(*USER))
    assert len(first) <= MAX_STREAMS // 2
    assert await open_from(twin, "192.0.2.2", authorization=basic(*USER)) == 503
    # The administrator, behind the same proxy.
    others = await open_all(twin, "192.0.2.1", authorization=basic(*ADMINISTRATOR))
    assert len(others) > 6
    await close_all(first + others)


async def test_streams_that_are_opened_at_one_moment_are_limited_too() -> None:
    twin = await LoopTwin.start()
    request = Request("GET", "/api/stream", peer="192.0.2.1")
    replies = [twin.web.handle(request) for _ in range(2 * MAX_STREAMS)]
    begun = []
    for reply in replies:
        assert isinstance(reply, StreamReply)
        begun += [reply.chunks async for _ in islice_one(reply.chunks)]
    assert MAX_STREAMS // 2 < len(begun) < MAX_STREAMS


async def islice_one(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The first message, if there is one."""
    with suppress(StopAsyncIteration):
        yield await anext(chunks)


@for_each("turns", range(5))
async def test_stream_ends_whose_client_leaves_at_the_moment_of_a_change(turns: int) -> None:
    twin = await LoopTwin.start()
    stream = await open_stream(twin)
    await anext(stream)
    waiting = asyncio.ensure_future(anext(stream))
    for _ in range(3):
        await asyncio.sleep(0)
    await twin.ok("/outs.cgi?out0=1")
    for _ in range(turns):
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert "leverframe_streams 0\n" in (await twin.ok("/metrics")).body.decode()
