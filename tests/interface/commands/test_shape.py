"""Printed forms as matchers and writers, before any value is looked at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.refusals import Malformed
from leverframe.interface.table.shape import Form, Item, Template, name_key
from tests.cases import for_each
from tests.effort import examples

NO_LETTERS: frozenset[str] = frozenset()
ITEMS = sorted({item.text for row in TABLE for item in row.form.items})


def split(form: str, text: str, *, optional: str = "", lists: str = "") -> dict[str, str]:
    """The holes of an item's name and value."""
    item = Item(form)
    name, _, value = text.partition("=")
    in_name = item.match_name(name)
    assert in_name is not None
    return in_name | item.split_value(value, frozenset(optional), frozenset(lists))


@for_each(
    ("form", "text", "holes"),
    [
        ("oname=<A><B>", "oname=3Pump", {"A": "3", "B": "Pump"}),
        ("oname=<A><B>", "oname=3", {"A": "3", "B": ""}),
        ("oname=<A><B>", "oname=", {"A": "", "B": ""}),
        ("oname=<A><B>", "oname=3a=b", {"A": "3", "B": "a=b"}),
        ("oname=<A><B>", "oname=3a*b", {"A": "3", "B": "a*b"}),
        ("oname=<A><B>", "oname=3%2A%26", {"A": "3", "B": "%2A%26"}),
        ("out=out<A>", "out=out4", {"A": "4"}),
        ("out<A>=<B>", "out4=1", {"A": "4", "B": "1"}),
        ("out<A>=<B>", "out12=", {"A": "12", "B": ""}),
        ("m<A><B>=<C>*<D>", "m029=x*", {"A": "0", "B": "29", "C": "x", "D": ""}),
        ("onewirename<A><B>=<C>", "onewirename12=x", {"A": "1", "B": "2", "C": "x"}),
        ("atout=<A>*<B>", "atout=11*600", {"A": "11", "B": "600"}),
        ("dswrite=<A>:<B>", "dswrite=1:28:FF", {"A": "1", "B": "28:FF"}),
        ("dswrite=<A>:<B>", "dswrite=1%3A28%3aFF", {"A": "1", "B": "28:FF"}),
        (
            "auth=<A><B><C>*<D>*<E>*<F>",
            "auth=01YQ==*Yg==*Yw==*",
            {"A": "0", "B": "1", "C": "YQ==", "D": "Yg==", "E": "Yw==", "F": ""},
        ),
        ("gsmsendsms", "gsmsendsms", {}),
        ("gsmsendsms", "gsmsendsms=", {}),
        ("lightmod=1", "lightmod=1", {}),
    ],
)
def test_holes_are_split_as_printed(form: str, text: str, holes: dict[str, str]) -> None:
    assert split(form, text) == holes


def test_list_takes_the_separators_that_follow() -> None:
    assert split("postop=0*<A>", "postop=0*1*2*3", lists="A") == {"A": "1*2*3"}


@for_each(
    ("form", "text", "reason"),
    [
        ("out=out<A>", "out=4", "begins with 'out'"),
        ("lightmod=1", "lightmod=2", "accepts no other form"),
        ("lightmod=1", "lightmod=", "accepts no other form"),
        ("lightmod=1", "lightmod=11", "accepts no other form"),
        ("gsmsendsms", "gsmsendsms=1", "does not accept a value"),
        ("atout=<A>*<B>", "atout=5", "has 2 fields; the request has 1"),
        ("atout=<A>*<B>", "atout=5*1*2", "has 2 fields"),
        ("dswrite=<A>:<B>", "dswrite=1", "has 2 fields; the request has 1"),
    ],
)
def test_value_of_another_form_is_malformed(form: str, text: str, reason: str) -> None:
    with pytest.raises(Malformed, match=reason) as refusal:
        split(form, text)
    assert refusal.value.allowed == form


@pytest.mark.parametrize("given_fields", [3, 2])
def test_trailing_fields_may_be_left_out(given_fields: int) -> None:
    text = "x=" + "*".join("abc"[:given_fields])
    assert split("x=<A>*<B>*<C>", text, optional="C") == dict(
        zip("ABC"[:given_fields], "abc", strict=False)
    )


def test_no_more_than_the_trailing_fields_may_be_left_out() -> None:
    with pytest.raises(Malformed, match="has 3 fields; the request has 1"):
        split("x=<A>*<B>*<C>", "x=a", optional="C")


@for_each(
    ("form", "name"),
    [
        ("out<A>=<B>", "out"),
        ("out<A>=<B>", "outx"),
        ("out<A>=<B>", "out-1"),
        ("out<A>=<B>", "out%31"),
        ("out<A>=<B>", "out1x"),
        ("out<A>=<B>", "out１"),
        ("out=out<A>", "out1"),
        ("em1=<A>", "em2"),
        ("p1name=<A>", "p2name"),
        ("oname=<A><B>", "ONAME"),
        ("m<A><B>=<C>", "m1"),
    ],
)
def test_another_name_is_another_command(form: str, name: str) -> None:
    assert Item(form).match_name(name) is None


@for_each(
    ("names", "key"),
    [
        (("out<A>", "out0", "out", "out12"), "out"),
        (("em1", "em9"), "em"),
        (("mod_custom_set<A>", "mod_custom_set4"), "mod_custom_set"),
        (("p1name",), "p1name"),
        (("onewirename<A><B>", "onewirename02"), "onewirename"),
    ],
)
def test_names_of_one_family_share_a_key(names: tuple[str, ...], key: str) -> None:
    assert {name_key(name) for name in names} == {key}


@for_each(
    ("form", "text", "is_it"),
    [
        ("powsel=<A>*<B>", "powsel=0*5", True),
        ("powsel=<A>*<B>", "powsel=05", False),
        ("powsel=<A><B>", "powsel=05", False),
        ("diffsel=<A>*<B>*<C>*<D>", "diffsel=0*1*2*3", True),
        ("diffsel=<A>*<B>*<C>*<D>", "diffsel=0*1", False),
        ("modbusid=<A><B>", "modbusid=12", False),
        ("auth=<A><B><C>*<D>", "auth=01a*b", True),
        ("gsmsendsms", "gsmsendsms", False),
    ],
)
def test_form_is_recognised_by_its_separators(form: str, text: str, is_it: bool) -> None:
    assert Item(form).is_shape_of(text) is is_it


def test_form_has_method_path_and_items() -> None:
    form = Form("GET /stm.cgi?em1=<A>&em2=<B>")
    assert (form.method, form.path, form.holes) == ("GET", "/stm.cgi", ("A", "B"))
    assert form.write({"A": "x%26y", "B": ""}) == "/stm.cgi?em1=x%26y&em2="


def test_form_without_a_query_is_its_path() -> None:
    form = Form("GET /dev_settings.bin")
    assert (form.items, form.write({})) == ((), "/dev_settings.bin")


def test_omitted_trailing_fields_are_not_written() -> None:
    assert Item("x=<A>*<B>*<C>").write({"A": "1"}) == "x=1"
    assert Item("x=<A>*<B>*<C>").write({"A": "1", "B": ""}) == "x=1*"


def test_template_is_literals_around_holes() -> None:
    template = Template.of("0*<A>:<B>")
    assert (template.literals, template.holes) == (("0*", ":", ""), ("A", "B"))
    assert template.write({"A": "x", "B": "y"}) == "0*x:y"


@for_each("digit", ["0", "7"])
@for_each("form", ITEMS)
def test_written_form_is_split_again(form: str, digit: str) -> None:
    item = Item(form)
    texts = dict.fromkeys(item.holes, digit)
    written = item.write(texts)
    name, _, value = written.partition("=")
    assert (item.match_name(name) or {}) | item.split_value(value, NO_LETTERS, NO_LETTERS) == texts


@examples(300)
@given(form=st.sampled_from(ITEMS), value=st.text("0123456789*:ax%+=-", max_size=12))
def test_any_value_is_split_or_malformed(form: str, value: str) -> None:
    item = Item(form)
    try:
        texts = item.split_value(value, NO_LETTERS, NO_LETTERS)
    except Malformed:
        return
    # Nothing is lost: written again, the same text comes out.
    if item.value is not None:
        assert item.value.write(texts) == value
