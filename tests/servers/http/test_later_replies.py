"""Answers that follow something: made by a callback of it, or awaited like any other."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from leverframe.servers.http.messages import Answer, LaterReply, Reply, Request

from .http_peer import GET, serving

LATER = b"GET /later HTTP/1.1\r\nHost: here\r\n\r\n"
LAMP = Reply(200, "text/plain", b"lamp")


def made() -> Reply:
    return LAMP


async def made_later() -> Reply:
    await asyncio.sleep(0)
    return LAMP


def failing() -> Reply:
    raise RuntimeError("secret detail")


@pytest.mark.parametrize("answer", [made, made_later])
async def test_a_request_is_answered_when_what_it_follows_is_done(
    answer: Callable[[], Reply | Coroutine[Any, Any, Reply]],
) -> None:
    done = asyncio.get_running_loop().create_future()
    asked = asyncio.Event()

    def handler(request: Request) -> Answer:
        if request.path != "/later":
            return LAMP
        asked.set()
        return LaterReply(done, answer)

    async with serving(handler) as running:
        client = await running.connect()
        client.send(LATER + LATER)
        await asked.wait()
        await running.settle()
        first = asyncio.ensure_future(client.answer())
        await running.settle()
        assert not first.done()
        done.set_result(None)
        assert [(await first).body, (await client.answer()).body] == [b"lamp", b"lamp"]


async def test_a_fault_after_it_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    done = asyncio.get_running_loop().create_future()
    done.set_result(None)
    async with serving(lambda _: LaterReply(done, failing)) as running:
        client = await running.connect()
        answer = await client.ask(GET)
    assert (answer.status, b"secret" in answer.body) == (500, False)
    assert "secret detail" in caplog.text


async def test_a_client_that_has_left_is_not_missed(caplog: pytest.LogCaptureFixture) -> None:
    done, asked = asyncio.get_running_loop().create_future(), asyncio.Event()

    def handler(request: Request) -> Answer:
        if request.path != "/later":
            return LAMP
        asked.set()
        return LaterReply(done, made)

    with caplog.at_level(logging.WARNING):
        async with serving(handler) as running:
            client = await running.connect()
            client.send(LATER)
            await asked.wait()
            await client.close()
            await running.settle()
            done.set_result(None)
            await running.settle()
    assert caplog.text == ""


@pytest.mark.parametrize("answer", [made, made_later])
async def test_it_can_be_awaited_and_run_as_a_task(
    answer: Callable[[], Reply | Coroutine[Any, Any, Reply]],
) -> None:
    done = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(LaterReply(done, answer))
    await asyncio.sleep(0)
    assert not task.done()
    done.set_exception(OSError("this is the answer's affair"))
    assert await task is LAMP
    assert await LaterReply(done, answer) is LAMP


async def test_whoever_gives_up_leaves_what_it_follows_alone() -> None:
    done = asyncio.get_running_loop().create_future()
    LaterReply(done, made).close()
    task = asyncio.create_task(LaterReply(done, made))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert not done.done()
