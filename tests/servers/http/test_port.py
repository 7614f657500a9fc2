"""The HTTP server over real sockets: requests, order, streams, caps, TLS and the stop."""

import asyncio
import logging
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from pathlib import Path

import pytest

from leverframe.servers.http.messages import AnyReply, Reply, Request, StreamReply
from leverframe.servers.http.port import HttpServer, Limits

from .http_peer import GET, PATIENCE_S, Client, echo, path_as_text, serving


class Gate:
    """A handler whose answers to `/slow` wait until the gate is opened."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.opened = asyncio.Event()
        self.left = asyncio.Event()
        self.paths: list[str] = []

    def __call__(self, request: Request) -> AnyReply | Awaitable[AnyReply]:
        self.paths.append(request.path)
        return self.wait(request) if request.path == "/slow" else path_as_text(request)

    async def wait(self, request: Request) -> AnyReply:
        self.entered.set()
        await self.opened.wait()
        self.left.set()
        return path_as_text(request)


class Ticker:
    """A handler that streams numbers, one whenever `tick` is called, until it is closed."""

    def __init__(self) -> None:
        self.numbers: asyncio.Queue[int] = asyncio.Queue()
        self.closed = asyncio.Event()

    def __call__(self, request: Request) -> AnyReply:
        if request.path != "/stream":
            return path_as_text(request)
        return StreamReply(200, "text/event-stream", self.stream())

    async def stream(self) -> AsyncIterator[bytes]:
        try:
            while number := await self.numbers.get():
                yield b"data: %d\n\n" % number
        finally:
            self.closed.set()


# Requests


async def test_a_request_reaches_the_handler_as_it_was_sent() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask(
            b"GET /a%20b?x=%2B+&y HTTP/1.1\r\nHost: here\r\nX-One: 1\r\nX-ONE:  2 \r\n\r\n"
        )
    assert answer.status == 200
    assert answer.json == {
        "method": "GET",
        "path": "/a%20b",
        "query": "x=%2B+&y",
        "headers": {"host": "here", "x-one": "1, 2"},
        "body": "",
        "peer": "127.0.0.1",
    }


@pytest.mark.parametrize(("target", "query"), [(b"/p", None), (b"/p?", ""), (b"/p?a?b", "a?b")])
async def test_no_query_differs_from_an_empty_one(target: bytes, query: str | None) -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask(b"GET " + target + b" HTTP/1.1\r\n\r\n")
    assert answer.json["path"] == "/p"
    assert answer.json["query"] == query


@pytest.mark.parametrize(
    ("target", "path", "query", "host"),
    [
        (b"http://there:8080/p?q", "/p", "q", "there:8080"),
        (b"HTTPS://there?q", "/", "q", "there"),
        (b"http://me:secret@there/", "/", None, "there"),
    ],
)
async def test_an_address_as_target_is_reduced_to_its_path_and_names_the_host(
    target: bytes, path: str, query: str | None, host: str
) -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask(b"GET " + target + b" HTTP/1.1\r\nHost: here\r\n\r\n")
        plain = await client.ask(GET)
    assert (answer.json["path"], answer.json["query"]) == (path, query)
    assert answer.json["headers"] == {"host": host}
    assert plain.json["headers"] == {"host": "here"}


async def test_quotes_and_pipes_need_no_encoding() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask(b'GET /?a="b|c" HTTP/1.1\r\n\r\n')
    assert answer.json["query"] == 'a="b|c"'


async def test_a_request_without_host_is_served() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        assert (await client.ask(b"GET / HTTP/1.1\r\n\r\n")).json["headers"] == {}


async def test_a_body_arrives_whole() -> None:
    body = bytes(range(256)) * 1000
    async with serving(lambda request: Reply(200, "", request.body)) as running:
        client = await running.connect()
        head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
        assert (await client.ask(head + body)).body == body
        assert (await client.ask(GET)).body == b""


async def test_a_chunked_body_arrives_joined_and_its_trailers_do_not_count() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask(
            b"POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n"
            b"3;note=1\r\nabc\r\n2\r\nde\r\n0\r\nHost: evil\r\n\r\n"
        )
        after = await client.ask(GET)
    assert answer.json["body"] == "abcde"
    assert answer.json["headers"] == {"transfer-encoding": "Chunked"}
    assert after.json["headers"] == {"host": "here"}


async def test_a_post_without_any_length_has_an_empty_body() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask(b"POST /outs.cgi?out0=1 HTTP/1.1\r\n\r\n")
    assert (answer.json["method"], answer.json["body"]) == ("POST", "")


async def test_a_client_that_expects_it_is_told_to_go_on_before_it_sends_the_body() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        go_on = await client.ask(
            b"POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        answer = await client.ask(b"ok")
    assert go_on.status == 100
    assert answer.json["body"] == "ok"


async def test_head_is_answered_without_the_body() -> None:
    methods = []

    def handler(request: Request) -> Reply:
        methods.append(request.method)
        return Reply(200, "text/xml", b"<x/>")

    async with serving(handler) as running:
        client = await running.connect()
        client.send(b"HEAD /x HTTP/1.1\r\n\r\n")
        head = await client.answer(to_head=True)
        full = await client.ask(b"GET /x HTTP/1.1\r\n\r\n")
    assert head.headers == full.headers
    assert full.body == b"<x/>"
    assert methods == ["HEAD", "GET"]


async def test_options_for_the_whole_server_reaches_the_handler() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask(b"OPTIONS * HTTP/1.1\r\n\r\n")
    assert (answer.json["method"], answer.json["path"]) == ("OPTIONS", "*")


# Replies


async def test_a_reply_has_its_own_headers_and_says_nothing_about_the_program() -> None:
    reply = Reply(404, "text/xml", b"<no/>", (("X-A", "1"),))
    async with serving(lambda _request: reply) as running:
        client = await running.connect()
        first, second = await client.ask(GET), await client.ask(GET)
    assert first == second
    assert (first.status, first.body) == (404, b"<no/>")
    assert first.headers == {
        "content-type": "text/xml",
        "x-content-type-options": "nosniff",
        "x-a": "1",
        "content-length": "5",
    }


async def test_a_fault_in_the_handler_is_logged_and_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def failing(request: Request) -> Reply:
        raise RuntimeError("secret detail")

    async def failing_later(request: Request) -> Reply:
        raise RuntimeError("secret detail")

    for handler in (failing, failing_later):
        caplog.clear()
        async with serving(handler) as running:
            client = await running.connect()
            answer, again = await client.ask(GET), await client.ask(GET)
        assert answer.status == again.status == 500
        assert answer.headers["content-type"] == "application/problem+json"
        assert b"secret" not in answer.body
        assert "secret detail" in caplog.text


@pytest.mark.parametrize(
    "nonsense", [None, Reply(200, "text/xml\r\nX-Evil: 1", b""), Reply(204, "", b"body")]
)
@pytest.mark.parametrize("later", [False, True])
async def test_an_answer_that_cannot_be_sent_is_a_fault(
    nonsense: Reply, later: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer_later() -> Reply:
        return nonsense

    async with serving(lambda _request: answer_later() if later else nonsense) as running:
        client = await running.connect()
        answer = await client.ask(GET)
    assert answer.status == 500
    assert "x-evil" not in answer.headers
    assert caplog.records[0].levelno == logging.ERROR


async def test_refusals_are_made_by_the_given_function() -> None:
    server = HttpServer(echo, problem=lambda status, _detail: Reply(status, "text/plain", b"no"))
    await server.start("127.0.0.1", 0)
    client = Client(*await asyncio.open_connection("127.0.0.1", server.port))
    answer = await client.ask(b"PUT / HTTP/1.1\r\n\r\n")
    await client.close()
    await server.stop()
    assert (answer.status, answer.body) == (405, b"no")
    assert answer.headers["allow"] == "GET, HEAD, POST"


# How long a connection lives


async def test_a_connection_serves_many_requests() -> None:
    async with serving(path_as_text) as running:
        client = await running.connect()
        for number in range(100):
            answer = await client.ask(b"GET /%d HTTP/1.1\r\n\r\n" % number)
            assert answer.body == b"/%d" % number


async def test_headers_of_an_earlier_request_do_not_linger() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        for headers in (b"A: 1\r\nB: 2\r\n", b"A: 1\r\n", b"A: 2\r\n", b"", b"A: 1\r\nB: 2\r\n"):
            answer = await client.ask(b"GET / HTTP/1.1\r\n" + headers + b"\r\n")
            lines = headers.decode().lower().split("\r\n")[:-1]
            assert answer.json["headers"] == dict(line.split(": ") for line in lines)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"HEAD / HTTP/1.0\r\n\r\n",
        b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nok",
        b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    ],
)
async def test_the_connection_is_closed_after_the_reply_where_the_client_will_have_it_so(
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


async def test_a_connection_that_turns_from_http_1_1_to_1_0_is_closed() -> None:
    async with serving(path_as_text) as running:
        client = await running.connect()
        assert "connection" not in (await client.ask(b"GET / HTTP/1.1\r\n\r\n")).headers
        assert (await client.ask(b"GET / HTTP/1.0\r\n\r\n")).headers["connection"] == "close"


async def test_a_client_that_has_finished_sending_still_gets_its_answers() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\n\r\nGET /next HTTP/1.1\r\n\r\n")
        client.writer.write_eof()
        await gate.entered.wait()
        await running.settle()
        gate.opened.set()
        assert (await client.answer()).body == b"/slow"
        assert (await client.answer()).body == b"/next"
        assert await client.rest() == b""


# Order


async def test_requests_sent_at_once_are_answered_in_order() -> None:
    async with serving(path_as_text) as running:
        client = await running.connect()
        client.send(b"".join(b"GET /%d HTTP/1.1\r\n\r\n" % number for number in range(500)))
        for number in range(500):
            assert (await client.answer()).body == b"/%d" % number


async def test_a_request_waits_for_the_answer_to_the_one_before() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\n\r\nGET /quick HTTP/1.1\r\n\r\n")
        await gate.entered.wait()
        await running.settle()
        assert "/quick" not in gate.paths
        gate.opened.set()
        assert (await client.answer()).body == b"/slow"
        assert (await client.answer()).body == b"/quick"


async def test_a_refusal_waits_for_the_answers_before_it() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nbad header\r\n\r\n" + GET)
        await gate.entered.wait()
        await running.settle()
        gate.opened.set()
        assert (await client.answer()).body == b"/slow"
        assert (await client.answer()).status == 400
        assert await client.rest() == b""


async def test_the_go_ahead_for_a_body_waits_for_the_answers_before_it() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\n\r\n")
        client.send(b"POST /b HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        await gate.entered.wait()
        await running.settle()
        gate.opened.set()
        assert (await client.answer()).body == b"/slow"
        assert (await client.answer()).status == 100
        assert (await client.ask(b"ok")).body == b"/b"


async def test_a_flood_of_requests_is_left_in_the_network_until_there_is_room() -> None:
    gate = Gate()
    count = 20_000
    async with serving(gate, Limits(waiting_requests=4)) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\n\r\n")
        client.send(b"".join(b"GET /%d HTTP/1.1\r\n\r\n" % number for number in range(count)))
        await gate.entered.wait()
        await running.settle()
        gate.opened.set()
        assert (await client.answer()).body == b"/slow"
        for number in range(count):
            assert (await client.answer()).body == b"/%d" % number


async def test_an_answer_is_seen_through_when_its_client_has_left() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\n\r\n")
        await gate.entered.wait()
        client.vanish()
        await running.settle()
        gate.opened.set()
        async with asyncio.timeout(PATIENCE_S):
            await gate.left.wait()
        await running.settle()


# Streams


async def test_a_stream_is_sent_as_it_comes_and_the_connection_goes_on_after_it() -> None:
    ticker = Ticker()
    async with serving(ticker) as running:
        client = await running.connect()
        client.send(b"GET /stream HTTP/1.1\r\n\r\nGET /after HTTP/1.1\r\n\r\n")
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


async def test_a_stream_to_an_old_client_comes_without_chunks() -> None:
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
        client.send(b"HEAD /stream HTTP/1.1\r\n\r\n")
        assert (await client.answer(to_head=True)).status == 200
        assert (await client.ask(b"GET /after HTTP/1.1\r\n\r\n")).body == b"/after"


@pytest.mark.parametrize("rudely", [True, False])
async def test_a_stream_is_closed_when_its_client_leaves(rudely: bool) -> None:
    ticker = Ticker()
    async with serving(ticker) as running:
        client = await running.connect()
        ticker.numbers.put_nowait(1)
        client.send(b"GET /stream HTTP/1.1\r\n\r\n")
        await client.answer(to_head=True)
        if rudely:
            client.vanish()
        else:
            client.writer.close()
        async with asyncio.timeout(PATIENCE_S):
            await ticker.closed.wait()


async def test_a_stream_that_fails_does_not_look_complete(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"part"
        raise RuntimeError("no more")

    async with serving(lambda _request: StreamReply(200, "", broken())) as running:
        client = await running.connect()
        client.send(GET)
        await client.answer(to_head=True)
        assert not (await client.rest()).endswith(b"0\r\n\r\n")
    assert "no more" in caplog.text


# Caps


async def test_a_connection_too_many_is_turned_away_until_another_leaves() -> None:
    async with serving(path_as_text, Limits(connections=2)) as running:
        first, second = await running.connect(), await running.connect()
        await first.ask(GET)
        await second.ask(GET)
        third = await running.connect()
        refused = await third.answer()
        assert refused.status == 503
        assert refused.headers["retry-after"] == "5"
        assert await third.is_dropped()
        first.send(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        await first.rest()
        fourth = await running.connect()
        assert (await fourth.ask(GET)).status == 200


async def test_one_address_cannot_take_all_connections() -> None:
    async with serving(path_as_text, Limits(connections_per_address=1)) as running:
        first = await running.connect()
        await first.ask(GET)
        assert (await (await running.connect()).answer()).status == 503
        other = await running.connect(source="127.0.0.2")
        assert (await other.ask(GET)).status == 200


# The stop


async def test_a_stop_waits_for_the_answer_in_work_and_closes_idle_connections() -> None:
    gate = Gate()
    async with serving(gate) as running:
        idle, busy = await running.connect(), await running.connect()
        await idle.ask(GET)
        busy.send(b"GET /slow HTTP/1.1\r\n\r\nGET /never HTTP/1.1\r\n\r\n")
        await gate.entered.wait()
        await running.settle()
        stop = asyncio.ensure_future(running.server.stop())
        assert await idle.rest() == b""
        assert not stop.done()
        gate.opened.set()
        answer = await busy.answer()
        assert (answer.body, answer.headers["connection"]) == (b"/slow", "close")
        assert await busy.rest() == b""
        await stop
    assert "/never" not in gate.paths


async def test_a_stop_does_not_wait_longer_than_its_grace() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\n\r\n")
        await gate.entered.wait()
        async with asyncio.timeout(PATIENCE_S):
            await running.server.stop(grace_s=0)
        assert await client.is_dropped()
    assert not gate.left.is_set()


async def test_a_stop_ends_streams_in_order() -> None:
    ticker = Ticker()
    async with serving(ticker) as running:
        client = await running.connect()
        ticker.numbers.put_nowait(1)
        client.send(b"GET /stream HTTP/1.1\r\n\r\n")
        await client.answer(to_head=True)
        chunks = client.chunks()
        await anext(chunks)
        await running.server.stop()
        assert [chunk async for chunk in chunks] == []
        assert await client.rest() == b""
    assert ticker.closed.is_set()


async def test_a_stop_ends_a_stream_in_order_that_has_not_begun() -> None:
    ticker = Ticker()
    stops: list[asyncio.Future[None]] = []

    def stop_first(request: Request) -> AnyReply:
        stops.append(asyncio.ensure_future(running.server.stop()))
        return ticker(request)

    async with serving(stop_first) as running:
        client = await running.connect()
        client.send(b"GET /stream HTTP/1.1\r\n\r\n")
        await client.answer(to_head=True)
        assert [chunk async for chunk in client.chunks()] == []
        await stops[0]


async def test_a_stop_waits_for_an_answer_in_work_whose_client_has_left() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\n\r\n")
        await gate.entered.wait()
        client.vanish()
        await running.settle()
        stop = asyncio.ensure_future(running.server.stop())
        for _ in range(20):
            await asyncio.sleep(0)  # not to wait, but to let the stop go as far as it gets
        assert not stop.done()
        gate.opened.set()
        await stop
    assert gate.left.is_set()


async def test_a_stopped_server_can_be_started_again_on_its_port() -> None:
    server = HttpServer(path_as_text)
    await server.start("127.0.0.1", 0)
    port = server.port
    await server.stop()
    await server.stop()
    with pytest.raises(RuntimeError):
        _ = server.port
    await server.start("127.0.0.1", port)
    client = Client(*await asyncio.open_connection("127.0.0.1", port))
    assert (await client.ask(GET)).status == 200
    await client.close()
    await server.stop()


# TLS, and a client that nobody here wrote


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    file = tmp_path / "both.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1"
    names = ["-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*command.split(), *names, "-keyout", file, "-out", tmp_path / "cert.pem"],
        check=True,
        capture_output=True,
    )
    file.write_bytes(file.read_bytes() + (tmp_path / "cert.pem").read_bytes())
    return file


@pytest.mark.needs_program("openssl")
async def test_everything_works_the_same_over_tls(certificate: Path) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    trust = ssl.create_default_context(cafile=certificate)
    async with serving(path_as_text, tls=tls) as running:
        client = await running.connect(trust=trust)
        client.send(b"".join(b"GET /%d HTTP/1.1\r\n\r\n" % number for number in range(50)))
        for number in range(50):
            assert (await client.answer()).body == b"/%d" % number
        assert (await client.ask(b"GET / HTTP/1.1\r\nbad header\r\n\r\n")).status == 400
        assert await client.rest() == b""


@pytest.mark.needs_program("curl")
@pytest.mark.parametrize(
    ("options", "method", "body"),
    [
        ([], "GET", ""),
        (["-X", "POST"], "POST", ""),
        (["-d", "a=b"], "POST", "a=b"),
        (["-d", "a=b", "-H", "Transfer-Encoding: chunked"], "POST", "a=b"),
        (["-d", "a=b", "-H", "Expect: 100-continue"], "POST", "a=b"),
        (["--http1.0"], "GET", ""),
        (["--http2"], "GET", ""),
    ],
)
async def test_curl_is_served(options: list[str], method: str, body: str) -> None:
    async with serving(echo) as running:
        url = f"http://127.0.0.1:{running.server.port}/p?q"
        curl = await asyncio.create_subprocess_exec(
            *["curl", "-sS", "--max-time", "5", *options, url],
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await curl.communicate()
    assert f'"method":"{method}","path":"/p","query":"q"' in output.decode()
    assert f'"body":"{body}"' in output.decode()
