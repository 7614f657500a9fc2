"""How long a connection lives, and in which order its requests are answered."""

import asyncio
from contextlib import suppress

from leverframe.server.http.server import HttpLimits
from tests.cases import for_each

from .handlers import Gate, echo, path_as_text
from .http_peer import GET, PATIENCE_S, serving


async def test_connection_serves_many_requests() -> None:
    async with serving(path_as_text) as running:
        client = await running.connect()
        for number in range(100):
            answer = await client.ask(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % number)
            assert answer.body == b"/%d" % number


async def test_headers_of_an_earlier_request_do_not_linger() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        for more in (b"A: 1\r\nB: 2\r\n", b"A: 1\r\n", b"A: 2\r\n", b"", b"A: 1\r\nB: 2\r\n"):
            headers = b"Host: h\r\n" + more
            answer = await client.ask(b"GET / HTTP/1.1\r\n" + headers + b"\r\n")
            lines = headers.decode().lower().split("\r\n")[:-1]
            assert answer.json["headers"] == dict(line.split(": ") for line in lines)


@for_each(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"HEAD / HTTP/1.0\r\n\r\n",
        b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nok",
        b"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    ],
)
async def test_connection_is_closed_after_the_reply_on_request_of_the_client(
    request_bytes: bytes,
) -> None:
    async with serving(path_as_text) as running:
        client = await running.connect()
        client.send(request_bytes + GET)
        answer = await client.answer(to_head=request_bytes.startswith(b"HEAD"))
        assert answer.status == 200
        assert answer.headers["connection"] == "close"
        with suppress(ConnectionResetError):
            assert await client.rest() == b""


async def test_connection_that_turns_from_http_1_1_to_1_0_is_closed() -> None:
    async with serving(path_as_text) as running:
        client = await running.connect()
        assert "connection" not in (await client.ask(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")).headers
        assert (await client.ask(b"GET / HTTP/1.0\r\n\r\n")).headers["connection"] == "close"


async def test_client_that_has_finished_sending_still_gets_its_answers() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n")
        client.writer.write_eof()
        await gate.entered.wait()
        await running.settle()
        gate.opened.set()
        assert (await client.answer()).body == b"/slow"
        assert (await client.answer()).body == b"/next"
        assert await client.rest() == b""


async def test_requests_sent_together_are_answered_in_order() -> None:
    async with serving(path_as_text) as running:
        client = await running.connect()
        client.send(
            b"".join(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % number for number in range(500))
        )
        for number in range(500):
            assert (await client.answer()).body == b"/%d" % number


async def test_request_waits_for_the_answer_to_the_one_before() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /quick HTTP/1.1\r\nHost: h\r\n\r\n")
        await gate.entered.wait()
        await running.settle()
        assert "/quick" not in gate.paths
        gate.opened.set()
        assert (await client.answer()).body == b"/slow"
        assert (await client.answer()).body == b"/quick"


async def test_refusal_waits_for_the_answers_before_it() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(
            b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nbad header\r\n\r\n"
            + GET
        )
        await gate.entered.wait()
        await running.settle()
        gate.opened.set()
        assert (await client.answer()).body == b"/slow"
        assert (await client.answer()).status == 400
        assert await client.rest() == b""


async def test_go_ahead_for_a_body_waits_for_the_answers_before_it() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
        client.send(
            b"POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        await gate.entered.wait()
        await running.settle()
        gate.opened.set()
        assert (await client.answer()).body == b"/slow"
        assert (await client.answer()).status == 100
        assert (await client.ask(b"ok")).body == b"/b"


async def test_flood_of_requests_is_left_in_the_network_until_there_is_room() -> None:
    gate = Gate()
    count = 20_000
    async with serving(gate, HttpLimits(waiting_requests=4)) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
        client.send(
            b"".join(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % number for number in range(count))
        )
        await gate.entered.wait()
        await running.settle()
        gate.opened.set()
        assert (await client.answer()).body == b"/slow"
        for number in range(count):
            assert (await client.answer()).body == b"/%d" % number


async def test_answer_is_seen_through_when_its_client_has_left() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
        await gate.entered.wait()
        client.vanish()
        await running.settle()
        gate.opened.set()
        async with asyncio.timeout(PATIENCE_S):
            await gate.left.wait()
        await running.settle()
