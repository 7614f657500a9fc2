"""The three kinds of POST body: what is read out of them, and what is refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.profile import Profile
from leverframe.interface.table.bodies import (
    SMALL_BODY_LIMIT,
    FormBody,
    ListBody,
    UnsupportedBody,
    Upload,
)
from leverframe.interface.table.codes import HW35_SW
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.params import Flag, Int, Text, Trailing
from leverframe.interface.table.refusals import BadValue, Malformed, Refusal
from leverframe.interface.table.row import ACCOUNT, ANYONE, Body
from leverframe.interface.table.shape import Item
from tests.cases import for_each

NEWEST, OLDER = Profile(), Profile("3.5", "1.49")
FORM = "application/x-www-form-urlencoded"

READINGS = ListBody(
    Item("m<A><B>=<C>*<D>*<E>"),
    {
        "A": Int(0, 4),
        "B": Int(0, 29),
        "C": Text(15),
        "D": Int(0, 9),
        "E": Trailing(Flag(), False, HW35_SW["1.57"]),
    },
    max_items=150,
)
SCREEN = FormBody({"enabled": Flag(), "time": Int(0, 99), "line": Text(15)})
FILE = Upload("a picture")


def read(body: bytes, profile: Profile = NEWEST) -> list[dict[str, object]]:
    return READINGS.read(body, "", profile)


def item(**fields: object) -> dict[str, object]:
    return {"A": 0, "B": 0, "C": "x", "D": 1, **fields}


# --- lists ---------------------------------------------------------------------------------------


def test_items_are_read_in_order() -> None:
    assert read(b"&m00=x*1*1&m129=y*2*0&&") == [
        item(E=True),
        item(A=1, B=29, C="y", D=2, E=False),
    ]


@for_each(
    "body",
    [
        b"&m00=x*1&&",
        b'{"bytes":{&m00=x*1&&}}',
        b"&m00=x*1&&\r\n",
        b"&m00=x*1&&&m01=broken",
        b"anything at all&m00=x*1&&",
        b"data=m00&m00=x*1&&",
    ],
)
def test_text_around_the_list_is_ignored(body: bytes) -> None:
    assert read(body) == [item()]


@for_each("before", [b"", b"&", b"\r\n", b"text&"])
def test_item_before_the_first_ampersand_is_not_lost(before: bytes) -> None:
    assert read(before + b"m00=x*1&m01=y*2&&") == [item(), item(B=1, C="y", D=2)]
    assert read(before + b"m00=x*1&&") == [item()]


@pytest.mark.parametrize("body", [b"m00=x&m01=y*1&&", b"m00&&"])
def test_item_before_the_first_ampersand_is_checked_as_any_other(body: bytes) -> None:
    with pytest.raises(Malformed, match="fields"):
        read(body)


@given(st.text("m0=*&x1{", max_size=12), st.integers(0, 29))
def test_no_text_before_a_list_takes_an_item_from_it(before: str, number: int) -> None:
    with suppress(Refusal):
        found = read(f"{before}&m0{number}=x*1&&".encode())
        assert "&&" in f"{before}&" or found[-1] == item(B=number)


@for_each("body", [b"&&", b"x&&", b"&&&&", b"&&&m00=x*1&&"])
def test_list_may_be_empty(body: bytes) -> None:
    assert read(body) == []


@for_each("body", [b"", b"x", b"m00=x*1", b"&m00=x*1", b"&m00=x*1&", b"&"])
def test_list_ends_with_two_ampersands(body: bytes) -> None:
    with pytest.raises(Malformed, match="ends with &&") as refusal:
        read(body)
    assert refusal.value.allowed == "&m<A><B>=<C>*<D>*<E>...&&"


@for_each("body", [b"&n00=x*1&&", b"&m0=x*1&&", b"&m00=x*1&x&&", b"&M00=x*1&&"])
def test_item_of_another_name_is_refused(body: bytes) -> None:
    with pytest.raises(Malformed, match="not an item of this list"):
        read(body)


@for_each(
    ("body", "field"),
    [
        (b"&m50=x*1&&", "A"),
        (b"&m030=x*1&&", "B"),
        (b"&m00=sixteen letters!*1&&", "C"),
        (b"&m00=%FF*1&&", "C"),
        (b"&m00=a\x00b*1&&", "C"),
        (b"&m00=x*10&&", "D"),
        (b"&m00=x*1*2&&", "E"),
        (b"&m00=x*1&m01=x*x&&", "D"),
    ],
)
def test_bad_field_of_an_item_is_named(body: bytes, field: str) -> None:
    with pytest.raises(BadValue) as refusal:
        read(body)
    assert refusal.value.field == field
    assert refusal.value.allowed
    assert (refusal.value.command or "").startswith("m0" if field != "A" else "m5")


@for_each("body", [b"&m00=x&&", b"&m00=&&", b"&m00&&", b"&m00=x*1*1*1&&"])
def test_item_has_the_number_of_its_fields(body: bytes) -> None:
    with pytest.raises(Malformed, match="fields"):
        read(body)


def test_field_that_came_later_is_refused_before() -> None:
    assert read(b"&m00=x*1&&", OLDER) == [item()]
    with pytest.raises(
        BadValue, match=r"does not have the field E; it exists in HW 3\.5\+ SW 1\.57\+"
    ) as refusal:
        read(b"&m00=x*1*1&&", OLDER)
    assert (refusal.value.field, refusal.value.value) == ("E", "1")
    assert refusal.value.allowed


def test_letters_beyond_ascii_may_come_bare_or_encoded() -> None:
    assert read("&m00=żółw*1&&".encode()) == read(b"&m00=%C5%BC%C3%B3%C5%82w*1&&")


def test_encoded_separators_are_text() -> None:
    assert read(b"&m00=a%26b%2Ac%3Dd*1&&") == [item(C="a&b*c=d")]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 29), st.text("ż*&= +%x", max_size=9))))
def test_list_that_is_written_is_read_again(entries: list[tuple[int, int, str]]) -> None:
    texts = [
        {"A": str(a), "B": str(b), "C": Text(15).format(c, NEWEST, {}), "D": "1", "E": "0"}
        for a, b, c in entries
    ]
    assert read(READINGS.write(texts)) == [item(A=a, B=b, C=c, E=False) for a, b, c in entries]


def test_list_has_no_more_items_than_there_are_places_for() -> None:
    assert len(read(b"&m00=x*1" * 150 + b"&&")) == 150
    with pytest.raises(Malformed, match="The list has 151 items"):
        read(b"&m00=x*1" * 151 + b"&&")


def test_every_list_of_the_table_takes_as_many_items_as_its_places() -> None:
    lists = {body.item.text[0]: body.max_items for body in BODIES if isinstance(body, ListBody)}
    assert lists == {"u": 50, "s": 50, "m": 150}


# --- forms ---------------------------------------------------------------------------------------


def test_fields_come_in_any_order_and_number() -> None:
    assert SCREEN.read(b"line=a+b%21&enabled=1", FORM, NEWEST) == {"line": "a b!", "enabled": True}


@for_each("kind", [FORM, f"{FORM}; charset=UTF-8", FORM.upper(), ""])
def test_form_may_say_its_kind_in_several_ways(kind: str) -> None:
    assert SCREEN.read(b"enabled=0", kind, NEWEST) == {"enabled": False}


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x", "x"])
def test_body_of_another_kind_is_refused(kind: str) -> None:
    with pytest.raises(UnsupportedBody) as refusal:
        SCREEN.read(b"enabled=0", kind, NEWEST)
    assert (refusal.value.status, refusal.value.allowed) == (415, FORM)


@for_each(
    ("body", "field"),
    [
        (b"", ""),
        (b"colour=red", "colour"),
        (b"enabled=1&enabled=1", "enabled"),
        (b"enabled=2", "enabled"),
        (b"enabled", "enabled"),
        (b"time=100", "time"),
        (b"line=sixteen+letters%21", "line"),
        (b"line=%FF", "line"),
        (b"line=\xff", "line"),
        (b"line=a\nb", "line"),
        (b"enabled=1&", ""),
    ],
)
def test_bad_field_of_a_form_is_named(body: bytes, field: str) -> None:
    with pytest.raises(BadValue) as refusal:
        SCREEN.read(body, FORM, NEWEST)
    assert refusal.value.field == field
    assert refusal.value.allowed


# --- uploads -------------------------------------------------------------------------------------


def test_upload_is_taken_as_it_is() -> None:
    assert FILE.read(b"\x00&&\xff", "image/png", NEWEST) == b"\x00&&\xff"


def test_empty_upload_is_refused() -> None:
    with pytest.raises(Malformed, match="empty; send a picture"):
        FILE.read(b"", "", NEWEST)


# --- all -----------------------------------------------------------------------------------------


BODIES = [row.body for row in TABLE if row.body is not None]
GARBAGE = st.binary(max_size=40) | st.from_regex(rb"&[msu]0?0=[0-9*x%]{0,20}&&")


@given(st.sampled_from(BODIES), GARBAGE)
def test_garbage_is_read_or_refused(body: Body, garbage: bytes) -> None:
    with suppress(Refusal):
        body.read(garbage, FORM, NEWEST)


def test_lists_are_limited_to_a_mebibyte_and_uploads_to_sixteen() -> None:
    limits = {(type(body), body.max_bytes) for body in BODIES}
    forms = {(FormBody, 1 << 20), (FormBody, SMALL_BODY_LIMIT)}
    uploads = {(Upload, 1 << 20), (Upload, 16 << 20)}
    assert limits == {(ListBody, 1 << 20), *uploads, *forms}


def test_body_of_a_stranger_is_limited() -> None:
    bodies = [row.body for row in TABLE if row.body is not None and row.role in (ANYONE, ACCOUNT)]
    assert {body.max_bytes for body in bodies} == {SMALL_BODY_LIMIT}
