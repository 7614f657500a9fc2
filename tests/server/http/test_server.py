"""A port: how many connections it takes, and how it stops."""

import asyncio
import socket

import pytest

from leverframe.server.fair_shares import DescriptorBudget, FairShares
from leverframe.server.http.messages import AnyReply, Request
from leverframe.server.http.server import HttpServer
from tests.cases import for_each

from .handlers import Gate, Ticker, path_as_text
from .http_peer import GET, PATIENCE_S, Client, serving


def few_clients(count: int) -> DescriptorBudget:
    budget = DescriptorBudget()
    budget.clients = FairShares(count, 2.0)
    return budget


async def test_connection_too_many_is_turned_away_until_another_leaves() -> None:
    async with serving(path_as_text, descriptors=few_clients(3)) as running:
        first, second = await running.connect(), await running.connect()
        await first.ask(GET)
        await second.ask(GET)
        third = await running.connect()
        refused = await third.answer()
        assert refused.status == 503
        assert refused.headers["retry-after"] == "5"
        assert await third.is_dropped()
        first.send(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        await first.rest()
        fourth = await running.connect()
        assert (await fourth.ask(GET)).status == 200


async def test_one_address_cannot_take_all_connections() -> None:
    async with serving(path_as_text, descriptors=few_clients(4)) as running:
        for _ in range(3):
            await (await running.connect()).ask(GET)
        assert (await (await running.connect()).answer()).status == 503
        other = await running.connect(source="127.0.0.2")
        assert (await other.ask(GET)).status == 200


async def test_resources_of_connections_are_released_at_their_end() -> None:
    descriptors = DescriptorBudget()
    async with serving(path_as_text, descriptors=descriptors) as running:
        clients = [await running.connect() for _ in range(5)]
        for client in clients:
            await client.ask(GET)
        assert descriptors.clients.used == 5
        clients[0].vanish()
        clients[1].send(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        clients[2].send(b"bad\r\n\r\n")
        for client in clients[1:3]:
            await client.rest()
            await client.close()
        await running.settle()
        assert descriptors.clients.used == 2
    assert descriptors.clients.used == 0


async def test_stop_waits_for_the_answer_in_work_and_closes_idle_connections() -> None:
    gate = Gate()
    async with serving(gate) as running:
        idle, busy = await running.connect(), await running.connect()
        await idle.ask(GET)
        busy.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /never HTTP/1.1\r\nHost: h\r\n\r\n")
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


async def test_stop_does_not_wait_longer_than_its_grace() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
        await gate.entered.wait()
        async with asyncio.timeout(PATIENCE_S):
            await running.server.stop(grace_s=0)
        assert await client.is_dropped()
    assert not gate.left.is_set()


async def test_stop_ends_streams_in_order() -> None:
    ticker = Ticker()
    async with serving(ticker) as running:
        client = await running.connect()
        ticker.numbers.put_nowait(1)
        client.send(b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.answer(to_head=True)
        chunks = client.chunks()
        await anext(chunks)
        await running.server.stop()
        assert [chunk async for chunk in chunks] == []
        assert await client.rest() == b""
    assert ticker.closed.is_set()


async def test_stop_ends_a_stream_in_order_that_has_not_begun() -> None:
    ticker = Ticker()
    stops: list[asyncio.Future[None]] = []

    def stop_first(request: Request) -> AnyReply:
        stops.append(asyncio.ensure_future(running.server.stop()))
        return ticker(request)

    async with serving(stop_first) as running:
        client = await running.connect()
        client.send(b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.answer(to_head=True)
        assert [chunk async for chunk in client.chunks()] == []
        await stops[0]


async def test_stop_waits_for_an_answer_in_work_whose_client_has_left() -> None:
    gate = Gate()
    async with serving(gate) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
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


@for_each("rounds", range(6))
async def test_stop_closes_also_a_connection_that_is_just_being_accepted(rounds: int) -> None:
    server = HttpServer(path_as_text)
    await server.start("127.0.0.1", 0)
    with socket.create_connection(("127.0.0.1", server.port)):
        for _ in range(rounds):
            await asyncio.sleep(0)
        await server.stop(grace_s=0)
        accepted = []
        for _ in range(6):
            accepted.append(server.connection_count)
            await asyncio.sleep(0)
    assert accepted == [0] * 6


async def test_stop_waits_for_the_end_of_a_stream_whose_client_has_just_left() -> None:
    ticker = Ticker()
    async with serving(ticker) as running:
        client = await running.connect()
        client.send(b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.answer(to_head=True)
        client.vanish()
        for _ in range(100):
            if running.server.connection_count:
                await asyncio.sleep(0)
        await running.server.stop(grace_s=0)
        assert ticker.closed.is_set()


async def test_stopped_server_can_be_started_again_on_its_port() -> None:
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
