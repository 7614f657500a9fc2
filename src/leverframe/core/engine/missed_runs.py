"""What the schedule remembers of its entries, and runs that were due while the controller was off.

For each entry that switches something at a time of day, the store has the moment up to which its
runs are counted: its last run, or as a negative number the moment at which it was saved. A run
between that moment and the start was missed.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from leverframe.core.engine.calls import OFF, ON, Persist
from leverframe.core.engine.event_variables import schedule_cause
from leverframe.core.engine.live_rule import SWITCHED
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.schedule_times import previous_run
from leverframe.core.engine.timers import SET_CLOCK
from leverframe.core.settings import ScheduleEntry

#: An entry that sets something on and that no other ends is caught up no later than this.
LATEST_S = 86_400.0


class EntryPlan:
    """An active entry and its runs."""

    __slots__ = ("caught_up", "cause", "entry", "last_run", "missed", "next_run")

    def __init__(self, index: int, entry: ScheduleEntry) -> None:
        self.entry = entry
        self.cause = schedule_cause(index, entry)
        self.next_run: float | None = None
        self.last_run: float | None = None
        #: When it was to run while the controller was off; None again after its next run.
        self.missed: float | None = None
        #: When that run was caught up; None if it was not.
        self.caught_up: float | None = None

    @property
    def switches(self) -> bool:
        """Whether it switches something at a time of day."""
        return self.entry.action in SWITCHED and not self.entry.periodic

    @property
    def newest(self) -> float:
        """The last moment at which it ran, or was to run."""
        return max(self.last_run or 0.0, self.missed or 0.0)


class MissedRun(Struct, frozen=True):
    """A run of an entry that was due while the controller was off."""

    index: int
    label: str
    #: The name of the entry, or its number.
    entry: str
    time: float
    caught_up: float | None


def storage_name(index: int) -> str:
    return f"schedule.{index}"


def keep_last_run(machine: Machine, index: int, wall: float) -> None:
    """Store when an entry ran, unless the clock is not set."""
    if wall >= SET_CLOCK:
        machine.emit(Persist(storage_name(index), wall))


def keep_beginning(machine: Machine, index: int) -> None:
    """Store that an entry counts from now on, unless the clock is not set."""
    if machine.at.wall >= SET_CLOCK:
        machine.emit(Persist(storage_name(index), -machine.at.wall))


def forget(machine: Machine, index: int) -> None:
    machine.emit(Persist(storage_name(index), None))


def restore_last_run(machine: Machine, index: int) -> float | None:
    """Return when an entry ran last before the start; None if it did not."""
    until = machine.persisted.get(storage_name(index))
    return until if until is not None and until > 0 else None


def find_missed_run(machine: Machine, index: int, entry: ScheduleEntry) -> float | None:
    """Return the last run of an entry that was due while the controller was off."""
    until = machine.persisted.get(storage_name(index))
    try:
        run = previous_run(entry, machine.at.wall, machine.timezone)
    except (ValueError, OverflowError):
        # An invalid date in a settings file, or the end of the calendar; no entry runs then.
        return None
    return run if until is not None and run is not None and run > abs(until) else None


def is_ended(plans: Iterable[EntryPlan]) -> bool:
    """Return whether one of the plans of a target switches it off."""
    return any(plan.entry.value == OFF and plan.switches for plan in plans)


def mark_without_effect(plans: list[EntryPlan], newest: EntryPlan, state: int) -> None:
    """Forget missed runs that would have changed nothing by now.

    A span that began and ended while the controller was off stays missed.
    """
    for plan in plans:
        begins_span = plan.entry.value == ON and plan is not newest and is_ended(plans)
        if not begins_span and (plan is not newest or plan.entry.value == state):
            plan.missed = None


def can_catch_up(plan: EntryPlan, plans: list[EntryPlan], wall: float) -> bool:
    """Return whether a missed run of the newest plan still has a meaning."""
    if plan.missed is None or plan.entry.value not in (OFF, ON):
        return False
    return plan.entry.value == OFF or is_ended(plans) or wall - plan.missed <= LATEST_S


def list_missed_runs(plans: dict[int, EntryPlan], machine: Machine) -> Iterator[MissedRun]:
    """Yield the missed runs, except those whose state was set in another way."""
    for index, plan in plans.items():
        if plan.missed is None:
            continue
        label = plan.entry.action
        if plan.caught_up is not None or machine.values[label] != plan.entry.value:
            yield MissedRun(index, label, plan.cause.detail, plan.missed, plan.caught_up)
