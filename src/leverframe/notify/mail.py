"""The channel of e-mail: one message per recipient, over SMTP.

The text and the recipient are those of the moment of the effect; server, login, sender and subject
are the present ones. With TLS switched on, port 465 is TLS from the first byte and every other
port must offer STARTTLS; the certificate is checked. With TLS switched off nothing is encrypted,
as the setting says.

Every header is made by the standard library's writer, after line breaks and other control
characters have become spaces, so no text can add a header.
"""

import asyncio
import re
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import TYPE_CHECKING

from leverframe.engine.effects import Notify
from leverframe.engine.settings import Email, Settings
from leverframe.notify.channel import CannotSend, Draft, Limits
from leverframe.notify.message import Message
from leverframe.notify.troubles import sentence
from leverframe.notify.trust import Trust

if TYPE_CHECKING:
    import aiosmtplib

#: Here TLS begins with the first byte.
TLS_PORT = 465
#: How long one step of the dialogue may take.
STEP_S = 15.0
DEFAULT_SUBJECT = "Message from {name}"

_PART = r"[^\s@<>()\[\],;:\"\\\x00-\x1f\x7f-\x9f]+"
_ADDRESS = re.compile(f"{_PART}@{_PART}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Mail:
    limits = Limits(
        expires_s=3 * 86_400.0, per_s=2.0, burst=20, timeout_s=60.0, longest_pause_s=900.0
    )

    def __init__(self, name: str, trust: Trust, tls_port: int = TLS_PORT) -> None:
        self._name = name
        self._trust = trust
        self._tls_port = tls_port

    def compose(self, effect: Notify, settings: Settings) -> list[Draft]:
        if not effect.text:
            # Nobody wrote a text for this edge, so nobody wants a mail about it.
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
        email = settings.email
        # Loading the library and the authorities takes longer than a relay may wait.
        await asyncio.to_thread(self._load, email)
        import aiosmtplib

        mail = self._written(message, email)
        try:
            async with self._connection(email) as connection:
                if email.username:
                    await connection.login(email.username, email.password)
                _, answer = await connection.send_message(mail)
        except aiosmtplib.SMTPAuthenticationError as error:
            raise CannotSend(
                f"{email.host} refuses the login ({error.code}); check em3 and em4."
            ) from error
        except aiosmtplib.SMTPRecipientsRefused as error:
            (refused,) = error.recipients
            raise CannotSend(
                f"{email.host} does not take mail for {message.target} "
                f"({refused.code} {_one_line(refused.message)}).",
                final=refused.code >= 500,
            ) from error
        except aiosmtplib.SMTPResponseException as error:
            # Of all refusals only that of the mail itself is beyond what settings can change.
            raise CannotSend(
                f"{email.host} answered {error.code} {_one_line(error.message)}.",
                final=isinstance(error, aiosmtplib.SMTPDataError) and error.code >= 500,
            ) from error
        except OSError as error:
            raise CannotSend(sentence(error, email.host, email.port)) from error
        except aiosmtplib.SMTPException as error:
            raise CannotSend(
                f"{email.host} cannot do what the settings ask for: {_one_line(error.message)}"
            ) from error
        return _one_line(answer)

    def _load(self, email: Email) -> None:
        """With the first mail: most controllers never send one."""
        import aiosmtplib  # noqa: F401 - for those who use it next

        if email.tls:
            self._trust.context  # noqa: B018 - made at the first look

    def _connection(self, email: Email) -> "aiosmtplib.SMTP":
        import aiosmtplib

        from_the_start = email.tls and email.port == self._tls_port
        return aiosmtplib.SMTP(
            hostname=email.host,
            port=email.port,
            timeout=STEP_S,
            use_tls=from_the_start,
            start_tls=email.tls and not from_the_start,
            tls_context=self._trust.context if email.tls else None,
        )

    def _written(self, message: Message, email: Email) -> EmailMessage:
        sender = _address(email.sender or email.username, "The sender", "em6")
        # Another recipient in the settings would not change this message any more.
        recipient = _address(message.target, "The recipient", "em5", final=True)
        mail = EmailMessage(policy=SMTP)
        mail["From"] = sender
        mail["To"] = recipient
        mail["Subject"] = _cleaned(email.subject) or DEFAULT_SUBJECT.format(name=self._name)
        mail["Date"] = format_datetime(datetime.fromtimestamp(message.created, UTC))
        # The same at every attempt, so that a mail that came twice can be told.
        mail["Message-ID"] = f"<{message.number}.{message.created:.0f}@{self._name}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(message.content["text"])
        return mail

    async def close(self) -> None:
        """Every mail has a connection of its own."""


def _address(text: str, what: str, command: str, *, final: bool = False) -> Address:
    problem = f"{what} {text[:80]!r} is not an e-mail address; set one with {command}=..."
    if not _ADDRESS.fullmatch(text):
        raise CannotSend(problem, final=final)
    user, _, domain = text.partition("@")
    return Address(username=user, domain=domain)


def _cleaned(text: str) -> str:
    return _CONTROL.sub(" ", text).strip()


def _one_line(text: str) -> str:
    return _cleaned(text)[:200]
