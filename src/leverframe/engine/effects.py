"""What the engine asks the world to do. Small, frozen, and nothing but data.

The controller carries effects out in order: the board drives pins, the outbox sends notifications,
the store keeps what must survive a restart.
"""

from msgspec import Struct


class DriveOutput(Struct, frozen=True):
    index: int
    on: bool


class DrivePwm(Struct, frozen=True):
    """The level at the pin: 0.0 always low, 1.0 always high; active low is already applied."""

    index: int
    level: float


class SetPwmFrequency(Struct, frozen=True):
    #: 0 is PWM0, 1 is PWM1-PWM3.
    group: int
    hz: int


class SetPullUp(Struct, frozen=True):
    index: int
    on: bool


class Keep(Struct, frozen=True):
    """Store a piece of machine state that survives a restart (`output.2`, `energy.0`)."""

    name: str
    value: bool | int | float | None


class Notify(Struct, frozen=True):
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


class SendModem(Struct, frozen=True):
    command: str


class PingHost(Struct, frozen=True):
    """Ping and hand the answer to `Engine.ping_answered`."""

    entry: int
    host: str
    timeout_s: float


class ShowScreen(Struct, frozen=True):
    """Switch the display to a screen (0-3), or off."""

    screen: int | None


class SetClock(Struct, frozen=True):
    """Make the controller's wall clock show this many seconds since 1970 UTC."""

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
    | Keep
    | Notify
    | SendModem
    | PingHost
    | ShowScreen
    | SetClock
    | RestartController
    | EnterBootloader
)
