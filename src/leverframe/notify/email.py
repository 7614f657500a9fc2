"""The channels of e-mail and SMS: one message per recipient."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

from leverframe.core.engine.calls import Notify
from leverframe.core.runtime.outgoing import OutgoingChannel
from leverframe.core.settings import Email, Gsm
from leverframe.notify.channel import (
    HEADERS_OF_TEXT,
    CannotSend,
    ChannelLimits,
    Channels,
    Draft,
    MailDeadlines,
    Message,
    Trust,
    write_mail,
)

# The channel of SMS1-SMS4: one message per telephone number, through a modem.
#
# The modem is any object with a `send_sms` method. While it cannot send, messages wait until they
# are a day old.


class SmsSender(Protocol):
    async def send_sms(self, number: str, text: str) -> None:
        """Send a message; if the network rejects it, raise an exception that says why."""


class Sms:
    # Each SMS costs money, and the network delays or drops SMS that arrive in floods.
    limits = ChannelLimits(expires_s=86_400.0, max_waiting=200, per_s=0.2, burst=10, timeout_s=90.0)

    def __init__(self, modem: SmsSender) -> None:
        self._modem = modem

    def compose(self, effect: Notify, channels: Channels) -> list[Draft]:
        if not effect.is_wanted:
            return []
        numbers = channels.gsm.sms[effect.slot - 1].numbers
        if not numbers:
            slot = effect.slot
            raise CannotSend(f"SMS{slot} has no recipient; set one with gsmnumber{slot}=...")
        return [Draft(number, {"text": effect.text}) for number in numbers]

    def configuration(self, channels: Channels) -> Gsm:
        return channels.gsm

    async def deliver(self, message: Message, channels: Channels) -> str:
        try:
            await self._modem.send_sms(message.target, message.content["text"])
        except Exception as error:
            raise CannotSend(str(error)) from error
        return "accepted by the network"

    def in_full(self, message: Message, channels: Channels) -> dict[str, Any]:
        return {"recipients": [message.target], "body": message.content["text"]}

    async def close(self) -> None:
        """Leave the modem open, because other parts use it, too."""


# The channel of e-mail: one message per recipient.
#
# Text and recipient are fixed at the moment of the effect. Server, login, sender and subject come
# from the settings at the moment of delivery.

#: On this port, TLS begins with the first byte.
TLS_PORT = 465
#: A server may use the full deadline of each phase; other mails are sent in the meantime.
LIMITS = ChannelLimits(
    expires_s=3 * 86_400.0,
    per_s=2.0,
    burst=20,
    timeout_s=3_600.0,
    longest_pause_s=900.0,
    patience_s=15.0,
    max_aside=8,
)
RFC_DEADLINES = MailDeadlines()


class Mail:
    def __init__(
        self,
        name: str,
        trust: Trust,
        way_out: OutgoingChannel,
        tls_port: int = TLS_PORT,
        *,
        limits: ChannelLimits = LIMITS,
        deadlines: MailDeadlines = RFC_DEADLINES,
    ) -> None:
        self.limits = limits
        self._name = name
        self._trust = trust
        self._way_out = way_out
        self._tls_port = tls_port
        self._deadlines = deadlines

    def compose(self, effect: Notify, channels: Channels) -> list[Draft]:
        if not effect.is_wanted:
            return []
        email = channels.email
        if not email.host:
            raise CannotSend("No mail server is set; set one with em1=...")
        recipients = [part.strip() for part in re.split("[,;]", email.recipient) if part.strip()]
        if not recipients:
            raise CannotSend("No mail recipient is set; set one with em5=...")
        return [
            # Store the name, so that the Message-ID stays the same even if the name changes.
            Draft(recipient, {"text": effect.text, "from_name": self._name})
            for recipient in recipients
        ]

    def configuration(self, channels: Channels) -> Email:
        return channels.email

    async def deliver(self, message: Message, channels: Channels) -> str:
        # Imported with the first mail, because most controllers never send one, and in a thread,
        # because the import takes longer than a relay may wait.
        await asyncio.to_thread(import_module, "leverframe.notify.smtp")
        from leverframe.notify.smtp import send

        email = channels.email
        from_the_start = email.tls and email.port == self._tls_port
        context = await self._trust.ready() if email.tls else None
        mail = write_mail(message, email, self._name)
        in_doubt = _in_doubt(message)
        return await send(
            mail, email, context, from_the_start, self._deadlines, in_doubt, self._way_out
        )

    def in_full(self, message: Message, channels: Channels) -> dict[str, Any]:
        email = channels.email
        mail = write_mail(message, email, self._name)
        return {
            "server": f"{email.host}:{email.port}",
            "tls": email.tls,
            "sender": mail.sender,
            "recipients": [mail.recipient],
            "subject": mail.headers["Subject"],
            "headers": mail.headers | HEADERS_OF_TEXT,
            "body": mail.body,
        }

    async def close(self) -> None:
        """Do nothing: every mail uses its own connection."""


@contextmanager
def _in_doubt(message: Message) -> Iterator[None]:
    """Mark the message as uncertain unless the block finishes."""
    before, message.uncertain = message.uncertain, True
    yield
    message.uncertain = before
