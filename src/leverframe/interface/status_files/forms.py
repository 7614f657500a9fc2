"""Forms: how a setting is written to a status file and read from it.

Reading is strict: a text that the form never writes raises `NotReadable`, so that no wrong value is
returned. The limits of the version are checked later.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

from msgspec import Struct

from leverframe.core.profile import ALWAYS, Profile, Spans
from leverframe.interface.status_files.keys import (
    FLAG,
    JOINED,
    MASK,
    TEXT,
    WHOLE,
    Keys,
    View,
    code,
    join_texts,
    mask,
)
from leverframe.interface.status_files.parsers import (
    ReadSetting,
    SettingParser,
    UnreadSetting,
    is_place,
    part_of,
    places,
)
from leverframe.interface.table import codes
from leverframe.interface.table.codes import CodeTable
from leverframe.interface.table.params import (
    Bits,
    Changed,
    Flag,
    Int,
    ListOf,
    Param,
    Scaled,
    Text,
    Word,
)
from leverframe.interface.table.params.special import I2cSelection
from leverframe.interface.table.refusals import Refusal

_NUMBER = re.compile(r"-?[0-9]{1,15}", re.ASCII)
#: The beginning of a placeholder that the unit did not fill in; see `markers.py`.
_MARKER = "<--#"
#: Replaces a character that XML cannot contain.
_REPLACED = "\ufffd"
#: An encoded `*` within texts that are joined by `*`.
ENCODED_STAR = "%2A"
STAR_LOSS = f"`{ENCODED_STAR}` was read as `*`, but may be meant literally"


class NotReadable(Exception):
    """A text that cannot be read; the message completes a sentence that begins with its key."""


class KeyForm(Struct, frozen=True):
    #: A description of the scale.
    scale: str
    write: Callable[[Any, Profile], str]
    read: Callable[[str, Profile], Any]

    def in_words(self, scale: str) -> "KeyForm":
        """Return the same form with another description of its scale."""
        return KeyForm(scale, self.write, self.read)


def as_text(value: object) -> str:
    """Return the value of a key if it is a text; None means that the key is missing."""
    if value is None:
        raise NotReadable("is missing")
    if not isinstance(value, str):
        raise NotReadable("is not a text")
    return value


def number_in(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise NotReadable(f"is {shorten(text)}, which is not a whole number")
    return int(text)


def flag_in(text: str) -> bool:
    if text not in ("0", "1"):
        raise NotReadable(f"is {shorten(text)}, not 0 or 1")
    return text == "1"


def text_in(text: str) -> str:
    if _MARKER in text:
        raise NotReadable("contains a placeholder that the unit did not fill in")
    if _REPLACED in text:
        raise NotReadable("contains a character that was lost")
    return text


def shorten(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


TEXT_FORM = KeyForm(TEXT, lambda value, _: value, lambda text, _: text_in(text))
WHOLE_FORM = KeyForm(WHOLE, lambda value, _: str(value), lambda text, _: number_in(text))
FLAG_FORM = KeyForm(FLAG, lambda value, _: "1" if value else "0", lambda text, _: flag_in(text))
#: The setting is also stored as a number.
BIT_FORM = KeyForm(FLAG, lambda value, _: str(value), lambda text, _: int(flag_in(text)))


def multiple_form(factor: int, scale: str) -> KeyForm:
    return KeyForm(
        scale,
        lambda value, _: str(round(value * factor)),
        lambda text, _: number_in(text) / factor,
    )


def code_form(table: CodeTable, scale: str = WHOLE, kind: Callable[[str], Any] = str) -> KeyForm:
    """Return the form of a word with a code; `kind` converts the word to the stored value."""

    def read(text: str, profile: Profile) -> Any:
        word = table.word(number_in(text), profile)
        if word is None:
            raise NotReadable(f"is {text}, which is not a {table.name} code of this version")
        return kind(word)

    return KeyForm(scale, lambda value, profile: str(code(table, str(value), profile)), read)


# --- several settings in one text -----------------------------------------------------------------


def flags_in(text: str, count: int) -> list[bool]:
    number = number_in(text)
    if not 0 <= number < 1 << count:
        raise NotReadable(f"is {text}, which is not a mask of {count} bits")
    return [bool(number >> bit & 1) for bit in range(count)]


def mask_of(count: int) -> KeyForm:
    return KeyForm(MASK, lambda values, _: mask(values), lambda text, _: flags_in(text, count))


def parts_in(text: str, count: int) -> list[str]:
    parts = text.split("*")
    if len(parts) != count:
        raise NotReadable(f"has {len(parts)} fields instead of {count}")
    return parts


def join_forms(scale: str, *forms: KeyForm) -> KeyForm:
    """Return the form of several settings, with one field for each."""

    def write(values: Sequence[Any], profile: Profile) -> str:
        pairs = zip(forms, values, strict=True)
        return "*".join(form.write(value, profile) for form, value in pairs)

    def read(text: str, profile: Profile) -> list[Any]:
        pairs = zip(forms, parts_in(text, len(forms)), strict=True)
        return [form.read(part, profile) for form, part in pairs]

    return KeyForm(scale, write, read)


def text_list_form(count: int) -> KeyForm:
    def read(text: str, _: Profile) -> list[str]:
        return [text_in(part).replace(ENCODED_STAR, "*") for part in parts_in(text, count)]

    return KeyForm(JOINED, lambda values, _: join_texts(values), read)


@lru_cache(maxsize=64)
def _join_numbers(numbers: tuple[int, ...], separator: str) -> str:
    """Join numbers; page layouts are long and rarely change, so the result is cached."""
    return separator.join(str(int(number)) for number in numbers)


NUMBERS_FORM = KeyForm(
    JOINED,
    lambda numbers, _: _join_numbers(numbers, "*"),
    lambda text, _: tuple(number_in(part) for part in text.split("*")),
)
FLAGS_FORM = KeyForm(
    "a character 0 or 1 for each",
    lambda flags, _: _join_numbers(flags, ""),
    lambda text, _: tuple(flag_in(character) for character in text),
)


def _write_i2c(values: Sequence[Any], _: Profile) -> str:
    primary, sps30 = values
    known = codes.I2C_SENSORS
    return str((1 << (known.index(primary) if primary in known else 0)) + 16 * sps30)


def _read_i2c(text: str, profile: Profile) -> Iterable[Any]:
    try:
        return I2cSelection().parse(text, profile, {})
    except Refusal:
        raise NotReadable(f"is {shorten(text)}, which is not a selection of sensors") from None


I2C_FORM = KeyForm(WHOLE, _write_i2c, _read_i2c)


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def _read_names(text: str, _: Profile) -> list[str]:
    """Read the names of two accounts; ignore the passwords, which real units show here."""
    admin, _password, user, _password = parts_in(text, 4)
    try:
        return [b64decode(name, validate=True).decode() for name in (admin, user)]
    except ValueError:
        raise NotReadable("has names that are not in Base64") from None


#: The end of an `auth` command with empty passwords, which do not change the stored ones.
ACCOUNTS_FORM = KeyForm(
    f"Base64, {JOINED}",
    lambda names, _: f"{_base64(names[0])}**{_base64(names[1])}*",
    _read_names,
)


# --- the forms of commands ------------------------------------------------------------------------


def form_of(param: Param) -> KeyForm:
    """Return the form of the setting that a field of a command sets."""
    match param:
        case Text():
            return TEXT_FORM
        case Flag():
            return FLAG_FORM
        case Int(0, 1):
            return BIT_FORM
        case Int():
            return WHOLE_FORM
        case Scaled(factor):
            return multiple_form(factor, f"/{factor}")
        case Word(table, is_numeric):
            return code_form(table, kind=int if is_numeric else str)
        case Bits(count):
            return mask_of(count)
        case I2cSelection():
            return I2C_FORM
        case ListOf(item=Flag()):
            return FLAGS_FORM
        case ListOf():
            return NUMBERS_FORM
        case Changed(versions):
            return form_of(versions[0][1])
    raise TypeError(f"{param} has no form in status files")


# Keys that show settings, with their form and their paths in the settings tree.


def setting(name: str, path: str, form: KeyForm, meaning: str, when: Spans = ALWAYS) -> Keys:
    return settings((name,), path, form, meaning, when)


def settings(
    names: tuple[str, ...], patterns: str, form: KeyForm, meaning: str, when: Spans = ALWAYS
) -> Keys:
    """Return keys that show one setting each; patterns are separated by spaces."""
    parts = tuple(patterns.split())

    def write(values: Sequence[Any], profile: Profile) -> Sequence[str]:
        return [form.write(value, profile) for value in values]

    def read(texts: Sequence[object], profile: Profile) -> Iterator[ReadSetting | UnreadSetting]:
        for path, text in zip(places(parts, profile), texts, strict=True):
            try:
                yield ReadSetting(path, form.read(as_text(text), profile))
            except NotReadable as problem:
                yield UnreadSetting(path, str(problem))

    show, stored = _show_settings(patterns, write), SettingParser(parts, read)
    return Keys(names, branches_of(parts), show, meaning, form.scale, when, None, stored)


def joint_settings(
    name: str, patterns: str, form: KeyForm, meaning: str, when: Spans = ALWAYS
) -> Keys:
    """Return a key that shows several settings in one text."""
    parts = tuple(patterns.split())

    def write(values: Sequence[Any], profile: Profile) -> Sequence[str]:
        return (form.write(values, profile),)

    def read(texts: Sequence[object], profile: Profile) -> Iterator[ReadSetting | UnreadSetting]:
        paths = places(parts, profile)
        try:
            text = as_text(texts[0])
            found = form.read(text, profile)
        except NotReadable as problem:
            yield from (UnreadSetting(path, str(problem)) for path in paths)
            return
        is_lossy = ENCODED_STAR in text
        for path, value in zip(paths, found, strict=True):
            loss = STAR_LOSS if is_lossy and isinstance(value, str) and "*" in value else ""
            yield ReadSetting(path, value, loss)

    show, stored = _show_settings(patterns, write), SettingParser(parts, read)
    return Keys((name,), branches_of(parts), show, meaning, form.scale, when, None, stored)


def _show_settings(
    patterns: str, write: Callable[[Sequence[Any], Profile], Sequence[str]]
) -> Callable[[View], Sequence[str]]:
    values = _values_at(patterns)

    def show(view: View) -> Sequence[str]:
        machine = view.engine.machine
        return write(values(machine.settings), machine.profile)

    return show


def branches_of(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the branches of the tree to which patterns belong."""
    return tuple(dict.fromkeys(pattern.partition(".")[0] for pattern in patterns))


def _values_at(patterns: str) -> Callable[[Any], Sequence[Any]]:
    """Return a function that reads the values at patterns from a tree, even hundreds, quickly."""
    first, *others = (_values_of(pattern) for pattern in patterns.split())
    if not others:
        return first
    getters = (first, *others)
    return lambda tree: [value for get in getters for value in get(tree)]


def _values_of(pattern: str) -> Callable[[Any], Sequence[Any]]:
    steps = pattern.split(".")
    place = next((at for at, step in enumerate(steps) if is_place(step)), None)
    if place is None:
        get = attrgetter(pattern)
        return lambda tree: (get(tree),)
    branch, part, rest = (
        attrgetter(".".join(steps[:place])),
        part_of(steps[place]),
        steps[place + 1 :],
    )
    if not rest:
        return lambda tree: branch(tree)[part]
    inner = _values_of(".".join(rest))
    if any(map(is_place, rest)):
        return lambda tree: [value for one in branch(tree)[part] for value in inner(one)]
    leaf = attrgetter(".".join(rest))
    return lambda tree: [leaf(one) for one in branch(tree)[part]]
