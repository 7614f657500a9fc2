"""A real mail server on loopback: takes mail, wants TLS and a login, or refuses as configured."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from .post_office import Bell

USER, PASSWORD = "anna", "s3cret-päss"


@dataclass
class TakenMail:
    sender: str
    recipients: list[str]
    mail: EmailMessage
    raw: bytes
    encrypted: bool
    signed_in: bool


@dataclass
class Hold:
    dialogues: int = 1
    reached: int = 0
    release: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class MailPeer:
    bell: Bell
    port: int = 0
    taken: list[TakenMail] = field(default_factory=list)
    #: Answers to RCPT and DATA instead of taking it, until they are used up.
    refuse_recipients: list[str] = field(default_factory=list)
    refuse_mails: list[str] = field(default_factory=list)
    #: Phases in which it waits until the event is set, each with its number of dialogues.
    holds: dict[str, "Hold"] = field(default_factory=dict)
    #: Answers to commands instead of obeying them.
    refuse_commands: dict[str, str] = field(default_factory=dict)
    #: The connection is cut there instead of an answer to the final dot.
    cuts: int = 0

    async def reach(self, phase: str) -> None:
        hold = self.holds.get(phase)
        if hold is not None and hold.dialogues > 0:
            hold.dialogues -= 1
            hold.reached += 1
            self.bell.ring()
            await hold.release.wait()

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.refuse_recipients:
            return self.refuse_recipients.pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.cuts:
            self.cuts -= 1
            assert server.transport is not None
            server.transport.abort()
        if self.refuse_mails:
            return self.refuse_mails.pop(0)
        raw = envelope.content
        assert isinstance(raw, bytes)
        mail = message_from_bytes(raw, _class=EmailMessage, policy=default)
        assert isinstance(mail, EmailMessage)
        self.taken.append(
            TakenMail(
                sender=str(envelope.mail_from),
                recipients=list(envelope.rcpt_tos),
                mail=mail,
                raw=raw,
                encrypted=session.ssl is not None,
                signed_in=bool(session.authenticated),
            )
        )
        self.bell.ring()
        await self.reach("end")
        return "250 taken as 42"


class UnhurriedSmtp(SMTP):
    """A server that can be slow in every phase."""

    async def _handle_client(self) -> None:
        await self.event_handler.reach("greeting")
        await super()._handle_client()

    async def smtp_EHLO(self, hostname: str) -> None:
        await self.event_handler.reach("EHLO")
        if not await self._refuse("EHLO"):
            await super().smtp_EHLO(hostname)

    async def smtp_STARTTLS(self, arg: str) -> None:
        await self.event_handler.reach("STARTTLS")
        await super().smtp_STARTTLS(arg)

    async def smtp_AUTH(self, arg: str) -> None:
        await self.event_handler.reach("AUTH")
        await super().smtp_AUTH(arg)

    async def smtp_MAIL(self, arg: str) -> None:
        await self.event_handler.reach("MAIL")
        await super().smtp_MAIL(arg)

    async def smtp_RCPT(self, arg: str) -> None:
        await self.event_handler.reach("RCPT")
        await super().smtp_RCPT(arg)

    async def smtp_DATA(self, arg: str) -> None:
        await self.event_handler.reach("DATA")
        if not await self._refuse("DATA"):
            await super().smtp_DATA(arg)

    async def _refuse(self, command: str) -> bool:
        answer = self.event_handler.refuse_commands.get(command)
        if answer is not None:
            await self.push(answer)
        return answer is not None


def _judge(server: SMTP, session: Session, envelope: Envelope, kind: str, shown: Any) -> AuthResult:
    assert isinstance(shown, LoginPassword)
    right = (shown.login.decode(), shown.password.decode()) == (USER, PASSWORD)
    return AuthResult(success=right, handled=False)


@asynccontextmanager
async def mail_peer(
    bell: Bell,
    *,
    starttls: ssl.SSLContext | None = None,
    tls: ssl.SSLContext | None = None,
    login: bool = False,
    utf8: bool = True,
) -> AsyncIterator[MailPeer]:
    peer = MailPeer(bell)
    servers: list[SMTP] = []

    def make_server() -> SMTP:
        server = UnhurriedSmtp(
            peer,
            hostname="localhost",
            enable_SMTPUTF8=utf8,
            tls_context=starttls,
            require_starttls=starttls is not None,
            auth_required=login,
            auth_require_tls=starttls is not None,
            authenticator=_judge,
        )
        servers.append(server)
        return server

    loop = asyncio.get_running_loop()
    server = await loop.create_server(make_server, "127.0.0.1", 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    try:
        yield peer
    finally:
        server.close()
        for one in servers:
            if one.transport is not None:
                one.transport.abort()
