"""The command table as plain data: rows, their versions, and an exact example request for each."""

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any, TypedDict

from msgspec import Struct

from leverframe.core.profile import (
    HARDWARE,
    HW30,
    HW35,
    HW35_TO_38,
    HW39,
    Profile,
    VersionSpan,
    is_offered,
    spans_in_words,
)
from leverframe.interface.table.bodies import FormBody, ListBody, Upload
from leverframe.interface.table.codes import CodeTable
from leverframe.interface.table.lookup import SECTIONS, TABLE
from leverframe.interface.table.params import (
    Base64Text,
    Changed,
    Depends,
    Flag,
    Int,
    ListOf,
    Param,
    Record,
    Scaled,
    Text,
    Trailing,
    Word,
    has_field,
    item_of_version,
)
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.row import Body, Row
from leverframe.interface.table.shape import Item
from leverframe.interface.table.versions import (
    FAMILIES,
    FIRST_SOFTWARE,
    inner_params,
    software_versions,
)

# The versions that support something, in words: for descriptions, documents and examples.
#
# Differences are found by evaluating each field for every hardware family and for every software
# version at which something in the table begins or ends. Adjacent versions with the same answer are
# combined. So a limit that depends on the version is described correctly, however its type computes
# it.


class Variant(Struct, frozen=True):
    """An answer, and the versions to which it applies."""

    spans: tuple[VersionSpan, ...]
    text: str


def is_deprecated(row: Row, profile: Profile) -> bool:
    """Return whether this version has another form that replaces the row and is preferred."""
    return is_offered(row.replaced_when, profile) and any(
        other.line == row.replaced_by and other.is_offered(profile) for other in TABLE
    )


def list_offered_fields(
    item: Item, params: Mapping[str, Param], profile: Profile
) -> tuple[str, ...]:
    """Return the fields of an item that this version has."""
    return tuple(letter for letter in item.holes if has_field(params[letter], profile))


def newest_with(row: Row) -> Profile:
    """Return the newest version that has the row."""
    return next(
        profile
        for hw in FAMILIES
        for sw in reversed(software_versions())
        if row.is_offered(profile := Profile(hw[-1], sw))
    )


def tables_in(param: Param) -> list[CodeTable]:
    """List the code tables that a field uses."""
    found = [inner.table for inner in inner_params(param) if isinstance(inner, Word)]
    return list({id(table): table for table in found}.values())


def variants(ask: Callable[[Profile], str | None]) -> list[Variant]:
    """Combine the answers of all versions, newest first; None means no answer.

    Each version with an answer is in the spans of exactly one variant.
    """
    spans: dict[str, list[VersionSpan]] = {}
    for hw, runs in _runs_by_hardware(ask):
        for since, until, text in runs:
            spans.setdefault(text, []).append(VersionSpan(hw, since, until))
    return [Variant(tuple(found), text) for text, found in spans.items()]


_Run = tuple[str | None, str | None, str]


def _runs_by_hardware(
    ask: Callable[[Profile], str | None],
) -> list[tuple[tuple[str, ...], list[_Run]]]:
    """Combine hardware families whose answers are the same in all versions."""
    new, middle, old = ([*_runs(ask, hw[0])] for hw in FAMILIES)
    if new == middle == old:
        return [(HARDWARE, new)]
    if new == middle:
        return [(HW35, new), (HW30, old)]
    return [(HW39, new), (HW35_TO_38, middle), (HW30, old)]


def _runs(ask: Callable[[Profile], str | None], hw: str) -> Iterator[_Run]:
    """Yield (since, until, answer) for one hardware version, newest first."""
    answers = [(sw, ask(Profile(hw, sw))) for sw in software_versions()]
    until: str | None = None
    for text, group in groupby(reversed(answers), key=lambda answer: answer[1]):
        since = [*group][-1][0]
        if text is not None:
            yield (None if since == FIRST_SOFTWARE else since), until, text
        until = since


# An exact request for every row, for the reference and for programs that use the table.
#
# The texts are derived from the parameter types. If a type cannot produce a good example (a port, a
# rule that makes sense), the row has an `example`; it is used only for versions that accept it.


class Filled(Struct, frozen=True):
    """Example values of fields: the transmitted texts, and the values that they stand for."""

    texts: dict[str, str]
    values: dict[str, Any]


def example_texts(row: Row, profile: Profile) -> dict[str, str]:
    """Return the wire text of every field that this version of the row has."""
    return fill(row.params, row.example, profile).texts


def example_request(row: Row, profile: Profile) -> str:
    """Return an example of method, path and query: `GET /stm.cgi?oname=1Pump`."""
    return f"{row.form.method} {row.form.write(example_texts(row, profile))}"


def example_body(row: Row, profile: Profile) -> str | None:
    """Return an example body for a row that has one, unless it is a file."""
    texts = example_body_texts(row, profile)
    if isinstance(row.body, ListBody):
        return row.body.write([texts]).decode()
    if isinstance(row.body, FormBody):
        return "&".join(f"{name}={text}" for name, text in texts.items())
    return None


def example_body_texts(row: Row, profile: Profile) -> dict[str, str]:
    """Return the wire text of every field of the body; empty if the body has no fields."""
    match row.body:
        case ListBody(_, params) | FormBody(params):
            return fill(params, row.example, profile).texts
        case _:
            return {}


def fill(params: Mapping[str, Param], chosen: Mapping[str, str], profile: Profile) -> Filled:
    """Fill every field with the row's example if the version accepts it, else with a typical text.

    A trailing field that this version does not have gets its default value and no text.
    """
    texts: dict[str, str] = {}
    values: dict[str, Any] = {}
    for name, param in params.items():
        if isinstance(param, Trailing) and not is_offered(param.when, profile):
            values[name] = param.default
            continue
        text = chosen.get(name)
        if text is None or not _takes(param, text, profile, values):
            text = typical(param, profile, values)
        texts[name] = text
        values[name] = param.parse(text, profile, values)
    return Filled(texts, values)


def _takes(param: Param, text: str, profile: Profile, seen: Mapping[str, Any]) -> bool:
    try:
        param.parse(text, profile, seen)
    except Refusal:
        return False
    return True


def typical(param: Param, profile: Profile, seen: Mapping[str, Any]) -> str:
    """Return a typical text rather than a limit of the range."""
    match param:
        case Int(lo, hi):
            return str(_typical_number(lo, hi))
        case Flag():
            return "1"
        case Scaled(factor, lo, hi):
            return str(min(max(lo, 20 * factor), hi))
        case Text() if param.pattern:
            return param.format(max(param.fitting, key=bool), profile, seen)
        case Text():
            return "Pump"[: param.most]
        case Base64Text():
            return param.format("admin"[: param.most], profile, seen)
        case Word(table):
            # Code 0 often means "none", so use the second code.
            return str(table.of(profile)[:2][-1].number)
        case ListOf():
            count = param.most(profile) if param.least is None else 1
            return param.separator.join([typical(param.item, profile, seen)] * count)
        case Record(fields):
            return "*".join(typical(field, profile, seen) for _, field in fields)
        case Depends():
            return typical(param.case(seen), profile, seen)
        case Changed():
            return typical(param.pick(profile), profile, seen)
        case Trailing(inner):
            return typical(inner, profile, seen)
        case _:
            return param.examples(profile, seen)[0]


def _typical_number(lo: int, hi: int) -> int:
    """Return the second number of a short range, the middle of a medium one, or a minute."""
    if hi - lo < 50:
        return min(lo + 1, hi)
    return (lo + hi) // 2 if hi - lo < 256 else min(max(lo, 60), hi)


# The command table as plain data, for pages, documents and programs that use it.
#
# A description contains everything that a form needs: for each field the JSON schema of its wire
# text (with the words of its codes), and the allowed values in words. So clients need no copies of
# limits or code lists. Fields that a version does not have are omitted.

Description = dict[str, Any]


class ItemDescription(TypedDict):
    name: str
    text: str


class FieldDescription(TypedDict):
    letter: str
    schema: Description
    allowed: str
    optional: bool
    example: str


class QueryFieldDescription(FieldDescription):
    #: The index of its item in the query.
    item: int


class CommandDescription(TypedDict):
    section: str
    line: str
    method: str
    path: str
    items: list[ItemDescription]
    fields: list[QueryFieldDescription]
    body: Description | None
    doc: str
    role: str
    sets: dict[str, list[str]]
    available: str
    deprecated: bool
    example: str
    example_body: str | None


#: Rows are distinguished by identity, because `bit2` is printed twice with the same line.
_SECTION_TITLES = {id(row): title for title, rows in SECTIONS for row in rows}


def command_table(profile: Profile) -> list[CommandDescription]:
    """List the rows that this profile offers, in the order of the table."""
    return [describe_row(row, profile) for row in TABLE if row.is_offered(profile)]


def describe_row(row: Row, profile: Profile) -> CommandDescription:
    """Describe a row as JSON-compatible data; the profile must offer the row."""
    texts = example_texts(row, profile)
    return {
        "section": _SECTION_TITLES[id(row)],
        "line": row.line,
        "method": row.form.method,
        "path": row.form.path,
        "items": [_describe_item(item, row.params, profile) for item in row.form.items],
        "fields": [
            {"item": position, **_describe_field(letter, row.params[letter], profile, texts)}
            for position, item in enumerate(row.form.items)
            for letter in list_offered_fields(item, row.params, profile)
        ],
        "body": _describe_body(row, row.body, profile) if row.body else None,
        "doc": row.doc,
        "role": row.role,
        "sets": {letter: list(paths) for letter, paths in row.sets.items()},
        "available": spans_in_words(row.when),
        "deprecated": is_deprecated(row, profile),
        "example": example_request(row, profile),
        "example_body": example_body(row, profile),
    }


def _describe_item(item: Item, params: Mapping[str, Param], profile: Profile) -> ItemDescription:
    """Return name and text of an item, with placeholders, limited to the fields of this version."""
    text = item_of_version(item, params, profile).text
    return {"name": text.partition("=")[0], "text": text}


def _describe_field(
    name: str, param: Param, profile: Profile, examples: Mapping[str, str]
) -> FieldDescription:
    return {
        "letter": name,
        "schema": param.schema(profile),
        "allowed": param.describe_allowed(profile),
        "optional": isinstance(param, Trailing),
        # Encoded as in a request. The examples of all items, joined, form the example of the row.
        "example": examples[name],
    }


def _describe_body(row: Row, body: Body, profile: Profile) -> Description:
    texts = example_body_texts(row, profile)
    match body:
        case ListBody(item, params):
            return {
                "kind": "list",
                "item": _describe_item(item, params, profile)["text"],
                "fields": [
                    _describe_field(letter, params[letter], profile, texts)
                    for letter in list_offered_fields(item, params, profile)
                ],
            }
        case FormBody(fields):
            return {
                "kind": "form",
                "fields": [
                    {**_describe_field(name, param, profile, texts), "optional": True}
                    for name, param in fields.items()
                ],
            }
        case Upload(what, max_bytes):
            return {"kind": "upload", "content": what, "max_bytes": max_bytes}
    raise TypeError(f"A body of the kind {type(body).__name__} has no description yet.")
