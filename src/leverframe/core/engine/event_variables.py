"""The event variables EVENT1-EVENT8, and the weekly time windows of rules that use them."""

from collections.abc import Iterator
from datetime import tzinfo

from msgspec import Struct

from leverframe.core.engine.calls import OFF, ON, after_switching
from leverframe.core.engine.journal import Cause, switchings
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.schedule_times import WEEKDAYS, next_run
from leverframe.core.engine.timers import Key
from leverframe.core.labels import EVENT_VARIABLES
from leverframe.core.settings import ScheduleEntry, Settings, number_rules

# Time windows: event variables that belong to a rule and are on for some hours of the week.
#
# The rules page creates a window with the rule that needs it: two schedule entries of the same
# name, one that switches a variable on and one that switches it off, and the variable as the second
# condition of the rule. Only entries of this form are a window. The clock determines the state of a
# window: after a start, a change of its entries or a change of the clock, the window is in the
# state that its last entry would have set if the controller had been running. All other schedule
# entries act only at their own times.

#: Within this time, every entry with weekdays runs at least once.
_LOOKED_BACK_S = 8 * 86400.0


class WindowEdge(Struct, frozen=True):
    """An entry that opens or closes a window, with its place in the schedule."""

    place: int
    entry: ScheduleEntry


Edges = tuple[WindowEdge, ...]


class EdgeRun(Struct, frozen=True):
    time: float
    edge: WindowEdge


def schedule_cause(index: int, entry: ScheduleEntry) -> Cause:
    return Cause("schedule", entry.name or str(index + 1), number=index + 1, name=entry.name)


def windows_of(settings: Settings) -> dict[str, Edges]:
    """Return the two edges of each window, by variable."""
    rules = [rule for _, rule in number_rules(settings.rules)]
    watched = {rule.source2 for rule in rules if rule.operator == "AND"}
    labels = watched.intersection(EVENT_VARIABLES).difference(rule.action for rule in rules)
    if not labels:
        return {}
    found: dict[str, list[WindowEdge]] = {}
    for index, entry in enumerate(settings.schedule):
        if entry is not None and entry.action in labels:
            found.setdefault(entry.action, []).append(WindowEdge(index, entry))
    return {
        label: tuple(edges)
        for label, edges in found.items()
        if _is_window([edge.entry for edge in edges])
    }


def _is_window(entries: list[ScheduleEntry]) -> bool:
    """Return True if these are the two entries of a window, as the rules page writes them."""
    by_value = {entry.value: entry for entry in entries}
    if len(entries) != len(by_value) or by_value.keys() != {OFF, ON}:
        return False
    begins, ends = by_value[ON], by_value[OFF]
    weekly = (
        entry.active and entry.days and not entry.periodic and entry.date is None
        for entry in entries
    )
    has_its_name = begins.name == ends.name != ""
    return all(weekly) and has_its_name and set(ends.days) == _days_of_end(begins, ends)


def _days_of_end(begins: ScheduleEntry, ends: ScheduleEntry) -> set[str]:
    """Return the days on which the window closes; it stays open between consecutive whole days."""
    days = set(begins.days)
    if ends.time > begins.time:
        return days
    after = {WEEKDAYS[(WEEKDAYS.index(day) + 1) % len(WEEKDAYS)] for day in days}
    return after - days if ends.time == begins.time else after


def last_edge(edges: Edges, wall: float, timezone: tzinfo) -> WindowEdge:
    """Return the edge that ran last before or at a moment."""
    *_, last = edge_runs(edges, wall - _LOOKED_BACK_S, wall, timezone)
    return last.edge


def edge_runs(edges: Edges, first: float, last: float, timezone: tzinfo) -> list[EdgeRun]:
    """List the runs after `first` and up to `last`, in order of time."""
    runs = (run for edge in edges for run in _runs(edge, first, last, timezone))
    return sorted(runs, key=lambda run: (run.time, run.edge.place))


def _runs(edge: WindowEdge, first: float, last: float, timezone: tzinfo) -> Iterator[EdgeRun]:
    run = next_run(edge.entry, first, timezone)
    while run is not None and run <= last:
        yield EdgeRun(run, edge)
        run = next_run(edge.entry, run, timezone)


def course_of_window(
    edges: Edges, first: float, last: float, timezone: tzinfo
) -> list[tuple[float, int]]:
    """Return the states of a window between two moments, beginning with the state at the first."""
    begin = (first, last_edge(edges, first, timezone).entry.value)
    runs = edge_runs(edges, first, last, timezone)
    return [begin, *((run.time, run.edge.entry.value) for run in runs)]


# The event variables EVENT1-EVENT8: states without a pin, which rules can set and watch.
#
# They are 0 after every start and change only by a command or an action; variables of time windows
# follow the clock.

_BY_SCHEDULE = Cause("schedule")
_SWITCHINGS = tuple(switchings(label) for label in EVENT_VARIABLES)


class EventVariables:
    __slots__ = ("_machine",)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def start(self) -> None:
        self._follow(windows_of(self._machine.settings))

    def adopt(self, old: Settings) -> None:
        """Set variables of new and changed windows; close windows whose entries were removed."""
        new = self._machine.settings
        if old.schedule is new.schedule and old.rules is new.rules:
            return
        before, now = windows_of(old), windows_of(new)
        self._follow({label: edges for label, edges in now.items() if before.get(label) != edges})
        scheduled = {entry.action for entry in new.schedule if entry is not None}
        for label in before.keys() - now.keys() - scheduled:
            self.switch(EVENT_VARIABLES.index(label), OFF, _BY_SCHEDULE)

    def clock_changed(self) -> None:
        self._follow(windows_of(self._machine.settings))

    def on_timer(self, key: Key) -> None:
        """Do nothing: the schedule has the deadlines."""

    def _follow(self, windows: dict[str, Edges]) -> None:
        at, timezone = self._machine.at, self._machine.timezone
        for label, edges in windows.items():
            last = last_edge(edges, at.wall, timezone)
            cause = schedule_cause(last.place, last.entry)
            self.switch(EVENT_VARIABLES.index(label), last.entry.value, cause)

    def switch(self, index: int, value: int, cause: Cause) -> None:
        """Set (0, 1) or reverse (2) a variable."""
        machine = self._machine
        label = EVENT_VARIABLES[index]
        on = after_switching(value, bool(machine.values[label]))
        if machine.put(label, int(on)):
            machine.log_switching(label, cause, _SWITCHINGS[index][on])
