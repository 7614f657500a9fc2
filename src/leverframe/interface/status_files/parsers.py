"""Parse the values and settings in a status file: the inverse of `Keys.show`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from leverframe.core.engine.machine import Value
from leverframe.core.profile import Profile
from leverframe.core.tree import defaults

# Parse the values in a status file: the inverse of `Keys.show`.
#
# A text that is not valid for its key becomes `Unreadable`, with the reason. Real units write
# numbers as texts; plain numbers are also accepted, because some related units write them.


class Unreadable(Struct, frozen=True):
    """The reason why a value is unknown; it completes a sentence that begins with its key."""

    why: str


ParsedValue = Value | Unreadable
#: Its parameters are a decoded file, and the version that wrote the file.
ValueParser = Callable[[Mapping[str, Any], Profile], Mapping[str, ParsedValue]]

#: The reason for a missing key; versions have different keys.
MISSING = "is missing"
_MISSING = Unreadable(MISSING)
_WHOLE = re.compile(r"-?[0-9]{1,15}", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]{1,300}(\.[0-9]{1,20})?", re.ASCII)


def whole(file: Mapping[str, Any], name: str) -> int | Unreadable:
    """Return the whole number that is the value of a key."""
    if name not in file:
        return _MISSING
    text = _text_of(file[name])
    return int(text) if _WHOLE.fullmatch(text) else _no_number(file[name])


def decimal_number(value: Any) -> float | Unreadable:
    text = _text_of(value)
    return float(text) if _DECIMAL.fullmatch(text) else _no_number(value)


def _text_of(value: Any) -> str:
    """Return a text, or a number as text; empty for all other values."""
    if isinstance(value, str):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else ""


def _no_number(value: Any) -> Unreadable:
    return Unreadable(f"is {str(value)[:40]!r}, which is not a number")


def parse_scaled(
    names: Sequence[str], labels: Sequence[str], factor: int, absent: str
) -> ValueParser:
    """Parse scaled values; the text `absent` means an absent value, but 0 is always a value."""
    sign = None if absent == "0" else int(absent)

    def parse(file: Mapping[str, Any], _: Profile) -> dict[str, ParsedValue]:
        found: dict[str, ParsedValue] = {}
        for name, label in zip(names, labels, strict=True):
            number = whole(file, name)
            if isinstance(number, int):
                found[label] = None if number == sign else number / factor
            else:
                found[label] = number
        return found

    return parse


def flags(names: Sequence[str], labels: Sequence[str]) -> ValueParser:
    """Parse states that are written as 0 or 1."""

    def parse(file: Mapping[str, Any], _: Profile) -> dict[str, ParsedValue]:
        return {label: _flag(file, name) for name, label in zip(names, labels, strict=True)}

    return parse


def _flag(file: Mapping[str, Any], name: str) -> ParsedValue:
    number = whole(file, name)
    if isinstance(number, Unreadable) or number in (0, 1):
        return number
    return Unreadable(f"is {number}, which is neither 0 nor 1")


def mask_bits(file: Mapping[str, Any], name: str, count: int) -> list[int] | Unreadable:
    """Return the bits of a mask, the lowest bit first."""
    number = whole(file, name)
    if isinstance(number, Unreadable):
        return number
    if not 0 <= number < 1 << count:
        return Unreadable(f"is {number}, which is not a mask of {count} bits")
    return [number >> bit & 1 for bit in range(count)]


def parse_mask(name: str, labels: Sequence[str]) -> ValueParser:
    """Parse states that are written as one bit each."""

    def parse(file: Mapping[str, Any], _: Profile) -> dict[str, ParsedValue]:
        bits = mask_bits(file, name, len(labels))
        return unless_unreadable(bits, labels)

    return parse


def unless_unreadable(
    values: "Sequence[ParsedValue] | Sequence[int] | Unreadable", labels: Sequence[str]
) -> dict[str, ParsedValue]:
    """Return the values by label, or the reason why there are none for each label."""
    if isinstance(values, Unreadable):
        return dict.fromkeys(labels, values)
    return dict(zip(labels, values, strict=True))


def list_items(file: Mapping[str, Any], name: str, count: int) -> Sequence[Any] | Unreadable:
    """Return the first items of a list, which must have at least `count` of them."""
    if name not in file:
        return _MISSING
    items = file[name]
    if not isinstance(items, list) or len(items) < count:
        return Unreadable(f"is not a list of {count}")
    return items[:count]


# Parse the settings in a status file: the inverse of `Keys.show`.
#
# A pattern is a path of the tree with `*` for every place of a list, or `4-5` for some of them. The
# places that a version has are those of its factory settings.

#: Lists whose entries are written completely; while empty, they have no leaves.
ENTRY_LISTS = ("rules", "schedule", "access.users")


class ReadSetting(Struct, frozen=True):
    """The value that a file shows for one place of the tree."""

    path: str
    value: Any
    #: What may have been lost in the value, as a sentence.
    loss: str = ""


class UnreadSetting(Struct, frozen=True):
    path: str
    #: The reason; it completes a sentence that begins with the name of the key.
    why: str


class SettingParser(Struct, frozen=True):
    """The settings that keys show, and the function that reads them from texts in order.

    The values of a unit may have other types than text; None means that the key is missing.
    """

    patterns: tuple[str, ...]
    read: Callable[[Sequence[object], Profile], Iterable[ReadSetting | UnreadSetting]]


@lru_cache(maxsize=1024)
def places(patterns: tuple[str, ...], profile: Profile) -> tuple[str, ...]:
    """Return the paths that match patterns in a version."""
    return tuple(
        path for pattern in patterns for path in _expand(defaults(profile), pattern.split("."))
    )


def _expand(tree: Any, steps: list[str], path: str = "") -> Iterator[str]:
    if not steps:
        yield path
        return
    step, rest = steps[0], steps[1:]
    if isinstance(tree, tuple):
        for index in range(len(tree))[part_of(step)]:
            yield from _expand(tree[index], rest, f"{path}.{index}")
    else:
        yield from _expand(getattr(tree, step), rest, f"{path}.{step}" if path else step)


def is_place(step: str) -> bool:
    return step == "*" or step[0].isdigit()


def part_of(step: str) -> slice:
    """Return the part of a list that a step of a pattern matches."""
    if step == "*":
        return slice(None)
    first, _, last = step.partition("-")
    return slice(int(first), int(last or first) + 1)


def leaf_of(place: str) -> str:
    """Return the leaf to which a place belongs; items of a list of values are not leaves."""
    branch, _, last = place.rpartition(".")
    return branch if last.isdigit() and branch not in ENTRY_LISTS else place
