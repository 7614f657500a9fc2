"""What the outside may ask the engine to do besides changing settings.

Commands, Modbus, SNMP, MQTT and SMS all speak to the engine in these. The lock on outputs is
checked where a request is staged, because a locked output refuses the whole request.
"""

from msgspec import Struct

from leverframe.engine.labels import OUTPUTS

#: Values of a switching action: off, on, the other way round.
OFF, ON, REVERSE = 0, 1, 2

#: Actions of rules and of the schedule that switch live what a setting switches, too.
AUTO_SWITCH = tuple(f"AutoSwitch {label}" for label in OUTPUTS)
ENABLE_PID = "ENABLE PID"
OVERRIDING = (*AUTO_SWITCH, ENABLE_PID)


def after_switching(value: int, is_on: bool) -> bool:
    """Is the target on after a switching action with this value?"""
    return not is_on if value == REVERSE else value == ON


class Switch(Struct, frozen=True):
    """Set or reverse an output, PWM output or event variable by its label."""

    label: str
    value: int


class FollowSetting(Struct, frozen=True):
    """Let a setting count again that one of the `OVERRIDING` actions may have overridden.

    Settings alone are adopted where they changed; a command counts also where it sets what is set.
    """

    action: str


class ResumeWatchdog(Struct, frozen=True):
    """Let the watchdog entries begin anew that have given up."""


class SetEnergy(Struct, frozen=True):
    index: int
    value: float


class NextOneWireId(Struct, frozen=True):
    """Put the next ID found on the 1-Wire bus into `dsid`."""


class RaiseRestartFlag(Struct, frozen=True):
    pass


class ForgetCounters(Struct, frozen=True):
    """Part of a factory reset: energy counters and remembered states start anew."""


class SendTest(Struct, frozen=True):
    #: email or sms
    channel: str


class ModemCommand(Struct, frozen=True):
    command: str


class ChangeClock(Struct, frozen=True):
    """Set the wall clock: local wall time written as if it were UTC."""

    local_seconds: int


class Restart(Struct, frozen=True):
    pass


class StartBootloader(Struct, frozen=True):
    pass


Action = (
    Switch
    | FollowSetting
    | ResumeWatchdog
    | SetEnergy
    | NextOneWireId
    | RaiseRestartFlag
    | ForgetCounters
    | SendTest
    | ModemCommand
    | ChangeClock
    | Restart
    | StartBootloader
)
