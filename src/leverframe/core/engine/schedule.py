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
- An entry that was to switch something while the controller was off is reported as missed until
  its next run. With the setting `schedule_catch_up`, the last such entry of each target runs at the
  start, as does an entry in the middle of its span (`missed_runs.py`).
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from leverframe.core.engine.actuator import Actuator
from leverframe.core.engine.calls import ON
from leverframe.core.engine.journal import Fact
from leverframe.core.engine.live_rule import SWITCHED
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.missed_runs import (
    EntryPlan,
    MissedRun,
    can_catch_up,
    find_missed_run,
    forget,
    is_ended,
    keep_beginning,
    keep_last_run,
    list_missed_runs,
    mark_without_effect,
    restore_last_run,
    storage_name,
)
from leverframe.core.engine.schedule_times import next_run
from leverframe.core.engine.timers import SET_CLOCK, Key
from leverframe.core.engine.wishes import Wish
from leverframe.core.settings import Settings

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
    #: When it was to run while the controller was off, until its next run; None if it missed none.
    missed: float | None = None
    #: When the missed run was caught up; None if it was not.
    caught_up: float | None = None


def plan_after(plan: EntryPlan, wall: float) -> float:
    """Return the time after which an entry may run next, if the clock was set to `wall`."""
    if plan.last_run is None:
        return wall
    repeated_s = min(plan.entry.time, _DAY_S) if plan.entry.periodic else _DAY_S
    return max(wall, plan.last_run) if plan.last_run - wall < repeated_s else wall


class Schedule:
    __slots__ = ("_actuator", "_has_looked_back", "_machine", "_plans")

    def __init__(self, machine: Machine, actuator: Actuator) -> None:
        self._machine = machine
        self._actuator = actuator
        #: Plans of the active entries, by index.
        self._plans: dict[int, EntryPlan] = {}
        self._has_looked_back = False

    def start(self) -> None:
        self._plans.clear()
        self._take_up()
        machine = self._machine
        for index, plan in self._plans.items():
            if plan.switches:
                plan.last_run = restore_last_run(machine, index)
                if machine.persisted.get(storage_name(index)) is None:
                    keep_beginning(machine, index)

    def adopt(self, old: Settings) -> None:
        if old.schedule is not self._machine.settings.schedule:
            former = self._plans
            self._take_up()
            for index in sorted({*former, *self._plans}):
                plan = self._plans.get(index)
                before = former.get(index)
                if before is plan:
                    continue
                if plan is not None and plan.switches:
                    keep_beginning(self._machine, index)
                elif before is not None and before.switches:
                    forget(self._machine, index)

    def on_timer(self, key: Key) -> None:
        self._run_due()
        self._wait()

    def clock_changed(self) -> None:
        """Run due entries, and plan again after the wall clock or the time zone has changed."""
        self._run_due()
        for plan in self._plans.values():
            self._plan(plan, plan_after(plan, self._machine.at.wall))
        self._wait()

    def look_back(self, is_decided: Callable[[str], object]) -> None:
        """Find runs that were missed while the controller was off, once the clock is set.

        If the settings say so, catch them up, except where a rule decides about the target.
        """
        machine = self._machine
        if self._has_looked_back or machine.at.wall < SET_CLOCK:
            return
        self._has_looked_back = True
        plans_of: dict[str, list[EntryPlan]] = {}
        for index, plan in self._plans.items():
            if plan.switches:
                plan.missed = find_missed_run(machine, index, plan.entry)
                plans_of.setdefault(plan.entry.action, []).append(plan)
        found = [(index, plan) for index, plan in self._plans.items() if plan.missed is not None]
        for label, plans in plans_of.items():
            self._look_back_at(label, plans, is_decided(label) is not None)
        for index, plan in found:
            if plan.missed is None:
                # Otherwise the next start would find it again.
                keep_beginning(machine, index)

    def _look_back_at(self, label: str, plans: list[EntryPlan], is_decided: bool) -> None:
        """Assess the missed runs of a target by its state after the start."""
        machine = self._machine
        newest = max(plans, key=lambda plan: plan.newest)
        state = int(machine.values[label] or 0)
        mark_without_effect(plans, newest, state)
        is_within_span = newest.entry.value == ON and newest.last_run and is_ended(plans)
        if is_decided or newest.entry.value == state:
            return
        if machine.settings.schedule_catch_up and (
            is_within_span or can_catch_up(newest, plans, machine.at.wall)
        ):
            self._catch_up(newest)
        for plan in plans:
            if plan.missed is not None and plan.caught_up is None:
                machine.log(plan.cause, Fact("schedule_missed_off", label))

    def _catch_up(self, plan: EntryPlan) -> None:
        wall = self._machine.at.wall
        if plan.missed is not None:
            plan.caught_up = wall
        self._note_run(plan, wall)
        self._machine.log(plan.cause, Fact("schedule_caught_up", plan.entry.action))
        self._actuator.perform(plan.entry.action, plan.entry.value, True, plan.cause)

    def list_missed_runs(self) -> Iterator[MissedRun]:
        return list_missed_runs(self._plans, self._machine)

    def explain(self) -> list[ScheduleExplanation]:
        """Explain every place that has an entry."""
        explanations = []
        for index, entry in enumerate(self._machine.settings.schedule):
            if entry is not None:
                plan = self._plans.get(index) or EntryPlan(index, entry)
                runs = plan.next_run, plan.last_run, plan.missed, plan.caught_up
                explanations.append(ScheduleExplanation(index, *runs))
        return explanations

    def find_contradictions(self) -> Iterator[str]:
        """Yield the targets that are in another state than the schedule wants."""
        values = self._machine.values
        for label in {plan.entry.action for plan in self._plans.values() if plan.last_run}:
            if label in SWITCHED and not values[label] and self.wish_for(label):
                yield label

    def wish_for(self, label: str) -> Wish | None:
        """Return the wish of the entry that has switched a target on until another one ends it."""
        plans = [plan for plan in self._plans.values() if plan.entry.action == label]
        last = max(plans, key=lambda plan: (plan.newest, plan.cause.number), default=None)
        if last is None or last.entry.value != ON or not last.newest or not is_ended(plans):
            return None
        if last.missed is not None and last.caught_up is None:
            # That has a finding of its own.
            return None
        return Wish(ON, last.cause, entry=last.cause.number)

    def _take_up(self) -> None:
        """EntryPlan new and changed entries; unchanged entries keep their plan."""
        former, self._plans = self._plans, {}
        for index, entry in enumerate(self._machine.settings.schedule):
            if entry is None or not entry.active:
                continue
            plan = former.get(index)
            if plan is None or plan.entry != entry:
                plan = EntryPlan(index, entry)
                self._plan(plan, self._machine.at.wall + _ROUNDING_S)
            self._plans[index] = plan
        self._wait()

    def _plan(self, plan: EntryPlan, after: float) -> None:
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

    def _run_if_due(self, plan: EntryPlan) -> None:
        """Run an entry that is at most a minute overdue."""
        wall = self._machine.at.wall
        if plan.next_run is not None and plan.next_run <= wall + _ROUNDING_S:
            for other in self._plans.values():
                if other.entry.action == plan.entry.action:
                    other.missed = other.caught_up = None
            self._note_run(plan, max(plan.next_run, wall))
            assert plan.last_run is not None
            self._actuator.perform(plan.entry.action, plan.entry.value, True, plan.cause)
            self._plan(plan, plan.last_run)

    def _note_run(self, plan: EntryPlan, wall: float) -> None:
        plan.last_run = wall
        if plan.switches:
            keep_last_run(self._machine, plan.cause.number - 1, wall)

    def _wait(self) -> None:
        """Set the deadline of the nearest run, or none if nothing will run."""
        runs = [plan.next_run for plan in self._plans.values() if plan.next_run is not None]
        if not runs:
            self._machine.timers.cancel(_KEY)
            return
        remaining_s = max(0.0, min(runs) - self._machine.at.wall)
        self._machine.timers.set(_KEY, self._machine.at.now + remaining_s)
