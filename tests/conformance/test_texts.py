"""Texts in every field that takes one: what is encoded arrives, what is no text is refused."""

from collections.abc import Iterator
from typing import Any

import pytest

from leverframe.interface.table.bodies import FormBody, ListBody
from leverframe.interface.table.lookup import MAX_QUERY_BYTES, TABLE
from leverframe.interface.table.params import ListOf, Param, Text
from leverframe.interface.table.row import Row
from leverframe.testing import LoopTwin
from tests.boundary_profiles import NEWEST
from tests.cases import for_each
from tests.conformance.effects import OTHERWISE
from tests.conformance.requests import FORM, Fields, Sample
from tests.conformance.test_rows import (
    check_accepted,
    check_refused,
    newest_that_offers,
    prepare,
    send,
)

ASKS_PASSWORD = ("POST /post.cgi?signin", "POST /post.cgi?passwd")
#: What is sent and what must arrive.
ARRIVING = {
    "a%2Ab": "a*b",
    "a%26b": "a&b",
    "a%3Db": "a=b",
    "a+b": "a b",
    "a%20b": "a b",
    "a%2Bb": "a+b",
    "a%25b": "a%b",
    "%22a%22%27": '"a"\'',
    "a%2Fb%3Fc%23d": "a/b?c#d",
    "%3Cb%3E": "<b>",
    "%C5%BC%C3%B3%C5%82w": "żółw",
    "%F0%9F%9A%B0": "\U0001f6b0",
}
UNFIT = ["%00", "a%0Ab", "a%0D%0Ab", "%7F", "%C2%85", "%FF", "%C3%28", "%ED%A0%80", "%E2%80%A8"]


def text_fields() -> Iterator[Any]:
    for row in TABLE:
        for name, param in params_of(row).items():
            text = param.item if isinstance(param, ListOf) else param
            if isinstance(text, Text) and text.pattern is None:
                yield pytest.param(row, name, text, id=f"{row.line.partition('?')[2][:40]} {name}")


def params_of(row: Row) -> dict[str, Param]:
    match row.body:
        case ListBody():
            return dict(row.body.params)
        case FormBody():
            return dict(row.body.fields)
        case _:
            return dict(row.params)


TEXT_FIELDS = list(text_fields())


class Field:
    """One text field of a row, which puts a text into a whole request."""

    def __init__(self, row: Row, name: str) -> None:
        self._row = row
        self._name = name
        self.profile = newest_that_offers(row)
        self._fields = Fields(row.line, params_of(row), self.profile)
        self._param = params_of(row)[name]

    def _write(self, raw: str) -> str:
        """The text, or a whole list of it."""
        if not isinstance(self._param, ListOf):
            return raw
        return self._param.separator.join([raw] * self._param.most(self.profile))

    def good(self, raw: str, text: str) -> Sample:
        texts, values = self._fields.fill({self._name: self._write(raw)})
        understood = values[self._name]
        assert understood == text or set(understood) == {text}
        return self._sample(texts, True, values)

    def bad(self, raw: str) -> Sample:
        texts, _ = self._fields.fill({})
        return self._sample(texts | {self._name: self._write(raw)}, False)

    def _sample(self, texts: dict[str, str], is_good: bool, values: Any = None) -> Sample:
        row, field = self._row, None if is_good else self._name
        if isinstance(row.body, ListBody):
            body, values = row.body.write([texts]), [values]
        elif isinstance(row.body, FormBody):
            body = "&".join(f"{name}={text}" for name, text in texts.items()).encode()
        else:
            target = row.form.write(texts)
            return Sample(row, self.profile, row.form.method, target, is_good, field, values)
        target = row.form.write({})
        return Sample(row, self.profile, "POST", target, is_good, field, values, body, FORM)


async def arrives(twin: LoopTwin, sample: Sample) -> None:
    if sample.row.line in OTHERWISE:
        expected = (401, 429) if sample.row.line in ASKS_PASSWORD else (200,)
        assert (await send(twin, sample)).status in expected, sample
    else:
        await check_accepted(twin, sample)


@for_each(("row", "name", "text"), TEXT_FIELDS)
async def test_encoded_text_arrives_as_it_was_meant(row: Row, name: str, text: Text) -> None:
    field = Field(row, name)
    twin = await prepare(field.profile, row)
    for raw, meant in ARRIVING.items():
        await arrives(twin, field.good(raw, meant))


@for_each(("row", "name", "text"), TEXT_FIELDS)
async def test_length_is_counted_in_letters_and_nothing_is_cut(
    row: Row, name: str, text: Text
) -> None:
    field = Field(row, name)
    twin = await prepare(field.profile, row)
    # As many letters outside ASCII as a request has room for, where it has eight such texts.
    wide = min(text.most, MAX_QUERY_BYTES // 16 // len("%C4%85"))
    narrow = text.most - wide
    await arrives(twin, field.good("%C4%85" * wide + "x" * narrow, "ą" * wide + "x" * narrow))
    await check_refused(twin, field.bad("%C4%85" * wide + "x" * (narrow + 1)))
    await check_refused(twin, field.bad("x" * (text.most + 1)))


@for_each(("row", "name", "text"), TEXT_FIELDS)
async def test_empty_text_is_a_text_where_nothing_may_stand(
    row: Row, name: str, text: Text
) -> None:
    field = Field(row, name)
    twin = await prepare(field.profile, row)
    if text.least:
        await check_refused(twin, field.bad(""))
    else:
        await arrives(twin, field.good("", ""))


@for_each(("row", "name", "text"), TEXT_FIELDS)
async def test_invalid_text_is_refused(row: Row, name: str, text: Text) -> None:
    field = Field(row, name)
    twin = await prepare(field.profile, row)
    for raw in UNFIT:
        await check_refused(twin, field.bad(raw))


def test_all_names_of_the_document_are_among_the_fields() -> None:
    fields = {(field.values[0].line, field.values[1]) for field in TEXT_FIELDS}
    for command in ("pname", "oname", "iname", "idname", "diffname", "tname", "pown", "eventname"):
        assert any(f"?{command}=<A><B>" in line and name == "B" for line, name in fields), command
    assert newest_that_offers(TABLE[0]) == NEWEST
    assert len(fields) > 60
