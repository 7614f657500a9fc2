"""Messages as data, the interface of a channel, TLS trust, and sentences about problems."""

import asyncio
import contextlib
import os
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct, field, structs

from leverframe.core.engine.calls import Notify
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.settings import Email, Gsm, HttpClient, Mqtt, Snmp

# Problems with a server, as sentences for users.
#
# Libraries wrap the cause in their own errors, so the innermost error is reported. No sentence
# contains anything that was sent.


def sentence(error: BaseException, host: str, port: int) -> str:
    """Describe why the server could not be reached, and what to check."""
    place = f"{host}:{port}"
    for cause in _causes(error):
        match cause:
            case socket.gaierror():
                return f"The name {host} cannot be resolved; check its spelling and the DNS."
            case ssl.SSLCertVerificationError():
                return (
                    f"The certificate of {place} is not trusted ({cause.verify_message}); add its"
                    f" certificate authority with --ca-file, or replace the certificate on the"
                    f" server."
                )
            case ssl.SSLError():
                why = (cause.reason or "no common protocol or cipher").replace("_", " ").lower()
                return f"TLS with {place} failed ({why}); check that this port uses TLS."
            case ConnectionRefusedError():
                return f"{place} refuses connections; check that the server runs on this port."
            case ConnectionError():
                return f"{place} closed the connection before it answered."
            case TimeoutError():
                return (
                    f"{place} does not answer in time; check that it is switched on and reachable."
                )
            case OSError(strerror=str() as why):
                return f"{place} cannot be reached: {why}."
    return f"{place} cannot be used: {type(error).__name__}."


def _causes(error: BaseException) -> Iterator[BaseException]:
    """List the error and its causes, innermost first."""
    chain = [error]
    while (below := chain[-1].__cause__ or chain[-1].__context__) is not None and len(chain) < 20:
        chain.append(below)
    return reversed(chain)


# A message of the outbox, in the forms in which it is stored and shown.

WAITING = "waiting"
SENT = "sent"
FAILED = "failed"
#: Kept instead of being sent, because the configuration requires it.
CAPTURED = "captured"


class MessageReport(Struct):
    """A message without its content."""

    #: Increases with each message; defines the order within a channel.
    number: int
    #: The name of its channel: `http1`, `email`.
    channel: str
    slot: int
    active: Annotated[bool, Meta(description="Whether the condition became met or ended.")]
    reason: Annotated[str, Meta(description="What requested it, for example `rule 3`.")]
    target: str
    created: Annotated[float, Meta(description="Seconds since 1970.")] = 0.0
    state: str = WAITING
    attempts: int = 0
    #: Why the message was not delivered, or why the last attempt failed.
    problem: str | None = None
    answer: Annotated[str | None, Meta(description="What the server answered.")] = None
    #: When the message was sent or given up.
    ended: Annotated[float | None, Meta(description="Seconds since 1970.")] = None
    uncertain: Annotated[
        bool,
        Meta(
            description="Whether an attempt ended after everything was sent, but before the"
            " server confirmed it; the message may then have arrived, perhaps more than once."
        ),
    ] = False


class Message(MessageReport):
    content: Annotated[dict[str, Any], Meta(description="Text of the message.")] = {}
    cause: Annotated[Cause | None, Meta(description="What requested it, with the reason.")] = None


def cause_of(message: Message) -> Cause:
    """Return the outbox as the cause of a journal entry, with the cause of the message."""
    if message.cause is None:
        return Cause("outbox", message.channel)
    return structs.replace(message.cause, kind="outbox", detail=message.channel)


def message_fact(message: Message, kind: str) -> Fact:
    """Return the outcome of a message as a fact for the journal."""
    figures = {
        "channel": message.channel,
        "slot": message.slot,
        "target": message.target,
        "reason": message.reason,
        "problem": message.problem or "",
    }
    return Fact(kind, figures=figures)


def without_content(message: Message) -> MessageReport:
    """Return a message without its content, because an address may contain a key."""
    fields = structs.asdict(message)
    del fields["content"], fields["cause"]
    return MessageReport(**fields)


# The interface between the outbox and a channel.
#
# A channel can write a message (`compose`, at the moment of the effect) and deliver it (`deliver`,
# perhaps hours later, with the channel's settings of that time). The outbox handles waiting, order,
# retries and storage.


class Draft(Struct, frozen=True):
    """A message for the outbox to store and send."""

    #: The recipient or address, for users; never a secret.
    target: str
    #: The data that `deliver` needs, as JSON; never a password.
    content: Mapping[str, Any] = field(default_factory=dict)
    #: The channel whose queue the message joins, if not this one: each recipient that can fail
    #: separately has its own queue.
    channel: str = ""


#: Returns the reason if nothing may be sent now because another node may own the controller, or
#: None.
WhyHeld = Callable[[], str | None]


class ChannelLimits(Struct, frozen=True):
    #: After this time the message is out of date.
    expires_s: float = 86_400.0
    #: If more messages wait, the oldest are dropped.
    max_waiting: int = 2_000
    #: Attempts per second on average, after a burst of `burst` attempts.
    per_s: float = 10.0
    burst: int = 20
    #: The total time limit of one attempt.
    timeout_s: float = 30.0
    #: The longest pause between two attempts.
    longest_pause_s: float = 120.0
    #: If an attempt takes longer than this, its message leaves the queue, so that the next one can
    #: be sent; `max_aside` limits the number of such messages. With 0 the order is always kept.
    patience_s: float = 0.0
    max_aside: int = 0


class CannotSend(Exception):
    """Why a message cannot be sent, and what the user can do, in one sentence without secrets.

    `final` means that a retry cannot help; otherwise the message is retried later.
    """

    def __init__(self, sentence: str, *, final: bool = False) -> None:
        super().__init__(sentence)
        self.final = final


class Channels(Protocol):
    """The settings of the channels: servers, logins and recipients.

    The settings of a controller satisfy this protocol.
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
        """Write the messages of an effect, one per recipient; none if there is nothing to send.

        Raise `CannotSend` if the channel is not set up.
        """

    def configuration(self, channels: Channels) -> object:
        """Return the settings on which delivery depends.

        When they change, waiting messages are retried immediately.
        """

    async def deliver(self, message: Message, channels: Channels) -> str:
        """Send a message and return a short description of the answer, or raise `CannotSend`."""

    def in_full(self, message: Message, channels: Channels) -> Mapping[str, Any]:
        """Return everything that would be sent now, without a password; may raise `CannotSend`."""

    async def close(self) -> None:
        """Release connections: the queue is empty or the program ends. Can be called repeatedly."""


# Trusted authorities: the TLS context for all connections to servers.
#
# The context contains the authorities of the system, or those that come with the program if the
# system has none, and those in `ca_file`. The context is created once, when it is first needed,
# because reading authorities takes tens of milliseconds.


class Trust:
    def __init__(
        self,
        ca_file: str | None = None,
        certificate: str | None = None,
        key: str | None = None,
    ) -> None:
        self._ca_file = ca_file
        #: The client certificate for servers that require one.
        self._certificate = certificate
        self._key = key

    async def ready(self) -> ssl.SSLContext:
        """Create the context in a thread; raise CannotSend if a file cannot be used."""
        return await asyncio.to_thread(lambda: self.context)

    @cached_property
    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if not _system_has_authorities():
            import certifi

            context.load_verify_locations(certifi.where())
        if self._ca_file is not None:
            _add_authorities(context, self._ca_file)
        if self._certificate is not None:
            _show(context, self._certificate, self._key)
        return context


def _add_authorities(context: ssl.SSLContext, ca_file: str) -> None:
    try:
        context.load_verify_locations(ca_file)
    except OSError as error:
        # The file existed at startup; since then it may have been replaced, or its disk removed.
        raise CannotSend(
            f"The CA file {ca_file} cannot be used ({error.strerror or error}); "
            "repair it, or set another ca_file in the configuration."
        ) from error


def _show(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    try:
        # With the empty password, loading a key with a passphrase fails instead of prompting:
        # no user is there to enter it.
        context.load_cert_chain(certificate, key, password="")
    except OSError as error:
        raise CannotSend(
            f"The certificate {certificate} and its key {key} cannot be used "
            f"({error.strerror or error}); check both files."
        ) from error


def _system_has_authorities() -> bool:
    paths = ssl.get_default_verify_paths()
    return paths.cafile is not None or bool(paths.capath and os.listdir(paths.capath))


# Messages as data: mails and HTTP requests, ready to be sent.

# The time limits of a mail server for each phase.


class MailDeadlines(Struct, frozen=True):
    """The deadlines of RFC 5321, 4.5.3.2; the RFC has none for connecting and for QUIT."""

    connect_s: float = 10.0
    greeting_s: float = 300.0
    #: For EHLO, STARTTLS, each step of the login, MAIL and RCPT.
    command_s: float = 300.0
    data_s: float = 120.0
    #: From sending the text, which is shorter than one block of the RFC, until the answer to its
    #: final dot.
    end_s: float = 600.0
    quit_s: float = 5.0


# A mail as text: envelope, headers and body.
#
# Line breaks and other control characters in the settings become spaces, so that no text can add a
# header. Importing this is cheap, so that a captured mail can be shown without loading the
# libraries that send mails.

DEFAULT_SUBJECT = "Message from {name}"
TRANSFER_ENCODING = "quoted-printable"
#: The headers of every body text.
HEADERS_OF_TEXT = {
    "Content-Type": 'text/plain; charset="utf-8"',
    "Content-Transfer-Encoding": TRANSFER_ENCODING,
    "MIME-Version": "1.0",
}

# Patterns as text: `re` compiles them at their first use, so that startup does not wait for them.
_PART = r"[^\s@<>()\[\],;:\"\\\x00-\x1f\x7f-\x9f]+"
_ADDRESS = f"{_PART}@{_PART}"
_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+"


class WrittenMail(Struct, frozen=True):
    sender: str
    recipient: str
    #: All headers except those of the body text.
    headers: dict[str, str]
    body: str


def write_mail(message: Message, email: Email, name: str) -> WrittenMail:
    """Write a mail; raise `CannotSend` if an address is invalid."""
    sender = _address(email.sender or email.username, "The sender", "em6")
    # Changing the recipient in the settings would not change this message.
    recipient = _address(message.target, "The recipient", "em5", final=True)
    made = datetime.fromtimestamp(message.created, UTC)
    maker = message.content.get("from_name", name)
    headers = {
        "From": sender,
        "To": recipient,
        "Subject": clean_text(email.subject) or DEFAULT_SUBJECT.format(name=name),
        # The program sets no locale, so the names are English, as mail requires.
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


# The HTTP request of a message as text: its server, method, address, headers and body.
#
# Importing this is cheap, so that a captured request can be shown without loading the library that
# sends requests.

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
    #: A body makes the request a POST.
    body: str | None
    username: str
    password: str

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"

    def headers(self, server: RemoteServer) -> dict[str, str]:
        """List all headers; the library adds none except a login that the server requests."""
        headers = {
            "Host": server.host_header,
            "User-Agent": "leverframe",
            "Accept": "*/*",
            # The answer is either not read or short, so compression is of no use.
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


# Reason codes with which an MQTT 5 broker refuses a publish. They are defined here because the link
# uses them before the MQTT library is loaded.

#: The lowest reason code of MQTT 5 that means a refusal, and descriptions of the codes that refuse
#: a publish.
FIRST_REFUSAL = 128
REASONS = {
    131: "without a known reason",
    135: "not authorized",
    144: "topic name invalid",
    149: "packet too large",
    151: "quota exceeded",
    153: "payload format invalid",
}
