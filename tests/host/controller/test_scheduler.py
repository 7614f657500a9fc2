"""The clock of a controller: it continues, whatever happens at a deadline."""

import asyncio
from typing import Any

from leverframe.core.engine.timers import Moment
from leverframe.core.runtime.clock import SystemClock
from leverframe.host.controller.scheduler import REST_S, Scheduler
from tests.devices.virtual_loop import run_virtually


class Work:
    """Something is due every ten seconds; what is due at a moment in `failing` fails."""

    def __init__(self, *failing: float) -> None:
        self.loop = asyncio.get_running_loop()
        self.faults: list[Any] = []
        self.loop.set_exception_handler(lambda _, fault: self.faults.append(fault["exception"]))
        self.called_at: list[float] = []
        self._due = 10.0
        self._failing = set(failing)
        clock = SystemClock(self.loop.time, self.loop.time)
        self.time = Scheduler(clock, lambda: self._due, self.tick)

    def tick(self, at: Moment) -> None:
        self.called_at.append(at.now)
        if at.now in self._failing:
            raise ZeroDivisionError
        self._due += 10.0


def test_failure_at_a_deadline_is_logged_and_time_continues() -> None:
    async def scenario() -> None:
        work = Work(10.0)
        work.time.plan()
        await asyncio.sleep(35.0)
        work.time.stop()
        assert work.called_at == [10.0, 10.0 + REST_S, 20.0, 30.0]
        assert [type(fault) for fault in work.faults] == [ZeroDivisionError]

    run_virtually(scenario())


def test_repeatedly_failing_task_leaves_the_loop_to_others() -> None:
    async def scenario() -> None:
        work = Work(*(10.0 + n * REST_S for n in range(100)))
        work.time.plan()
        await asyncio.sleep(20.0)
        # News of another part do not make it sooner.
        work.time.plan()
        await asyncio.sleep(REST_S / 2)
        work.time.stop()
        assert len(work.faults) == 1 + int(10.0 / REST_S)

    run_virtually(scenario())
