"""One message of the outbox: what is stored of it, and what is shown of it."""

from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from leverframe.engine.facts import Fact
from leverframe.engine.journal import Cause

WAITING = "waiting"
SENT = "sent"
FAILED = "failed"
#: Kept instead of being sent, because the configuration says so.
CAPTURED = "captured"


class MessageReport(Struct):
    """All of a message but what it says."""

    #: Counts up; the order within a channel.
    number: int
    #: The name of its channel: `http1`, `email`.
    channel: str
    slot: int
    active: Annotated[bool, Meta(description="Did the condition start or stop being met?")]
    reason: Annotated[str, Meta(description="What requested it, for example `rule 3`.")]
    target: str
    created: Annotated[float, Meta(description="Seconds since 1970.")] = 0.0
    state: str = WAITING
    attempts: int = 0
    #: Why it has not been delivered, or the last attempt failed.
    problem: str | None = None
    answer: Annotated[str | None, Meta(description="What the server answered.")] = None
    #: When it was sent or given up.
    ended: Annotated[float | None, Meta(description="Seconds since 1970.")] = None
    uncertain: Annotated[
        bool,
        Meta(
            description="Did an attempt end after everything was sent, but before the server "
            "confirmed it? Then the message may have arrived, perhaps more than once."
        ),
    ] = False


class Message(MessageReport):
    content: Annotated[dict[str, Any], Meta(description="Text of the message.")] = {}
    cause: Annotated[Cause | None, Meta(description="What requested it, with the reason.")] = None


def cause_of(message: Message) -> Cause:
    """Return the outbox as a cause in the journal, with what decided about the message."""
    if message.cause is None:
        return Cause("outbox", message.channel)
    return structs.replace(message.cause, kind="outbox", detail=message.channel)


def message_fact(message: Message, kind: str) -> Fact:
    """Return what became of a message, for the journal."""
    figures = {
        "channel": message.channel,
        "slot": message.slot,
        "target": message.target,
        "reason": message.reason,
        "problem": message.problem or "",
    }
    return Fact(kind, figures=figures)


def without_content(message: Message) -> MessageReport:
    """Leave out what a message says: an address may hold a key."""
    fields = structs.asdict(message)
    del fields["content"], fields["cause"]
    return MessageReport(**fields)
