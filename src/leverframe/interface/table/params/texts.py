"""The protocol of parameter types, and the types of texts."""

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

from leverframe.core.profile import Profile
from leverframe.interface.table.refusals import BadValue

# The protocol of parameter types, and the decoding of raw text.
#
# `parse` gets the raw text of a field, still percent-encoded, because an encoded separator inside a
# text is not a separator. `seen` contains the earlier fields, for types that depend on them.

Seen = Mapping[str, Any]
NOTHING_SEEN: Seen = {}


class Param(Protocol):
    def parse(self, raw: str, profile: Profile, seen: Seen) -> Any:
        """Return the value or raise `BadValue`; `seen` contains the earlier fields."""

    def format(self, value: Any, profile: Profile, seen: Seen) -> str: ...

    def describe_allowed(self, profile: Profile) -> str:
        """Describe the allowed texts: `0-5`, `up to 15 characters`."""

    def schema(self, profile: Profile) -> dict[str, Any]: ...

    def examples(self, profile: Profile, seen: Seen) -> list[str]: ...

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]: ...


def decode_text(raw: str, *, plus_is_space: bool = True) -> str:
    """Decode percent-encoded text; refuse invalid UTF-8 and control characters."""
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
    """Percent-encode a text, so that nothing in it can be mistaken for a separator."""
    return quote(text, safe="")


# Texts with a maximum length, and texts of a certain form.


class Text(Struct, frozen=True):
    """Up to `most` characters (not bytes); longer texts are rejected, never truncated."""

    most: int
    least: int = 0
    pattern: str | None = None
    #: A description of what the pattern requires, with texts that match and texts that do not.
    form: str = ""
    fitting: tuple[str, ...] = ()
    unfitting: tuple[str, ...] = ()

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str:
        text = decode_text(raw)
        if not self.least <= len(text) <= self.most:
            raise BadValue(
                f"The text has {len(text)} characters.",
                value=text,
                allowed=self.describe_allowed(profile),
            )
        if self.pattern and not re.fullmatch(self.pattern, text):
            raise BadValue(
                f"{text!r} has the wrong format.",
                value=text,
                allowed=self.describe_allowed(profile),
            )
        return text

    def format(self, value: str, profile: Profile, seen: Seen) -> str:
        return encode_text(value)

    def describe_allowed(self, profile: Profile) -> str:
        length = (
            f"{self.least} to {self.most} characters"
            if self.least
            else f"up to {self.most} characters"
        )
        return f"{length}, {self.form}" if self.form else length

    def schema(self, profile: Profile) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string", "maxLength": self.most}
        if self.least:
            schema["minLength"] = self.least
        if self.pattern:
            schema["pattern"] = f"^(?:{self.pattern})$"
            schema["description"] = self.form
        return schema

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        if self.pattern:
            return [encode_text(text) for text in self.fitting]
        return [
            encode_text("x" * self.least),
            encode_text(("Ogród *&=+%\"'" * self.most)[: self.most]),
        ]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        too_short = [encode_text("x" * (self.least - 1))] if self.least else []
        unfitting = [encode_text(text) for text in self.unfitting]
        garbage = ["%FF%FE", "%00", "%0A", "%C3%28"]
        return [encode_text("ą" * (self.most + 1)), *too_short, *unfitting, *garbage]


class Phone(Struct, frozen=True):
    """A telephone number: digits, optionally after a plus, which need not be percent-encoded."""

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str:
        text = decode_text(raw, plus_is_space=False)
        if not re.fullmatch(r"\+?[0-9]{3,20}", text):
            raise BadValue(
                f"{text!r} is not a telephone number.",
                value=text,
                allowed=self.describe_allowed(profile),
            )
        return text

    def format(self, value: str, profile: Profile, seen: Seen) -> str:
        return encode_text(value)

    def describe_allowed(self, profile: Profile) -> str:
        return "3 to 20 digits, optionally after a plus"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": "^\\+?[0-9]{3,20}$",
            "description": self.describe_allowed(profile),
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["+48123456789", "112", "%2B48123456789"]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return ["12", "x12345", "1234567890123456789012"]


class OneWireId(Struct, frozen=True):
    """Eight hexadecimal bytes separated by colons."""

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str:
        text = decode_text(raw)
        if not re.fullmatch(r"[0-9A-F]{2}(:[0-9A-F]{2}){7}", text):
            raise BadValue(
                f"{text!r} is not a 1-Wire ID.", value=text, allowed=self.describe_allowed(profile)
            )
        return text

    def format(self, value: str, profile: Profile, seen: Seen) -> str:
        return value

    def describe_allowed(self, profile: Profile) -> str:
        return "eight bytes of 0-9 and A-F separated by colons, like 28:FF:64:1E:8C:16:03:5A"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": "^[0-9A-F]{2}(:[0-9A-F]{2}){7}$",
            "description": self.describe_allowed(profile),
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["28:FF:64:1E:8C:16:03:5A", "00:00:00:00:00:00:00:00", "FF%3AFF" + ":FF" * 6]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return ["28:FF:64:1E:8C:16:03", "28:ff:64:1e:8c:16:03:5a", "2G" + ":00" * 7, "", "0"]


class Base64Text(Struct, frozen=True):
    """A text sent as Base64, in which a plus sign is not a space."""

    most: int
    least: int = 0

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str:
        packed = decode_text(raw, plus_is_space=False)
        try:
            text = b64decode(packed, validate=True).decode("utf-8")
        except (ValueError, UnicodeDecodeError):
            raise BadValue(
                "The text is not Base64.", allowed=self.describe_allowed(profile)
            ) from None
        if not self.least <= len(text) <= self.most or not text.isprintable():
            raise BadValue("The text is not allowed.", allowed=self.describe_allowed(profile))
        return text

    def format(self, value: str, profile: Profile, seen: Seen) -> str:
        return encode_text(b64encode(value.encode()).decode())

    def describe_allowed(self, profile: Profile) -> str:
        return f"Base64 of {self.least} to {self.most} printable characters"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {
            "type": "string",
            "contentEncoding": "base64",
            "minLength": self.least,
            "maxLength": self.most,
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return [self.format(text, profile, seen) for text in ("x" * self.least, "ż" * self.most)]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return [self.format("x" * (self.most + 1), profile, seen), "%%%", "ab", "/w=="]
