"""The clock of a controller: it continues, whatever happens at a deadline."""

import asyncio
from typing import Any

from leverframe.core.engine.portable_state import ENCODER, portable
from leverframe.core.engine.timers import Moment
from leverframe.core.runtime.clock import SystemClock
from leverframe.devices.simulated.plant_wiring import plant_from_text
from leverframe.host.controller.scheduler import REST_S, Scheduler
from leverframe.testing import LoopTwin
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
        self.time = Scheduler(clock, lambda: self._due, self.tick, lambda until: self._due)

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


#: The room is read at other moments than the regulator samples it, and at the same.
ROOM = "room*heater:PWM0*reading:DS1*outside:5*power:40*time_constant:10m*start:25"


async def live_regulated(*, skips: bool) -> tuple[bytes, list[object], int]:
    """Return what becomes of a regulated room, and the number of deadlines that were served."""
    twin = await LoopTwin.start()
    controller, served = twin.controller, 0
    if not skips:
        controller.time = Scheduler(
            controller.clock,
            controller.next_deadline,
            controller.tick,
            lambda until: controller.next_deadline(),
        )
    board = controller.board.bench
    assert board is not None
    assert (await twin.ask("/outs.cgi?pwm0=1&atout=0*7&atout=6*11&aout=01")).status == 200
    assert (await twin.ask("/stm.cgi?pidvalue=1*10*210*1000*10*0*0")).status == 200
    for celsius in (25.0, 21.0, None, 17.0):
        board.set_readings({"DS1": celsius})
        served += sum(1 for _ in controller.time.live_until(controller.clock.now() + 1000.5))
    board.wire(plant_from_text(ROOM))
    served += sum(1 for _ in controller.time.live_until(controller.clock.now() + 1000.0))
    return ENCODER.encode(portable(controller.engine)), list(board.history), served


async def test_time_that_passes_quiet_deadlines_changes_nothing_else() -> None:
    state, history, served = await live_regulated(skips=True)
    state_of_all, history_of_all, served_of_all = await live_regulated(skips=False)
    assert (state, history) == (state_of_all, history_of_all)
    assert served < served_of_all
