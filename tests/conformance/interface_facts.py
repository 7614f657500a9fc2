"""Facts of the interface document: forms, fields, ranges, lengths and versions, without its prose.

`tests/fixtures/interface.json` holds them, so that every clone tests the command table against the
document. Where the document has changed, write the file again:

    python -m tests.conformance.interface_facts

The parser reads the document as it stands. It knows the few places that are written in words.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from leverframe.core.profile import HW35, HW35_TO_38, HW39, VersionSpan, version

PROJECT = Path(__file__).parents[2]
DOCUMENT = PROJECT.parent / "shared" / "interface.md"
FIXTURE = PROJECT / "tests" / "fixtures" / "interface.json"

SOFTWARE = r"(\d\.\d\d[a-z]?)"
MAIL_ITEMS = 8


class Form(msgspec.Struct, frozen=True, omit_defaults=True):
    """One form as the document prints it, with what is printed beside it."""

    line: str
    section: str
    fields: tuple[str, ...] = ()
    #: Field -> the first range printed for it.
    ranges: dict[str, tuple[int, int]] = {}
    #: Field -> its range in older versions, and the version that ended it.
    older_ranges: dict[str, tuple[int, int, str]] = {}
    #: Field -> most characters of a text.
    lengths: dict[str, int] = {}
    spans: tuple[VersionSpan, ...] = ()
    #: Versions at which something of the form changes.
    versions: tuple[str, ...] = ()
    deprecated: str | None = None


class Facts(msgspec.Struct, frozen=True):
    forms: tuple[Form, ...]
    #: Heading -> versions printed anywhere below it.
    sections: dict[str, tuple[str, ...]]
    #: Every path that the text mentions.
    paths: tuple[str, ...]
    #: List of the status page layout -> its size, and the version before which it has that size.
    list_sizes: dict[str, tuple[tuple[int, str | None], ...]]


# --- the file of facts ---------------------------------------------------------------------------

#: Depth of a single fact of a form: facts -> forms -> form -> kind -> fact.
FACT_DEPTH = 4


def load() -> Facts:
    return msgspec.json.decode(FIXTURE.read_bytes(), type=Facts)


def as_text(facts: Facts) -> str:
    """The facts as JSON, one on a line, so that a difference shows what has changed."""
    return "\n".join(_json_lines(msgspec.json.decode(msgspec.json.encode(facts)), 0)) + "\n"


def _json_lines(value: Any, depth: int) -> list[str]:
    if depth == FACT_DEPTH or _is_plain(value):
        return [json.dumps(value)]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    named = value.items() if isinstance(value, dict) else (("", item) for item in value)
    lines = [opening]
    for name, item in named:
        first, *others = _json_lines(item, depth + 1)
        lines += [f" {json.dumps(name)}: {first}" if name else f" {first}"]
        lines += [f" {line}" for line in others]
        lines[-1] += ","
    return [*lines[:-1], lines[-1].removesuffix(","), closing]


def _is_plain(value: Any) -> bool:
    """Is it a single value or a list of such?"""
    items = value if isinstance(value, list) else [value]
    return not any(isinstance(item, dict | list) for item in items)


# --- reading the document ------------------------------------------------------------------------


def read_document() -> Facts:
    pieces = re.split(r"^##+ (.+)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    text = "\n".join(sections.values())
    return Facts(
        forms=tuple(form for heading, text in sections.items() for form in _forms(heading, text)),
        sections={
            heading: versions for heading, text in sections.items() if (versions := _versions(text))
        },
        paths=tuple(sorted(set(re.findall(r"`(?:GET |POST )?(/[a-z_/0-9]+\.[a-z]+)", text)))),
        list_sizes=dict(_list_sizes(sections["Limits"])),
    )


def _forms(heading: str, text: str) -> Iterator[Form]:
    for line in text.splitlines():
        if alone := re.fullmatch(r"`(GET|POST) (/[^`]+)`", line):
            yield _form(heading, f"{alone[1]} {alone[2]}", "", "")
        elif row := re.fullmatch(r"\| (GET|POST) (.*?) \| (.*?) \|(.*)\|", line):
            for form in _forms_of_row(row[2]):
                yield _form(heading, f"{row[1]} {form}", row[3], row[4].strip())


def _forms_of_row(form: str) -> list[str]:
    """The forms of one table row; two rows of the mail section describe theirs in words."""
    if form == "same path with em1..em8":
        letters = enumerate("ABCDEFGH", start=1)
        return ["/stm.cgi?" + "&".join(f"em{number}=<{letter}>" for number, letter in letters)]
    if form == "`/stm.cgi?em1=<A>` ... `?em8=<A>`":
        return [f"/stm.cgi?em{number}=<A>" for number in range(1, MAIL_ITEMS + 1)]
    return [form.strip("`")]


def _form(heading: str, line: str, parameters: str, notes: str) -> Form:
    deprecated = re.match(rf"deprecated \(SW {SOFTWARE}\)", notes)
    return Form(
        line,
        heading,
        fields=_fields(line, parameters),
        ranges=_ranges(parameters),
        older_ranges=_older_ranges(parameters),
        lengths={
            letter: int(length)
            for letter, length in re.findall(
                r"\b([A-Z])\b[^;]*? up to (\d+) characters", parameters
            )
        },
        spans=_spans(notes),
        versions=_versions(f"{parameters} {notes}"),
        deprecated=deprecated and deprecated[1],
    )


def _fields(line: str, parameters: str) -> tuple[str, ...]:
    """Letters of the form or of its body, or the names in a body."""
    if letters := re.findall(r"<([A-Z])>", line) or re.findall(r"<([A-Z])>", parameters):
        return tuple(letters)
    names: list[str] = []
    for first, last in re.findall(r"`(\w+)`(?:\.\.`(\w+)`)?", parameters):
        stem = first.rstrip("0123456789")
        numbers = range(int(first[len(stem) :]), int(last[len(stem) :]) + 1) if last else ()
        names += [f"{stem}{number}" for number in numbers] or [first]
    return tuple(names)


#: "A 0-5 sets on time, 6-11 sets off time" is one range in two parts.
TWO_PARTS = "A 0-5 sets on time, 6-11"


def _ranges(parameters: str) -> dict[str, tuple[int, int]]:
    parameters = parameters.replace(TWO_PARTS, "A 0-11")
    form_fields = re.findall(r"`(\w+)`(?: kHz)? (\d+)-(\d+)", parameters)
    found = {name: (int(low), int(high)) for name, low, high in form_fields}
    for segment in re.split(r"; (?=[A-Z]\b)", parameters):
        printed = re.match(r"([A-Z])\b[^0-9-]*(-?\d+)(?:-| to )(-?\d+)", segment)
        if printed and "up to" not in printed[0] and "separated" not in segment:
            found[printed[1]] = int(printed[2]), int(printed[3])
    return found


def _older_ranges(parameters: str) -> dict[str, tuple[int, int, str]]:
    found = {}
    for segment in re.split(r"; (?=[A-Z]\b)", parameters):
        older = re.search(r"\((\d+)-(\d+) (?:before|up to) [^)]*\)", segment)
        if older:
            (until,) = _versions(older[0])
            found[segment[0]] = int(older[1]), int(older[2]), until
    return found


def _spans(notes: str) -> tuple[VersionSpan, ...]:
    """What the notes of a row say about the whole form; nothing means every version."""
    if found := re.search(rf"HW 3\.5\+ SW {SOFTWARE}; removed in HW 3\.5\+ SW {SOFTWARE}", notes):
        # The newest board kept it longer.
        longer = re.search(rf"and HW 3\.9 SW {SOFTWARE}", notes)
        assert longer
        return VersionSpan(HW35_TO_38, found[1], found[2]), VersionSpan(HW39, found[1], longer[1])
    if found := re.search(rf"HW 3\.5\+ SW {SOFTWARE}", notes):
        return (VersionSpan(HW35, found[1]),)
    if re.search(r"HW 3\.5\+ only", notes):
        return (VersionSpan(HW35),)
    if found := re.search(rf"not available since SW {SOFTWARE}|\(before SW {SOFTWARE}\)", notes):
        return (VersionSpan(until=found[1] or found[2]),)
    if found := re.match(rf"since SW {SOFTWARE}", notes):
        return (VersionSpan(since=found[1]),)
    return ()


def _versions(text: str) -> tuple[str, ...]:
    """Versions in a text; "up to" a version means the change comes with the next letter."""
    until = set(re.findall(rf"up to SW {SOFTWARE}", text))
    printed = set(re.findall(rf"SW {SOFTWARE}", text)) - until
    return tuple(sorted(printed | {_next_letter(sw) for sw in until}, key=version))


def _next_letter(sw: str) -> str:
    return sw[:-1] + chr(ord(sw[-1]) + 1) if sw[-1].isalpha() else sw + "a"


def _list_sizes(limits: str) -> Iterator[tuple[str, tuple[tuple[int, str | None], ...]]]:
    older = rf"(\d+) before SW {SOFTWARE}"
    for found in re.finditer(rf"(offsets|visibility) (\d+) \w+ \({older}, {older}\)", limits):
        name, newest, *before = found.groups()
        sizes = [(int(newest), None), (int(before[0]), before[1]), (int(before[2]), before[3])]
        yield name, tuple(sizes)


if __name__ == "__main__":
    FIXTURE.write_text(as_text(read_document()), encoding="utf-8")
