"""The time of a group of controllers, moved together on virtual time.

Controllers share nothing, so the order in which they are served does not change what each does.
They are served strictly in order of time, or one after the other within a window. A window is twice
as fast for many, because a controller that is served again finds its memory in the processor's
caches.
"""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from heapq import heapify, heappop, heappush

from leverframe.controller import Controller
from leverframe.loop_shares import bulk_turns

#: How far one controller may be ahead of the others on the way.
WINDOW_S = 60.0


class MoveCancelled(asyncio.CancelledError):
    """A move was cancelled on the way; all controllers stand at the same moment of it."""

    def __init__(self, moved_s: float) -> None:
        super().__init__()
        self.moved_s = moved_s


async def advance_together(
    controllers: Sequence[Controller], seconds: float, window_s: float = 0.0
) -> None:
    """Move the time of all by a number of seconds; due tasks run before the return.

    If it is cancelled, all have moved by the same time, which `MoveCancelled` holds.
    """
    begins = [controller.clock.now() for controller in controllers]
    await _GroupMove(controllers, begins, window_s).move_all(seconds)


async def bring_together(
    controllers: Sequence[Controller], wall: float, window_s: float = 0.0
) -> None:
    """Move the time of each to one moment; controllers that are ahead wait for the others.

    If it is cancelled, those that were behind stand at one moment.
    """
    distances = [max(0.0, wall - controller.clock.wall()) for controller in controllers]
    longest = max(distances, default=0.0)
    begins = [
        controller.clock.now() - (longest - distance)
        for controller, distance in zip(controllers, distances, strict=True)
    ]
    await _GroupMove(controllers, begins, window_s).move_all(longest)


class _GroupMove:
    """A move of controllers, each from its own beginning, which may have been a while ago."""

    def __init__(
        self, controllers: Sequence[Controller], begins: Sequence[float], window_s: float
    ) -> None:
        self._controllers = controllers
        self._begins = begins
        self._window_s = window_s
        #: How far the one that is furthest has come.
        self._reached_s = 0.0
        self._until_s = 0.0
        self._is_cancelled = False
        self._turns = bulk_turns()

    async def move_all(self, seconds: float) -> None:
        """Move each to a time after its beginning, or to where a cancelled move ends."""
        self._until_s = seconds
        due: list[tuple[float, int]] = []
        for number in range(len(self._controllers)):
            self._expect(due, number)
        heapify(due)
        while due and due[0][0] <= self._until_s:
            after_s, number = heappop(due)
            await self._move_within_window(number, after_s)
            self._expect(due, number)
        # Nothing is due any more: a caller that cancels it now gets all of it.
        self._reached_s = self._until_s
        for number, controller in enumerate(self._controllers):
            for _ in controller.time.live_until(self._begins[number] + self._until_s):
                await self._give_way()
            await self._give_way()
        if self._is_cancelled:
            raise MoveCancelled(self._until_s)

    def _expect(self, due: list[tuple[float, int]], number: int) -> None:
        deadline = self._controllers[number].next_deadline()
        if deadline is not None:
            heappush(due, (deadline - self._begins[number], number))

    async def _move_within_window(self, number: int, after_s: float) -> None:
        """Serve what is due for a controller at a time, and up to the end of the window."""
        controller, begin = self._controllers[number], self._begins[number]
        end_s, window_s = after_s, self._window_s
        if window_s:
            end_s = max(after_s, min((after_s // window_s + 1) * window_s, self._until_s))
        for _ in controller.time.live_until(begin + end_s):
            self._reached_s = max(self._reached_s, controller.clock.now() - begin)
            if await self._give_way():
                # It may be behind the others now, and is served again in its turn.
                return
        self._reached_s = max(self._reached_s, end_s)

    async def _give_way(self) -> bool:
        """Yield to the loop; return whether the move was cancelled by that, and ends soon.

        Controllers behind the furthest catch up, which a window bounds: then all stand at one
        moment.
        """
        if not self._turns.is_over():
            return False
        try:
            await self._turns.wait()
        except asyncio.CancelledError:
            is_first, self._is_cancelled = not self._is_cancelled, True
            self._until_s = min(self._until_s, self._reached_s)
            return is_first
        return False


def next_step_s(controllers: Sequence[Controller]) -> float | None:
    """Return how long it is until something is due for any controller; None if nothing is."""
    deadlines = [(one.next_deadline(), one.clock.now()) for one in controllers]
    return min((max(0.0, due - now) for due, now in deadlines if due is not None), default=None)


def due_within(controllers: Sequence[Controller], seconds: float) -> int:
    """Count the controllers for which something is due within a number of seconds."""
    deadlines = [(one.next_deadline(), one.clock.now()) for one in controllers]
    return sum(due is not None and due - now <= seconds for due, now in deadlines)


def journal_digest(controllers: Sequence[Controller]) -> str:
    """Return a digest of all that happened to controllers, in their order: equal runs, equal text.

    It covers the entries that their journals still keep, and the number of all entries.
    """
    digest = sha256()
    for controller in controllers:
        journal = controller.engine.machine.journal
        digest.update(f"{journal.count}\n".encode())
        for entry in journal.entries():
            digest.update(f"{entry.wall!r} {entry.cause} {entry.text}\n".encode())
    return digest.hexdigest()
