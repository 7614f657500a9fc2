"""The reasons of values, as short texts with a number each: a series holds nothing but numbers.

A number follows from its text, so a history that moves to another file keeps its meaning. Texts of
messages are not kept: they may be confidential.
"""

from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from leverframe.engine.effects import Notify
from leverframe.engine.journal import Cause
from leverframe.engine.traces import Reason

#: More different ones are stored by their kind alone: callers from all addresses are no history.
MAX_TEXTS = 1000
#: A float64 holds such a number exactly.
_NUMBER_BYTES = 6

_decoder = msgspec.json.Decoder(Cause | tuple[str, int, bool, str, str | None])


def text_of(reason: Reason) -> str:
    if isinstance(reason, Cause):
        # The numbers that decided are in the history anyway, and differ each time.
        text: object = replace(reason, conditions=(), after=0, seconds=round(reason.seconds))
    else:
        text = [reason.channel, reason.slot, reason.active, reason.reason, reason.label]
    return msgspec.json.encode(text).decode()


def bare_text_of(reason: Reason) -> str:
    """Return the text of the kind alone, of which there are few."""
    if isinstance(reason, Cause):
        return text_of(Cause(reason.kind))
    return text_of(Notify(reason.channel, 0, reason.active, ""))


def reason_from(text: str) -> Reason:
    found = _decoder.decode(text)
    return found if isinstance(found, Cause) else Notify(*found)


def number_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=_NUMBER_BYTES).digest())
