"""The time of a group of controllers, moved together on virtual time.

Controllers share nothing, so what each does is the same in whatever order they are served. They are
served in order of time: strictly, or within a window one after the other, which is twice as fast
for many, because a controller that is served again finds its memory in the processor's caches.
"""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from heapq import heapify, heappop, heappush

from leverframe.controller import Controller
from leverframe.controller.scheduler import DEADLINES_AT_A_TIME

#: How far one controller may be ahead of the others on the way.
WINDOW_S = 60.0


async def advance_together(
    controllers: Sequence[Controller], seconds: float, window_s: float = 0.0
) -> None:
    """Move the time of all by so many seconds; what is due on the way happens before the return."""
    begins = [controller.clock.now() for controller in controllers]
    await _live_through(controllers, begins, seconds, window_s)


async def bring_together(
    controllers: Sequence[Controller], wall: float, window_s: float = 0.0
) -> None:
    """Move the time of each to one moment; those that are ahead wait for the others."""
    distances = [max(0.0, wall - controller.clock.wall()) for controller in controllers]
    longest = max(distances, default=0.0)
    begins = [
        controller.clock.now() - (longest - distance)
        for controller, distance in zip(controllers, distances, strict=True)
    ]
    await _live_through(controllers, begins, longest, window_s)


async def _live_through(
    controllers: Sequence[Controller], begins: Sequence[float], seconds: float, window_s: float
) -> None:
    """Move each on to so many seconds after its beginning, which may have been a while ago."""
    due: list[tuple[float, int]] = []
    for number, controller in enumerate(controllers):
        deadline = controller.next_deadline()
        if deadline is not None:
            due.append((deadline - begins[number], number))
    heapify(due)
    served = 0
    while due and due[0][0] <= seconds:
        after_s, number = heappop(due)
        controller = controllers[number]
        until_s = after_s if not window_s else min((after_s // window_s + 1) * window_s, seconds)
        for _ in controller.time.live_until(begins[number] + max(after_s, until_s)):
            served += 1
            if served % DEADLINES_AT_A_TIME == 0:
                await asyncio.sleep(0)
        deadline = controller.next_deadline()
        if deadline is not None:
            heappush(due, (deadline - begins[number], number))
    for number, controller in enumerate(controllers):
        await controller.advance(begins[number] + seconds - controller.clock.now())
        if number % DEADLINES_AT_A_TIME == 0:
            await asyncio.sleep(0)


def next_step_s(controllers: Sequence[Controller]) -> float | None:
    """Return how long it is until something is due for one of them; None where nothing is."""
    deadlines = [(one.next_deadline(), one.clock.now()) for one in controllers]
    return min((max(0.0, due - now) for due, now in deadlines if due is not None), default=None)


def due_within(controllers: Sequence[Controller], seconds: float) -> int:
    """Return for how many of them something is due within so many seconds."""
    deadlines = [(one.next_deadline(), one.clock.now()) for one in controllers]
    return sum(due is not None and due - now <= seconds for due, now in deadlines)


def journal_digest(controllers: Sequence[Controller]) -> str:
    """Return one text for all that happened to controllers, in their order: equal runs, equal text.

    It goes by the entries that their journals still keep, and by how many there were.
    """
    digest = sha256()
    for controller in controllers:
        journal = controller.engine.machine.journal
        digest.update(f"{journal.count}\n".encode())
        for entry in journal.entries():
            digest.update(f"{entry.wall!r} {entry.cause} {entry.text}\n".encode())
    return digest.hexdigest()
