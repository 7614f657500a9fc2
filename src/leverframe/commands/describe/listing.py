"""The command table in plain data, for pages, documents and programs that build on it.

A description holds everything a form needs: for each field the JSON schema of its text on the wire
(with the words of its codes), and what is allowed in words. No limit or code list has to be typed a
second time. Fields that a version does not have are not in its description.
"""

from collections.abc import Mapping
from typing import Any, TypedDict

from leverframe.commands.describe.availability import is_deprecated, list_offered_fields
from leverframe.commands.describe.examples import (
    example_body,
    example_body_texts,
    example_request,
    example_texts,
)
from leverframe.commands.table.bodies import FormBody, ListBody, Upload
from leverframe.commands.table.matching import SECTIONS, TABLE
from leverframe.commands.table.params import Param, Trailing, item_of_version
from leverframe.commands.table.row import Body, Row
from leverframe.commands.table.shape import Item
from leverframe.profile import Profile, spans_in_words

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
    #: The place of its item in the query.
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


#: Rows are distinguished by identity: `bit2` is printed twice with the same line.
_SECTION_TITLES = {id(row): title for title, rows in SECTIONS for row in rows}


def command_table(profile: Profile) -> list[CommandDescription]:
    """List the rows that this profile offers, in the order of the table."""
    return [describe_row(row, profile) for row in TABLE if row.is_offered(profile)]


def describe_row(row: Row, profile: Profile) -> CommandDescription:
    """Describe a row as JSON can hold it; the profile must offer the row."""
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
    """Return name and text of an item, with holes, cut to what this version has."""
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
        # As it is sent, encoded; joined with the others it is the example of the row.
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
