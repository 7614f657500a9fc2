"""What the server refuses, and how: one row per way to be wrong.

A refused client gets a problem reply that says why, then the connection ends: after bytes that
cannot be understood the beginning of the next request is unknown.
"""

import asyncio
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leverframe.server.http.messages import Reply
from leverframe.server.http.server import HttpLimits
from tests.cases import for_each
from tests.effort import examples

from .handlers import Gate, echo
from .http_peer import GET, serving

POST = b"POST / HTTP/1.1\r\nHost: here\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
MIB = 1024 * 1024

REFUSED = {
    "length and chunks": (
        400,
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    "chunks and length": (
        400,
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    ),
    "two lengths": (400, POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
    "two equal lengths": (400, POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
    "signed length": (400, POST + b"Content-Length: +5\r\n\r\nhello"),
    "negative length": (400, POST + b"Content-Length: -5\r\n\r\nhello"),
    "hexadecimal length": (400, POST + b"Content-Length: 0x5\r\n\r\nhello"),
    "overflowing length": (400, POST + b"Content-Length: 99999999999999999999\r\n\r\n"),
    "space before colon": (400, POST + b"Content-Length : 5\r\n\r\nhello"),
    "unknown coding": (501, POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    "coding before chunked": (501, POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "empty coding": (400, POST + b"Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
    "chunks in HTTP/1.0": (
        400,
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    "folded header": (400, b"GET / HTTP/1.1\r\nHost: h\r\nX-A: b\r\n c\r\n\r\n"),
    "bare CR in a header": (400, b"GET / HTTP/1.1\r\nHost: h\r\nX-A: b\rc\r\n\r\n"),
    "NUL in a header": (400, b"GET / HTTP/1.1\r\nHost: h\r\nX-A: b\x00c\r\n\r\n"),
    "bare LF": (400, b"GET / HTTP/1.1\nHost: here\n\n"),
    "header without name": (400, b"GET / HTTP/1.1\r\nHost: h\r\n: b\r\n\r\n"),
    "header without colon": (400, b"GET / HTTP/1.1\r\nHost: h\r\nX-A\r\n\r\n"),
    "bad chunk size": (400, CHUNKED + b"zz\r\nhello\r\n0\r\n\r\n"),
    "space after chunk size": (400, CHUNKED + b"5 \r\nhello\r\n0\r\n\r\n"),
    "bad chunk end": (400, CHUNKED + b"5\r\nhelloXX0\r\n\r\n"),
    "huge chunk size": (400, CHUNKED + b"fffffffffffffffff\r\n"),
    "two hosts": (400, b"GET / HTTP/1.1\r\nHost: here\r\nhost: there\r\n\r\n"),
    "body with a change of protocol": (
        400,
        POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc",
    ),
    "line of HTTP/0.9": (400, b"GET /\r\n"),
    "HTTP/0.9 with headers": (400, b"GET /\r\nHost: here\r\n\r\n"),
    "HTTP/0.9 by name": (400, b"GET / HTTP/0.9\r\n\r\n"),
    "HTTP/1.2": (505, b"GET / HTTP/1.2\r\n\r\n"),
    "HTTP/2.0": (505, b"GET / HTTP/2.0\r\n\r\n"),
    "HTTP/2 preface": (400, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "other protocol": (400, b"GET / HTTQ/1.1\r\n\r\n"),
    "TLS on a plain port": (400, bytes.fromhex("160301020001 0001fc0303")),
    "garbage": (400, b"\x00\xff\r\n\r\n"),
    "raw byte in the query": (400, b"GET /?name=caf\xe9 HTTP/1.1\r\nHost: h\r\n\r\n"),
    "raw byte in the path": (400, b"GET /caf\xe9 HTTP/1.1\r\nHost: h\r\n\r\n"),
    "NUL in the target": (400, b"GET /\x00 HTTP/1.1\r\nHost: h\r\n\r\n"),
    "tab in the target": (400, b"GET /a\tb HTTP/1.1\r\nHost: h\r\n\r\n"),
    "delete in the target": (400, b"GET /\x7f HTTP/1.1\r\nHost: h\r\n\r\n"),
    "target that is no path": (400, b"GET path HTTP/1.1\r\nHost: h\r\n\r\n"),
    "asterisk for GET": (400, b"GET * HTTP/1.1\r\nHost: h\r\n\r\n"),
    "address of another scheme": (400, b"GET ftp://here/ HTTP/1.1\r\nHost: h\r\n\r\n"),
    "PUT": (405, b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"),
    "DELETE": (405, b"DELETE / HTTP/1.1\r\nHost: h\r\n\r\n"),
    "TRACE": (405, b"TRACE / HTTP/1.1\r\nHost: h\r\n\r\n"),
    "CONNECT": (405, b"CONNECT here:80 HTTP/1.1\r\nHost: h\r\n\r\n"),
    "unknown method": (405, b"FROB / HTTP/1.1\r\nHost: h\r\n\r\n"),
    "method in small letters": (400, b"get / HTTP/1.1\r\nHost: h\r\n\r\n"),
    "query of 8 KiB and one": (414, b"GET /?" + b"a" * 8193 + b" HTTP/1.1\r\nHost: h\r\n\r\n"),
    "target of 70 KB": (414, b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n"),
    "target of 1 MB": (414, b"GET /?" + b"a" * MIB + b" HTTP/1.1\r\nHost: h\r\n\r\n"),
    "header of 1 MB": (431, b"GET / HTTP/1.1\r\nHost: h\r\nX-A: " + b"a" * MIB + b"\r\n\r\n"),
    "header name of 1 MB": (431, b"GET / HTTP/1.1\r\n" + b"a" * MIB + b": b\r\n\r\n"),
    "101 headers": (431, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 101 + b"\r\n"),
    "10 000 headers": (
        431,
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(10_000)) + b"\r\n",
    ),
    "empty lines without end": (431, b"\r\n" * MIB),
    "trailer of 1 MB": (431, CHUNKED + b"1\r\na\r\n0\r\nX-A: " + b"a" * MIB),
    "chunk note of 1 MB": (431, CHUNKED + b"1;" + b"a" * MIB),
    "announced body too large": (413, POST + b"Content-Length: %d\r\n\r\n" % (MIB + 1)),
    "sent body of 30 MB": (
        413,
        POST + b"Content-Length: %d\r\n\r\n" % (30 * MIB) + b"a" * (30 * MIB),
    ),
    "chunked body too large": (413, CHUNKED + (b"10000\r\n" + b"a" * 65536 + b"\r\n") * 17),
    "body too large for one that waits": (
        413,
        POST + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % (30 * MIB),
    ),
}


@for_each("case", REFUSED)
async def test_invalid_request_is_refused_with_its_status_and_the_connection_ends(
    case: str,
) -> None:
    status, sent = REFUSED[case]
    async with serving(echo, HttpLimits(linger_s=1000)) as running:
        client = await running.connect()
        answer = await client.ask(sent)
        assert answer.status == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["connection"] == "close"
        assert answer.json["type"] == "about:blank"
        assert answer.json["status"] == status
        assert answer.json["title"]
        assert answer.json["detail"].endswith(".")
        assert await client.rest() == b""
        fresh = await running.connect()
        assert (await fresh.ask(GET)).status == 200


@for_each(
    "sent",
    [
        b"GET /?" + b"a" * 8192 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /" + b"a" * 1023 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\n" + b"X: y\r\n" * 99 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nX-A: " + b"a" * (32 * 1024 - 16) + b"\r\n\r\n",
        POST + b"Content-Length: %d\r\n\r\n" % MIB + b"a" * MIB,
        CHUNKED + (b"10000\r\n" + b"a" * 65536 + b"\r\n") * 16 + b"0\r\n\r\n",
    ],
    ids=["query", "path", "header count", "header size", "body", "chunked body"],
)
async def test_request_at_the_limits_is_accepted(sent: bytes) -> None:
    async with serving(lambda _request: Reply(200, "", b"")) as running:
        client = await running.connect()
        assert (await client.ask(sent)).status == 200
        assert (await client.ask(GET)).status == 200


async def test_allowed_methods_are_named() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask(b"PATCH / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert answer.headers["allow"] == "GET, HEAD, POST"
    assert "PATCH" in answer.json["detail"]


async def test_letters_without_percent_encoding_are_explained() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask("GET /?Łazienka HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    assert "ł becomes %C5%82" in answer.json["detail"]


async def test_limit_of_a_body_follows_the_request() -> None:
    def limit(method: str, path: str, query: str | None) -> int:
        assert method == "POST"
        return 2 * MIB if (path, query) == ("/upload", "x") else 10

    head = b"POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"
    async with serving(
        lambda _request: Reply(200, "", b""), HttpLimits(body_limit=limit)
    ) as running:
        client = await running.connect()
        upload = head % (b"/upload?x", 2 * MIB) + bytes(2 * MIB)
        assert (await client.ask(upload)).status == 200
        refused = await client.ask(head % (b"/other", 11))
        assert refused.status == 413
        assert "10 bytes" in refused.json["detail"]


async def test_fault_while_reading_is_logged_and_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_method: str, _path: str, _query: str | None) -> int:
        raise RuntimeError("secret detail")

    async with serving(echo, HttpLimits(body_limit=fail)) as running:
        client = await running.connect()
        answer = await client.ask(POST + b"Content-Length: 1\r\n\r\na")
    assert answer.status == 500
    assert b"secret" not in answer.body
    assert "secret detail" in caplog.text


async def test_post_needs_a_length_only_for_a_required_body() -> None:
    limits = HttpLimits(needs_length=lambda path, _query: path == "/restore")
    async with serving(echo, limits) as running:
        client = await running.connect()
        assert (await client.ask(b"POST /outs.cgi HTTP/1.1\r\nHost: h\r\n\r\n")).status == 200
        empty = b"POST /restore HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"
        assert (await client.ask(empty)).status == 200
        assert (await client.ask(b"GET /restore HTTP/1.1\r\nHost: h\r\n\r\n")).status == 200
        assert (await client.ask(b"POST /restore HTTP/1.1\r\nHost: h\r\n\r\n")).status == 411


async def test_all_bodies_together_are_limited_and_their_room_is_given_back() -> None:
    limits = HttpLimits(bodies_bytes=3000)
    head = POST + b"Content-Length: 1000\r\n\r\n"
    async with serving(echo, limits) as running:
        first, second = await running.connect(), await running.connect()
        first.send(head + b"a" * 999)
        await running.settle()
        assert (await second.ask(head + b"a" * 1000)).status == 503
        assert (await first.ask(b"a")).status == 200
        for _ in range(3):
            assert (await first.ask(head + b"a" * 1000)).status == 200
        first.send(head + b"a" * 999)
        await running.settle()
        await first.close()
        await running.settle()
        third = await running.connect()
        assert (await third.ask(head + b"a" * 1000)).status == 200
        assert running.server.state.bodies.used == 0


async def test_bodies_of_requests_that_wait_for_their_answer_count_too() -> None:
    gate = Gate()
    slow = b"POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" + b"a" * 1000
    async with serving(gate, HttpLimits(bodies_bytes=5000)) as running:
        bodies = running.server.state.bodies
        first, second = await running.connect(), await running.connect()
        first.send(slow + slow)
        await gate.entered.wait()
        await running.settle()
        assert bodies.used == 2000
        assert (await second.ask(slow)).status == 503
        gate.opened.set()
        assert [(await first.answer()).status for _ in range(2)] == [200, 200]
        assert bodies.used == 0


@for_each("leaves", ["client", "server"])
async def test_bodies_of_requests_that_are_never_answered_make_room(leaves: str) -> None:
    gate = Gate()
    slow = b"POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" + b"a" * 1000
    async with serving(gate, HttpLimits(bodies_bytes=2500)) as running:
        client = await running.connect()
        client.send(slow + slow)
        await gate.entered.wait()
        await running.settle()
        if leaves == "client":
            client.vanish()
            await running.settle()
            assert running.server.state.bodies.used == 1000
        gate.opened.set()
        await gate.left.wait()
        if leaves == "server":
            await running.server.stop()
        else:
            await running.settle()
        assert running.server.state.bodies.used == 0


async def test_clients_do_not_disturb_each_other() -> None:
    async with serving(echo) as running:
        clients = [await running.connect() for _ in range(20)]
        bad, good = clients[::2], clients[1::2]
        for client in bad:
            client.send(b"GET / HTTP/1.1\r\nHost: h\r\nbroken\r\n\r\n")
        answers = await asyncio.gather(*(client.ask(GET) for client in good))
    assert [answer.status for answer in answers] == [200] * 10


async def exchange(pieces: list[bytes]) -> list[dict[str, Any]]:
    """Send the pieces, finish, read all that comes; what went wrong inside the server."""
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, fault: faults.append(fault))
    async with serving(echo) as running:
        client = await running.connect()
        for piece in pieces:
            client.send(piece)
            await running.settle()
        client.writer.write_eof()
        await client.rest()
        await running.settle()
        assert running.server.connection_count == 0
    return faults


garbage = st.binary(max_size=100) | st.sampled_from(
    [*(sent for _, sent in REFUSED.values() if len(sent) < 200), GET, CHUNKED, b"\r\n", b"0\r\n"]
)


@given(st.lists(garbage, max_size=4))
@example([b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nz"])
@examples(60)
def test_no_bytes_whatever_break_or_hang_the_server(pieces: list[bytes]) -> None:
    assert asyncio.run(exchange(pieces)) == []
