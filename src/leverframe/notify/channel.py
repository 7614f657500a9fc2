"""The interface between the outbox and a channel.

A channel knows how to write a message down (`compose`, at the moment of the effect) and how to
deliver one (`deliver`, perhaps hours later, as the channels are set up then). Waiting, order,
repetition and storage are the business of the outbox.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from leverframe.engine.effects import Notify
from leverframe.engine.settings import Email, Gsm, HttpClient, Mqtt, Snmp
from leverframe.notify.message import Message


class Draft(Struct, frozen=True):
    """A message that the outbox is to store and send."""

    #: Where it goes, for people to read; never a secret.
    target: str
    #: What `deliver` needs, as JSON can hold it; never a password.
    content: Mapping[str, Any] = field(default_factory=dict)
    #: The channel whose queue it waits in, where that is another one: recipients that can be dead
    #: for themselves have queues for themselves.
    channel: str = ""


class ChannelLimits(Struct, frozen=True):
    #: After that long the message is out of date.
    expires_s: float = 86_400.0
    #: When more wait, the oldest are dropped.
    max_waiting: int = 2_000
    #: Attempts per second on average, after a burst of this size.
    per_s: float = 10.0
    burst: int = 20
    #: How long one attempt may take in all.
    timeout_s: float = 30.0
    #: The pause between two attempts grows up to this.
    longest_pause_s: float = 120.0
    #: A message whose attempt takes longer steps aside, so that the next one has its turn; this
    #: is the limit. With 0 the order is kept, whatever it costs.
    patience_s: float = 0.0
    max_aside: int = 0


class CannotSend(Exception):
    """One sentence for people: why, and what they can do. It must not contain a secret.

    `final` means that trying again cannot help; otherwise the message is tried again later.
    """

    def __init__(self, sentence: str, *, final: bool = False) -> None:
        super().__init__(sentence)
        self.final = final


class Channels(Protocol):
    """How the channels are set up: servers, logins and recipients.

    The settings of a controller are that, among other things.
    """

    @property
    def http(self) -> tuple[HttpClient, ...]: ...
    @property
    def email(self) -> Email: ...
    @property
    def mqtt(self) -> Mqtt: ...
    @property
    def gsm(self) -> Gsm: ...
    @property
    def snmp(self) -> Snmp: ...


class Channel(Protocol):
    @property
    def limits(self) -> ChannelLimits: ...

    def compose(self, effect: Notify, channels: Channels) -> list[Draft]:
        """Write the messages of an effect, one per recipient; none if there is nothing to say.

        Raises `CannotSend` when the channel is not set up.
        """

    def configuration(self, channels: Channels) -> object:
        """Return the part that delivery depends on.

        When it changes, waiting messages are retried immediately.
        """

    async def deliver(self, message: Message, channels: Channels) -> str:
        """Send it and say in a few words what the other side answered, or raise `CannotSend`."""

    def in_full(self, message: Message, channels: Channels) -> Mapping[str, Any]:
        """Describe all that would be sent now, without a password; may raise `CannotSend`."""

    async def close(self) -> None:
        """Release connections; the queue is empty or the program ends. May be called again."""
