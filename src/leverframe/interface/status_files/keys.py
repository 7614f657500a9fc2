"""Keys, the elements of status files: each has a meaning, a scale and a function that shows it.

Clients compare texts, so every value is a text, except that readings of modules are lists of texts.
Values are scaled here: a scale of /10 means that the text is ten times the value, rounded. The
files have no null value, so each key has a special text for an absent reading.

To add a key, create a `Keys` in the module of its feature, or declare it on the row of the command
that sets it (`shown`), and add it to the files in `catalogue.py`. A `Keys` is a segment of its
files: it is written again when one of its inputs has changed.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.engine import Engine
from leverframe.core.engine.machine import Value
from leverframe.core.engine.timers import Moment
from leverframe.core.profile import ALWAYS, Profile, Spans, VersionSpan
from leverframe.interface.status_files.parsers import (
    SettingParser,
    ValueParser,
    parse_mask,
    parse_scaled,
)
from leverframe.interface.table.codes import CodeTable

# The content of status files at one moment.


class View(Struct, frozen=True):
    engine: Engine
    #: The name of the controller in the network.
    name: str
    #: The MAC address, six bytes joined by colons.
    mac: str
    at: Moment


Shown = str | list[str] | list[list[str]]

#: Texts for an absent reading.
NO_SENSOR = "-600"
MINUS_ONE = "-1"
ZERO = "0"

#: Descriptions of scales.
TEXT = "text"
FLAG = "0 or 1"
MASK = "bit mask; the first item is the lowest bit"
WHOLE = "whole number"
DECIMAL = "decimal number"
SECONDS = "seconds"
JOINED = "joined by `*`"

#: More decimal places than the divisor of any module can produce.
_DECIMALS = 6


class Keys(Struct, frozen=True):
    """One key of a file, or several keys that are shown together."""

    names: tuple[str, ...]
    #: The inputs on which they depend: labels, branches of the settings, and others
    #: (`segments.py`).
    inputs: tuple[str, ...]
    #: Returns one text for each name.
    show: Callable[[View], Sequence[Shown]]
    meaning: str
    scale: str
    when: Spans = ALWAYS
    #: The inverse for keys that show values: returns the values of labels.
    parse: ValueParser | None = None
    #: The inverse for keys that show settings.
    stored: SettingParser | None = None


def key(
    name: str,
    inputs: tuple[str, ...],
    show: Callable[[View], Shown],
    meaning: str,
    scale: str,
    when: Spans = ALWAYS,
    parse: ValueParser | None = None,
    stored: SettingParser | None = None,
) -> Keys:
    return Keys((name,), inputs, lambda view: (show(view),), meaning, scale, when, parse, stored)


def number_names(prefix: str, first: int, count: int) -> tuple[str, ...]:
    """Return numbered names, such as `ds1` to `ds8`."""
    return tuple(f"{prefix}{number}" for number in range(first, first + count))


def only_on(hw: tuple[str, ...], *groups: Keys) -> tuple[Keys, ...]:
    """Return the same keys, but only for these hardware versions."""
    return tuple(
        replace(keys, when=tuple(_narrow(span, hw) for span in keys.when if {*span.hw} & {*hw}))
        for keys in groups
    )


def _narrow(span: VersionSpan, hw: tuple[str, ...]) -> VersionSpan:
    return replace(span, hw=tuple(one for one in span.hw if one in hw))


# --- values ---------------------------------------------------------------------------------------


def write_multiple(value: Value, factor: int, absent: str) -> str:
    if value is None:
        return absent
    try:
        return str(round(value * factor))
    except OverflowError:
        # Readings of modules can be near the largest floating-point number.
        return absent


def decimal(value: Value, absent: str) -> str:
    """Format a number with decimal places but without an exponent."""
    if value is None:
        return absent
    # Adding zero converts negative zero to zero.
    text = f"{round(value, _DECIMALS) + 0.0:.{_DECIMALS}f}"
    return text.rstrip("0").rstrip(".")


def readings(
    names: tuple[str, ...],
    labels: tuple[str, ...],
    factor: int,
    unit: str,
    absent: str,
    when: Spans = ALWAYS,
) -> Keys:
    """Return keys that show readings as whole numbers."""

    def show(view: View) -> list[str]:
        values = view.engine.machine.values
        return [
            absent if (value := values[label]) is None else write_multiple(value, factor, absent)
            for label in labels
        ]

    parse = parse_scaled(names, labels, factor, absent)
    scale = scale_of(factor, unit, absent)
    return Keys(names, labels, show, join_names(labels), scale, when, parse)


def reading(
    name: str, label: str, factor: int, unit: str, absent: str, when: Spans = ALWAYS
) -> Keys:
    return readings((name,), (label,), factor, unit, absent, when)


def scale_of(factor: int, unit: str, absent: str) -> str:
    divided = unit if factor == 1 else f"/{factor} {unit}"
    return f"{divided}, {absent} if absent"


def join_names(names: tuple[str, ...]) -> str:
    """Return `ds1-ds8` if the names differ only by consecutive numbers, else all names."""
    prefix = names[0].rstrip("0123456789")
    number = names[0].removeprefix(prefix)
    if len(names) > 1 and number and names == number_names(prefix, int(number), len(names)):
        return f"{names[0]}-{names[-1]}"
    return ", ".join(names)


#: More powers than any list of states needs.
_POWERS = tuple(1 << bit for bit in range(64))


def mask_value(bits: Iterable[object]) -> int:
    """Return a number with one bit per item; the first item is the lowest bit."""
    return sum(compress(_POWERS, bits))


def mask(bits: Iterable[object]) -> str:
    """Return the number of `mask_value` as text."""
    return str(mask_value(bits))


def states(name: str, labels: tuple[str, ...]) -> Keys:
    """Return a key that shows several states as a bit mask."""

    def show(view: View) -> str:
        values = view.engine.machine.values
        return mask([values[label] for label in labels])

    return key(name, labels, show, join_names(labels), MASK, parse=parse_mask(name, labels))


# --- settings -------------------------------------------------------------------------------------


def join_texts(texts: Iterable[str]) -> str:
    """Join texts by `*`; encode each `*` within a text as in a request."""
    return "*".join(text.replace("*", "%2A") for text in texts)


@lru_cache(maxsize=4096)
def code(table: CodeTable, word: str, profile: Profile) -> int:
    """Return the code of a word, or 0 if this version has no code for it."""
    return table.number(word, profile) or 0


# Keys and texts as JSON or XML.
#
# XML has one element per line, which line-oriented clients require, and elements contain only text.
# Characters that XML cannot represent are replaced; JSON can represent all of them.

_NEEDS_NO_CARE = re.compile(r"[\w*.:+/=% -]*", re.ASCII)
#: Control characters including line breaks, and code points that are not characters. The pattern is
#: compiled on first use; a pattern of the valid characters would take four times as long to
#: compile.
_UNFIT = "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]"

#: A table of our own, because the table of entities in `html` needs half a megabyte.
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ANYWHERE = _IN_TEXT | str.maketrans({'"': "&quot;", "'": "&#x27;"})

_encode_json = msgspec.json.Encoder().encode


#: A function that writes the texts of a group of keys.
Write = Callable[[Sequence[Shown]], bytes]


def json_members(names: Sequence[str]) -> Write:
    """Return a function that writes members of a JSON object, without the braces."""
    return lambda texts: _encode_json(dict(zip(names, texts, strict=True)))[1:-1]


def xml_lines(names: Sequence[str]) -> Write:
    """Return a function that writes one element per line; only JSON can have lists."""
    lines = "".join(f"<{name}>%s</{name}>\n" for name in names)

    def write(texts: Sequence[Any]) -> bytes:
        if _NEEDS_NO_CARE.fullmatch("".join(texts)) is None:
            # This is rare, and checking the joined text takes a third of the time of checking each
            # text.
            texts = [xml_text(text) for text in texts]
        return (lines % tuple(texts)).encode()

    return write


def xml_text(text: str) -> str:
    if _NEEDS_NO_CARE.fullmatch(text):
        return text
    return re.sub(_UNFIT, "\ufffd", text).translate(_IN_TEXT)


def escape_markup(text: str) -> str:
    """Escape a text for XML and HTML, including attribute values."""
    return text.translate(_ANYWHERE)
