"""The command table against the interface document: its forms, ranges, lengths and versions.

Every printed form must have its row, in the same order, and the versions, ranges and lengths
printed beside it must be those of the row. The facts of the document are a file (see
`interface_facts.py`); where the document lies beside the project, the file must be what it says.
Where the document leaves a choice, the choice is listed here with its reason.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from leverframe.core.profile import (
    ALWAYS,
    HW30,
    HW35,
    Profile,
    VersionSpan,
    is_offered,
    version,
    withdrawn,
)
from leverframe.interface.table.bodies import FormBody, ListBody
from leverframe.interface.table.lookup import DOCUMENT_ROWS, TABLE
from leverframe.interface.table.params import Param, Position, Trailing
from leverframe.interface.table.row import Row
from tests.boundary_profiles import (
    ALL_HARDWARE,
    BEFORE_ALL,
    NEWEST,
    PROFILES,
    VERSIONS,
    versions_in,
)
from tests.cases import for_each
from tests.conformance.interface_facts import (
    DOCUMENT,
    FIXTURE,
    MAIL_ITEMS,
    Form,
    as_text,
    load,
    read_document,
)

FACTS = load()
ROWS = list(zip(FACTS.forms, DOCUMENT_ROWS, strict=False))
PAIRS = [pytest.param(form, row, id=form.line) for form, row in ROWS if form.line == row.line]


@pytest.mark.skipif(
    not DOCUMENT.exists(), reason="the interface document is not beside the project folder"
)
def test_file_of_facts_is_what_the_document_says() -> None:
    stored = FIXTURE.read_text(encoding="utf-8").splitlines()
    hint = "to write the file again: python -m tests.conformance.interface_facts"
    assert stored == as_text(read_document()).splitlines(), hint


# --- every form has its row ----------------------------------------------------------------------


def test_every_printed_form_has_a_row_in_the_order_of_the_document() -> None:
    assert [row.line for row in DOCUMENT_ROWS] == [form.line for form in FACTS.forms]


def test_sections_print_the_forms_that_were_counted() -> None:
    assert Counter(form.section for form in FACTS.forms) == {
        "Modbus": 8,
        "PWM outputs": 7,
        "PID regulator": 1,
        "Outputs": 11,
        "Serial port, GSM, lighting module, SDM": 11,
        "User interface and stored variables used by it": 7,
        "Analog inputs": 5,
        "Digital inputs": 6,
        "Differential measurements": 4,
        "I2C and 1-Wire sensors": 4,
        "Weather sensors": 4,
        "OLED": 3,
        # Four table rows: the last one stands for eight single forms.
        "Email": 3 + MAIL_ITEMS,
        "Events (entries)": 4,
        "Power and energy": 8,
        "Firmware, backup, reset": 6,
        "Others, status pages, variables": 14,
    }


def test_no_other_path_of_the_document_is_without_an_answer() -> None:
    status_files = {"/json/status.json", "/json/dsi2c.json"}
    assert set(FACTS.paths) - {row.form.path for row in DOCUMENT_ROWS} == status_files


@for_each(("form", "row"), PAIRS)
def test_form_has_the_fields_that_are_printed(form: Form, row: Row) -> None:
    assert set(params_of(row)) == set(form.fields)


# --- availability of whole forms -----------------------------------------------------------------

#: Spans of rows beside which the document prints no availability, or a shorter one.
DECIDED_SPANS: dict[str, tuple[VersionSpan, ...]] = {
    # "Current form", undated: it came when diffzsel, whose operator it contains, went.
    "GET /inpa.cgi?diffsel=<A>*<B>*<C>*<D>": (VersionSpan(HW35, "1.49"),),
    # "Not available since SW 1.49"; the version list says that HW 3.5+ lost it.
    "GET /inpa.cgi?diffzsel=<A><B>": (VersionSpan(HW35, until="1.49"), VersionSpan(HW30)),
}


@for_each(("form", "row"), PAIRS)
def test_form_is_offered_by_the_versions_printed_beside_it(form: Form, row: Row) -> None:
    spans = DECIDED_SPANS.get(form.line) or form.spans or ALWAYS
    for profile in ALL_HARDWARE:
        assert row.is_offered(profile) == is_offered(spans, profile), profile
        assert withdrawn(row.when, profile) == withdrawn(spans, profile), profile


def test_decided_spans_are_needed() -> None:
    for form in FACTS.forms:
        if form.line in DECIDED_SPANS:
            assert form.spans != DECIDED_SPANS[form.line]


# --- versions inside a form ----------------------------------------------------------------------

#: (line, version) printed beside a form that changes nothing of it, and why.
NO_CHANGE = {
    # The change at that version is the end of the other homepage form.
    ("GET /eeprom.cgi?byte0=<A>", "1.45b"),
    # Deprecated there, and said so; it works on.
    ("GET /inpa.cgi?eclear=<A>", "1.56a"),
}
#: (section, version) printed below a table that only changed a label.
LABELS_ONLY = {("Power and energy", "1.36")}


def changes_of(row: Row) -> set[str]:
    """Versions at which the row looks different on some hardware."""
    changes = set()
    for hw in {profile.hw for profile in PROFILES}:
        looks = [appearance(row, Profile(hw, sw)) for sw in VERSIONS]
        pairs = zip(looks, looks[1:], VERSIONS[1:], strict=False)
        changes |= {sw for before, after, sw in pairs if before != after}
    return changes


def appearance(row: Row, profile: Profile) -> tuple[Any, ...]:
    fields = {
        name: (param.schema(profile), param.describe_allowed(profile))
        for name, param in row.params.items()
        if not isinstance(param, Trailing) or is_offered(param.when, profile)
    }
    return row.is_offered(profile), repr(fields), row.body and repr(row.body.describe(profile))


@for_each(("form", "row"), PAIRS)
def test_form_changes_with_every_version_printed_beside_it(form: Form, row: Row) -> None:
    without_change = {sw for line, sw in NO_CHANGE if line == form.line}
    assert set(form.versions) - changes_of(row) - without_change == set()


def test_deprecated_form_says_since_when() -> None:
    deprecated = [(form, row) for form, row in ROWS if form.deprecated]
    assert [form.line for form, _ in deprecated] == ["GET /inpa.cgi?eclear=<A>"]
    for form, row in deprecated:
        assert row.replaced_when == (VersionSpan(since=form.deprecated),)
        assert row.doc.endswith(f"Replaced by `powset=<A><B>` in SW {form.deprecated}+.")


@for_each("heading", dict.fromkeys(form.section for form in FACTS.forms))
def test_codes_below_a_table_change_with_the_versions_printed_there(heading: str) -> None:
    printed = set(FACTS.sections.get(heading, ()))
    if heading == "Events (entries)":
        printed |= set(FACTS.sections["Events"])
    rows = [row for form, row in ROWS if form.section == heading]
    changes = {sw for row in rows for sw in changes_of(row)}
    no_change = {sw for line, sw in NO_CHANGE if line in {row.line for row in rows}}
    labels_only = {sw for section, sw in LABELS_ONLY if section == heading}
    assert printed - changes - no_change - labels_only == set()


def test_program_knows_every_version_of_the_document_and_no_others() -> None:
    printed = {sw for versions in FACTS.sections.values() for sw in versions}
    without_effect = {sw for _, sw in NO_CHANGE} - set(VERSIONS)
    assert printed - without_effect - versions_in(TABLE) == set()
    # The wide range of PWM frequencies comes after the last letter with the narrow one.
    assert versions_in(TABLE) - printed - {BEFORE_ALL} == set()


# --- ranges and lengths --------------------------------------------------------------------------


def limits(schema: dict[str, Any]) -> tuple[int, int] | None:
    """Lowest and highest number that a schema allows."""
    if "oneOf" in schema:
        cases = [limits(case) for case in schema["oneOf"]]
        known = [case for case in cases if case]
        return (min(lo for lo, _ in known), max(hi for _, hi in known)) if known else None
    if "enum" in schema:
        numbers = [int(number) for number in schema["enum"] if str(number).lstrip("-").isdigit()]
        return min(numbers), max(numbers)
    return (schema["minimum"], schema["maximum"]) if "minimum" in schema else None


def params_of(row: Row) -> Mapping[str, Param]:
    match row.body:
        case ListBody():
            return row.body.params
        case FormBody():
            return row.body.fields
        case _:
            return row.params


def newest_that_offers(row: Row) -> Profile:
    return NEWEST if row.is_offered(NEWEST) else [p for p in PROFILES if row.is_offered(p)][-1]


#: Ranges that a note of the document widens; see docs/gaps.md.
WIDENED = {("GET /inpa.cgi?powsel=<A><B>", "B"): (0, 13)}


@for_each(("form", "row"), [pair for pair in PAIRS if pair.values[0].ranges])
def test_field_has_the_range_printed_beside_it(form: Form, row: Row) -> None:
    for name, printed in form.ranges.items():
        allowed = WIDENED.get((form.line, name), printed)
        assert range_of(row, name, newest_that_offers(row)) == allowed, name


@for_each(("form", "row"), [pair for pair in PAIRS if pair.values[0].older_ranges])
def test_field_has_the_older_range_up_to_the_version_printed(form: Form, row: Row) -> None:
    for name, (low, high, until) in form.older_ranges.items():
        for profile in (Profile("3.5", sw) for sw in VERSIONS):
            is_older = version(profile.sw) < version(until)
            expected = (low, high) if is_older else form.ranges[name]
            assert range_of(row, name, profile) == expected, (name, profile)


def range_of(row: Row, name: str, profile: Profile) -> tuple[int, int] | None:
    param = params_of(row)[name]
    if isinstance(param, Position):
        return 0, param.count - 1
    return limits(param.schema(profile))


def test_most_ranges_of_the_document_are_found() -> None:
    assert sum(len(form.ranges) for form in FACTS.forms) > 90


@for_each(("form", "row"), [pair for pair in PAIRS if pair.values[0].lengths])
def test_text_has_the_length_printed_beside_it(form: Form, row: Row) -> None:
    lengths = {name: row.params[name].schema(NEWEST)["maxLength"] for name in form.lengths}
    assert lengths == form.lengths


@pytest.mark.parametrize(
    ("kind", "words"), [("offsets", ("postop", "posleft")), ("visibility", ("echeck",))]
)
def test_list_sizes_are_those_of_the_limits_table(kind: str, words: tuple[str, ...]) -> None:
    newest, *older = FACTS.list_sizes[kind]
    rows = [row for row in DOCUMENT_ROWS if any(f"?{word}=" in row.line for word in words)]
    assert len(rows) == len(words)
    for sw in VERSIONS:
        earlier = [size for size, until in older if until and version(sw) < version(until)]
        size = min(earlier, default=newest[0])
        for row in rows:
            assert row.params["A"].schema(Profile("3.5", sw))["minItems"] == size, (row.line, sw)
