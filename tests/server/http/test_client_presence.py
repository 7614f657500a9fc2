"""Work that ends with its client, and work that does not."""

import asyncio
from collections.abc import Awaitable, Callable

from leverframe.server.http.limits import ends_with_client
from leverframe.server.http.messages import Reply, Request
from leverframe.testing import LoopTwin
from tests.cases import for_each

from .http_peer import GET, PATIENCE_S, Client, serving

DONE = Reply(200, "text/plain", b"done")
Leave = Callable[[Client], Awaitable[None]]


def is_beside(request: Request) -> bool:
    """Return whether it is one of the requests by which a test finds out what the server saw."""
    return request.headers["host"] == "h"


class LongWork:
    """A handler whose work waits until it is let go or cancelled."""

    def __init__(self, *, ends: bool) -> None:
        self._ends = ends
        self.has_begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.became: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __call__(self, request: Request) -> Reply:
        if is_beside(request):
            return DONE
        self.has_begun.set()
        try:
            if self._ends:
                with ends_with_client():
                    await self.may_end.wait()
            else:
                await self.may_end.wait()
        except asyncio.CancelledError:
            self.became.set_result("cancelled")
            raise
        self.became.set_result("done")
        return DONE


async def close(client: Client) -> None:
    await client.close()


async def vanish(client: Client) -> None:
    client.vanish()


@for_each("leave", [close, vanish])
async def test_work_that_ends_with_its_client_is_cancelled_when_that_leaves(leave: Leave) -> None:
    work = LongWork(ends=True)
    async with serving(work) as running, asyncio.timeout(PATIENCE_S):
        client = await running.connect()
        client.send(GET)
        await work.has_begun.wait()
        await leave(client)
        assert await work.became == "cancelled"


async def test_client_that_leaves_after_a_large_body_is_noticed() -> None:
    work = LongWork(ends=True)
    async with serving(work) as running, asyncio.timeout(PATIENCE_S):
        client = await running.connect()
        body = b"x" * 500_000
        client.send(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 500000\r\n\r\n" + body)
        await work.has_begun.wait()
        await client.close()
        assert await work.became == "cancelled"


async def test_other_work_runs_to_its_end() -> None:
    work = LongWork(ends=False)
    async with serving(work) as running, asyncio.timeout(PATIENCE_S):
        client = await running.connect()
        client.send(GET)
        await work.has_begun.wait()
        await client.close()
        await running.settle()
        work.may_end.set()
        assert await work.became == "done"


async def test_client_that_stays_gets_its_answer_and_the_next_one() -> None:
    work = LongWork(ends=True)
    async with serving(work) as running, asyncio.timeout(PATIENCE_S):
        client = await running.connect()
        client.send(GET)
        await work.has_begun.wait()
        work.may_end.set()
        assert (await client.answer()).body == b"done"


async def test_work_for_a_client_that_has_left_ends_where_it_first_waits() -> None:
    has_begun, may_continue = asyncio.Event(), asyncio.Event()
    became = asyncio.get_running_loop().create_future()

    async def handle(request: Request) -> Reply:
        if is_beside(request):
            return DONE
        has_begun.set()
        await may_continue.wait()
        try:
            with ends_with_client():
                await asyncio.sleep(0)
                became.set_result("done")
        except asyncio.CancelledError:
            became.set_result("given up")
            raise
        return DONE

    async with serving(handle) as running, asyncio.timeout(PATIENCE_S):
        client = await running.connect()
        client.send(GET)
        await has_begun.wait()
        client.vanish()
        await running.settle()
        may_continue.set()
        assert await became == "given up"


async def test_virtual_time_of_a_controller_stands_when_its_client_leaves() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/sim.cgi?plant=meter*switch:OUT0*reading:INPD1*watts:0*standby:500*pulses:1000")
    clock = twin.controller.clock
    async with serving(twin.web.handle) as running, asyncio.timeout(PATIENCE_S):
        client = await running.connect()
        before = clock.now()
        client.send(b"GET /sim.cgi?advance=31622400 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        while clock.now() == before:  # noqa: ASYNC110 - each look is a turn of the loop
            await asyncio.sleep(0)
        client.vanish()
        await running.settle()
        stands_at = clock.now()
        await running.settle()
        assert before < stands_at == clock.now() < before + 31622400
        # It continues from there.
        await twin.ok("/sim.cgi?advance=10")
        assert clock.now() == stands_at + 10
