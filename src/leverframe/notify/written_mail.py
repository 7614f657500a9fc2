"""A mail written down: envelope, headers and body as texts.

Line breaks and other control characters of the settings become spaces, so no text can add a header.
It is light, so that a captured mail can be shown without what it takes to send one.
"""

import re
from datetime import UTC, datetime

from msgspec import Struct

from leverframe.engine.settings import Email
from leverframe.notify.channel import CannotSend
from leverframe.notify.message import Message

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
