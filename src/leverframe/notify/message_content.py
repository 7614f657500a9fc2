"""Messages as data: mails and HTTP requests, ready to be sent."""

import contextlib
import re
from datetime import UTC, datetime
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from leverframe.core.settings import Email
from leverframe.notify.channel import CannotSend, Message

# How long a mail server may take, phase by phase.


class MailDeadlines(Struct, frozen=True):
    """The deadlines of RFC 5321, 4.5.3.2; it says nothing of connecting and leaving."""

    connect_s: float = 10.0
    greeting_s: float = 300.0
    #: EHLO, STARTTLS, each step of the login, MAIL, RCPT.
    command_s: float = 300.0
    data_s: float = 120.0
    #: From the text, which is shorter than one block of the RFC's, to the answer to its final dot.
    end_s: float = 600.0
    quit_s: float = 5.0


# A mail written down: envelope, headers and body as texts.
#
# Line breaks and other control characters of the settings become spaces, so no text can add a
# header. It is light, so that a captured mail can be shown without what it takes to send one.

DEFAULT_SUBJECT = "Message from {name}"
TRANSFER_ENCODING = "quoted-printable"
#: The headers of every text.
HEADERS_OF_TEXT = {
    "Content-Type": 'text/plain; charset="utf-8"',
    "Content-Transfer-Encoding": TRANSFER_ENCODING,
    "MIME-Version": "1.0",
}

# Texts, which `re` compiles when they are first used: no start waits for them.
_PART = r"[^\s@<>()\[\],;:\"\\\x00-\x1f\x7f-\x9f]+"
_ADDRESS = f"{_PART}@{_PART}"
_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+"


class WrittenMail(Struct, frozen=True):
    sender: str
    recipient: str
    #: All but those of the text.
    headers: dict[str, str]
    body: str


def write_mail(message: Message, email: Email, name: str) -> WrittenMail:
    """Write a mail; raises `CannotSend` where an address is none."""
    sender = _address(email.sender or email.username, "The sender", "em6")
    # Another recipient in the settings would not change this message any more.
    recipient = _address(message.target, "The recipient", "em5", final=True)
    made = datetime.fromtimestamp(message.created, UTC)
    maker = message.content.get("from_name", name)
    headers = {
        "From": sender,
        "To": recipient,
        "Subject": clean_text(email.subject) or DEFAULT_SUBJECT.format(name=name),
        # The program sets no locale, so the names are the English ones that mail wants.
        "Date": made.strftime("%a, %d %b %Y %H:%M:%S +0000"),
        # The same at every attempt, so that a mail that arrives twice can be recognised.
        "Message-ID": f"<{message.number}.{message.created:.0f}@{maker}>",
        "Auto-Submitted": "auto-generated",
    }
    return WrittenMail(sender, recipient, headers, message.content["text"])


def _address(text: str, name: str, command: str, *, final: bool = False) -> str:
    if not re.fullmatch(_ADDRESS, text):
        problem = f"{name} {text[:80]!r} is not an e-mail address; set one with {command}=..."
        raise CannotSend(problem, final=final)
    return text


def clean_text(text: str) -> str:
    return re.sub(_CONTROL, " ", text).strip()


# One HTTP request of a message, written down: its server, method, address, headers and body.
#
# It is light, so that a captured request can be shown without what it takes to make one.

DEFAULT_PORTS = {"http": 80, "https": 443}


class RemoteServer(Struct, frozen=True):
    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> "RemoteServer":
        origin = urlsplit(text)
        return cls(
            origin.scheme, origin.hostname or "", origin.port or DEFAULT_PORTS[origin.scheme]
        )

    @property
    def host_header(self) -> str:
        return self.host if self.port == DEFAULT_PORTS[self.scheme] else str(self)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class OutgoingRequest(Struct, frozen=True):
    path: str
    #: Makes it a POST.
    body: str | None
    username: str
    password: str

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"

    def headers(self, server: RemoteServer) -> dict[str, str]:
        """List all headers, so that no library adds any but the login that a server asks for."""
        headers = {
            "Host": server.host_header,
            "User-Agent": "leverframe",
            "Accept": "*/*",
            # The answer is not read, or it is short.
            "Accept-Encoding": "identity",
            "Connection": "keep-alive",
        }
        if self.body is not None:
            headers["Content-Type"] = _content_type(self.body)
            headers["Content-Length"] = str(len(self.body.encode()))
        return headers


def _content_type(body: str) -> str:
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        if isinstance(msgspec.json.decode(body), dict | list):
            return "application/json"
    return "text/plain; charset=utf-8"
