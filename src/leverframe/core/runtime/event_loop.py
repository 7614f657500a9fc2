"""The event loop: fair shares for controllers, time slices for long work, orderly shutdown."""

import asyncio
import logging
import signal
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from time import perf_counter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from msgspec import Struct

# Orderly shutdown, even if closing a part fails.
#
# Parts are closed one by one, so that a failing part does not leave the others open. Also, a task
# that continues after every exception must still end when it is cancelled. `is_being_cancelled`
# checks this, because an exception during the cancellation replaces the `CancelledError`.

log = logging.getLogger(__name__)

End = Callable[[], Awaitable[None]]


def stop_by_signal() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def is_being_cancelled() -> bool:
    """Return whether the running task was cancelled, even if it has caught the exception."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def close_all(ends: Iterable[End]) -> None:
    """Close the parts one after the other, in this order; log failures with their cause."""
    for end in ends:
        try:
            await end()
        except Exception:
            name = getattr(end, "__qualname__", end)
            log.exception("%s failed to stop; the remaining parts are stopped anyway", name)


# The share of the event loop's time that requests to one controller may use while others have
# requests.
#
# All controllers of a node share one loop. Without a limit, a client that sends requests to one of
# them as fast as possible would slow down all others. Therefore, while several controllers have
# requests, each gets a share of the time; further requests wait for their turn, and none is
# refused. A controller may use all the time while no other controller has requests. The cost of a
# request is known only afterwards, so a burst can exceed the share. Requests of all protocols to a
# controller wait in the same queue.
#
# Long work, such as a change of a thousand controllers or a simulated year, is divided into time
# slices: all long work together gets a few milliseconds in each round of the loop (`BulkTurns`).

#: The share of one controller; a busy controller with ten requests per second needs only 0.01.
PART = 0.1
#: The cost of a request besides its handling: reading it, waiting, and writing its answer.
BESIDES_S = 0.0001
#: The time that may be used without a pause.
BURST_S = 0.01
#: After a request to another controller, time is shared for this many seconds.
SHARED_S = 1.0
#: The largest debt of a controller; time used beyond it, while no other controller had requests, is
#: not counted.
MAX_DEBT_S = 0.2
#: The time for all long work together in one round of the loop.
SLICE_S = 0.005
#: The shortest and the longest rest after a round that took much longer; between them, the rest
#: lasts as long as the excess. A request to a controller needs several rounds, and would be delayed
#: in each of them.
REST_S, MAX_REST_S = 0.01, 0.1

Item = TypeVar("Item")
Request = TypeVar("Request")
Answer = TypeVar("Answer")


class LoopShare:
    """The time that requests to one controller have used."""

    __slots__ = ("paid_until", "turn")

    def __init__(self) -> None:
        #: The time at which the debt is paid off at the controller's share.
        self.paid_until = 0.0
        #: Held by the request whose turn is next; all further requests wait for this lock.
        self.turn: asyncio.Lock | None = None

    def wait_s(self, now: float) -> float:
        """Return how long the next request must wait."""
        return self.paid_until - BURST_S / PART - now

    def charge(self, began: float, now: float) -> None:
        paid_until = max(began, self.paid_until) + (now - began + BESIDES_S) / PART
        self.paid_until = min(paid_until, now + BURST_S / PART + MAX_DEBT_S)


class LoopShares:
    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        self._latest: LoopShare | None = None
        #: When a request to another controller than before last arrived.
        self._changed_at = -SHARED_S

    def answer(
        self,
        share: LoopShare,
        request: Request,
        handler: Callable[[Request], Answer | Coroutine[Any, Any, Answer]],
    ) -> Answer | Coroutine[Any, Any, Answer]:
        """Answer immediately, or when the controller's share permits."""
        began = self.clock()
        if self.must_wait(share, began):
            return self._in_turn(share, request, handler)
        answer = handler(request)
        share.charge(began, self.clock())
        return answer

    def must_wait(self, share: LoopShare, now: float) -> bool:
        """Record a request to a controller, and return whether it must wait."""
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
        """Return the lock for which requests to a controller queue."""
        if share.turn is None:
            share.turn = asyncio.Lock()
        return share.turn

    async def pause(self, share: LoopShare) -> None:
        """Wait until the controller's share permits a request, which is the first in the queue."""
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
    """The turns of one controller for requests by protocols other than HTTP."""

    shares: LoopShares
    share: LoopShare

    def answer(
        self, request: Request, handler: Callable[[Request], Answer | Coroutine[Any, Any, Answer]]
    ) -> Answer | Coroutine[Any, Any, Answer]:
        """Answer immediately, or when the controller's share permits."""
        return self.shares.answer(self.share, request, handler)

    async def begin(self) -> float:
        """Wait until the controller's share permits it; return the time, to be passed to `end`."""
        shares = self.shares
        if shares.must_wait(self.share, shares.clock()):
            async with shares.line(self.share):
                await shares.pause(self.share)
        return shares.clock()

    def end(self, began: float) -> None:
        self.share.charge(began, self.shares.clock())


def turns_alone() -> LoopTurns:
    """Return the turns of a controller that does not share the loop and never waits."""
    return LoopTurns(LoopShares(), LoopShare())


# --- long work ------------------------------------------------------------------------------------


class BulkTurns:
    """The turns of all long work of one event loop.

    All long work together gets one slice per round of the loop; a part that begins within the slice
    may exceed it. After a round that took much longer, long work pauses for a moment. Slices are
    assigned in the order of waiting.
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._ends_at = self._rests_until = clock()
        #: When this round's first part began; None if none has begun.
        self._began: float | None = None
        self.slice_s = SLICE_S

    def is_over(self) -> bool:
        """Return whether the slice is used up; if not, begin another part."""
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
            # A part that awaits something else, such as the disk, no longer uses the loop after
            # this round.
            asyncio.get_running_loop().call_soon(self._note_end)

    def _note_end(self) -> None:
        """Plan a rest if the parts of the round that just ended took too long."""
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
        """Schedule the next slice for the next round, or for the end of a rest."""
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
    """Let other work run before a part of long work, unless the slice has time left."""
    turns = bulk_turns()
    if turns.is_over():
        await turns.wait()


async def in_turns(items: Iterable[Item]) -> AsyncIterator[Item]:
    """Yield items of long work, possibly thousands, and let other work run in between."""
    turns = bulk_turns()
    for item in items:
        if turns.is_over():
            await turns.wait()
        yield item
