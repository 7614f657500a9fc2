"""Replies that are sent as they come, chunk by chunk."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from leverframe.server.http.messages import StreamCut, StreamReply
from tests.cases import for_each

from .handlers import Ticker
from .http_peer import GET, PATIENCE_S, serving


async def test_stream_is_sent_piecewise_and_the_connection_continues() -> None:
    ticker = Ticker()
    async with serving(ticker) as running:
        client = await running.connect()
        client.send(
            b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\nGET /after HTTP/1.1\r\nHost: h\r\n\r\n"
        )
        ticker.numbers.put_nowait(1)
        head = await client.answer(to_head=True)
        chunks = client.chunks()
        assert await anext(chunks) == b"data: 1\n\n"
        ticker.numbers.put_nowait(2)
        assert await anext(chunks) == b"data: 2\n\n"
        ticker.numbers.put_nowait(0)
        assert [chunk async for chunk in chunks] == []
        assert (await client.answer()).body == b"/after"
    assert head.headers["content-type"] == "text/event-stream"
    assert head.headers["transfer-encoding"] == "chunked"


async def test_stream_to_an_old_client_comes_without_chunks() -> None:
    ticker = Ticker()
    async with serving(ticker) as running:
        client = await running.connect()
        for number in (1, 2, 0):
            ticker.numbers.put_nowait(number)
        client.send(b"GET /stream HTTP/1.0\r\n\r\n")
        head = await client.answer(to_head=True)
        assert "transfer-encoding" not in head.headers
        assert await client.rest() == b"data: 1\n\ndata: 2\n\n"


async def test_head_of_a_stream_does_not_start_it() -> None:
    ticker = Ticker()
    async with serving(ticker) as running:
        client = await running.connect()
        client.send(b"HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (await client.answer(to_head=True)).status == 200
        assert (await client.ask(b"GET /after HTTP/1.1\r\nHost: h\r\n\r\n")).body == b"/after"


@for_each("rudely", [True, False])
async def test_stream_is_closed_when_its_client_leaves(rudely: bool) -> None:
    ticker = Ticker()
    async with serving(ticker) as running:
        client = await running.connect()
        ticker.numbers.put_nowait(1)
        client.send(b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.answer(to_head=True)
        if rudely:
            client.vanish()
        else:
            client.writer.close()
        async with asyncio.timeout(PATIENCE_S):
            await ticker.closed.wait()


async def test_stream_that_fails_does_not_look_complete(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail() -> AsyncIterator[bytes]:
        yield b"part"
        raise RuntimeError("no more")

    async with serving(lambda _request: StreamReply(200, "", fail())) as running:
        client = await running.connect()
        client.send(GET)
        await client.answer(to_head=True)
        assert not (await client.rest()).endswith(b"0\r\n\r\n")
    assert "no more" in caplog.text


async def test_failed_stream_is_cut_and_logged_without_a_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def cut() -> AsyncIterator[bytes]:
        yield b"part"
        raise StreamCut("The disk reported an error.")

    async with serving(lambda _request: StreamReply(200, "", cut())) as running:
        client = await running.connect()
        client.send(GET)
        await client.answer(to_head=True)
        assert not (await client.rest()).endswith(b"0\r\n\r\n")
    (line,) = caplog.records
    assert (line.levelname, line.exc_info) == ("WARNING", None)
    assert line.getMessage().endswith("was cut off: The disk reported an error.")


async def test_stream_that_ignores_its_cancellation_ends_with_its_client() -> None:
    changed, chunks_sent = asyncio.Event(), 0

    async def stubborn() -> AsyncIterator[bytes]:
        nonlocal chunks_sent
        while True:
            with suppress(asyncio.CancelledError):
                await changed.wait()
            chunks_sent += 1
            yield b"x"

    async with serving(lambda _: StreamReply(200, "", stubborn())) as running:
        client = await running.connect()
        client.send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.answer(to_head=True)
        client.vanish()
        async with asyncio.timeout(PATIENCE_S):
            while running.server.connection_count:  # noqa: ASYNC110
                await asyncio.sleep(0)
            await running.server.stop(grace_s=0)
    assert chunks_sent == 1
