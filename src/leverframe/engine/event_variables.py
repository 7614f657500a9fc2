"""The event variables EVENT1-EVENT8: states without a pin, for rules to set and to watch.

They are 0 after every start and change only by command or by an action; except those that are a
time window, which follow the clock (see `schedule_windows.py`).
"""

from leverframe.engine.actions import OFF, after_switching
from leverframe.engine.facts import switchings
from leverframe.engine.journal import Cause
from leverframe.engine.labels import EVENT_VARIABLES
from leverframe.engine.machine import Machine
from leverframe.engine.schedule_windows import Edges, last_edge, schedule_cause, windows_of
from leverframe.engine.settings import Settings
from leverframe.engine.timers import Key

_BY_SCHEDULE = Cause("schedule")
_TOLD = tuple(switchings(label) for label in EVENT_VARIABLES)


class EventVariables:
    __slots__ = ("_machine",)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def start(self) -> None:
        self._follow(windows_of(self._machine.settings))

    def adopt(self, old: Settings) -> None:
        """Set windows that are new or others now; one whose entries are gone is closed."""
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
            machine.log_switching(label, cause, _TOLD[index][on])
