"""Clients that say nothing, drip, stay idle or do not read: dropped at their time, not before.

The tests do not wait: they let the server look at its connections with a later time.
"""

import asyncio
import socket
from collections.abc import AsyncIterator

from leverframe.server.http.messages import AnyReply, Reply, Request, StreamReply
from leverframe.server.http.server import HttpLimits
from tests.cases import for_each

from .handlers import path_as_text
from .http_peer import GET, PATIENCE_S, Serving, serving

MIB = 1024 * 1024


async def test_client_that_says_nothing_is_dropped_after_the_header_time() -> None:
    async with serving(path_as_text) as running:
        silent = await running.connect()
        await running.pass_time(9)
        silent.send(b"GET /here HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (await silent.answer()).body == b"/here"
        silent = await running.connect()
        await running.pass_time(11)
        assert await silent.is_dropped()


async def test_header_time_ends_for_a_request_with_repeated_headers() -> None:
    async with serving(path_as_text) as running:
        for client in [await running.connect(), await running.connect()]:
            await client.ask(GET)
        await running.pass_time(11)
        assert (await client.ask(GET)).status == 200


@for_each("first", [b"", GET])
async def test_head_that_drips_in_is_dropped_after_the_header_time(first: bytes) -> None:
    async with serving(path_as_text) as running:
        client = await running.connect()
        if first:
            await client.ask(first)
        for line in (b"GET / HTTP/1.1\r\n", b"X-A: 1\r\n", b"X-B: 2\r\n"):
            client.send(line)
            await running.pass_time(4)
        assert await client.is_dropped()


async def test_body_that_stalls_is_cut_after_ten_seconds() -> None:
    async with serving(path_as_text) as running:
        for sent in (b"", b"half"):
            client = await running.connect()
            client.send(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\n" + sent)
            await running.pass_time(9)
            client.send(b"12345678"[len(sent) :])
            assert (await client.answer()).body == b"/p"
            client = await running.connect()
            client.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\n" + sent)
            await running.pass_time(11)
            assert await client.is_dropped()


async def test_body_that_drips_is_cut_like_one_that_stalls() -> None:
    async with serving(path_as_text) as running:
        client = await running.connect()
        client.send(
            b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % MIB + bytes(MIB // 2)
        )
        await running.pass_time(1)
        for _ in range(3):
            client.send(bytes(1000))
            await running.pass_time(4)
        assert await client.is_dropped()


async def test_body_that_comes_too_slowly_is_dropped_after_the_body_time() -> None:
    limits = HttpLimits(body_limit=lambda *_: MIB, slowest_bytes_s=10_000)
    async with serving(path_as_text, limits) as running:
        client = await running.connect()
        client.send(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % MIB)
        for _ in range(5):
            client.send(bytes(10_000))
            await running.pass_time(8)
        assert await client.is_dropped()


async def test_large_body_gets_more_time_as_it_comes() -> None:
    limits = HttpLimits(body_limit=lambda *_: MIB, slowest_bytes_s=1024)
    async with serving(path_as_text, limits) as running:
        client = await running.connect()
        client.send(b"POST /big HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % MIB)
        for _ in range(32):
            client.send(bytes(MIB // 32))
            await running.pass_time(9)
        assert (await client.answer()).body == b"/big"


async def test_idle_connection_is_dropped_after_the_idle_time() -> None:
    async with serving(path_as_text) as running:
        client = await running.connect()
        await client.ask(GET)
        await running.pass_time(59)
        await client.ask(GET)
        await running.pass_time(59)
        await client.ask(GET)
        await running.pass_time(61)
        assert await client.is_dropped()


async def test_answer_may_take_its_time() -> None:
    entered, opened = asyncio.Event(), asyncio.Event()

    async def slow(request: Request) -> Reply:
        if request.path == "/slow":
            entered.set()
            await opened.wait()
        return path_as_text(request)

    async with serving(slow) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
        await entered.wait()
        await running.pass_time(1000)
        opened.set()
        assert (await client.answer()).body == b"/slow"


async def test_quiet_stream_stays_open() -> None:
    numbers: asyncio.Queue[bytes] = asyncio.Queue()

    async def stream() -> AsyncIterator[bytes]:
        while chunk := await numbers.get():
            yield chunk

    def handler(request: Request) -> AnyReply:
        is_stream = request.path == "/stream"
        return StreamReply(200, "", stream()) if is_stream else path_as_text(request)

    async with serving(handler) as running:
        client = await running.connect()
        client.send(b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.answer(to_head=True)
        await running.pass_time(10_000)
        numbers.put_nowait(b"still here")
        numbers.put_nowait(b"")
        assert [chunk async for chunk in client.chunks()] == [b"still here"]


async def test_refused_client_that_keeps_sending_is_dropped() -> None:
    async with serving(path_as_text) as running:
        client = await running.connect()
        assert (await client.ask(b"PUT / HTTP/1.1\r\nHost: h\r\n\r\n")).status == 405
        client.send(b"a" * 100_000)
        assert await client.rest() == b""
        await running.pass_time(3)
        await running.settle()
        assert running.server.connection_count == 0


class NotReading:
    """A client that asks and does not read, and knows when the server has seen it."""

    def __init__(self, running: Serving, source: str = "127.0.0.1") -> None:
        self.socket = socket.socket()
        self.socket.bind((source, 0))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        self.socket.connect(("127.0.0.1", running.server.port))
        self.socket.setblocking(False)

    def send(self, data: bytes) -> None:
        assert self.socket.send(data) == len(data)

    async def read(self) -> int:
        """How many bytes there are until the end, whatever the end is like."""
        total = 0
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(PATIENCE_S):
            try:
                while data := await loop.sock_recv(self.socket, 65536):
                    total += len(data)
            except ConnectionResetError:
                pass
        self.socket.close()
        return total


class Large:
    """A handler with a large answer to `/large`, that counts how often it was asked."""

    def __init__(self, size: int) -> None:
        self.body = bytes(size)
        self.asked = 0
        self.first = asyncio.Event()

    def __call__(self, request: Request) -> Reply:
        if request.path != "/large":
            return path_as_text(request)
        self.asked += 1
        self.first.set()
        return Reply(200, "", self.body)


LARGE = b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n"
LAST = b"GET /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


@for_each(("sent", "high_water"), [(LARGE, 64 * 1024), (LAST, 64 * 1024), (LAST, 64 * MIB)])
async def test_client_that_does_not_read_is_dropped_when_its_time_is_over(
    sent: bytes, high_water: int
) -> None:
    handler = Large(8 * MIB)
    async with serving(handler, HttpLimits(write_high_water=high_water)) as running:
        client = NotReading(running)
        client.send(sent)
        await handler.first.wait()
        await running.pass_time(500)  # it has 30 seconds, and one for every 8 KiB
        assert running.server.connection_count == 1
        await running.pass_time(30 + 8 * 128 - 500)
        assert await client.read() < 8 * MIB


async def test_client_that_does_not_read_gets_no_further_answers() -> None:
    handler = Large(8 * MIB)
    async with serving(handler) as running:
        client = NotReading(running)
        client.send(LARGE * 3 + LAST)
        await handler.first.wait()
        await running.settle()
        assert handler.asked == 1
        assert await client.read() > 4 * 8 * MIB
    assert handler.asked == 4


async def test_stream_waits_for_its_client_to_read() -> None:
    produced = 0
    first = asyncio.Event()

    async def stream() -> AsyncIterator[bytes]:
        nonlocal produced
        for _ in range(1000):
            produced += 1
            first.set()
            yield bytes(64 * 1024)

    def handler(request: Request) -> AnyReply:
        is_stream = request.path == "/stream"
        return StreamReply(200, "", stream()) if is_stream else path_as_text(request)

    async with serving(handler) as running:
        client = NotReading(running)
        client.send(b"GET /stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        await first.wait()
        await running.settle()
        assert produced < 500
        assert await client.read() > 1000 * 64 * 1024
    assert produced == 1000


async def test_stream_is_closed_when_its_client_leaves_without_having_read() -> None:
    closed = asyncio.Event()
    first = asyncio.Event()

    async def stream() -> AsyncIterator[bytes]:
        try:
            for _ in range(1000):
                first.set()
                yield bytes(64 * 1024)
        finally:
            closed.set()

    chunks = stream()  # another owner has it too: it is not closed by being forgotten

    def handler(request: Request) -> AnyReply:
        is_stream = request.path == "/stream"
        return StreamReply(200, "", chunks) if is_stream else path_as_text(request)

    async with serving(handler) as running:
        client = NotReading(running)
        client.send(b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
        await first.wait()
        await running.settle()
        client.socket.close()
        async with asyncio.timeout(PATIENCE_S):
            await closed.wait()


async def test_no_timer_runs_without_connections() -> None:
    async with serving(path_as_text) as running:
        assert running.server.state.next_sweep is None
        client = await running.connect()
        await client.ask(GET)
        timer = running.server.state.next_sweep
        assert timer is not None
        client.send(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        await client.rest()
        assert running.server.state.next_sweep is None
        assert timer.cancelled()
