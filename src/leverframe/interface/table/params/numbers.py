"""Numbers, flags, bits and codes."""

import re
from functools import lru_cache
from typing import Any

from msgspec import Struct

from leverframe.core.profile import Profile, Spans, is_offered
from leverframe.interface.table.codes import CodeTable
from leverframe.interface.table.params.texts import Param, Seen, decode_text
from leverframe.interface.table.refusals import BadValue

INT32 = 2147483647
_INTEGER = re.compile(r"-?[0-9]{1,19}")
#: Numbers up to this limit are indices, which may not have leading zeros: `out00` is invalid.
#: Quantities may have leading zeros.
_MAX_COUNTED = 99


def integer(raw: str, param: Param, profile: Profile) -> int:
    if _INTEGER.fullmatch(raw):
        # The usual case, in which nothing needs to be decoded.
        return int(raw)
    text = decode_text(raw)
    if not _INTEGER.fullmatch(text):
        raise BadValue(
            f"{text!r} is not a whole number.", value=text, allowed=param.describe_allowed(profile)
        )
    return int(text)


class Int(Struct, frozen=True):
    lo: int
    hi: int

    def parse(self, raw: str, profile: Profile, seen: Seen) -> int:
        value = integer(raw, self, profile)
        if not self.lo <= value <= self.hi:
            raise BadValue(
                f"{value} is outside {self.lo} to {self.hi}.",
                value=str(value),
                allowed=self.describe_allowed(profile),
            )
        if self.hi <= _MAX_COUNTED and len(raw) > len(str(self.hi)):
            text = decode_text(raw)
            if len(text) > len(str(self.hi)):
                raise BadValue(
                    f"{text!r} has more characters than {self.hi}.",
                    value=text,
                    allowed=self.describe_allowed(profile),
                )
        return value

    def format(self, value: int, profile: Profile, seen: Seen) -> str:
        return str(value)

    def describe_allowed(self, profile: Profile) -> str:
        return f"{self.lo} to {self.hi}"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.lo, "maximum": self.hi}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(self.lo), str(self.hi)]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        padded = [f"0{self.hi}"] if self.hi <= _MAX_COUNTED else []
        return [str(self.lo - 1), str(self.hi + 1), "", "x", "1.5", "%31x", "9" * 30, *padded]


class Flag(Struct, frozen=True):
    """0 or 1 in the protocol, a boolean in the program."""

    def parse(self, raw: str, profile: Profile, seen: Seen) -> bool:
        return bool(Int(0, 1).parse(raw, profile, seen))

    def format(self, value: bool, profile: Profile, seen: Seen) -> str:
        return "1" if value else "0"

    def describe_allowed(self, profile: Profile) -> str:
        return "0 or 1"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "integer", "enum": [0, 1], "x-flag": True}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["0", "1"]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return ["-1", "2", "", "on"]


class Scaled(Struct, frozen=True):
    """A whole number in the protocol, which is a multiple of the value in the program."""

    factor: int
    lo: int = -INT32 - 1
    hi: int = INT32

    def parse(self, raw: str, profile: Profile, seen: Seen) -> float:
        return Int(self.lo, self.hi).parse(raw, profile, seen) / self.factor

    def format(self, value: float, profile: Profile, seen: Seen) -> str:
        return str(round(value * self.factor))

    def describe_allowed(self, profile: Profile) -> str:
        return f"{self.lo} to {self.hi}, the value times {self.factor}"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {
            "type": "integer",
            "minimum": self.lo,
            "maximum": self.hi,
            "x-factor": self.factor,
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(self.lo), str(self.hi), str(min(max(self.lo, 1), self.hi))]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return Int(self.lo, self.hi).bad_texts(profile, seen)


class Seconds10(Struct, frozen=True):
    """Tens of seconds in the protocol, seconds in the program."""

    lo: int
    hi: int

    def parse(self, raw: str, profile: Profile, seen: Seen) -> int:
        return Int(self.lo, self.hi).parse(raw, profile, seen) * 10

    def format(self, value: int, profile: Profile, seen: Seen) -> str:
        return str(value // 10)

    def describe_allowed(self, profile: Profile) -> str:
        return f"{self.lo} to {self.hi}, in tens of seconds"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.lo, "maximum": self.hi, "x-unit": "10 s"}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(self.lo), str(self.hi)]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return Int(self.lo, self.hi).bad_texts(profile, seen)


class Word(Struct, frozen=True):
    """A code of a code table in the protocol; in the program its word (or the word as a number)."""

    table: CodeTable
    #: Converts words that are numbers (gain, bitrate, divisor) to numbers.
    numeric: bool = False

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str | int:
        number = integer(raw, self, profile)
        word = self.table.word(number, profile)
        if word is None:
            raise BadValue(
                f"{number} is not a {self.table.name} code of this version.",
                value=str(number),
                allowed=self.describe_allowed(profile),
            )
        return int(word) if self.numeric else word

    def format(self, value: str | int, profile: Profile, seen: Seen) -> str:
        return str(self.table.number(str(value), profile))

    def describe_allowed(self, profile: Profile) -> str:
        return _codes_in_words(self.table, profile)

    def schema(self, profile: Profile) -> dict[str, Any]:
        codes = sorted(self.table.of(profile), key=lambda code: code.number)
        return {
            "type": "integer",
            "enum": [code.number for code in codes],
            "x-words": {str(code.number): code.word for code in codes},
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(code.number) for code in self.table.of(profile)]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        known = {code.number for code in self.table.of(profile)}
        beside = {number + step for number in known for step in (-1, 1)}
        return [str(number) for number in sorted(beside - known)] + ["", "x"]


@lru_cache(maxsize=1024)
def _codes_in_words(table: CodeTable, profile: Profile) -> str:
    return f"{table.name} codes {_ranges(sorted(code.number for code in table.of(profile)))}"


def _ranges(numbers: list[int]) -> str:
    """Write `0-5, 8` for 0 1 2 3 4 5 8."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


class Bits(Struct, frozen=True):
    """A number whose lowest bits are flags; a tuple of booleans in the program, lowest first."""

    count: int

    def parse(self, raw: str, profile: Profile, seen: Seen) -> tuple[bool, ...]:
        mask = Int(0, 2**self.count - 1).parse(raw, profile, seen)
        return tuple(bool(mask >> bit & 1) for bit in range(self.count))

    def format(self, value: tuple[bool, ...], profile: Profile, seen: Seen) -> str:
        return str(sum(1 << bit for bit, on in enumerate(value) if on))

    def describe_allowed(self, profile: Profile) -> str:
        return f"0 to {2**self.count - 1}, {self.count} bits"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {
            "type": "integer",
            "minimum": 0,
            "maximum": 2**self.count - 1,
            "x-bits": self.count,
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(1 << bit) for bit in range(self.count)] + ["0", str(2**self.count - 1)]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return Int(0, 2**self.count - 1).bad_texts(profile, seen)


class Position(Struct, frozen=True):
    """A position of a stored variable that this version does not use for a page setting."""

    count: int
    #: (position, the versions that use it for a user-interface setting)
    taken: tuple[tuple[int, Spans], ...] = ()

    def free(self, profile: Profile) -> list[int]:
        used = {position for position, spans in self.taken if is_offered(spans, profile)}
        return [position for position in range(self.count) if position not in used]

    def parse(self, raw: str, profile: Profile, seen: Seen) -> int:
        value = Int(0, self.count - 1).parse(raw, profile, seen)
        if value not in self.free(profile):
            raise BadValue(
                f"{value} is not a free position.",
                value=str(value),
                allowed=self.describe_allowed(profile),
            )
        return value

    def format(self, value: int, profile: Profile, seen: Seen) -> str:
        return str(value)

    def describe_allowed(self, profile: Profile) -> str:
        return _ranges(self.free(profile))

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "integer", "enum": self.free(profile)}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(position) for position in self.free(profile)]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(self.count)]
