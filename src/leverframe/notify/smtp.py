"""A mail written down, and handed to its server.

With TLS switched on, port 465 is TLS from the first byte and every other port must offer STARTTLS;
the certificate is checked. With TLS switched off nothing is encrypted, as the setting says.

Every header is made by the standard library's writer, after line breaks and other control
characters have become spaces, so no text can add a header.

Loaded with the first mail only, by `email.py`.
"""

import re
import ssl
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

import aiosmtplib

from leverframe.engine.settings import Email
from leverframe.notify.channel import CannotSend
from leverframe.notify.message import Message
from leverframe.notify.troubles import sentence

#: How long one step of the dialogue may take.
STEP_S = 15.0
DEFAULT_SUBJECT = "Message from {name}"

_PART = r"[^\s@<>()\[\],;:\"\\\x00-\x1f\x7f-\x9f]+"
_ADDRESS = re.compile(f"{_PART}@{_PART}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


async def send(
    mail: EmailMessage, email: Email, context: ssl.SSLContext | None, from_the_start: bool
) -> str:
    """Send a mail and return what the server answered; raises `CannotSend` if it refused."""
    connection = aiosmtplib.SMTP(
        hostname=email.host,
        port=email.port,
        timeout=STEP_S,
        use_tls=from_the_start,
        start_tls=context is not None and not from_the_start,
        tls_context=context,
    )
    try:
        async with connection:
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
            f"{email.host} does not take mail for {mail['To']} "
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


def written(message: Message, email: Email, name: str) -> EmailMessage:
    sender = _address(email.sender or email.username, "The sender", "em6")
    # Another recipient in the settings would not change this message any more.
    recipient = _address(message.target, "The recipient", "em5", final=True)
    mail = EmailMessage(policy=SMTP)
    mail["From"] = sender
    mail["To"] = recipient
    mail["Subject"] = _cleaned(email.subject) or DEFAULT_SUBJECT.format(name=name)
    mail["Date"] = format_datetime(datetime.fromtimestamp(message.created, UTC))
    # The same at every attempt, so that a mail that arrives twice can be recognised.
    mail["Message-ID"] = f"<{message.number}.{message.created:.0f}@{name}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.content["text"])
    return mail


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
