"""One message of the outbox: what is stored of it, and what is shown of it."""

from typing import Any

from msgspec import Struct, field

WAITING = "waiting"
SENT = "sent"
FAILED = "failed"
#: Kept instead of being sent, because the program was told so.
CAPTURED = "captured"


class Message(Struct):
    #: Counts up; the order within a channel.
    number: int
    #: The name of its channel: `http1`, `email`.
    channel: str
    slot: int
    active: bool
    #: Who asked for it: `rule 3`, `test`.
    reason: str
    target: str
    content: dict[str, Any] = field(default_factory=dict)
    #: Seconds since 1970 when the effect occurred.
    created: float = 0.0
    state: str = WAITING
    attempts: int = 0
    #: Why it has not been delivered, or the last attempt failed.
    problem: str | None = None
    #: What the other side answered.
    answer: str | None = None
    #: Seconds since 1970 when it was sent or given up.
    ended: float | None = None


def shown(message: Message) -> dict[str, Any]:
    """Show a message in `/api/outbox`; in full only if captured: an address may hold a key."""
    fields = {
        name: getattr(message, name) for name in message.__struct_fields__ if name != "content"
    }
    if message.state == CAPTURED:
        fields["content"] = message.content
    return fields
