"""The protocol of parameter types, and how raw text becomes text.

`parse` gets the raw text of a field, still percent-encoded, because an encoded separator inside a
text is no separator. `seen` holds the fields before it, for types that depend on them.
"""

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote, unquote_to_bytes

from leverframe.commands.table.refusals import BadValue
from leverframe.profile import Profile

Seen = Mapping[str, Any]
NOTHING_SEEN: Seen = {}


class Param(Protocol):
    def parse(self, raw: str, profile: Profile, seen: Seen) -> Any:
        """Return the value or raise `BadValue`; `seen` holds the fields before this one."""

    def format(self, value: Any, profile: Profile, seen: Seen) -> str: ...

    def describe_allowed(self, profile: Profile) -> str:
        """Describe the allowed texts: `0-5`, `up to 15 characters`."""

    def schema(self, profile: Profile) -> dict[str, Any]: ...

    def examples(self, profile: Profile, seen: Seen) -> list[str]: ...

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]: ...


def decode_text(raw: str, *, plus_is_space: bool = True) -> str:
    """Decode percent-encoded text; refuse what is not UTF-8, and control characters."""
    if plus_is_space:
        raw = raw.replace("+", " ")
    try:
        text = unquote_to_bytes(raw).decode("utf-8") if "%" in raw else raw
    except UnicodeDecodeError:
        raise BadValue(
            "The text is not valid UTF-8 after decoding.", value=raw, allowed="UTF-8 text"
        ) from None
    if not text.isprintable() and any(_is_control(letter) for letter in text):
        raise BadValue(
            "The text contains a control character.", value=raw, allowed="printable characters"
        )
    return text


def _is_control(letter: str) -> bool:
    return ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 or letter in "\u2028\u2029"


def encode_text(text: str) -> str:
    """Percent-encode, so that nothing can be mistaken for a separator."""
    return quote(text, safe="")
