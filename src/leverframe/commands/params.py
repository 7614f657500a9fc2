"""Parameter types: text on the wire to values in real units, and back.

Each type has both directions (`parse`, `format`), says in words what it allows, gives a JSON schema
for forms and reference, and gives examples that must be accepted and texts that must be refused,
from which the conformance tests are made. `parse` gets the raw text, still percent-encoded, because
an encoded separator inside a text is no separator.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol
from urllib.parse import quote, unquote_to_bytes

from leverframe.commands.codes import I2C_SENSORS, CodeTable
from leverframe.commands.refusals import BadValue, Refusal
from leverframe.profile import ALWAYS, Profile, Spans, offered, spans_in_words

Seen = Mapping[str, Any]
NOTHING_SEEN: Seen = {}

INT32 = 2147483647
_INTEGER = re.compile(r"-?[0-9]{1,19}")


class Param(Protocol):
    def parse(self, raw: str, profile: Profile, seen: Seen) -> Any:
        """The value, or `BadValue`; `seen` holds the fields before this one."""

    def format(self, value: Any, profile: Profile, seen: Seen) -> str: ...

    def allowed(self, profile: Profile) -> str:
        """What may be sent, in words: `0-5`, `up to 15 characters`."""

    def schema(self, profile: Profile) -> dict[str, Any]: ...

    def examples(self, profile: Profile, seen: Seen) -> list[str]: ...

    def refused(self, profile: Profile, seen: Seen) -> list[str]: ...


def decoded(raw: str, *, plus_is_space: bool = True) -> str:
    """Percent-decoded text; refuses what is not UTF-8 and control characters."""
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


def encoded(text: str) -> str:
    """Percent-encoded so that nothing in it can be mistaken for a separator."""
    return quote(text, safe="")


def integer(raw: str, allowed: str) -> int:
    text = decoded(raw)
    if not _INTEGER.fullmatch(text):
        raise BadValue(f"{text!r} is not a whole number.", value=text, allowed=allowed)
    return int(text)


@dataclass(frozen=True, slots=True)
class Int:
    lo: int
    hi: int

    def parse(self, raw: str, profile: Profile, seen: Seen) -> int:
        value = integer(raw, self.allowed(profile))
        if not self.lo <= value <= self.hi:
            raise BadValue(
                f"{value} is outside {self.lo} to {self.hi}.",
                value=str(value),
                allowed=self.allowed(profile),
            )
        return value

    def format(self, value: int, profile: Profile, seen: Seen) -> str:
        return str(value)

    def allowed(self, profile: Profile) -> str:
        return f"{self.lo} to {self.hi}"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.lo, "maximum": self.hi}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(self.lo), str(self.hi)]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(self.lo - 1), str(self.hi + 1), "", "x", "1.5", "%31x", "9" * 30]


@dataclass(frozen=True, slots=True)
class Flag:
    """0 or 1 on the wire, a boolean inside."""

    def parse(self, raw: str, profile: Profile, seen: Seen) -> bool:
        return bool(Int(0, 1).parse(raw, profile, seen))

    def format(self, value: bool, profile: Profile, seen: Seen) -> str:
        return "1" if value else "0"

    def allowed(self, profile: Profile) -> str:
        return "0 or 1"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "integer", "enum": [0, 1], "x-flag": True}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["0", "1"]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return ["-1", "2", "", "on"]


@dataclass(frozen=True, slots=True)
class Scaled:
    """A whole number on the wire, that many times the real value."""

    factor: int
    lo: int = -INT32 - 1
    hi: int = INT32

    def parse(self, raw: str, profile: Profile, seen: Seen) -> float:
        return Int(self.lo, self.hi).parse(raw, profile, seen) / self.factor

    def format(self, value: float, profile: Profile, seen: Seen) -> str:
        return str(round(value * self.factor))

    def allowed(self, profile: Profile) -> str:
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

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return Int(self.lo, self.hi).refused(profile, seen)


@dataclass(frozen=True, slots=True)
class Seconds10:
    """Tens of seconds on the wire, seconds inside."""

    lo: int
    hi: int

    def parse(self, raw: str, profile: Profile, seen: Seen) -> int:
        return Int(self.lo, self.hi).parse(raw, profile, seen) * 10

    def format(self, value: int, profile: Profile, seen: Seen) -> str:
        return str(value // 10)

    def allowed(self, profile: Profile) -> str:
        return f"{self.lo} to {self.hi}, in tens of seconds"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.lo, "maximum": self.hi, "x-unit": "10 s"}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(self.lo), str(self.hi)]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return Int(self.lo, self.hi).refused(profile, seen)


@dataclass(frozen=True, slots=True)
class Text:
    """Up to `most` characters (letters, not bytes); longer texts are refused, never cut."""

    most: int
    least: int = 0
    pattern: str | None = None
    #: Says in words what the pattern wants, with texts that fit it and texts that do not.
    form: str = ""
    fitting: tuple[str, ...] = ()
    unfitting: tuple[str, ...] = ()

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str:
        text = decoded(raw)
        if not self.least <= len(text) <= self.most:
            raise BadValue(
                f"The text has {len(text)} characters.", value=text, allowed=self.allowed(profile)
            )
        if self.pattern and not re.fullmatch(self.pattern, text):
            raise BadValue(
                f"{text!r} does not have the right form.",
                value=text,
                allowed=self.allowed(profile),
            )
        return text

    def format(self, value: str, profile: Profile, seen: Seen) -> str:
        return encoded(value)

    def allowed(self, profile: Profile) -> str:
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
            return [encoded(text) for text in self.fitting]
        return [encoded("x" * self.least), encoded(("Ogród *&=+%\"'" * self.most)[: self.most])]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        too_short = [encoded("x" * (self.least - 1))] if self.least else []
        unfitting = [encoded(text) for text in self.unfitting]
        garbage = ["%FF%FE", "%00", "%0A", "%C3%28"]
        return [encoded("ą" * (self.most + 1)), *too_short, *unfitting, *garbage]


@dataclass(frozen=True, slots=True)
class Word:
    """A number of a code table on the wire, its word inside (or the word as a number)."""

    table: CodeTable
    #: Turns words that are numbers (gain, bitrate, divisor) into numbers.
    numeric: bool = False

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str | int:
        number = integer(raw, self.allowed(profile))
        word = self.table.word(number, profile)
        if word is None:
            raise BadValue(
                f"{number} is not a {self.table.name} code of this version.",
                value=str(number),
                allowed=self.allowed(profile),
            )
        return int(word) if self.numeric else word

    def format(self, value: str | int, profile: Profile, seen: Seen) -> str:
        return str(self.table.number(str(value), profile))

    def allowed(self, profile: Profile) -> str:
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

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        known = {code.number for code in self.table.of(profile)}
        beside = {number + step for number in known for step in (-1, 1)}
        return [str(number) for number in sorted(beside - known)] + ["", "x"]


@lru_cache(maxsize=1024)
def _codes_in_words(table: CodeTable, profile: Profile) -> str:
    return f"{table.name} codes {_ranges(sorted(code.number for code in table.of(profile)))}"


def _ranges(numbers: list[int]) -> str:
    """`0-5, 8` for 0 1 2 3 4 5 8."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


@dataclass(frozen=True, slots=True)
class Bits:
    """A number whose lowest bits are flags; inside a tuple of booleans, first bit first."""

    count: int

    def parse(self, raw: str, profile: Profile, seen: Seen) -> tuple[bool, ...]:
        mask = Int(0, 2**self.count - 1).parse(raw, profile, seen)
        return tuple(bool(mask >> bit & 1) for bit in range(self.count))

    def format(self, value: tuple[bool, ...], profile: Profile, seen: Seen) -> str:
        return str(sum(1 << bit for bit, on in enumerate(value) if on))

    def allowed(self, profile: Profile) -> str:
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

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return Int(0, 2**self.count - 1).refused(profile, seen)


@dataclass(frozen=True, slots=True)
class ListOf:
    """Items joined by a separator, exactly as many as the profile has."""

    item: Param
    #: How many; a function of the profile where versions differ.
    count: Any
    separator: str = "*"
    least: int | None = None

    def most(self, profile: Profile) -> int:
        return int(self.count(profile) if callable(self.count) else self.count)

    def _fits(self, count: int, profile: Profile) -> bool:
        most = self.most(profile)
        return count == most if self.least is None else self.least <= count <= most

    def parse(self, raw: str, profile: Profile, seen: Seen) -> tuple[Any, ...]:
        if self.least == 0 and raw == "":
            return ()
        parts = raw.split(self.separator) if self.separator else list(raw)
        if not self._fits(len(parts), profile):
            raise BadValue(
                f"The list has {len(parts)} items.",
                value=raw if len(raw) < 80 else None,
                allowed=self.allowed(profile),
            )
        return tuple(self.item.parse(part, profile, seen) for part in parts)

    def format(self, value: tuple[Any, ...], profile: Profile, seen: Seen) -> str:
        return self.separator.join(self.item.format(item, profile, seen) for item in value)

    def allowed(self, profile: Profile) -> str:
        count = self.most(profile)
        number = f"{count}" if self.least is None else f"{self.least} to {count}"
        joined = f"joined by {self.separator}" if self.separator else "without separators"
        return f"{number} items {joined}, each {self.item.allowed(profile)}"

    def schema(self, profile: Profile) -> dict[str, Any]:
        most = self.most(profile)
        return {
            "type": "array",
            "items": self.item.schema(profile),
            "minItems": most if self.least is None else self.least,
            "maxItems": most,
            "x-separator": self.separator,
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        most = self.most(profile)
        samples = self.item.examples(profile, seen)
        full = [self.separator.join([sample] * most) for sample in samples]
        return full if self.least is None else [*full, self.separator.join(samples[:1])]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        most = self.most(profile)
        good, *_ = self.item.examples(profile, seen)
        bad = self.item.refused(profile, seen)[0]
        return [
            self.separator.join([good] * (most + 1)),
            self.separator.join([good] * (most - 1)) if self.least is None else bad,
            self.separator.join([bad] + [good] * (most - 1)),
        ]


@dataclass(frozen=True, slots=True)
class Record:
    """Several named fields joined by `*`, all of them given."""

    fields: tuple[tuple[str, Param], ...]

    def parse(self, raw: str, profile: Profile, seen: Seen) -> dict[str, Any]:
        parts = raw.split("*")
        if len(parts) != len(self.fields):
            raise BadValue(f"{len(parts)} fields were given.", allowed=self.allowed(profile))
        return {
            name: param.parse(part, profile, seen)
            for (name, param), part in zip(self.fields, parts, strict=True)
        }

    def format(self, value: Mapping[str, Any], profile: Profile, seen: Seen) -> str:
        return "*".join(param.format(value[name], profile, seen) for name, param in self.fields)

    def allowed(self, profile: Profile) -> str:
        named = ", ".join(f"{name} ({param.allowed(profile)})" for name, param in self.fields)
        return f"{len(self.fields)} fields joined by *: {named}"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: param.schema(profile) for name, param in self.fields},
            "x-separator": "*",
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        samples = [param.examples(profile, seen) for _, param in self.fields]
        return ["*".join(sample[0] for sample in samples), "*".join(s[-1] for s in samples)]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        samples = [param.examples(profile, seen)[0] for _, param in self.fields]
        bad = self.fields[0][1].refused(profile, seen)[0]
        return ["*".join(samples[:-1]), "*".join([bad, *samples[1:]]), ""]


@dataclass(frozen=True, slots=True)
class Depends:
    """A field whose type follows from an earlier field's value."""

    on: str
    #: (values of the earlier field, the type then)
    cases: tuple[tuple[Collection[Any], Param], ...]

    def case(self, seen: Seen) -> Param:
        value = seen[self.on]
        return next(param for values, param in self.cases if value in values)

    def parse(self, raw: str, profile: Profile, seen: Seen) -> Any:
        return self.case(seen).parse(raw, profile, seen)

    def format(self, value: Any, profile: Profile, seen: Seen) -> str:
        return self.case(seen).format(value, profile, seen)

    def allowed(self, profile: Profile) -> str:
        words = dict.fromkeys(param.allowed(profile) for _, param in self.cases)
        return f"depending on {self.on}: " + "; or ".join(words)

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {
            "x-depends": self.on,
            "oneOf": [
                param.schema(profile) | {"x-when": sorted(map(str, values))}
                for values, param in self.cases
            ],
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return self.case(seen).examples(profile, seen)

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return self.case(seen).refused(profile, seen)


@dataclass(frozen=True, slots=True)
class Changed:
    """A type that is not the same on all versions: the first whose spans cover the profile."""

    versions: tuple[tuple[Spans, Param], ...]

    def pick(self, profile: Profile) -> Param:
        return next(param for spans, param in self.versions if offered(spans, profile))

    def parse(self, raw: str, profile: Profile, seen: Seen) -> Any:
        return self.pick(profile).parse(raw, profile, seen)

    def format(self, value: Any, profile: Profile, seen: Seen) -> str:
        return self.pick(profile).format(value, profile, seen)

    def allowed(self, profile: Profile) -> str:
        return self.pick(profile).allowed(profile)

    def schema(self, profile: Profile) -> dict[str, Any]:
        return self.pick(profile).schema(profile)

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return self.pick(profile).examples(profile, seen)

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return self.pick(profile).refused(profile, seen)


@dataclass(frozen=True, slots=True)
class Trailing:
    """A last field that older versions do not have, and that may be left out where they do."""

    param: Param
    default: Any
    when: Spans = ALWAYS

    def parse(self, raw: str, profile: Profile, seen: Seen) -> Any:
        return self.param.parse(raw, profile, seen)

    def format(self, value: Any, profile: Profile, seen: Seen) -> str:
        return self.param.format(value, profile, seen)

    def allowed(self, profile: Profile) -> str:
        return self.param.allowed(profile)

    def schema(self, profile: Profile) -> dict[str, Any]:
        return self.param.schema(profile) | {"x-optional": True}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return self.param.examples(profile, seen)

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return self.param.refused(profile, seen)


def parse_field(
    letter: str, param: Param, texts: Mapping[str, str], profile: Profile, seen: Seen
) -> Any:
    """The value of one field of a form; a trailing field that was not sent has its default."""
    if isinstance(param, Trailing):
        if letter not in texts:
            return param.default
        if not offered(param.when, profile):
            raise BadValue(
                f"{profile} does not have the field {letter}; "
                f"it exists in {spans_in_words(param.when)}.",
                field=letter,
                value=texts[letter],
                allowed="the fields before it",
            )
    try:
        return param.parse(texts[letter], profile, seen)
    except Refusal as refusal:
        raise refusal.of("", letter) from None


@dataclass(frozen=True, slots=True)
class Position:
    """A position among the stored variables, without those that this version uses for itself."""

    count: int
    #: (position, the versions that use it for a user-interface setting)
    taken: tuple[tuple[int, Spans], ...] = ()

    def free(self, profile: Profile) -> list[int]:
        used = {position for position, spans in self.taken if offered(spans, profile)}
        return [position for position in range(self.count) if position not in used]

    def parse(self, raw: str, profile: Profile, seen: Seen) -> int:
        value = integer(raw, self.allowed(profile))
        if value not in self.free(profile):
            raise BadValue(
                f"{value} is not a free position.", value=str(value), allowed=self.allowed(profile)
            )
        return value

    def format(self, value: int, profile: Profile, seen: Seen) -> str:
        return str(value)

    def allowed(self, profile: Profile) -> str:
        return _ranges(self.free(profile))

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "integer", "enum": self.free(profile)}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(position) for position in self.free(profile)]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return [str(self.count)]


@dataclass(frozen=True, slots=True)
class MappingItem:
    """A slot digit directly followed by a reading number: `112` is reading 12 of slot 1."""

    def slots(self, profile: Profile) -> int:
        return 6 if profile.since("1.57") else 3

    def parse(self, raw: str, profile: Profile, seen: Seen) -> tuple[int, int]:
        slot = Int(0, self.slots(profile)).parse(raw[:1], profile, seen)
        return slot, Int(0, 29).parse(raw[1:], profile, seen)

    def format(self, value: tuple[int, int], profile: Profile, seen: Seen) -> str:
        return f"{value[0]}{value[1]}"

    def allowed(self, profile: Profile) -> str:
        return f"slot 0 to {self.slots(profile)} and reading 0 to 29"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^[0-{self.slots(profile)}][0-9]{{1,2}}$"}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["00", "10", "329", f"{self.slots(profile)}2"]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return [f"{self.slots(profile) + 1}0", "130", "1", "", "x1"]


@dataclass(frozen=True, slots=True)
class Phone:
    """A telephone number: digits, perhaps after a plus, which stays a plus even unencoded."""

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str:
        text = decoded(raw, plus_is_space=False)
        if not re.fullmatch(r"\+?[0-9]{3,20}", text):
            raise BadValue(
                f"{text!r} is not a telephone number.", value=text, allowed=self.allowed(profile)
            )
        return text

    def format(self, value: str, profile: Profile, seen: Seen) -> str:
        return encoded(value)

    def allowed(self, profile: Profile) -> str:
        return "3 to 20 digits, perhaps after a plus"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "string", "pattern": "^\\+?[0-9]{3,20}$"}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["+48123456789", "112", "%2B48123456789"]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return ["12", "x12345", "1234567890123456789012"]


@dataclass(frozen=True, slots=True)
class OneWireId:
    """Eight hexadecimal bytes separated by colons."""

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str:
        text = decoded(raw)
        if not re.fullmatch(r"[0-9A-F]{2}(:[0-9A-F]{2}){7}", text):
            raise BadValue(
                f"{text!r} is not a 1-Wire ID.", value=text, allowed=self.allowed(profile)
            )
        return text

    def format(self, value: str, profile: Profile, seen: Seen) -> str:
        return value

    def allowed(self, profile: Profile) -> str:
        return "eight bytes of 0-9 and A-F separated by colons, like 28:FF:64:1E:8C:16:03:5A"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "string", "pattern": "^[0-9A-F]{2}(:[0-9A-F]{2}){7}$"}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["28:FF:64:1E:8C:16:03:5A", "00:00:00:00:00:00:00:00", "FF%3AFF" + ":FF" * 6]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return ["28:FF:64:1E:8C:16:03", "28:ff:64:1e:8c:16:03:5a", "2G" + ":00" * 7, "", "0"]


@dataclass(frozen=True, slots=True)
class I2cSelection:
    """Five bits: exactly one of the first four is the primary sensor, the fifth is SPS30."""

    def parse(self, raw: str, profile: Profile, seen: Seen) -> tuple[str, bool]:
        number = Int(1, 24).parse(raw, profile, seen)
        primary = number & 0b1111
        if primary.bit_count() != 1:
            raise BadValue(
                f"{number} selects {primary.bit_count()} primary sensors.",
                value=str(number),
                allowed=self.allowed(profile),
            )
        return I2C_SENSORS[primary.bit_length() - 1], bool(number & 0b10000)

    def format(self, value: tuple[str, bool], profile: Profile, seen: Seen) -> str:
        return str((1 << I2C_SENSORS.index(value[0])) + 16 * value[1])

    def allowed(self, profile: Profile) -> str:
        return "1 NONE, 2 BME280, 4 AM2320 or 8 HTS221, plus 16 for SPS30"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "integer", "enum": [1, 2, 4, 8, 17, 18, 20, 24]}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["1", "2", "4", "8", "17", "18", "20", "24"]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return ["0", "3", "16", "25", "", "x"]


@dataclass(frozen=True, slots=True)
class Base64Text:
    """A text sent as Base64, whose plus signs stay plus signs."""

    most: int
    least: int = 0

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str:
        packed = decoded(raw, plus_is_space=False)
        try:
            text = b64decode(packed, validate=True).decode("utf-8")
        except (ValueError, UnicodeDecodeError):
            raise BadValue("The text is not Base64.", allowed=self.allowed(profile)) from None
        if not self.least <= len(text) <= self.most or not text.isprintable():
            raise BadValue("The text is not allowed.", allowed=self.allowed(profile))
        return text

    def format(self, value: str, profile: Profile, seen: Seen) -> str:
        return encoded(b64encode(value.encode()).decode())

    def allowed(self, profile: Profile) -> str:
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

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return [self.format("x" * (self.most + 1), profile, seen), "%%%", "ab", "/w=="]


@dataclass(frozen=True, slots=True)
class EqualsComparison:
    """The comparison of a digital source, which always means equality: 0, 1 or `=`."""

    def parse(self, raw: str, profile: Profile, seen: Seen) -> str:
        words = {"0": ">=", "1": "<", "=": ">="}
        word = words.get(decoded(raw))
        if word is None:
            raise BadValue(
                f"{raw!r} is not a comparison.", value=raw, allowed=self.allowed(profile)
            )
        return word

    def format(self, value: str, profile: Profile, seen: Seen) -> str:
        return "1" if value == "<" else "0"

    def allowed(self, profile: Profile) -> str:
        return "0, 1 or ="

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {"type": "string", "enum": ["0", "1", "="]}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return ["0", "1", "="]

    def refused(self, profile: Profile, seen: Seen) -> list[str]:
        return ["2", "", "x"]
