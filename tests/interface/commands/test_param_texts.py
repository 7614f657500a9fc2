"""Parameter types one by one: what each makes of a text, and how it refuses one."""

from typing import Any

import pytest

from leverframe.core.profile import Profile
from leverframe.interface.table import codes
from leverframe.interface.table.codes import CodeTable
from leverframe.interface.table.params import (
    NOTHING_SEEN,
    Base64Text,
    Bits,
    EqualsComparison,
    Int,
    ListOf,
    MappingItem,
    Param,
    Phone,
    Position,
    Scaled,
    Text,
    Word,
    decode_text,
    encode_text,
)
from leverframe.interface.table.refusals import BadValue
from tests.boundary_profiles import NEWEST
from tests.cases import for_each

OLDEST = Profile("3.0", "1.10")


def parse(param: Param, raw: str, profile: Profile = NEWEST) -> Any:
    return param.parse(raw, profile, NOTHING_SEEN)


@for_each("raw", ["", " 1", "1 ", "+1", "1.0", "1e0", "0x1", "--1", "１", "%EF%BC%91"])
def test_number_is_digits_and_perhaps_a_minus(raw: str) -> None:
    with pytest.raises(BadValue, match="not a whole number|control character"):
        parse(Int(-9, 9), raw)


def test_encoded_digits_are_digits() -> None:
    assert parse(Int(0, 99), "%31%32") == 12


def test_refused_number_is_reported_with_its_range() -> None:
    with pytest.raises(BadValue, match="6 is outside 0 to 5") as refusal:
        parse(Int(0, 5), "6")
    assert (refusal.value.value, refusal.value.allowed) == ("6", "0 to 5")


def test_length_is_counted_in_letters_not_bytes() -> None:
    assert parse(Text(15), encode_text("żółw" * 3 + "żół")) == "żółwżółwżółwżół"
    with pytest.raises(BadValue, match="The text has 16 characters"):
        parse(Text(15), encode_text("żółw" * 4))


def test_text_that_is_too_long_is_not_cut() -> None:
    with pytest.raises(BadValue) as refusal:
        parse(Text(3), "four")
    assert refusal.value.allowed == "up to 3 characters"


@for_each(
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
    assert decode_text(raw) == text


@for_each("raw", ["%FF", "%C3%28", "%ED%A0%80", "%80", "%C0%AF", "%F5%80%80%80"])
def test_invalid_utf8_is_refused(raw: str) -> None:
    with pytest.raises(BadValue, match="not valid UTF-8") as refusal:
        decode_text(raw)
    assert refusal.value.allowed == "UTF-8 text"


@for_each("raw", ["%00", "a%0Ab", "%0D", "%09", "%7F", "%C2%85", "%E2%80%A8", "a\x01"])
def test_control_characters_are_refused(raw: str) -> None:
    with pytest.raises(BadValue, match="control character"):
        decode_text(raw)


def test_bare_plus_in_a_telephone_number_stays_a_plus() -> None:
    numbers = ListOf(Phone(), 8, ":", least=0)
    assert parse(numbers, "+48123456789:112") == ("+48123456789", "112")
    assert parse(numbers, "%2B48123456789") == ("+48123456789",)
    assert parse(numbers, "") == ()


def test_telephone_numbers_are_separated_by_an_encoded_colon_too() -> None:
    numbers = ListOf(Phone(), 8, ":", least=0)
    assert parse(numbers, "%2B48123%3A112%3a113") == ("+48123", "112", "113")


def test_scaled_number_has_32_bits_by_default() -> None:
    schema = Scaled(100).schema(NEWEST)
    assert (schema["minimum"], schema["maximum"]) == (-(2**31), 2**31 - 1)


def test_allowed_codes_are_described_as_ranges() -> None:
    table = CodeTable("x", codes.run(1, "abc"), codes.run(5, "d"), codes.run(8, "ef"))
    assert Word(table).describe_allowed(NEWEST) == "x codes 1-3, 5, 8-9"


def test_scaled_values_are_real_units() -> None:
    assert parse(Scaled(10), "215") == 21.5
    assert parse(Scaled(100), "-5") == -0.05
    assert Scaled(1000, 0, 9999).format(1.2345, NEWEST, NOTHING_SEEN) == "1234"


def test_bits_are_described_by_range_and_count() -> None:
    assert Bits(5).describe_allowed(NEWEST) == "0 to 31, 5 bits"


def test_bits_are_flags_first_bit_first() -> None:
    assert parse(Bits(4), "5") == (True, False, True, False)


def test_list_has_exactly_the_number_of_its_version() -> None:
    counted = ListOf(Int(0, 9), lambda profile: 3 if profile.since("1.49") else 2)
    assert parse(counted, "1*2*3") == (1, 2, 3)
    assert parse(counted, "1*2", OLDEST) == (1, 2)
    with pytest.raises(BadValue, match="The list has 2 items") as refusal:
        parse(counted, "1*2")
    assert refusal.value.allowed == "3 items joined by *, each 0 to 9"


def test_bad_item_of_a_list_is_reported_itself() -> None:
    with pytest.raises(BadValue, match="12 is outside 0 to 9"):
        parse(ListOf(Int(0, 9), 3), "1*12*3")


@for_each(
    ("raw", "meaning"),
    [("00", (0, 0)), ("112", (1, 12)), ("329", (3, 29)), ("62", (6, 2)), ("65", (6, 5))],
)
def test_mapping_item_is_a_slot_digit_and_a_reading(raw: str, meaning: tuple[int, int]) -> None:
    assert parse(MappingItem(), raw) == meaning


def test_mapping_item_has_one_of_six_slots_and_of_thirty_readings() -> None:
    assert parse(MappingItem(), "629") == (6, 29)
    for text in ("630", "729", "1", "x1"):
        with pytest.raises(BadValue):
            parse(MappingItem(), text)


def test_position_that_the_pages_use_is_not_free() -> None:
    position = Position(4, ((0, codes.HW35_SW["1.44"]),))
    assert parse(position, "0", OLDEST) == 0
    assert position.free(NEWEST) == [1, 2, 3]
    with pytest.raises(BadValue, match="0 is not a free position"):
        parse(position, "0")


def test_comparison_of_a_digital_source_may_be_written_as_equality() -> None:
    assert [parse(EqualsComparison(), raw) for raw in ("0", "1", "=")] == [">=", "<", ">="]


@pytest.mark.parametrize("raw", ["c2VjcmV0", "c2VjcmV0%3D", "%2B%2B%2B%2B"])
def test_refused_base64_text_is_not_repeated(raw: str) -> None:
    with pytest.raises(BadValue) as refusal:
        parse(Base64Text(3), raw)
    assert refusal.value.value is None
    assert "secret" not in refusal.value.detail


def test_plus_in_base64_is_a_plus() -> None:
    assert parse(Base64Text(9), "Pj4+") == ">>>"
