"""The actuator performs the actions of rules, the schedule and the watchdog, by printed name.

`SWITCHES`, `MESSAGES` and `OTHER_ACTIONS` together contain all actions. The list shows what each
action does on activation, and after the semicolon what it does on deactivation:

- `OUT0`, `PWM0`, `EVENT1`: set to `value`, or reverse. A deactivation is performed in the same way,
  because the caller passes the `opposite` of the activation's value.
- `AutoSwitch OUT0`: enable periodic switching; disable it and leave the output in the state
  `value`.
- `ENABLE PID`: enable the regulator; disable it.
- `HTTP1`, `eMail 1`, `SMS1`, `SNMP trap`, `MQTT`: send a message; send another message.
- `RESET ENERGY1`, `PULSE OUT0`, the display's actions and `RESTART`: perform the action; do
  nothing.
- `COUNT ENERGY1`: switch counting on or off, depending on `value`; do nothing.
- `MODBUS WRITE 1`: write the setting's first value to the module; write its second value.

Actions without a deactivation are in `DONE_ONCE`: a rule that acts only when its condition stops
performs them at that moment.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Protocol, TypeVar

from msgspec import Struct

from leverframe.core.engine.calls import (
    AUTO_SWITCH,
    ENABLE_PID,
    MODBUS_WRITES,
    ON,
    OVERRIDING,
    PULSES,
    REVERSE,
    RestartController,
    WriteModbus,
    after_switching,
)
from leverframe.core.engine.display import Display
from leverframe.core.engine.energy import Energy
from leverframe.core.engine.event_variables import EventVariables
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.machine import Machine, Value
from leverframe.core.engine.outputs import Outputs
from leverframe.core.engine.pid import PidRegulator
from leverframe.core.engine.pwm import PwmOutputs
from leverframe.core.labels import ENERGIES, EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.core.settings import Settings

#: Actions that send a message: the channel and its slot (0 if the channel has no slots).
MESSAGES = {
    **{f"HTTP{slot}": ("http", slot) for slot in range(1, 5)},
    **{f"eMail {slot}": ("email", slot) for slot in range(1, 5)},
    # HW 3.0 has a single mail text.
    "eMail": ("email", 1),
    **{f"SMS{slot}": ("sms", slot) for slot in range(1, 5)},
    "SNMP trap": ("snmp", 0),
    "MQTT": ("mqtt", 0),
}


class _Order(Struct, frozen=True):
    """An activation or deactivation to be performed."""

    #: The index of the target.
    which: int
    value: int
    active: bool
    cause: Cause


class _Switchable(Protocol):
    def switch(self, index: int, value: int, cause: Cause) -> None:
        """Set (0, 1) or reverse (2) one of several targets."""


class Actuator:
    __slots__ = ("_display", "_energy", "_machine", "_outputs", "_pid", "_pwm", "_variables")

    def __init__(
        self,
        machine: Machine,
        outputs: Outputs,
        pwm: PwmOutputs,
        variables: EventVariables,
        pid: PidRegulator,
        energy: Energy,
        display: Display,
    ) -> None:
        self._machine = machine
        self._outputs = outputs
        self._pwm = pwm
        self._variables = variables
        self._pid = pid
        self._energy = energy
        self._display = display

    @staticmethod
    def opposite(value: int) -> int:
        """Return the value that undoes a switching action: the opposite state, or a reversal."""
        return value if value == REVERSE else ON - value

    def current(self, label: str) -> int:
        """Return the state of an output, PWM output or event variable."""
        return int(self._machine.values[label] or 0)

    def switch(self, label: str, value: int, cause: Cause) -> None:
        """Set (0, 1) or reverse (2) an output, PWM output or event variable."""
        part, index = SWITCHES[label]
        part(self).switch(index, value, cause)

    def perform(
        self,
        action: str,
        value: int,
        active: bool,
        cause: Cause,
        label: str | None = None,
        measured: Value = None,
    ) -> None:
        """Perform the activation of an action, or its deactivation if `active` is false.

        `value` is the state to switch to, whether to count energy, or the seconds of a pulse; other
        actions ignore it. A message contains `label` and its value `measured`.
        """
        if action in SWITCHES:
            self.switch(action, value, cause)
        elif action in MESSAGES:
            channel, slot = MESSAGES[action]
            self._machine.notify(channel, slot, active, str(cause), label, measured, cause=cause)
        elif action in OTHER_ACTIONS:
            carry_out, index = OTHER_ACTIONS[action]
            carry_out(self, _Order(index, value, active, cause))
        else:
            # A settings file may name an unknown action, which must not stop the controller.
            self._machine.log(cause, Fact("no_such_action", figures={"action": action}))

    def write_to_module(self, effect: WriteModbus, cause: Cause) -> None:
        figures = {"value": effect.value, "target": effect.target}
        self._machine.log(cause, Fact("module_write", figures=figures))
        self._machine.emit(effect)

    def follow_setting(self, action: str, cause: Cause) -> None:
        """Switch periodic switching or the regulator on or off, as the settings specify."""
        on = is_set(self._machine.settings, action)
        if action == ENABLE_PID:
            self._pid.enable(on, cause)
        else:
            self._outputs.set_periodic(AUTO_SWITCH.index(action), on, cause)

    def remember_as(self, label: str, state: int) -> None:
        """Set the state to which an output with remembered state returns after a power failure."""
        if label in OUTPUTS:
            self._outputs.remember_as(OUTPUTS.index(label), bool(state))

    def _switch_periodic(self, order: _Order) -> None:
        was_on = self._outputs.is_periodic(order.which)
        self._outputs.set_periodic(order.which, order.active, order.cause)
        if was_on and not order.active:
            # Otherwise the final state would depend on the phase in which periodic switching ends.
            self._outputs.switch(order.which, order.value, order.cause)

    def _pulse(self, order: _Order) -> None:
        if order.active:
            self._outputs.pulse(order.which, order.value, order.cause)

    def _enable_pid(self, order: _Order) -> None:
        self._pid.enable(order.active, order.cause)

    def _has_meter(self, order: _Order) -> bool:
        """Return True if the meter exists; old software has fewer meters than actions."""
        return order.which < len(self._machine.settings.power)

    def _reset_energy(self, order: _Order) -> None:
        if order.active and self._has_meter(order):
            self._energy.set_energy(order.which, 0.0, order.cause)

    def _count_energy(self, order: _Order) -> None:
        if order.active and self._has_meter(order):
            on = after_switching(order.value, self._energy.is_counting(order.which))
            self._energy.count(order.which, on, order.cause)

    def _next_screen(self, order: _Order) -> None:
        if order.active:
            self._display.next_screen(order.cause)

    def _set_screen(self, order: _Order) -> None:
        if order.active:
            self._display.set_screen(order.which, order.cause)

    def _write_to_module(self, order: _Order) -> None:
        write = self._machine.settings.modbus_writes[order.which]
        value = write.on_value if order.active else write.off_value
        effect = WriteModbus(
            write.slot,
            write.register,
            write.type,
            write.endian,
            value,
            str(order.cause),
            is_asked=False,
        )
        if not write.slot:
            fact = Fact("module_write_not_set_up", MODBUS_WRITES[order.which])
            self._machine.log(order.cause, fact)
            return
        self.write_to_module(effect, order.cause)

    def _restart(self, order: _Order) -> None:
        if order.active:
            self._machine.log(order.cause, Fact("restarts"))
            self._machine.emit(RestartController())


def is_set(settings: Settings, action: str) -> bool:
    """Return True if the settings enable the function that an overriding action controls."""
    if action == ENABLE_PID:
        return settings.pid.enabled
    return settings.outputs[AUTO_SWITCH.index(action)].periodic


def is_overridden(machine: Machine, action: str) -> bool:
    """Return True if a rule or the schedule has overridden the setting of this action."""
    return (action in machine.running) is not is_set(machine.settings, action)


_CarryOut = TypeVar("_CarryOut")


def _by_name(names: tuple[str, ...], carry_out: _CarryOut) -> dict[str, tuple[_CarryOut, int]]:
    return {name: (carry_out, index) for index, name in enumerate(names)}


#: Targets that can be set or reversed, each with the feature that switches it and the target's
#: index. These are the most frequent actions, so no `_Order` is built for them.
SWITCHES: dict[str, tuple[Callable[[Actuator], _Switchable], int]] = {
    **_by_name(OUTPUTS, attrgetter("_outputs")),
    **_by_name(PWMS, attrgetter("_pwm")),
    **_by_name(EVENT_VARIABLES, attrgetter("_variables")),
}

#: All other actions except messages, each with the method that performs it and the target's index.
OTHER_ACTIONS: dict[str, tuple[Callable[[Actuator, _Order], None], int]] = {
    **_by_name(AUTO_SWITCH, Actuator._switch_periodic),
    **_by_name(PULSES, Actuator._pulse),
    **_by_name(tuple(f"RESET {label}" for label in ENERGIES), Actuator._reset_energy),
    **_by_name(tuple(f"COUNT {label}" for label in ENERGIES), Actuator._count_energy),
    **_by_name(tuple(f"OLED - SET SCREEN {n}" for n in range(1, 5)), Actuator._set_screen),
    "OLED ON/NEXT SCREEN": (Actuator._next_screen, 0),
    **_by_name(MODBUS_WRITES, Actuator._write_to_module),
    ENABLE_PID: (Actuator._enable_pid, 0),
    "RESTART": (Actuator._restart, 0),
}

#: Actions whose deactivation does nothing.
DONE_ONCE = frozenset(OTHER_ACTIONS).difference(OVERRIDING, MODBUS_WRITES)
