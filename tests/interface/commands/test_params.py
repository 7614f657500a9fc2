"""Parameter types: what they accept, refuse, and that both directions fit.

The instances that the command table uses are collected from it, with the profiles that offer them;
a type that this file has no values for fails `test_every_type_has_values_to_try`.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.profile import Profile, is_offered
from leverframe.interface.table import codes, params
from leverframe.interface.table.bodies import FormBody, ListBody
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.params import (
    NOTHING_SEEN,
    Base64Text,
    Bits,
    Changed,
    Depends,
    EqualsComparison,
    Flag,
    I2cSelection,
    Int,
    ListOf,
    MappingItem,
    OneWireId,
    Param,
    Phone,
    Position,
    Record,
    Scaled,
    Seconds10,
    Text,
    TimeZoneName,
    Trailing,
    Word,
    decode_text,
    encode_text,
)
from leverframe.interface.table.refusals import BadValue
from leverframe.interface.table.row import Row
from tests.boundary_profiles import NEWEST, PROFILES
from tests.cases import for_each
from tests.effort import examples, some_of


def params_of(row: Row) -> dict[str, Param]:
    """Fields of the row and of its body."""
    if isinstance(row.body, ListBody):
        return dict(row.body.params)
    if isinstance(row.body, FormBody):
        return dict(row.body.fields)
    return dict(row.params)


def uses() -> Iterator[Any]:
    """Every distinct parameter of the table with the profiles on which it can be used."""
    known: set[str] = set()
    for row in TABLE:
        profiles = tuple(profile for profile in PROFILES if row.is_offered(profile))
        for name, param in params_of(row).items():
            key = repr((param, row.when))
            if key not in known:
                known.add(key)
                yield pytest.param(param, profiles, id=f"{row.line.split('?')[-1][:30]} {name}")


USES = list(uses())


def cases(param: Param) -> list[tuple[Param, dict[str, Any]]]:
    """The parameter with what it must have seen; a dependent one in each of its cases."""
    if isinstance(param, Depends):
        return [(param, {param.on: next(iter(values))}) for values, _ in param.cases]
    return [(param, {})]


def distinct(param: Param, profiles: tuple[Profile, ...]) -> list[Profile]:
    """One profile for each appearance of the parameter."""
    chosen = {
        repr((param.schema(profile), param.describe_allowed(profile))): profile
        for profile in profiles
        if not isinstance(param, Trailing) or is_offered(param.when, profile)
    }
    return list(chosen.values())


# --- examples and refusals of all instances ------------------------------------------------------


@for_each(("param", "profiles"), USES)
def test_every_example_is_accepted_and_written_again(
    param: Param, profiles: tuple[Profile, ...]
) -> None:
    for profile in distinct(param, profiles):
        for case, seen in cases(param):
            examples = case.examples(profile, seen)
            assert examples
            for text in examples:
                value = case.parse(text, profile, seen)
                assert case.parse(case.format(value, profile, seen), profile, seen) == value


@for_each(("param", "profiles"), USES)
def test_every_refused_text_is_refused_with_what_is_allowed(
    param: Param, profiles: tuple[Profile, ...]
) -> None:
    for profile in distinct(param, profiles):
        for case, seen in cases(param):
            texts = case.bad_texts(profile, seen)
            assert texts
            for text in texts:
                with pytest.raises(BadValue) as refusal:
                    case.parse(text, profile, seen)
                assert refusal.value.allowed
                assert refusal.value.detail.endswith(".")


@for_each(("param", "profiles"), USES)
def test_every_parameter_says_in_words_and_as_schema_what_it_allows(
    param: Param, profiles: tuple[Profile, ...]
) -> None:
    for profile in distinct(param, profiles):
        assert param.describe_allowed(profile)
        assert "None" not in param.describe_allowed(profile)
        assert {"type", "oneOf"} & param.schema(profile).keys()


def numbers_around(schema: dict[str, Any]) -> dict[int, bool]:
    """The numbers at the edges of a schema of whole numbers, and whether it allows them."""
    if "enum" in schema:
        allowed = set(schema["enum"])
        return {edge: edge in allowed for one in allowed for edge in (one - 1, one, one + 1)}
    low, high = schema["minimum"], schema["maximum"]
    return {low - 1: False, low: True, high: True, high + 1: False}


def is_accepted(param: Param, text: str, profile: Profile) -> bool:
    try:
        param.parse(text, profile, NOTHING_SEEN)
    except BadValue:
        return False
    return True


@for_each(("param", "profiles"), USES)
def test_number_is_accepted_if_its_schema_allows_it(
    param: Param, profiles: tuple[Profile, ...]
) -> None:
    if isinstance(param, Depends):
        return
    for profile in distinct(param, profiles):
        schema = param.schema(profile)
        if schema.get("type") == "integer":
            for number, allowed in numbers_around(schema).items():
                assert is_accepted(param, str(number), profile) is allowed, number


# --- both directions fit -------------------------------------------------------------------------

#: What a text may hold: anything but control characters and what UTF-8 cannot say.
LETTERS = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])


def texts(least: int, most: int) -> st.SearchStrategy[str]:
    return st.text(LETTERS, min_size=least, max_size=most)


def values(param: Param, profile: Profile, seen: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Any value that the parameter can stand for."""
    match param:
        case Int(lo, hi):
            return st.integers(lo, hi)
        case Flag():
            return st.booleans()
        case Scaled(factor, lo, hi):
            return st.integers(lo, hi).map(lambda number: number / factor)
        case Seconds10(lo, hi):
            return st.integers(lo, hi).map(lambda number: number * 10)
        case TimeZoneName():
            # Those that this machine has.
            return st.sampled_from(param.fitting)
        case Text() if param.pattern:
            fitting = st.from_regex(param.pattern, fullmatch=True, alphabet=LETTERS)
            return fitting.filter(lambda text: param.least <= len(text) <= param.most)
        case Text(most, least):
            return texts(least, most)
        case Base64Text(most, least):
            return texts(least, most).filter(str.isprintable)
        case Word(table, numeric):
            words = [code.word for code in table.of(profile)]
            return st.sampled_from([int(word) for word in words] if numeric else words)
        case Bits(count):
            return st.tuples(*[st.booleans()] * count)
        case ListOf():
            most = param.most(profile)
            least = most if param.least is None else param.least
            item = values(param.item, profile, seen)
            return st.lists(item, min_size=least, max_size=most).map(tuple)
        case Record(fields):
            return st.fixed_dictionaries(
                {name: values(field, profile, seen) for name, field in fields}
            )
        case Depends():
            return values(param.case(seen), profile, seen)
        case Changed():
            return values(param.pick(profile), profile, seen)
        case Trailing(inner):
            return values(inner, profile, seen)
        case Position():
            return st.sampled_from(param.free(profile))
        case MappingItem():
            return st.tuples(st.integers(0, param.slots(profile)), st.integers(0, 29))
        case Phone():
            return st.from_regex(r"\+?[0-9]{3,20}", fullmatch=True)
        case OneWireId():
            return st.from_regex(r"[0-9A-F]{2}(:[0-9A-F]{2}){7}", fullmatch=True)
        case I2cSelection():
            return st.tuples(st.sampled_from(codes.I2C_SENSORS), st.booleans())
        case EqualsComparison():
            return st.sampled_from([">=", "<"])
        case _:
            raise NotImplementedError(type(param).__name__)


def test_every_type_has_values_to_try() -> None:
    kinds = {
        kind
        for _, kind in inspect.getmembers(params, inspect.isclass)
        if kind.__module__.startswith(params.__name__) and kind is not Param
    }
    used = {type(inner) for use in USES for inner in all_inside(use.values[0])}
    assert used == kinds


def all_inside(param: Param) -> Iterator[Param]:
    """The parameter and all that it is made of."""
    yield param
    match param:
        case ListOf(item=inner) | Trailing(inner):
            yield from all_inside(inner)
        case Record(pairs) | Depends(_, pairs) | Changed(pairs):
            for _, inner in pairs:
                yield from all_inside(inner)


@pytest.mark.parametrize(("param", "profiles"), some_of(USES))
@examples(8)
@given(data=st.data())
def test_written_value_is_read_back(
    param: Param, profiles: tuple[Profile, ...], data: st.DataObject
) -> None:
    profile = data.draw(st.sampled_from(distinct(param, profiles)))
    case, seen = data.draw(st.sampled_from(cases(param)))
    value = data.draw(values(case, profile, seen))
    assert case.parse(case.format(value, profile, seen), profile, seen) == value


def refusal_of(param: Param, raw: str) -> BadValue | None:
    try:
        param.parse(raw, NEWEST, NOTHING_SEEN)
    except BadValue as refusal:
        return refusal
    return None


@pytest.mark.parametrize(
    "param",
    [*(use.values[0] for use in some_of(USES) if not isinstance(use.values[0], Depends)), Text(3)],
)
@examples(8)
@given(raw=st.text("0159-*:+%=&AFaxż\n ", max_size=8))
def test_any_text_is_a_value_or_a_bad_value(param: Param, raw: str) -> None:
    refusal = refusal_of(param, raw)
    assert refusal is None or refusal.allowed


@given(texts(0, 40))
def test_decoding_undoes_encoding(text: str) -> None:
    assert decode_text(encode_text(text)) == text
    assert not set(encode_text(text)) & set("&=*+:# ")
