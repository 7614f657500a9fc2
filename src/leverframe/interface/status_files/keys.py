"""What a file is made of: keys, each with its meaning, its scale and the function that shows it.

Clients compare texts, so every value is a text; the few lists of texts are the readings of modules.
Values are scaled here: a scale of /10 means that the text is ten times the value, rounded. An
absent reading is a text of its own, because the files have no other way to say it.

To add a key: make a `Keys` in the file of its feature, or declare it on the row of the command
that sets it (`shown`), and put it where it belongs in `catalogue.py`. A `Keys` is a segment of its
files: it is shown again when one of its inputs has changed.
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

# Everything that a status file can show, at one moment.


class View(Struct, frozen=True):
    engine: Engine
    #: What the controller is called in the network.
    name: str
    #: Its MAC address, six bytes joined by colons.
    mac: str
    at: Moment


Shown = str | list[str] | list[list[str]]

#: What stands for an absent reading.
NO_SENSOR = "-600"
MINUS_ONE = "-1"
ZERO = "0"

#: Scales in words.
TEXT = "text"
FLAG = "0 or 1"
MASK = "bit mask; the first item is the lowest bit"
WHOLE = "whole number"
DECIMAL = "decimal number"
SECONDS = "seconds"
JOINED = "joined by `*`"

#: More than any module's divisor can produce.
_DECIMALS = 6


class Keys(Struct, frozen=True):
    """A key of a file, or several that are shown together."""

    names: tuple[str, ...]
    #: What they depend on: labels, branches of the settings, and others (`segments.py`).
    inputs: tuple[str, ...]
    #: One for every name.
    show: Callable[[View], Sequence[Shown]]
    meaning: str
    scale: str
    when: Spans = ALWAYS
    #: The way back, where they show values: what they say of labels.
    parse: ValueParser | None = None
    #: The same, where they show settings.
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
    """Return names that count up, such as `ds1` to `ds8`."""
    return tuple(f"{prefix}{number}" for number in range(first, first + count))


def only_on(hw: tuple[str, ...], *groups: Keys) -> tuple[Keys, ...]:
    """Return the same keys, shown by these hardware versions alone."""
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
        # Readings of modules can be near the end of what a floating point number holds.
        return absent


def decimal(value: Value, absent: str) -> str:
    """Format a plain decimal number, never with an exponent."""
    if value is None:
        return absent
    # Adding zero turns a negative zero into a plain one.
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
    """Return `ds1-ds8` where only the number counts up, else all names."""
    prefix = names[0].rstrip("0123456789")
    number = names[0].removeprefix(prefix)
    if len(names) > 1 and number and names == number_names(prefix, int(number), len(names)):
        return f"{names[0]}-{names[-1]}"
    return ", ".join(names)


#: More than any list of states has.
_POWERS = tuple(1 << bit for bit in range(64))


def mask_value(bits: Iterable[object]) -> int:
    """Return a number with one bit per item, the first one lowest."""
    return sum(compress(_POWERS, bits))


def mask(bits: Iterable[object]) -> str:
    """Return the same number as text."""
    return str(mask_value(bits))


def states(name: str, labels: tuple[str, ...]) -> Keys:
    """Return a key that shows several states as a bit mask."""

    def show(view: View) -> str:
        values = view.engine.machine.values
        return mask([values[label] for label in labels])

    return key(name, labels, show, join_names(labels), MASK, parse=parse_mask(name, labels))


# --- settings -------------------------------------------------------------------------------------


def join_texts(texts: Iterable[str]) -> str:
    """Join texts by `*`; encode one inside a text as in a request, so that none is lost."""
    return "*".join(text.replace("*", "%2A") for text in texts)


@lru_cache(maxsize=4096)
def code(table: CodeTable, word: str, profile: Profile) -> int:
    """Return the number of a word, or 0 if this version has none for it."""
    return table.number(word, profile) or 0


# Keys and texts as JSON or XML.
#
# XML has one element per line, which is what line-oriented clients look for, and nothing but text
# inside. Characters that XML cannot hold are replaced; JSON can hold them all.

_NEEDS_NO_CARE = re.compile(r"[\w*.:+/=% -]*", re.ASCII)
#: Control characters, line ends among them, and what is no character at all. What fits would take
#: four times as long to compile; this is done where it is first used.
_UNFIT = "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]"

#: Of our own because the table of all entities in `html` takes half a megabyte.
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ANYWHERE = _IN_TEXT | str.maketrans({'"': "&quot;", "'": "&#x27;"})

_encode_json = msgspec.json.Encoder().encode


#: Writes the texts of some keys.
Write = Callable[[Sequence[Shown]], bytes]


def json_members(names: Sequence[str]) -> Write:
    """Return what writes members of an object, without its braces."""
    return lambda texts: _encode_json(dict(zip(names, texts, strict=True)))[1:-1]


def xml_lines(names: Sequence[str]) -> Write:
    """Return what writes one element per line; its texts are no lists, which are for JSON alone."""
    lines = "".join(f"<{name}>%s</{name}>\n" for name in names)

    def write(texts: Sequence[Any]) -> bytes:
        if _NEEDS_NO_CARE.fullmatch("".join(texts)) is None:
            # Seldom: looking at all of them together takes a third of looking at each.
            texts = [xml_text(text) for text in texts]
        return (lines % tuple(texts)).encode()

    return write


def xml_text(text: str) -> str:
    if _NEEDS_NO_CARE.fullmatch(text):
        return text
    return re.sub(_UNFIT, "\ufffd", text).translate(_IN_TEXT)


def escape_markup(text: str) -> str:
    """Escape a text for XML and HTML, also inside quotes."""
    return text.translate(_ANYWHERE)
