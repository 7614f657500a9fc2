"""The event variables EVENT1-EVENT8: states without a pin, for rules to set and to watch.

They are 0 after every start and change only by command or by an action.
"""

from leverframe.engine.actions import after_switching
from leverframe.engine.facts import switchings
from leverframe.engine.journal import Cause
from leverframe.engine.labels import EVENT_VARIABLES
from leverframe.engine.machine import Machine

_TOLD = tuple(switchings(label) for label in EVENT_VARIABLES)


class EventVariables:
    __slots__ = ("_machine",)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def switch(self, index: int, value: int, cause: Cause) -> None:
        """Set (0, 1) or reverse (2) a variable."""
        machine = self._machine
        label = EVENT_VARIABLES[index]
        on = after_switching(value, bool(machine.values[label]))
        if machine.put(label, int(on)):
            machine.log_switching(label, cause, _TOLD[index][on])
