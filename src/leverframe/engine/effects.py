"""The effects that the engine asks for: small, frozen, and nothing but data.

The controller carries effects out in order: the board drives pins, the outbox sends notifications,
the store keeps what must survive a restart.
"""

from msgspec import Struct

from leverframe.engine.journal import Cause


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


class Persist(Struct, frozen=True):
    """A piece of machine state to store so that it survives a restart (`output.2`, `energy.0`)."""

    name: str
    value: bool | int | float | None


class Notify(Struct, frozen=True):
    """A message for the outbox. Channels: http, email, sms, snmp, mqtt."""

    channel: str
    #: 1-4 where the channel has several, else 0.
    slot: int
    #: True if the condition started being met, False if it stopped.
    active: bool
    #: The cause: "rule 3", "watchdog 1", "test".
    reason: str
    #: The reading or state that the message is about, and its value, where there is one.
    label: str | None = None
    value: float | int | None = None
    #: The text, or the address for http, with its codes replaced; empty where there is none.
    text: str = ""
    #: The body of an http request.
    body: str = ""
    #: What the reason names, with what decided.
    cause: Cause | None = None

    @property
    def is_wanted(self) -> bool:
        """Return whether there is anything to send: mail or SMS without a text is not."""
        return bool(self.text) or self.channel not in ("email", "sms")


class SendModem(Struct, frozen=True):
    command: str


class WriteModbus(Struct, frozen=True):
    """A value for a register or coil of the module in a Modbus slot (1-3)."""

    slot: int
    register: int
    #: coil, or the type of a number.
    type: str
    endian: str
    value: float
    #: The cause: "rule 3", "command 127.0.0.1".
    reason: str
    #: A client waits for the outcome; otherwise the write is retried for a while.
    is_asked: bool

    @property
    def target(self) -> str:
        kind = "coil" if self.type == "coil" else "register"
        return f"slot {self.slot} {kind} {self.register}"


class PingHost(Struct, frozen=True):
    """A ping whose outcome goes to `Engine.ping_answered`."""

    entry: int
    host: str
    timeout_s: float


class ShowScreen(Struct, frozen=True):
    """The screen (0-3) for the display to show, or None to switch it off."""

    screen: int | None


class SetClock(Struct, frozen=True):
    """The time to set the controller's wall clock to, in seconds since 1970 UTC."""

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
