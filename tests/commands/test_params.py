"""Parameter types: what they accept, refuse, and that both directions fit.

The instances that the command table uses are collected from it, with the profiles that offer them;
a type that this file has no values for fails `test_every_type_has_values_to_try`.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from leverframe.commands import codes, params
from leverframe.commands.bodies import FormBody, ListBody
from leverframe.commands.codes import CodeTable
from leverframe.commands.params import (
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
    Trailing,
    Word,
    decoded,
    encoded,
)
from leverframe.commands.refusals import BadValue
from leverframe.commands.row import Row
from leverframe.commands.table import TABLE
from leverframe.profile import Profile, offered
from tests.boundary_profiles import FAMILIES, NEWEST, PROFILES, VERSIONS

OLDEST = Profile("3.0", "1.10")


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
        profiles = tuple(profile for profile in PROFILES if row.offered(profile))
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
        repr((param.schema(profile), param.allowed(profile))): profile
        for profile in profiles
        if not isinstance(param, Trailing) or offered(param.when, profile)
    }
    return list(chosen.values())


# --- examples and refusals of all instances ------------------------------------------------------


@pytest.mark.parametrize(("param", "profiles"), USES)
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


@pytest.mark.parametrize(("param", "profiles"), USES)
def test_every_refused_text_is_refused_with_what_is_allowed(
    param: Param, profiles: tuple[Profile, ...]
) -> None:
    for profile in distinct(param, profiles):
        for case, seen in cases(param):
            texts = case.refused(profile, seen)
            assert texts
            for text in texts:
                with pytest.raises(BadValue) as refusal:
                    case.parse(text, profile, seen)
                assert refusal.value.allowed
                assert refusal.value.detail.endswith(".")


@pytest.mark.parametrize(("param", "profiles"), USES)
def test_every_parameter_says_in_words_and_as_schema_what_it_allows(
    param: Param, profiles: tuple[Profile, ...]
) -> None:
    for profile in distinct(param, profiles):
        assert param.allowed(profile)
        assert "None" not in param.allowed(profile)
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


@pytest.mark.parametrize(("param", "profiles"), USES)
def test_a_number_is_accepted_if_its_schema_allows_it(
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


@pytest.mark.parametrize(("param", "profiles"), USES)
@effort(max_examples=8)
@given(data=st.data())
def test_what_is_written_is_read_again(
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
    "param", [*(use.values[0] for use in USES if not isinstance(use.values[0], Depends)), Text(3)]
)
@effort(max_examples=8)
@given(raw=st.text("0159-*:+%=&AFaxż\n ", max_size=8))
def test_any_text_is_a_value_or_a_bad_value(param: Param, raw: str) -> None:
    refusal = refusal_of(param, raw)
    assert refusal is None or refusal.allowed


# --- single rules --------------------------------------------------------------------------------


def parse(param: Param, raw: str, profile: Profile = NEWEST) -> Any:
    return param.parse(raw, profile, NOTHING_SEEN)


@pytest.mark.parametrize(
    "raw", ["", " 1", "1 ", "+1", "1.0", "1e0", "0x1", "--1", "１", "%EF%BC%91"]
)
def test_a_number_is_digits_and_perhaps_a_minus(raw: str) -> None:
    with pytest.raises(BadValue, match="not a whole number|control character"):
        parse(Int(-9, 9), raw)


def test_encoded_digits_are_digits() -> None:
    assert parse(Int(0, 99), "%31%32") == 12


def test_a_refused_number_is_told_with_its_range() -> None:
    with pytest.raises(BadValue, match="6 is outside 0 to 5") as refusal:
        parse(Int(0, 5), "6")
    assert (refusal.value.value, refusal.value.allowed) == ("6", "0 to 5")


def test_length_is_counted_in_letters_not_bytes() -> None:
    assert parse(Text(15), encoded("żółw" * 3 + "żół")) == "żółwżółwżółwżół"
    with pytest.raises(BadValue, match="The text has 16 characters"):
        parse(Text(15), encoded("żółw" * 4))


def test_a_text_that_is_too_long_is_not_cut() -> None:
    with pytest.raises(BadValue) as refusal:
        parse(Text(3), "four")
    assert refusal.value.allowed == "up to 3 characters"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a+b", "a b"),
        ("a%20b", "a b"),
        ("a%2Bb", "a+b"),
        ("a%2Ab", "a*b"),
        ("a%26b", "a&b"),
        ("a%3Db", "a=b"),
        ("a%25b", "a%b"),
        ("%C5%BC", "ż"),
        ("%c5%bc", "ż"),
        ("%22a%22", '"a"'),
        ("100%", "100%"),
        ("", ""),
        ("%F0%9F%9A%B0", "\U0001f6b0"),
    ],
)
def test_texts_are_decoded_once(raw: str, text: str) -> None:
    assert decoded(raw) == text


@pytest.mark.parametrize("raw", ["%FF", "%C3%28", "%ED%A0%80", "%80", "%C0%AF", "%F5%80%80%80"])
def test_what_is_not_utf8_is_refused(raw: str) -> None:
    with pytest.raises(BadValue, match="not valid UTF-8") as refusal:
        decoded(raw)
    assert refusal.value.allowed == "UTF-8 text"


@pytest.mark.parametrize(
    "raw", ["%00", "a%0Ab", "%0D", "%09", "%7F", "%C2%85", "%E2%80%A8", "a\x01"]
)
def test_control_characters_are_refused(raw: str) -> None:
    with pytest.raises(BadValue, match="control character"):
        decoded(raw)


@given(texts(0, 40))
def test_decoding_undoes_encoding(text: str) -> None:
    assert decoded(encoded(text)) == text
    assert not set(encoded(text)) & set("&=*+:# ")


def test_a_bare_plus_in_a_telephone_number_stays_a_plus() -> None:
    numbers = ListOf(Phone(), 8, ":", least=0)
    assert parse(numbers, "+48123456789:112") == ("+48123456789", "112")
    assert parse(numbers, "%2B48123456789") == ("+48123456789",)
    assert parse(numbers, "") == ()


def test_telephone_numbers_are_separated_by_an_encoded_colon_too() -> None:
    numbers = ListOf(Phone(), 8, ":", least=0)
    assert parse(numbers, "%2B48123%3A112%3a113") == ("+48123", "112", "113")


def test_a_scaled_number_has_32_bits_unless_told_otherwise() -> None:
    schema = Scaled(100).schema(NEWEST)
    assert (schema["minimum"], schema["maximum"]) == (-(2**31), 2**31 - 1)


def test_codes_that_are_allowed_are_told_as_ranges() -> None:
    table = CodeTable("x", codes.run(1, "abc"), codes.run(5, "d"), codes.run(8, "ef"))
    assert Word(table).allowed(NEWEST) == "x codes 1-3, 5, 8-9"


def test_scaled_values_are_real_units() -> None:
    assert parse(Scaled(10), "215") == 21.5
    assert parse(Scaled(100), "-5") == -0.05
    assert Scaled(1000, 0, 9999).format(1.2345, NEWEST, NOTHING_SEEN) == "1234"


def test_bits_are_told_as_a_number_and_how_many_they_are() -> None:
    assert Bits(5).allowed(NEWEST) == "0 to 31, 5 bits"


def test_bits_are_flags_first_bit_first() -> None:
    assert parse(Bits(4), "5") == (True, False, True, False)


def test_a_list_has_exactly_the_number_of_its_version() -> None:
    counted = ListOf(Int(0, 9), lambda profile: 3 if profile.since("1.49") else 2)
    assert parse(counted, "1*2*3") == (1, 2, 3)
    assert parse(counted, "1*2", OLDEST) == (1, 2)
    with pytest.raises(BadValue, match="The list has 2 items") as refusal:
        parse(counted, "1*2")
    assert refusal.value.allowed == "3 items joined by *, each 0 to 9"


def test_a_bad_item_of_a_list_is_told_itself() -> None:
    with pytest.raises(BadValue, match="12 is outside 0 to 9"):
        parse(ListOf(Int(0, 9), 3), "1*12*3")


@pytest.mark.parametrize(
    ("raw", "meaning"),
    [("00", (0, 0)), ("112", (1, 12)), ("329", (3, 29)), ("62", (6, 2)), ("65", (6, 5))],
)
def test_a_mapping_item_is_a_slot_digit_and_a_reading(raw: str, meaning: tuple[int, int]) -> None:
    assert parse(MappingItem(), raw) == meaning


def test_a_mapping_item_has_one_of_six_slots_and_of_thirty_readings() -> None:
    assert is_accepted(MappingItem(), "629", NEWEST)
    for text in ("630", "729", "1", "x1"):
        assert not is_accepted(MappingItem(), text, NEWEST)


def test_a_position_that_the_pages_use_is_not_free() -> None:
    position = Position(4, ((0, codes.HW35_SW["1.44"]),))
    assert parse(position, "0", OLDEST) == 0
    assert position.free(NEWEST) == [1, 2, 3]
    with pytest.raises(BadValue, match="0 is not a free position"):
        parse(position, "0")


def test_the_comparison_of_a_digital_source_may_be_written_as_equality() -> None:
    assert [parse(EqualsComparison(), raw) for raw in ("0", "1", "=")] == [">=", "<", ">="]


@pytest.mark.parametrize("raw", ["c2VjcmV0", "c2VjcmV0%3D", "%2B%2B%2B%2B"])
def test_a_refused_base64_text_is_not_repeated(raw: str) -> None:
    with pytest.raises(BadValue) as refusal:
        parse(Base64Text(3), raw)
    assert refusal.value.value is None
    assert "secret" not in refusal.value.detail


def test_a_plus_in_base64_is_a_plus() -> None:
    assert parse(Base64Text(9), "Pj4+") == ">>>"


# --- code tables ---------------------------------------------------------------------------------

TABLES = [table for table in vars(codes).values() if isinstance(table, CodeTable)]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("hw", FAMILIES)
def test_no_version_has_a_number_or_a_word_twice(table: CodeTable, hw: str) -> None:
    for sw in VERSIONS:
        offered_codes = table.of(Profile(hw, sw))
        assert len({code.number for code in offered_codes}) == len(offered_codes)
        assert len({code.word for code in offered_codes}) == len(offered_codes)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_numbers_and_words_translate_both_ways(table: CodeTable) -> None:
    for profile in PROFILES:
        for code in table.of(profile):
            assert table.number(code.word, profile) == code.number
            assert table.word(code.number, profile) == code.word


def test_what_a_version_does_not_have_has_neither_number_nor_word() -> None:
    table = CodeTable("x", codes.run(1, ("a", "b"), codes.HW35_SW["1.49"]))
    assert (table.word(1, OLDEST), table.number("a", OLDEST)) == (None, None)
    assert Word(table).allowed(NEWEST) == "x codes 1-2"
