"""The schedule: up to 50 entries that act at times of the local clock.

Each entry has the time of its next run, and one deadline is set for the nearest of them. The
deadline is a monotonic time. When it is due, it is compared with the wall clock, and set again if
the clock was changed. Behaviour that the interface document does not specify:

- An entry that is up to a minute overdue, because the clock was set forward or the program could
  not run, still runs, once. An entry that is overdue by more is skipped.
- When the clock is set back, entries that have run do not run again at the repeated time. But if
  the clock is set back by at least a day, or at least the period of a periodic entry, it was wrong
  before, and the entry is planned again.
- An entry that is saved or enabled exactly at its time first runs at its next time. The same
  applies at startup: otherwise an entry that restarts the controller would restart it endlessly.
"""

from msgspec import Struct

from leverframe.core.engine.actuator import Actuator
from leverframe.core.engine.event_variables import schedule_cause
from leverframe.core.engine.journal import Fact
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.schedule_times import next_run
from leverframe.core.engine.timers import Key
from leverframe.core.settings import ScheduleEntry, Settings

MAX_OVERDUE_S = 60.0
_DAY_S = 86400
#: A deadline that is early by at most this counts as on time, because the clocks are not read
#: simultaneously.
_ROUNDING_S = 0.001
_KEY: Key = ("schedule",)
_MISSED = Fact("schedule_missed")


class ScheduleExplanation(Struct, frozen=True):
    """When an entry runs next and ran last, in seconds since 1970 UTC."""

    index: int
    next_run: float | None
    last_run: float | None


class _Plan:
    """An active entry and its runs."""

    __slots__ = ("cause", "entry", "last_run", "next_run")

    def __init__(self, index: int, entry: ScheduleEntry) -> None:
        self.entry = entry
        self.cause = schedule_cause(index, entry)
        self.next_run: float | None = None
        self.last_run: float | None = None

    def plan_after(self, wall: float) -> float:
        """Return the time after which the entry may run next, if the clock was set to `wall`."""
        if self.last_run is None:
            return wall
        repeated_s = min(self.entry.time, _DAY_S) if self.entry.periodic else _DAY_S
        return max(wall, self.last_run) if self.last_run - wall < repeated_s else wall


class Schedule:
    __slots__ = ("_actuator", "_machine", "_plans")

    def __init__(self, machine: Machine, actuator: Actuator) -> None:
        self._machine = machine
        self._actuator = actuator
        #: Plans of the active entries, by index.
        self._plans: dict[int, _Plan] = {}

    def start(self) -> None:
        self._plans.clear()
        self._take_up()

    def adopt(self, old: Settings) -> None:
        if old.schedule is not self._machine.settings.schedule:
            self._take_up()

    def on_timer(self, key: Key) -> None:
        self._run_due()
        self._wait()

    def clock_changed(self) -> None:
        """Run due entries, and plan again after the wall clock or the time zone has changed."""
        self._run_due()
        for plan in self._plans.values():
            self._plan(plan, plan.plan_after(self._machine.at.wall))
        self._wait()

    def explain(self) -> list[ScheduleExplanation]:
        """Explain every place that has an entry."""
        explanations = []
        for index, entry in enumerate(self._machine.settings.schedule):
            if entry is not None:
                plan = self._plans.get(index) or _Plan(index, entry)
                explanations.append(ScheduleExplanation(index, plan.next_run, plan.last_run))
        return explanations

    def _take_up(self) -> None:
        """Plan new and changed entries; unchanged entries keep their plan."""
        former, self._plans = self._plans, {}
        for index, entry in enumerate(self._machine.settings.schedule):
            if entry is None or not entry.active:
                continue
            plan = former.get(index)
            if plan is None or plan.entry != entry:
                plan = _Plan(index, entry)
                self._plan(plan, self._machine.at.wall + _ROUNDING_S)
            self._plans[index] = plan
        self._wait()

    def _plan(self, plan: _Plan, after: float) -> None:
        # The times of runs are part of the state, even if the action changes nothing.
        self._machine.mark("schedule")
        try:
            plan.next_run = next_run(plan.entry, after, self._machine.timezone)
        except (ValueError, OverflowError):
            # A settings file may contain an invalid date, which must not stop the controller.
            plan.next_run = None
            self._machine.log(
                plan.cause, Fact("schedule_never_runs", figures={"date": plan.entry.date})
            )

    def _run_due(self) -> None:
        """Run due entries in the order in which they became due, and plan their next runs."""
        wall = self._machine.at.wall
        due = [
            (plan.next_run, index)
            for index, plan in self._plans.items()
            if plan.next_run is not None and plan.next_run <= wall + _ROUNDING_S
        ]
        for planned, index in sorted(due):
            plan = self._plans[index]
            if planned < wall - MAX_OVERDUE_S:
                self._machine.log(plan.cause, _MISSED)
                self._plan(plan, wall - MAX_OVERDUE_S - _ROUNDING_S)
            self._run_if_due(plan)

    def _run_if_due(self, plan: _Plan) -> None:
        """Run an entry that is at most a minute overdue."""
        wall = self._machine.at.wall
        if plan.next_run is not None and plan.next_run <= wall + _ROUNDING_S:
            plan.last_run = max(plan.next_run, wall)
            self._actuator.perform(plan.entry.action, plan.entry.value, True, plan.cause)
            self._plan(plan, plan.last_run)

    def _wait(self) -> None:
        """Set the deadline of the nearest run, or none if nothing will run."""
        runs = [plan.next_run for plan in self._plans.values() if plan.next_run is not None]
        if not runs:
            self._machine.timers.cancel(_KEY)
            return
        remaining_s = max(0.0, min(runs) - self._machine.at.wall)
        self._machine.timers.set(_KEY, self._machine.at.now + remaining_s)
