"""The effects of faults on a controller itself: its power, its clock, and its message channels."""

from collections.abc import Callable

from leverframe.controller import Controller
from leverframe.engine.facts import Fact
from leverframe.engine.journal import Cause
from leverframe.engine.moment import Moment
from leverframe.engine.settings import Settings

#: Called with the reason why messages of a channel cannot go, or None if they can.
SetDown = Callable[[str, str | None], None]


class FaultyUnit:
    def __init__(self, controller: Controller, set_down: SetDown) -> None:
        self._controller = controller
        self.set_down = set_down
        self.plan_to_wake = controller.plan_to_wake

    def power_off(self, until: float) -> None:
        self._controller.lose_power()

    def power_on(self, *, lose_settings: bool) -> None:
        if lose_settings:
            self._controller.forget_settings()
        else:
            self._controller.restart()

    def shift_clock(self, seconds: float) -> None:
        clock = self._controller.clock
        clock.set_wall(clock.wall() + seconds)
        self._controller.clock_changed()

    def read(self) -> Moment:
        return self._controller.clock.read()

    def settings(self) -> Settings:
        return self._controller.engine.settings

    def log(self, cause: Cause, fact: Fact) -> None:
        wall = self._controller.clock.wall()
        self._controller.engine.machine.journal.add(wall, cause, fact)
