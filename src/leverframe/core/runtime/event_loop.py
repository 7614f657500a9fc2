"""Work on the event loop: fair shares of it for controllers, turns of long work, and orderly
shutdown.
"""

import asyncio
import logging
import signal
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from time import perf_counter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from msgspec import Struct

# Orderly shutdown, even if a part fails.
#
# Several parts are closed one by one, so that a failing part does not keep the rest open. And a
# task that continues after every fault must end when it is cancelled: a fault during the
# cancellation replaces the `CancelledError`.

log = logging.getLogger(__name__)

End = Callable[[], Awaitable[None]]


def stop_by_signal() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def is_being_cancelled() -> bool:
    """Return whether the running task was cancelled, whatever it has caught since."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def close_all(ends: Iterable[End]) -> None:
    """Close one after the other, in this order; log what failed, and why."""
    for end in ends:
        try:
            await end()
        except Exception:
            name = getattr(end, "__qualname__", end)
            log.exception("%s failed to stop; the remaining parts are stopped anyway", name)


# Time of the event loop that requests to one controller may take while others are asked, too.
#
# All controllers of a node share one loop. Without a bound, a client that asks one of them as
# fast as it can would slow down all others. So while several are asked, each gets a part of the
# time; what goes beyond it waits for its turn, and nothing is refused. A controller that is asked
# alone has the whole time. What a request takes is known only afterwards, so that a burst goes
# beyond the part. By which protocol a request comes makes no difference: those of one controller
# wait in one line.
#
# Long work, such as a change of a thousand controllers or a year of virtual time, pauses by time:
# in one round of the loop all such work together gets a few milliseconds (`BulkTurns`).

#: The share of time for one controller; a busy one with ten requests a second uses a hundredth.
PART = 0.1
#: What a request takes besides its handling: it is read, it waits, and its answer is written.
BESIDES_S = 0.0001
#: Time that may be used in one piece.
BURST_S = 0.01
#: So long after a request to another controller the time is shared.
SHARED_S = 1.0
#: Time used while no other controller had requests is forgiven, up to this.
MAX_DEBT_S = 0.2
#: What long work gets in one round of the loop, all of it together.
SLICE_S = 0.005
#: The least and the longest rest after a round that took much longer, in between as long as it
#: took: a request to a controller needs several rounds, and would wait in each of them.
REST_S, MAX_REST_S = 0.01, 0.1

Item = TypeVar("Item")
Request = TypeVar("Request")
Answer = TypeVar("Answer")


class LoopShare:
    """What requests to one controller have taken."""

    __slots__ = ("paid_until", "turn")

    def __init__(self) -> None:
        #: Until when it is worked off, at the allowed part of the time.
        self.paid_until = 0.0
        #: Held by the request that waits for its time; the others wait behind it.
        self.turn: asyncio.Lock | None = None

    def wait_s(self, now: float) -> float:
        """Return how long the next request has to wait."""
        return self.paid_until - BURST_S / PART - now

    def charge(self, began: float, now: float) -> None:
        paid_until = max(began, self.paid_until) + (now - began + BESIDES_S) / PART
        self.paid_until = min(paid_until, now + BURST_S / PART + MAX_DEBT_S)


class LoopShares:
    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        self._latest: LoopShare | None = None
        #: When a request came to another controller than the one before.
        self._changed_at = -SHARED_S

    def answer(
        self,
        share: LoopShare,
        request: Request,
        handler: Callable[[Request], Answer | Coroutine[Any, Any, Answer]],
    ) -> Answer | Coroutine[Any, Any, Answer]:
        """Answer immediately, or when the controller has time again."""
        began = self.clock()
        if self.must_wait(share, began):
            return self._in_turn(share, request, handler)
        answer = handler(request)
        share.charge(began, self.clock())
        return answer

    def must_wait(self, share: LoopShare, now: float) -> bool:
        """Note a request to a controller, and return whether it has to wait."""
        if share is not self._latest:
            if self._latest is not None:
                self._changed_at = now
            self._latest = share
        if share.paid_until <= now:
            return False
        is_shared = now - self._changed_at < SHARED_S
        others_wait = share.turn is not None and share.turn.locked()
        return is_shared and (others_wait or share.wait_s(now) > 0)

    def line(self, share: LoopShare) -> asyncio.Lock:
        """Return the line in which requests to a controller wait."""
        if share.turn is None:
            share.turn = asyncio.Lock()
        return share.turn

    async def pause(self, share: LoopShare) -> None:
        """Wait until the controller has time again; called by the first of its line."""
        await asyncio.sleep(max(0.0, share.wait_s(self.clock())))

    async def _in_turn(
        self,
        share: LoopShare,
        request: Request,
        handler: Callable[[Request], Answer | Coroutine[Any, Any, Answer]],
    ) -> Answer:
        async with self.line(share):
            await self.pause(share)
            began = self.clock()
            answer: Any = handler(request)
            share.charge(began, self.clock())
        reply: Answer = await answer if isinstance(answer, Coroutine) else answer
        return reply


class LoopTurns(Struct, frozen=True):
    """The turns of one controller, for requests that do not come by HTTP."""

    shares: LoopShares
    share: LoopShare

    def answer(
        self, request: Request, handler: Callable[[Request], Answer | Coroutine[Any, Any, Answer]]
    ) -> Answer | Coroutine[Any, Any, Answer]:
        """Answer immediately, or when the controller has time again."""
        return self.shares.answer(self.share, request, handler)

    async def begin(self) -> float:
        """Wait until the controller has time; return the moment, to be given to `end`."""
        shares = self.shares
        if shares.must_wait(self.share, shares.clock()):
            async with shares.line(self.share):
                await shares.pause(self.share)
        return shares.clock()

    def end(self, began: float) -> None:
        self.share.charge(began, self.shares.clock())


def turns_alone() -> LoopTurns:
    """Return the turns of a controller that shares the loop with no other: it never waits."""
    return LoopTurns(LoopShares(), LoopShare())


# --- long work ------------------------------------------------------------------------------------


class BulkTurns:
    """The turns of all long work of one event loop.

    However much of it is under way, and whatever a part of it takes, a round of the loop has one
    slice of it, and what it began before the slice was over. After a round that took much longer,
    others have the loop to themselves for a moment. The first to wait has the next slice.
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._ends_at = self._rests_until = clock()
        #: When the first part of this round of the loop began; None while nothing has.
        self._began: float | None = None
        self.slice_s = SLICE_S

    def is_over(self) -> bool:
        """Return whether the slice is used up; if not, another part begins now."""
        if self._clock() >= self._ends_at:
            return True
        self._note_begin()
        return False

    async def wait(self) -> None:
        """Wait for the next slice, in a later round of the loop."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._note_end()
        if not self._waiting:
            self._plan(loop)
        self._waiting.append(turn)
        await turn
        self._ends_at = self._clock() + self.slice_s
        self._note_begin()

    def _note_begin(self) -> None:
        if self._began is None:
            self._began = self._clock()
            # A part that waits for an answer or the disk has given way with the end of the round.
            asyncio.get_running_loop().call_soon(self._note_end)

    def _note_end(self) -> None:
        """Plan a rest if the parts of a round, which have just ended, took long."""
        if self._began is None:
            return
        now = self._clock()
        over_s = now - self._began - self.slice_s
        self._began = None
        if over_s > self.slice_s:
            self._rests_until = now + min(max(REST_S, over_s), MAX_REST_S)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        self._note_end()
        if self._clock() < self._rests_until:
            self._plan(loop)
            return
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                break
        if self._waiting:
            self._plan(loop)

    def _plan(self, loop: asyncio.AbstractEventLoop) -> None:
        """Plan the next slice for the next round, or for after a rest."""
        now = self._clock()
        rest_s = self._rests_until - now
        if rest_s > 0:
            self._rests_until = now
            loop.call_later(rest_s, self._wake, loop)
        else:
            loop.call_soon(self._wake, loop)


_BULK_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, BulkTurns] = WeakKeyDictionary()


def bulk_turns() -> BulkTurns:
    """Return the turns of the running event loop."""
    loop = asyncio.get_running_loop()
    turns = _BULK_TURNS.get(loop)
    if turns is None:
        turns = _BULK_TURNS[loop] = BulkTurns()
    return turns


async def wait_for_turn() -> None:
    """Give others their turn before a part of long work, unless the slice has time for it."""
    turns = bulk_turns()
    if turns.is_over():
        await turns.wait()


async def in_turns(items: Iterable[Item]) -> AsyncIterator[Item]:
    """Yield items of long work, and give others their turn in between: there may be thousands."""
    turns = bulk_turns()
    for item in items:
        if turns.is_over():
            await turns.wait()
        yield item
