"""A mail handed to its server.

With TLS switched on, port 465 is TLS from the first byte and every other port must offer STARTTLS;
the certificate is checked. With TLS switched off nothing is encrypted, as the setting says.

Every header is made by the standard library's writer, of texts without control characters.

Loaded with the first mail only, by `email.py`.
"""

import ssl
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP

import aiosmtplib

from leverframe.engine.settings import Email
from leverframe.notify.channel import CannotSend
from leverframe.notify.troubles import sentence
from leverframe.notify.written_mail import TRANSFER_ENCODING, WrittenMail, cleaned

#: How long one step of the dialogue may take.
STEP_S = 15.0
#: Headers that hold an address.
ADDRESSES = ("From", "To")


async def send(
    written: WrittenMail, email: Email, context: ssl.SSLContext | None, from_the_start: bool
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
            _, answer = await connection.send_message(built(written))
    except aiosmtplib.SMTPAuthenticationError as error:
        raise CannotSend(
            f"{email.host} refuses the login ({error.code}); check em3 and em4."
        ) from error
    except aiosmtplib.SMTPRecipientsRefused as error:
        (refused,) = error.recipients
        raise CannotSend(
            f"{email.host} does not take mail for {written.recipient} "
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


def built(written: WrittenMail) -> EmailMessage:
    mail = EmailMessage(policy=SMTP)
    for name, text in written.headers.items():
        mail[name] = _address(text) if name in ADDRESSES else text
    mail.set_content(written.body, cte=TRANSFER_ENCODING)
    return mail


def _address(text: str) -> Address:
    user, _, domain = text.partition("@")
    return Address(username=user, domain=domain)


def _one_line(text: str) -> str:
    return cleaned(text)[:200]
