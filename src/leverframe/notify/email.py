"""The channel of e-mail: one message per recipient.

The text and the recipient are those of the moment of the effect; server, login, sender and subject
are the present ones.
"""

import asyncio
import re
from importlib import import_module
from typing import Any

from leverframe.engine.effects import Notify
from leverframe.engine.settings import Email, Settings
from leverframe.notify.channel import CannotSend, ChannelLimits, Draft
from leverframe.notify.message import Message
from leverframe.notify.trust import Trust
from leverframe.notify.written_mail import HEADERS_OF_TEXT, written

#: Here TLS begins with the first byte.
TLS_PORT = 465


class Mail:
    limits = ChannelLimits(
        expires_s=3 * 86_400.0, per_s=2.0, burst=20, timeout_s=60.0, longest_pause_s=900.0
    )

    def __init__(self, name: str, trust: Trust, tls_port: int = TLS_PORT) -> None:
        self._name = name
        self._trust = trust
        self._tls_port = tls_port

    def compose(self, effect: Notify, settings: Settings) -> list[Draft]:
        if not effect.text:
            # No text is set for this edge, so no mail is wanted.
            return []
        email = settings.email
        if not email.host:
            raise CannotSend("E-mail has no server; set one with em1=...")
        recipients = [part.strip() for part in re.split("[,;]", email.recipient) if part.strip()]
        if not recipients:
            raise CannotSend("E-mail has no recipient; set one with em5=...")
        return [Draft(recipient, {"text": effect.text}) for recipient in recipients]

    def configuration(self, settings: Settings) -> Email:
        return settings.email

    async def deliver(self, message: Message, settings: Settings) -> str:
        # With the first mail, as most controllers never send one, and beside the loop, because
        # loading what it takes lasts longer than a relay may wait.
        await asyncio.to_thread(import_module, "leverframe.notify.smtp")
        from leverframe.notify.smtp import send

        email = settings.email
        from_the_start = email.tls and email.port == self._tls_port
        context = await self._trust.ready() if email.tls else None
        return await send(written(message, email, self._name), email, context, from_the_start)

    def in_full(self, message: Message, settings: Settings) -> dict[str, Any]:
        email = settings.email
        mail = written(message, email, self._name)
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
        """Do nothing: every mail has a connection of its own."""
