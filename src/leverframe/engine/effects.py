"""What the engine asks the world to do. Small, frozen, and nothing but data.

The controller carries effects out in order: the board drives pins, the outbox sends notifications,
the store keeps what must survive a restart.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DriveOutput:
    index: int
    on: bool


@dataclass(frozen=True, slots=True)
class DrivePwm:
    """The level at the pin: 0.0 always low, 1.0 always high; active low is already applied."""

    index: int
    level: float


@dataclass(frozen=True, slots=True)
class SetPwmFrequency:
    #: 0 is PWM0, 1 is PWM1-PWM3.
    group: int
    hz: int


@dataclass(frozen=True, slots=True)
class SetPullUp:
    index: int
    on: bool


@dataclass(frozen=True, slots=True)
class Persist:
    """Store a piece of machine state that survives a restart (`output.2`, `energy.0`)."""

    name: str
    value: bool | int | float | None


@dataclass(frozen=True, slots=True)
class Notify:
    """A message for the outbox. Channels: http, email, sms, snmp, mqtt."""

    channel: str
    #: 1-4 where the channel has several, else 0.
    slot: int
    #: Did the condition start (True) or stop being met?
    active: bool
    #: Who asks: "rule 3", "watchdog 1", "test".
    reason: str
    #: The reading or state that the message is about, and its value, where there is one.
    label: str | None = None
    value: float | int | None = None
    #: The text, or the address for http, with its codes replaced; empty where there is none.
    text: str = ""
    #: The body of an http request.
    body: str = ""


@dataclass(frozen=True, slots=True)
class SendModem:
    command: str


@dataclass(frozen=True, slots=True)
class PingHost:
    """Ping and hand the answer to `Engine.ping_answered`."""

    entry: int
    host: str
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ShowScreen:
    """Switch the display to a screen (0-3), or off."""

    screen: int | None


@dataclass(frozen=True, slots=True)
class SetClock:
    """Make the controller's wall clock show this many seconds since 1970 UTC."""

    wall: float


@dataclass(frozen=True, slots=True)
class RestartController:
    pass


@dataclass(frozen=True, slots=True)
class EnterBootloader:
    pass


Effect = (
    DriveOutput
    | DrivePwm
    | SetPwmFrequency
    | SetPullUp
    | Persist
    | Notify
    | SendModem
    | PingHost
    | ShowScreen
    | SetClock
    | RestartController
    | EnterBootloader
)
