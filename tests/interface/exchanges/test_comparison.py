"""Answers are compared by what they mean, and a difference says which key, then and now."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.interface.exchange import RecordedAnswer, RecordedBody
from leverframe.interface.exchange_comparison import (
    ABSENT,
    BadTolerance,
    ComparisonRules,
    Difference,
    Tolerance,
    differences,
    same_value,
    values_in,
)
from tests.cases import for_each

EXACT = ComparisonRules()
JSON, XML = "application/json", "text/xml"


def answer(text: str, kind: str = JSON, status: int = 200) -> RecordedAnswer:
    return RecordedAnswer(status, {"content-type": kind}, RecordedBody(text))


def compare(
    recorded: str, other: str, kind: str = JSON, rules: ComparisonRules = EXACT
) -> list[str]:
    return [
        f"{x.key}: {x.recorded} -> {x.now}"
        for x in differences(answer(recorded, kind), answer(other, kind), rules)
        if not x.varies
    ]


def test_keys_in_another_order_are_the_same() -> None:
    assert compare('{"a": 1, "b": {"c": 2, "d": 3}}', '{"b": {"d": 3, "c": 2}, "a": 1}') == []
    assert compare("<r><a>1</a><b>2</b></r>", "<r>\n<b>2</b>\n<a>1</a></r>", XML) == []


def test_difference_names_its_key_then_and_now() -> None:
    assert compare('{"a": {"ds1": "215"}}', '{"a": {"ds1": "230"}}') == ["a.ds1: 215 -> 230"]
    assert compare("<r><ds1>215</ds1></r>", "<r><ds1>230</ds1></r>", XML) == ["ds1: 215 -> 230"]
    assert compare('{"l": [1, 2]}', '{"l": [1, 3]}') == ["l.1: 2 -> 3"]
    assert compare("<r><a>1</a><a>2</a></r>", "<r><a>1</a><a>3</a></r>", XML) == ["a.1: 2 -> 3"]
    assert compare('<r><a b="1">x</a></r>', '<r><a b="2">x</a></r>', XML) == ["a.@b: 1 -> 2"]


def test_key_that_one_does_not_have_is_a_difference() -> None:
    assert compare('{"a": 1}', '{"b": ""}') == [f"a: 1 -> {ABSENT}", f'b: {ABSENT} -> ""']
    assert compare('{"a": []}', '{"a": {}}') == ["a: [] -> {}"]


def test_type_of_a_number_matters_but_not_how_it_is_written() -> None:
    assert compare('{"a": "21.50", "b": 1}', '{"a": "21.5", "b": 1.0}') == []
    assert compare('{"a": "1"}', '{"a": 1}') == ["a: 1 -> 1"]
    assert compare('{"a": true}', '{"a": 1}') == ["a: true -> 1"]
    assert compare('{"a": null}', '{"a": 0}') == ["a: null -> 0"]


def test_numbers_may_differ_within_the_tolerance() -> None:
    half = ComparisonRules(Tolerance.of("0.5"))
    assert compare('{"a": 21.5, "b": "12.0"}', '{"a": 22.0, "b": "11.5"}', rules=half) == []
    assert compare('{"a": 21.5}', '{"a": 22.1}', rules=half) == ["a: 21.5 -> 22.1"]
    part = ComparisonRules(Tolerance.of("2%"))
    assert compare('{"a": 100}', '{"a": 102}', rules=part) == []
    assert compare('{"a": 100}', '{"a": 103}', rules=part) == ["a: 100 -> 103"]


def test_states_are_the_same_or_not_whatever_the_tolerance() -> None:
    wide = ComparisonRules(Tolerance.of("50%"))
    assert compare('{"out": "100000"}', '{"out": "100001"}', rules=wide) == [
        "out: 100000 -> 100001"
    ]
    wide = ComparisonRules(Tolerance.of("5"))
    assert compare('{"OUT0": 0, "x": "1"}', '{"OUT0": 1, "x": "0"}', rules=wide) == [
        "OUT0: 0 -> 1",
        "x: 1 -> 0",
    ]


def test_varying_values_are_reported_and_not_counted() -> None:
    one, other = answer('{"state": {"time": 1}, "ds1": 5}'), answer('{"state": {"time": 2}}')
    assert differences(one, other, EXACT) == [
        Difference("state.time", "1", "2", varies=True),
        Difference("ds1", "5", ABSENT),
    ]
    strict = ComparisonRules(excluded=frozenset({"state.time"}))
    assert [x.varies for x in differences(one, other, strict)] == [True, False]
    assert [x.varies for x in differences(one, other, ComparisonRules(excluded=frozenset()))] == [
        False,
        False,
    ]


def test_other_texts_are_compared_by_lines() -> None:
    assert compare("a \nb\n", "a\r\nb", "text/plain") == []
    assert compare("a\nb", "a\nc\nd", "text/plain") == ["body line 2: b -> c"]
    assert compare("a", "a\nd", "text/plain") == [f"body line 2: {ABSENT} -> d"]
    assert compare("<p>a", "<p>b", "text/html") == ["body line 1: <p>a -> <p>b"]
    assert compare("<r><a></r>", "<r><b></r>", XML) == ["body line 1: <r><a></r> -> <r><b></r>"]
    assert compare("{", "[", JSON) == ["body line 1: { -> ["]
    assert len(compare("", "x" * 999, "text/plain")[0]) < 300


def test_status_content_type_and_place_count() -> None:
    one = RecordedAnswer(200, {"content-type": "text/xml; charset=utf-8"})
    other = RecordedAnswer(302, {"content-type": "text/xml", "location": "/a"})
    assert differences(one, other, EXACT) == [
        Difference("status", "200", "302"),
        Difference("location", ABSENT, "/a"),
    ]
    silent = RecordedAnswer(0, problem="It is off.")
    assert differences(silent, one, EXACT)[0] == Difference(
        "status", "no answer: It is off.", "200"
    )
    assert differences(silent, silent, EXACT) == []


def test_bodies_that_were_left_out_are_the_same_for_the_same_reason() -> None:
    def without(why: Any, size: int) -> RecordedAnswer:
        return RecordedAnswer(200, body=RecordedBody(left_out=why, size=size))

    assert differences(without("file", 5), without("file", 6), EXACT) == []
    (only,) = differences(without("file", 5), answer("x", ""), EXACT)
    assert (only.recorded, only.now) == ("5 bytes (file)", "x")


def test_entities_of_a_document_type_are_not_followed() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "xx"><!ENTITY c "&b;&b;">]><a>&c;</a>'
    assert values_in(bomb, XML) is None


@for_each("text", ["", "-1", "a", "1e9", "%", "1%%", "nan"])
def test_tolerance_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadTolerance, match="write a number such as 0.5 or a percentage such as 2%"):
        Tolerance.of(text)


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-10**9, 10**9) | st.text(max_size=8)
    | st.floats(-1e6, 1e6),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


@given(document=DOCUMENTS, other=DOCUMENTS)
def test_document_is_like_itself_and_comparing_works_both_ways(document: Any, other: Any) -> None:
    one, two = (answer(msgspec.json.encode(x).decode()) for x in (document, other))
    assert differences(one, one, EXACT) == []
    there = {(x.key, x.recorded, x.now) for x in differences(one, two, EXACT)}
    back = {(x.key, x.now, x.recorded) for x in differences(two, one, EXACT)}
    assert there == back


@given(first=st.floats(-1e6, 1e6), apart=st.floats(0, 100))
def test_tolerance_is_its_limit(first: float, apart: float) -> None:
    tolerance = Tolerance(absolute=10.0)
    other = first + apart
    if first not in (0, 1) and other not in (0, 1) and abs(apart - 10) > 1e-3:
        assert same_value(first, other, tolerance) is (apart <= 10)
