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
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.worker import Figures, HistoryWorker

Result = TypeVar("Result")

#: Real seconds that a value may wait before it is written: what a killed process loses.
GATHER_S = 5.0
#: So many values are handed over at once, whatever the time.
BATCH = 4096


class HistoryRecorder:
    def __init__(self, worker: HistoryWorker, clock: Clock, gather_s: float = GATHER_S) -> None:
        #: What the engine appends to.
        self.samples: list[Traced] = []
        self._worker = worker
        self._clock = clock
        self._gather_s = gather_s
        self._has_timer = not isinstance(clock, VirtualClock)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def figures(self) -> Figures:
        return self._worker.figures

    def look(self) -> None:
        """Something has changed."""
        if len(self.samples) >= BATCH:
            self.flush()
        elif self._has_timer and self._timer is None and self.samples:
            self._timer = asyncio.get_running_loop().call_later(self._gather_s, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.samples:
            samples = self.samples.copy()
            self.samples.clear()
            self._worker.add(samples)

    async def ask(self, work: Callable[[Compactor], Result]) -> Result:
        """What is found in everything that came until now."""
        self.flush()
        return await self._worker.ask(work)

    async def close(self) -> None:
        self.flush()
        await self._worker.close(self._clock.read().wall)
