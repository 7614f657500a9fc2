"""Follows one controller: gathers what the engine traces and hands it over now and then.

The engine appends to a list; that is all that a changing value costs on the event loop. A timer
runs only while something waits, so an idle controller costs nothing. On virtual time there is no
timer: values are handed over when many have come, and before anybody asks.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from leverframe.clock import Clock, VirtualClock
from leverframe.engine.machine import Traced
from leverframe.storage.history.desk import Desk, Figures
from leverframe.storage.history.keeper import Keeper

Result = TypeVar("Result")

#: Real seconds that a value may wait before it is written: what a killed process loses.
GATHER_S = 5.0
#: So many values are handed over at once, whatever the time.
BATCH = 4096


class Recorder:
    def __init__(self, desk: Desk, clock: Clock, gather_s: float = GATHER_S) -> None:
        #: What the engine appends to.
        self.trail: list[Traced] = []
        self._desk = desk
        self._clock = clock
        self._gather_s = gather_s
        self._has_timer = not isinstance(clock, VirtualClock)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def figures(self) -> Figures:
        return self._desk.figures

    def look(self) -> None:
        """Something has changed."""
        if len(self.trail) >= BATCH:
            self.flush()
        elif self._has_timer and self._timer is None and self.trail:
            self._timer = asyncio.get_running_loop().call_later(self._gather_s, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.trail:
            samples = self.trail.copy()
            self.trail.clear()
            self._desk.add(samples)

    async def ask(self, work: Callable[[Keeper], Result]) -> Result:
        """What is found in everything that came until now."""
        self.flush()
        return await self._desk.ask(work)

    async def close(self) -> None:
        self.flush()
        await self._desk.close(self._clock.read().wall)
