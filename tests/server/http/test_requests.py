"""Requests over real sockets: what the handler gets of them."""

import asyncio

import pytest

from leverframe.server.http.messages import Reply, Request

from .handlers import echo
from .http_peer import GET, serving


async def test_request_reaches_the_handler_as_it_was_sent() -> None:
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
        answer = await client.ask(b"GET " + target + b" HTTP/1.1\r\nHost: h\r\n\r\n")
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
async def test_address_as_target_is_reduced_to_its_path_and_names_the_host(
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
        answer = await client.ask(b'GET /?a="b|c" HTTP/1.1\r\nHost: h\r\n\r\n')
    assert answer.json["query"] == 'a="b|c"'


@pytest.mark.parametrize("before", [b"", GET])
@pytest.mark.parametrize("more", [b"", b"Connection: keep-alive\r\n", b"X: y\r\n"])
async def test_request_without_host_is_served_and_the_connection_closed(
    before: bytes, more: bytes
) -> None:
    async with serving(echo) as running:
        client = await running.connect()
        if before:
            assert "connection" not in (await client.ask(before)).headers
        answer = await client.ask(b"GET /here HTTP/1.1\r\n" + more + b"\r\n")
        assert answer.json["path"] == "/here"
        assert "host" not in answer.json["headers"]
        assert answer.headers["connection"] == "close"
        assert await client.rest() == b""


async def test_body_arrives_whole() -> None:
    body = bytes(range(256)) * 1000
    async with serving(lambda request: Reply(200, "", request.body)) as running:
        client = await running.connect()
        head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body)
        assert (await client.ask(head + body)).body == body
        assert (await client.ask(GET)).body == b""


async def test_chunked_body_arrives_joined_and_its_trailers_do_not_count() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask(
            b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
            b"3;note=1\r\nabc\r\n2\r\nde\r\n0\r\nHost: evil\r\n\r\n"
        )
        after = await client.ask(GET)
    assert answer.json["body"] == "abcde"
    assert answer.json["headers"] == {"host": "h", "transfer-encoding": "Chunked"}
    assert after.json["headers"] == {"host": "here"}


async def test_post_without_any_length_has_an_empty_body() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask(b"POST /outs.cgi?out0=1 HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (answer.json["method"], answer.json["body"]) == ("POST", "")


async def test_client_that_expects_continue_gets_it_before_the_body() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        proceeds = await client.ask(
            b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        answer = await client.ask(b"ok")
    assert proceeds.status == 100
    assert answer.json["body"] == "ok"


async def test_head_is_answered_without_the_body() -> None:
    methods = []

    def handler(request: Request) -> Reply:
        methods.append(request.method)
        return Reply(200, "text/xml", b"<x/>")

    async with serving(handler) as running:
        client = await running.connect()
        client.send(b"HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n")
        head = await client.answer(to_head=True)
        full = await client.ask(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
    assert head.headers == full.headers
    assert full.body == b"<x/>"
    assert methods == ["HEAD", "GET"]


async def test_options_for_the_whole_server_reaches_the_handler() -> None:
    async with serving(echo) as running:
        client = await running.connect()
        answer = await client.ask(b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (answer.json["method"], answer.json["path"]) == ("OPTIONS", "*")


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
