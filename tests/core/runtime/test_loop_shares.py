"""The time of the loop: one controller that is asked without end leaves most of it to others."""

import asyncio
from collections.abc import Coroutine
from itertools import pairwise

from leverframe.core.runtime.event_loop import (
    BESIDES_S,
    BURST_S,
    MAX_DEBT_S,
    PART,
    REST_S,
    SHARED_S,
    SLICE_S,
    BulkTurns,
    LoopShare,
    LoopShares,
    LoopTurns,
    bulk_turns,
    in_turns,
)
from leverframe.server.http.messages import Reply, Request, SentAnswer
from tests.patience import PATIENCE_S

ASKED = Request("GET", "/outs.cgi", "out0=1", {}, b"", "127.0.0.1")
DONE = Reply(200, "text/plain", b"done")
COST_S = 0.001


class Loop:
    """A clock that runs while something is done; requests that had to wait are counted."""

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
        """Send a request, and return whether it was answered immediately."""
        answer = self.shares.answer(share, ASKED, self.work)
        if isinstance(answer, Coroutine):
            answer.close()
            return False
        assert answer is DONE
        return True


def test_lone_user_of_the_loop_never_waits() -> None:
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


def test_flood_of_before_is_soon_forgiven() -> None:
    loop, flooded, neighbour = Loop(), LoopShare(), LoopShare()
    for _ in range(10_000):
        loop.ask(flooded)
    loop.ask(neighbour)
    assert not loop.ask(flooded)
    loop.now += BURST_S / PART + MAX_DEBT_S
    assert loop.ask(flooded)


def test_nothing_waits_when_the_others_are_silent_again() -> None:
    loop, flooded, neighbour = Loop(), LoopShare(), LoopShare()
    loop.ask(neighbour)
    while loop.ask(flooded):
        pass
    loop.now += SHARED_S
    assert all(loop.ask(flooded) for _ in range(1000))


async def test_waiting_requests_are_answered_in_their_order() -> None:
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


async def test_work_in_pieces_waits_as_requests_do() -> None:
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


# --- long work ------------------------------------------------------------------------------------


class Rounds:
    """Long work on a clock that only the work moves, and the rounds of the loop beside it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.turns = BulkTurns(lambda: self.now)
        #: What was worked in each round of the loop, in seconds.
        self.worked: list[float] = [0.0]

    async def count(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.worked.append(0.0)

    async def work(self, parts: int, part_s: float) -> None:
        for _ in range(parts):
            if self.turns.is_over():
                await self.turns.wait()
            self.now += part_s
            self.worked[-1] += part_s


async def test_round_of_the_loop_has_one_slice_of_all_long_work() -> None:
    rounds = Rounds()
    counting = asyncio.ensure_future(rounds.count())
    part_s = SLICE_S / 10
    await asyncio.gather(*(rounds.work(100, part_s) for _ in range(20)))
    counting.cancel()
    assert abs(sum(rounds.worked) - 20 * 100 * part_s) < part_s
    assert max(rounds.worked) < SLICE_S + 2 * part_s


async def test_long_parts_give_way_one_by_one() -> None:
    rounds = Rounds()
    counting = asyncio.ensure_future(rounds.count())
    await asyncio.gather(*(rounds.work(5, 4 * SLICE_S) for _ in range(4)))
    counting.cancel()
    assert max(rounds.worked) == 4 * SLICE_S


async def test_short_parts_of_one_work_share_a_slice() -> None:
    rounds = Rounds()
    counting = asyncio.ensure_future(rounds.count())
    await rounds.work(1000, SLICE_S / 100)
    counting.cancel()
    assert len(rounds.worked) < 100


async def test_cancelled_work_keeps_no_other_waiting() -> None:
    turns = BulkTurns(lambda: 0.0)
    waiting = [asyncio.ensure_future(turns.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    waiting[1].cancel()
    await asyncio.wait_for(waiting[2], PATIENCE_S)


async def test_items_of_long_work_keep_their_order() -> None:
    bulk_turns().slice_s = 0.0
    assert [item async for item in in_turns(range(5))] == [0, 1, 2, 3, 4]


async def test_loop_serves_others_after_a_part_that_took_long() -> None:
    rounds = Rounds()
    loop, begins = asyncio.get_running_loop(), []
    for _ in range(3):
        await rounds.turns.wait()
        begins.append(loop.time())
        rounds.now += 4 * SLICE_S
    pauses = [later - before for before, later in pairwise(begins)]
    assert min(pauses) >= REST_S * 0.9


async def test_short_parts_of_several_works_share_slices() -> None:
    rounds = Rounds()
    counting = asyncio.ensure_future(rounds.count())
    await asyncio.gather(*(rounds.work(1000, SLICE_S / 100) for _ in range(3)))
    counting.cancel()
    assert len(rounds.worked) < 100


async def rounds_until_next_slice(rounds: Rounds) -> int:
    before = len(rounds.worked)
    await rounds.turns.wait()
    return len(rounds.worked) - before


async def test_work_that_waited_for_something_else_needs_no_rest() -> None:
    rounds = Rounds()
    counting = asyncio.ensure_future(rounds.count())
    await rounds.turns.wait()
    for _ in range(3):
        await asyncio.sleep(0)
    # As while the disk writes.
    rounds.now += 20 * SLICE_S
    assert await rounds_until_next_slice(rounds) < 5
    counting.cancel()


async def test_works_that_wait_do_not_rest_again_from_the_same_part() -> None:
    rounds = Rounds()
    counting = asyncio.ensure_future(rounds.count())
    await rounds.turns.wait()
    rounds.now += 4 * SLICE_S
    others = [asyncio.ensure_future(rounds.turns.wait()) for _ in range(3)]
    await others[0]
    rested = len(rounds.worked)
    await asyncio.gather(*others)
    counting.cancel()
    assert len(rounds.worked) - rested < 10


async def test_long_part_that_begins_within_a_slice_is_followed_by_a_rest() -> None:
    rounds = Rounds()
    loop = asyncio.get_running_loop()
    await rounds.turns.wait()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not rounds.turns.is_over()
    rounds.now += 4 * SLICE_S
    began = loop.time()
    await rounds.turns.wait()
    assert loop.time() - began >= REST_S * 0.9


async def test_long_part_that_ends_by_waiting_for_something_else_is_followed_by_a_rest() -> None:
    rounds = Rounds()
    loop = asyncio.get_running_loop()
    await rounds.turns.wait()
    rounds.now += 4 * SLICE_S
    await asyncio.sleep(0)
    began = loop.time()
    await rounds.turns.wait()
    assert loop.time() - began >= REST_S * 0.9
