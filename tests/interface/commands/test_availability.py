"""What descriptions say about versions: it agrees with what each version does."""

import pytest

from leverframe.core.profile import Profile, VersionSpan, is_offered, spans_in_words, version
from leverframe.interface.descriptions.listing import is_deprecated, newest_with, variants
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.params import Int, has_field
from leverframe.interface.table.row import Row, row
from leverframe.interface.table.versions import NEWEST, params_of, software_versions
from tests.boundary_profiles import BEFORE_ALL, PROFILES, VERSIONS
from tests.cases import for_each

FIELDS = [(row, letter) for row in TABLE for letter in params_of(row)]
FIELD_IDS = [f"{row.line} {letter}" for row, letter in FIELDS]


def test_every_version_that_the_table_names_is_known() -> None:
    assert set(VERSIONS) - set(software_versions()) == {BEFORE_ALL}


@for_each(("row", "letter"), FIELDS, ids=FIELD_IDS)
def test_each_version_is_described_with_exactly_what_it_allows(row: Row, letter: str) -> None:
    param = params_of(row)[letter]

    def ask(profile: Profile) -> str | None:
        there = row.is_offered(profile) and has_field(param, profile)
        return param.describe_allowed(profile) if there else None

    matching = variants(ask)
    for profile in PROFILES:
        texts = [variant.text for variant in matching if is_offered(variant.spans, profile)]
        assert texts == [answer for answer in [ask(profile)] if answer is not None]


def test_variants_are_listed_newest_first_and_briefly() -> None:
    def ask(profile: Profile) -> str | None:
        if profile.hw == "3.0":
            return None
        return "new" if profile.since("1.57") else "old"

    assert [(spans_in_words(one.spans), one.text) for one in variants(ask)] == [
        ("HW 3.5+ SW 1.57+", "new"),
        ("HW 3.5+ before SW 1.57", "old"),
    ]


def test_hardware_is_not_mentioned_where_it_makes_no_difference() -> None:
    (only,) = variants(lambda profile: "the same")
    assert spans_in_words(only.spans) == "all versions"


@for_each("row", TABLE, ids=lambda row: row.line)
def test_newest_version_of_a_row_has_it_and_no_newer_one_does(row: Row) -> None:
    newest = newest_with(row)
    assert row.is_offered(newest)
    newer = [Profile(newest.hw, sw) for sw in VERSIONS if version(sw) > version(newest.sw)]
    assert [profile for profile in newer if row.is_offered(profile)] == []


def list_deprecated(profile: Profile) -> list[str]:
    return [row.line for row in TABLE if row.is_offered(profile) and is_deprecated(row, profile)]


def test_forms_are_deprecated_where_the_version_has_a_newer_one() -> None:
    assert list_deprecated(NEWEST) == [
        "GET /stm.cgi?modbus_sensor=<A>",
        "GET /stm.cgi?gsmnumber=<A>",
        "GET /inpa.cgi?diffsel=<A><B>",
        "GET /stm.cgi?em1=<A>&em2=<B>&em3=<C>&em4=<D>&em5=<E>&em6=<F>&em7=<G>&em8=<H>",
        "GET /inpa.cgi?powsel=<A><B>",
        "GET /inpa.cgi?eclear=<A>",
    ]


def test_only_form_that_a_version_has_is_not_deprecated() -> None:
    assert not set(list_deprecated(Profile("3.0", "1.36"))) & {
        "GET /stm.cgi?modbus_sensor=<A>",
        "GET /inpa.cgi?diffsel=<A><B>",
        "GET /inpa.cgi?powsel=<A><B>",
        "GET /eeprom.cgi?bit2=<A>",
    }


def test_replacement_of_a_row_is_a_row_of_the_table() -> None:
    replacements = {row.replaced_by for row in TABLE if row.replaced_by}
    assert replacements <= {row.line for row in TABLE}


@pytest.mark.parametrize(("sw", "deprecated"), [("1.56", False), ("1.56a", True)])
def test_deprecation_begins_with_the_version_that_says_so(sw: str, deprecated: bool) -> None:
    lines = list_deprecated(Profile("3.9", sw))
    assert ("GET /inpa.cgi?eclear=<A>" in lines) is deprecated


def test_row_of_its_own_version_is_its_newest() -> None:
    old = row(
        "GET /stm.cgi?x=<A>", A=Int(0, 1), when=(VersionSpan(until="1.44"),), doc="An old one."
    )
    assert version(newest_with(old).sw) < version("1.44")
