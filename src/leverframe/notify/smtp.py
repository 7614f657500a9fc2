"""The delivery of a mail to its server.

With TLS switched on, port 465 uses TLS from the first byte, every other port must offer STARTTLS,
and the certificate is checked. With TLS switched off, nothing is encrypted.

The standard library formats every header, from texts without control characters. Each phase has the
deadline of RFC 5321 (4.5.3.2): a server that scans for viruses, or slows down unknown clients, may
need minutes. After the final dot, only the server knows whether it has accepted the mail: until it
answers, the delivery is uncertain.

`email.py` loads this module only with the first mail.
"""

import asyncio
import contextlib
import re
import ssl
from collections.abc import Awaitable
from contextlib import AbstractContextManager
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from typing import TypeVar

import aiosmtplib

from leverframe.core.durations import text_from_seconds
from leverframe.core.runtime.outgoing import ForbiddenTarget, OutgoingChannel
from leverframe.core.settings import Email
from leverframe.notify.channel import (
    TRANSFER_ENCODING,
    CannotSend,
    MailDeadlines,
    WrittenMail,
    clean_text,
    sentence,
)

#: Headers that contain an address.
ADDRESSES = ("From", "To")
START_INPUT, TAKEN = 354, 250

_LEADING_DOT = re.compile(rb"^\.", re.MULTILINE)

T = TypeVar("T")


async def send(
    written: WrittenMail,
    email: Email,
    context: ssl.SSLContext | None,
    from_the_start: bool,
    deadlines: MailDeadlines,
    in_doubt: AbstractContextManager[None],
    way_out: OutgoingChannel,
) -> str:
    """Send a mail and return the server's answer; raise `CannotSend` if it refuses the mail.

    `in_doubt` is entered when the server may have accepted the mail, and left without an exception
    after the server's answer.
    """
    dialogue = _Dialogue(email, context, from_the_start, deadlines, way_out)
    try:
        return await dialogue.hand_over(written, in_doubt)
    except aiosmtplib.SMTPAuthenticationError as error:
        raise CannotSend(
            f"{email.host} refuses the login ({error.code}); check em3 and em4."
        ) from error
    except aiosmtplib.SMTPRecipientRefused as error:
        raise CannotSend(
            f"{email.host} does not accept mail for {written.recipient} ({error.code} "
            f"{_one_line(error.message)}).",
            final=error.code >= 500,
        ) from error
    except aiosmtplib.SMTPResponseException as error:
        # Only a refusal of the mail itself is final; changed settings can fix all others.
        raise CannotSend(
            f"{email.host} answered {error.code} {_one_line(error.message)}.",
            final=isinstance(error, aiosmtplib.SMTPDataError) and error.code >= 500,
        ) from error
    except ForbiddenTarget as error:
        raise CannotSend(str(error), final=True) from error
    except OSError as error:
        raise CannotSend(sentence(error, email.host, email.port)) from error
    except aiosmtplib.SMTPException as error:
        raise CannotSend(
            f"{email.host} does not support what the settings require: {_one_line(error.message)}"
        ) from error
    finally:
        dialogue.close()


class _Dialogue:
    def __init__(
        self,
        email: Email,
        context: ssl.SSLContext | None,
        from_the_start: bool,
        deadlines: MailDeadlines,
        way_out: OutgoingChannel,
    ) -> None:
        self._way_out = way_out
        self._email = email
        self._place = f"{email.host}:{email.port}"
        self._start_tls = context is not None and not from_the_start
        self._deadlines = deadlines
        self._smtp = aiosmtplib.SMTP(
            hostname=email.host,
            timeout=deadlines.command_s,
            use_tls=from_the_start,
            start_tls=False,
            tls_context=context,
        )

    def close(self) -> None:
        self._smtp.close()

    async def hand_over(self, written: WrittenMail, in_doubt: AbstractContextManager[None]) -> str:
        await self._open()
        raw = encode_mail(written)
        await self._introduce(written, len(raw))
        data_s = self._deadlines.data_s
        begin = self._smtp.execute_command(b"DATA", timeout=data_s)
        start = await self._within(data_s, "DATA", begin)
        if start.code != START_INPUT:
            raise aiosmtplib.SMTPDataError(start.code, start.message)
        with in_doubt:
            answer = await self._answer_to(_LEADING_DOT.sub(b"..", raw) + b".\r\n")
            # The answer to QUIT does not matter, but cancelling here leaves the delivery uncertain.
            with contextlib.suppress(OSError, aiosmtplib.SMTPException):
                await self._smtp.quit(timeout=self._deadlines.quit_s)
        if answer.code != TAKEN:
            raise aiosmtplib.SMTPDataError(answer.code, answer.message)
        return _one_line(answer.message)

    async def _open(self) -> None:
        limits = self._deadlines
        async with asyncio.timeout(limits.connect_s):
            connected = await self._way_out.connect(self._email.host, self._email.port)
        try:
            greeting = self._smtp.connect(sock=connected, timeout=limits.greeting_s)
            await self._within(limits.greeting_s, "", greeting)
        except asyncio.CancelledError:
            # If the library does not use the socket yet, the socket must be closed here.
            if self._smtp.transport is None:
                connected.close()
            raise
        await self._within(limits.command_s, "EHLO", self._hello())
        if self._start_tls:
            await self._within(limits.command_s, "STARTTLS", self._smtp.starttls())
            await self._within(limits.command_s, "EHLO", self._hello())
        if self._email.username:
            login = self._smtp.login(self._email.username, self._email.password)
            await self._within(limits.command_s, "AUTH", login)

    async def _hello(self) -> None:
        try:
            await self._smtp.ehlo()
        except aiosmtplib.SMTPHeloError:
            # Old servers reject EHLO; later code checks whether the server offers what the settings
            # require.
            await self._smtp.helo()

    async def _introduce(self, written: WrittenMail, size: int) -> None:
        """Name sender and recipient."""
        command_s = self._deadlines.command_s
        options = []
        if self._smtp.supports_extension("size"):
            options.append(f"SIZE={size}")
        encoding = "ascii"
        if not _is_plain(written):
            if not self._smtp.supports_extension("smtputf8"):
                raise aiosmtplib.SMTPNotSupported("addresses with non-ASCII characters.")
            options.append("SMTPUTF8")
            encoding = "utf-8"
        sender = self._smtp.mail(written.sender, options=options, encoding=encoding)
        await self._within(command_s, "MAIL", sender)
        recipient = self._smtp.rcpt(written.recipient, encoding=encoding)
        await self._within(command_s, "RCPT", recipient)

    async def _answer_to(self, data: bytes) -> aiosmtplib.SMTPResponse:
        """Send the text up to its final dot and return the server's answer."""
        protocol = self._smtp.protocol
        # The connection cannot have changed since the answer to DATA.
        assert protocol is not None
        end_s = self._deadlines.end_s
        try:
            protocol.write(data)
            return await protocol.read_response(timeout=end_s)
        except TimeoutError as error:
            raise CannotSend(
                f"It is uncertain whether the mail arrived: {self._place} received all of it but "
                f"did not confirm this within {text_from_seconds(end_s)}. It is sent again with "
                "the same Message-ID."
            ) from error
        except OSError as error:
            raise CannotSend(
                f"It is uncertain whether the mail arrived: {self._place} received all of it but "
                "closed the connection before it confirmed this. It is sent again with the same "
                "Message-ID."
            ) from error

    async def _within(self, deadline_s: float, command: str, step: Awaitable[T]) -> T:
        """Wait for the answer to a command, or for the greeting; report which one is missing.

        The library enforces the deadline.
        """
        try:
            return await step
        except TimeoutError as error:
            deadline = text_from_seconds(deadline_s)
            if not command:
                raise CannotSend(f"{self._place} sent no greeting within {deadline}.") from error
            raise CannotSend(
                f"{self._place} did not answer {command} within {deadline}."
            ) from error


def _is_plain(written: WrittenMail) -> bool:
    return (written.sender + written.recipient).isascii()


def encode_mail(written: WrittenMail) -> bytes:
    """Encode the mail for sending; as plain UTF-8 if an address requires it."""
    mail = EmailMessage(policy=SMTP)
    for name, text in written.headers.items():
        mail[name] = _address(text) if name in ADDRESSES else text
    mail.set_content(written.body, cte=TRANSFER_ENCODING)
    return mail.as_bytes(policy=SMTP if _is_plain(written) else SMTPUTF8)


def _address(text: str) -> Address:
    user, _, domain = text.partition("@")
    return Address(username=user, domain=domain)


def _one_line(text: str) -> str:
    return clean_text(text)[:200]
