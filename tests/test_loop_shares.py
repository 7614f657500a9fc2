"""The time of the loop: one controller that is asked without end leaves most of it to others."""

import asyncio
from collections.abc import Coroutine

from leverframe.loop_shares import (
    BESIDES_S,
    BURST_S,
    MAX_DEBT_S,
    PART,
    SHARED_S,
    LoopShare,
    LoopShares,
    LoopTurns,
)
from leverframe.servers.http.messages import Reply, Request, SentAnswer

ASKED = Request("GET", "/outs.cgi", "out0=1", {}, b"", "127.0.0.1")
DONE = Reply(200, "text/plain", b"done")
COST_S = 0.001


class Loop:
    """A clock that goes on while something is done; requests that had to wait are counted."""

    def __init__(self) -> None:
        self.now = 100.0
        self.shares = LoopShares(lambda: self.now)
        self.done = 0
        self.cost_s = COST_S

    def work(self, _request: Request) -> SentAnswer:
        self.now += self.cost_s
        self.done += 1
        return DONE

    def ask(self, share: LoopShare) -> bool:
        """Ask, and tell whether that was answered at once."""
        answer = self.shares.answer(share, ASKED, self.work)
        if isinstance(answer, Coroutine):
            answer.close()
            return False
        assert answer is DONE
        return True


def test_who_is_asked_alone_never_waits() -> None:
    loop, flooded = Loop(), LoopShare()
    assert all(loop.ask(flooded) for _ in range(10_000))


def test_while_others_are_asked_a_flood_gets_its_part_of_the_time() -> None:
    loop, flooded, neighbour = Loop(), LoopShare(), LoopShare()
    began, taken = loop.now, 0
    while loop.now < began + 20:
        assert loop.ask(neighbour)
        taken += sum(loop.ask(flooded) for _ in range(16))
        loop.now += 0.02
    assert taken * COST_S < (loop.now - began) * PART + BURST_S + COST_S
    assert taken * COST_S > (loop.now - began) * PART * 0.8


def test_many_small_requests_count_with_what_they_take_besides() -> None:
    loop, flooded, neighbour = Loop(), LoopShare(), LoopShare()
    loop.cost_s = 0.0
    began, taken = loop.now, 0
    while loop.now < began + 20:
        loop.ask(neighbour)
        taken += sum(loop.ask(flooded) for _ in range(100))
        loop.now += 0.01
    assert taken * BESIDES_S < (loop.now - began) * PART + BURST_S + BESIDES_S


def test_a_flood_of_before_is_soon_forgiven() -> None:
    loop, flooded, neighbour = Loop(), LoopShare(), LoopShare()
    for _ in range(10_000):
        loop.ask(flooded)
    loop.ask(neighbour)
    assert not loop.ask(flooded)
    loop.now += BURST_S / PART + MAX_DEBT_S
    assert loop.ask(flooded)


def test_when_the_others_are_silent_again_nothing_waits() -> None:
    loop, flooded, neighbour = Loop(), LoopShare(), LoopShare()
    loop.ask(neighbour)
    while loop.ask(flooded):
        pass
    loop.now += SHARED_S
    assert all(loop.ask(flooded) for _ in range(1000))


async def test_those_that_wait_are_answered_in_their_order() -> None:
    shares, flooded, neighbour = LoopShares(), LoopShare(), LoopShare()
    order: list[str] = []

    def work(request: Request) -> SentAnswer:
        order.append(request.query or "")
        return DONE

    shares.answer(neighbour, ASKED, work)
    shares.answer(flooded, ASKED, work)
    # As after a long request.
    flooded.paid_until += BURST_S / PART + 0.2
    order.clear()
    waiting = []
    for number in range(5):
        request = Request("GET", "/outs.cgi", str(number), {}, b"", "127.0.0.1")
        answer = shares.answer(flooded, request, work)
        assert isinstance(answer, Coroutine)
        waiting.append(asyncio.ensure_future(answer))
    assert order == []
    assert await asyncio.gather(*waiting) == [DONE] * 5
    assert order == ["0", "1", "2", "3", "4"]


async def test_what_takes_the_time_of_the_loop_in_bites_waits_as_requests_do() -> None:
    shares, flooded = LoopShares(), LoopShare()
    turns = LoopTurns(shares, flooded)
    shares.answer(LoopShare(), ASKED, lambda request: DONE)
    began = await turns.begin()
    # As after a long bite.
    flooded.charge(began - 2 * BURST_S, began)
    waits_until = flooded.paid_until - BURST_S / PART
    assert waits_until > began
    assert await turns.begin() >= waits_until


async def test_bites_and_requests_of_one_controller_wait_in_one_line() -> None:
    shares, flooded = LoopShares(), LoopShare()
    turns = LoopTurns(shares, flooded)
    shares.answer(flooded, ASKED, lambda request: DONE)
    shares.answer(LoopShare(), ASKED, lambda request: DONE)
    flooded.paid_until = shares.clock() + BURST_S / PART + 0.2
    order: list[str] = []

    def work(request: Request) -> SentAnswer:
        order.append("request")
        return DONE

    async def bite() -> None:
        await turns.begin()
        order.append("bite")

    first = asyncio.ensure_future(bite())
    await asyncio.sleep(0)
    answer = turns.answer(ASKED, work)
    assert isinstance(answer, Coroutine)
    await asyncio.gather(answer, first)
    assert order == ["bite", "request"]
