"""What the outside may ask the engine to do besides changing settings.

Commands, Modbus, SNMP, MQTT and SMS all speak to the engine in these. The lock on outputs is
checked where a request is staged, because a locked output refuses the whole request.
"""

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Switch:
    """Set or reverse an output, PWM output or event variable by its label."""

    label: str
    value: int


@dataclass(frozen=True, slots=True)
class FollowSetting:
    """Let a setting count again that one of the `OVERRIDING` actions may have overridden.

    Settings alone are adopted where they changed; a command counts also where it sets what is set.
    """

    action: str


@dataclass(frozen=True, slots=True)
class ResumeWatchdog:
    """Let the watchdog entries begin anew that have given up."""


@dataclass(frozen=True, slots=True)
class SetEnergy:
    index: int
    value: float


@dataclass(frozen=True, slots=True)
class NextOneWireId:
    """Put the next ID found on the 1-Wire bus into `dsid`."""


@dataclass(frozen=True, slots=True)
class RaiseRestartFlag:
    pass


@dataclass(frozen=True, slots=True)
class ForgetCounters:
    """Part of a factory reset: energy counters and remembered states start anew."""


@dataclass(frozen=True, slots=True)
class SendTest:
    #: email or sms
    channel: str


@dataclass(frozen=True, slots=True)
class ModemCommand:
    command: str


@dataclass(frozen=True, slots=True)
class ChangeClock:
    """Set the wall clock: local wall time written as if it were UTC."""

    local_seconds: int


@dataclass(frozen=True, slots=True)
class Restart:
    pass


@dataclass(frozen=True, slots=True)
class StartBootloader:
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
