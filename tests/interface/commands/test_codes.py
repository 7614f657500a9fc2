"""The tables of codes: numbers and words of every version."""

from leverframe.core.profile import Profile
from leverframe.interface.table import codes
from leverframe.interface.table.codes import CodeTable
from leverframe.interface.table.params import Word
from tests.boundary_profiles import FAMILIES, NEWEST, PROFILES, VERSIONS
from tests.cases import for_each

TABLES = [table for table in vars(codes).values() if isinstance(table, CodeTable)]


@for_each("table", TABLES, ids=lambda table: table.name)
@for_each("hw", FAMILIES)
def test_no_version_has_a_number_or_a_word_twice(table: CodeTable, hw: str) -> None:
    for sw in VERSIONS:
        offered_codes = table.of(Profile(hw, sw))
        assert len({code.number for code in offered_codes}) == len(offered_codes)
        assert len({code.word for code in offered_codes}) == len(offered_codes)


@for_each("table", TABLES, ids=lambda table: table.name)
def test_numbers_and_words_translate_both_ways(table: CodeTable) -> None:
    for profile in PROFILES:
        for code in table.of(profile):
            assert table.number(code.word, profile) == code.number
            assert table.word(code.number, profile) == code.word


def test_missing_features_of_a_version_have_neither_number_nor_word() -> None:
    table = CodeTable("x", codes.run(1, ("a", "b"), codes.HW35_SW["1.49"]))
    before = Profile("3.5", "1.48")
    assert (table.word(1, before), table.number("a", before)) == (None, None)
    assert Word(table).describe_allowed(NEWEST) == "x codes 1-2"
