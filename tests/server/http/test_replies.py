"""Replies over real sockets: what goes out, and what a faulty handler comes to."""

import asyncio
import logging

import pytest

from leverframe.server.http.messages import Reply, Request
from leverframe.server.http.server import HttpServer

from .handlers import echo
from .http_peer import GET, Client, serving


async def test_reply_has_its_own_headers_and_says_nothing_about_the_program() -> None:
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


async def test_fault_in_the_handler_is_logged_and_not_shown(
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
async def test_answer_that_cannot_be_sent_is_a_fault(
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
    answer = await client.ask(b"PUT / HTTP/1.1\r\nHost: h\r\n\r\n")
    await client.close()
    await server.stop()
    assert (answer.status, answer.body) == (405, b"no")
    assert answer.headers["allow"] == "GET, HEAD, POST"
