"""Actions, which a request may contain besides settings, and effects, which the engine returns."""

from msgspec import Struct

from leverframe.core.engine.journal import Cause
from leverframe.core.labels import OUTPUTS

# The effects that the engine requests, as small immutable objects.
#
# The controller applies effects in order: the board drives pins, the outbox sends notifications,
# the store saves the state that must survive a restart.


class DriveOutput(Struct, frozen=True):
    index: int
    on: bool


class DrivePwm(Struct, frozen=True):
    """The level at the pin, from 0.0 (always low) to 1.0 (always high), after any inversion."""

    index: int
    level: float


class SetPwmFrequency(Struct, frozen=True):
    #: 0 is PWM0, 1 is PWM1-PWM3.
    group: int
    hz: int


class SetPullUp(Struct, frozen=True):
    index: int
    on: bool


class Persist(Struct, frozen=True):
    """A piece of machine state to store so that it survives a restart (`output.2`, `energy.0`)."""

    name: str
    value: bool | int | float | None


class Notify(Struct, frozen=True):
    """A message for the outbox. Channels: http, email, sms, snmp, mqtt."""

    channel: str
    #: 1-4 if the channel has several slots, else 0.
    slot: int
    #: True if the condition became true, False if it became false.
    active: bool
    #: The cause: "rule 3", "watchdog 1", "test".
    reason: str
    #: The reading or state that the message is about, and its value.
    label: str | None = None
    value: float | int | None = None
    #: The text, or the address for http, with reading codes replaced; empty if none is set.
    text: str = ""
    #: The body of an http request.
    body: str = ""
    #: The cause in `reason` as an object, with the values on which a rule decided.
    cause: Cause | None = None

    @property
    def is_wanted(self) -> bool:
        """Return whether the message must be sent; mail and SMS without a text are not sent."""
        return bool(self.text) or self.channel not in ("email", "sms")


class SendModem(Struct, frozen=True):
    command: str


class WriteModbus(Struct, frozen=True):
    """A value for a register or coil of the module in a Modbus slot (1-3)."""

    slot: int
    register: int
    #: `coil`, or the type of a number.
    type: str
    endian: str
    value: float
    #: The cause: "rule 3", "command 127.0.0.1".
    reason: str
    #: Whether a client waits for the result; only writes without a waiting client are retried.
    is_asked: bool

    @property
    def target(self) -> str:
        kind = "coil" if self.type == "coil" else "register"
        return f"slot {self.slot} {kind} {self.register}"


class PingHost(Struct, frozen=True):
    """A ping; its result is passed to `Engine.ping_answered`."""

    entry: int
    host: str
    timeout_s: float


class ShowScreen(Struct, frozen=True):
    """The screen (0-3) for the display to show, or None to switch it off."""

    screen: int | None


class SetClock(Struct, frozen=True):
    """The new time of the controller's wall clock, in seconds since 1970 UTC."""

    wall: float


class RestartController(Struct, frozen=True):
    pass


class EnterBootloader(Struct, frozen=True):
    pass


Effect = (
    DriveOutput
    | DrivePwm
    | SetPwmFrequency
    | SetPullUp
    | Persist
    | Notify
    | SendModem
    | WriteModbus
    | PingHost
    | ShowScreen
    | SetClock
    | RestartController
    | EnterBootloader
)


# The actions that a request may contain in addition to changes of settings.
#
# Commands, Modbus, SNMP, MQTT and SMS all use them. The lock on outputs is checked when a request
# is staged, because a request for a locked output is rejected completely.

#: Values of a switching action.
OFF, ON, REVERSE = 0, 1, 2

#: Actions of rules and of the schedule that override a setting until the setting is written again,
#: or until the next start.
AUTO_SWITCH = tuple(f"AutoSwitch {label}" for label in OUTPUTS)
ENABLE_PID = "ENABLE PID"
OVERRIDING = (*AUTO_SWITCH, ENABLE_PID)
#: Actions of rules that write to a module, one for each entry of the setting `modbus_writes`.
MODBUS_WRITES = tuple(f"MODBUS WRITE {number}" for number in range(1, 9))
#: Actions of rules that switch an output on for a limited time, which is the rule's off delay.
PULSES = tuple(f"PULSE {label}" for label in OUTPUTS)


def pulse_seconds(off_delay: int) -> int:
    """Return the duration of a rule's pulse in seconds; at least 1, as 0 s would do nothing."""
    return max(1, off_delay)


def target_of(action: str) -> str:
    """Return the target of a rule's action; the target of periodic switching is its output."""
    return OUTPUTS[AUTO_SWITCH.index(action)] if action in AUTO_SWITCH else action


def after_switching(value: int, is_on: bool) -> bool:
    """Return True if the target is on after a switching action with this value."""
    return not is_on if value == REVERSE else value == ON


class Switch(Struct, frozen=True):
    """Sets or reverses an output, PWM output or event variable, by its label."""

    label: str
    value: int


class Pulse(Struct, frozen=True):
    """Switches an output on for some seconds, regardless of its return time."""

    index: int
    seconds: int


class FollowSetting(Struct, frozen=True):
    """Restores a setting that an `OVERRIDING` action may have overridden.

    Unchanged settings have no effect of their own, but a command must end an override even if it
    sends the value that is already set.
    """

    action: str


class FollowDuty(Struct, frozen=True):
    """Returns a PWM output to its set duty, even if the command repeats the duty that is set."""

    index: int


class ResumeWatchdog(Struct, frozen=True):
    """Restarts the watchdog entries that have given up."""


class SetEnergy(Struct, frozen=True):
    index: int
    value: float


class NextOneWireId(Struct, frozen=True):
    """Advances `dsid` to the next ID found on the 1-Wire bus."""


class RaiseRestartFlag(Struct, frozen=True):
    pass


class ForgetCounters(Struct, frozen=True):
    """The part of a factory reset that clears energy counters and remembered states."""


class SendTest(Struct, frozen=True):
    #: email or sms
    channel: str


class ModemCommand(Struct, frozen=True):
    command: str


class WriteToModule(Struct, frozen=True):
    """Writes a value to a register or coil of the module in a Modbus slot (1-3)."""

    slot: int
    register: int
    type: str
    endian: str
    value: float


class ChangeClock(Struct, frozen=True):
    """Sets the wall clock to a local time, given in seconds as if it were UTC."""

    local_seconds: int


class Restart(Struct, frozen=True):
    pass


class StartBootloader(Struct, frozen=True):
    pass


Action = (
    Switch
    | Pulse
    | FollowSetting
    | FollowDuty
    | ResumeWatchdog
    | SetEnergy
    | NextOneWireId
    | RaiseRestartFlag
    | ForgetCounters
    | SendTest
    | ModemCommand
    | WriteToModule
    | ChangeClock
    | Restart
    | StartBootloader
)
