"""The interface document, read as it stands, against the command table.

The document is parsed, not typed again: every printed form must have its row, in the same order,
and the versions, ranges and lengths printed beside it must be those of the row. Where the document
leaves a choice, the choice is listed here with its reason.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from leverframe.commands.table.bodies import FormBody, ListBody
from leverframe.commands.table.matching import DOCUMENT_ROWS, TABLE
from leverframe.commands.table.params import Param, Position, Trailing
from leverframe.commands.table.row import Row
from leverframe.profile import HW30, HW35, Profile, VersionSpan, offered, withdrawn
from tests.boundary_profiles import (
    ALL_HARDWARE,
    BEFORE_ALL,
    NEWEST,
    PROFILES,
    VERSIONS,
    versions_in,
)

DOCUMENT = Path(__file__).parents[2].parent / "shared" / "interface.md"
pytestmark = pytest.mark.skipif(
    not DOCUMENT.exists(), reason="the interface document is not beside the project folder"
)

SOFTWARE = r"(\d\.\d\d[a-z]?)"
EVENTS = "## Events"
MAIL_ITEMS = 8


@dataclass(frozen=True)
class Printed:
    """One form as the document prints it."""

    section: str
    line: str
    parameters: str = ""
    notes: str = ""


# --- reading the document ------------------------------------------------------------------------


@lru_cache(maxsize=1)
def sections() -> dict[str, str]:
    """Heading -> the text below it."""
    text = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else ""
    pieces = re.split(r"^(##+ .+)$", text, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def printed_forms() -> list[Printed]:
    return [form for heading, text in sections().items() for form in forms_in(heading, text)]


def forms_in(heading: str, text: str) -> list[Printed]:
    found: list[Printed] = []
    for line in text.splitlines():
        if alone := re.fullmatch(r"`(GET|POST) (/[^`]+)`", line):
            found.append(Printed(heading, f"{alone[1]} {alone[2]}"))
        elif row := re.fullmatch(r"\| (GET|POST) (.*?) \| (.*?) \|(.*)\|", line):
            found += forms_of_row(heading, row[1], row[2], row[3], row[4].strip())
    return found


def forms_of_row(
    heading: str, method: str, form: str, parameters: str, notes: str
) -> list[Printed]:
    """The forms of one table row; two rows of the mail section describe theirs in words."""
    combined = "/stm.cgi?" + "&".join(
        f"em{number}=<{letter}>" for number, letter in enumerate("ABCDEFGH", start=1)
    )
    if form == "same path with em1..em8":
        return [Printed(heading, f"{method} {combined}", parameters, notes)]
    if form == "`/stm.cgi?em1=<A>` ... `?em8=<A>`":
        return [
            Printed(heading, f"{method} /stm.cgi?em{number}=<A>", parameters, notes)
            for number in range(1, MAIL_ITEMS + 1)
        ]
    return [Printed(heading, f"{method} {form.strip('`')}", parameters, notes)]


FORMS = printed_forms()
PAIRS = [
    pytest.param(form, row, id=form.line)
    for form, row in zip(FORMS, DOCUMENT_ROWS, strict=False)
    if form.line == row.line
]


# --- every form has its row ----------------------------------------------------------------------


def test_every_printed_form_has_a_row_in_the_order_of_the_document() -> None:
    assert [row.line for row in DOCUMENT_ROWS] == [form.line for form in FORMS]


def test_sections_print_the_forms_that_were_counted() -> None:
    counted: dict[str, int] = {}
    for form in FORMS:
        counted[form.section] = counted.get(form.section, 0) + 1
    assert counted == {
        "### Modbus": 8,
        "### PWM outputs": 7,
        "### PID regulator": 1,
        "### Outputs": 11,
        "### Serial port, GSM, lighting module, SDM": 11,
        "### User interface and stored variables used by it": 7,
        "### Analog inputs": 5,
        "### Digital inputs": 6,
        "### Differential measurements": 4,
        "### I2C and 1-Wire sensors": 4,
        "### Weather sensors": 4,
        "### OLED": 3,
        # Four table rows: the last one stands for eight single forms.
        "### Email": 3 + MAIL_ITEMS,
        "### Events (entries)": 4,
        "### Power and energy": 8,
        "### Firmware, backup, reset": 6,
        "### Others, status pages, variables": 14,
    }


def test_no_other_path_of_the_document_is_without_an_answer() -> None:
    text = "\n".join(sections().values())
    paths = set(re.findall(r"`(?:GET |POST )?(/[a-z_/0-9]+\.[a-z]+)", text))
    status_files = {"/json/status.json", "/json/dsi2c.json"}
    assert paths - {row.form.path for row in DOCUMENT_ROWS} == status_files


# --- availability of whole forms -----------------------------------------------------------------

#: Spans of rows beside which the document prints no availability, or a shorter one.
DECIDED_SPANS: dict[str, tuple[VersionSpan, ...]] = {
    # "Current form", undated: it came when diffzsel, whose operator it contains, went.
    "GET /inpa.cgi?diffsel=<A>*<B>*<C>*<D>": (VersionSpan(HW35, "1.49"),),
    # "Not available since SW 1.49"; the version list says that HW 3.5+ lost it.
    "GET /inpa.cgi?diffzsel=<A><B>": (VersionSpan(HW35, until="1.49"), VersionSpan(HW30)),
}


def printed_spans(notes: str) -> tuple[VersionSpan, ...]:
    """What the notes of a row say about the whole form."""
    if found := re.search(rf"HW 3\.5\+ SW {SOFTWARE}; removed in HW 3\.5\+ SW {SOFTWARE}", notes):
        # The newest board kept it longer.
        longer = re.search(rf"and HW 3\.9 SW {SOFTWARE}", notes)
        assert longer
        return VersionSpan(HW35[:-1], found[1], found[2]), VersionSpan(
            HW35[-1:], found[1], longer[1]
        )
    if found := re.search(rf"HW 3\.5\+ SW {SOFTWARE}", notes):
        return (VersionSpan(HW35, found[1]),)
    if re.search(r"HW 3\.5\+ only", notes):
        return (VersionSpan(HW35),)
    if found := re.search(rf"not available since SW {SOFTWARE}|\(before SW {SOFTWARE}\)", notes):
        return (VersionSpan(until=found[1] or found[2]),)
    if found := re.match(rf"since SW {SOFTWARE}", notes):
        return (VersionSpan(since=found[1]),)
    return (VersionSpan(),)


@pytest.mark.parametrize(("form", "row"), PAIRS)
def test_a_form_is_offered_by_the_versions_printed_beside_it(form: Printed, row: Row) -> None:
    spans = DECIDED_SPANS.get(form.line) or printed_spans(form.notes)
    for profile in ALL_HARDWARE:
        assert row.offered(profile) == offered(spans, profile), profile
        assert withdrawn(row.when, profile) == withdrawn(spans, profile), profile


def test_decided_spans_are_needed() -> None:
    for form in FORMS:
        if form.line in DECIDED_SPANS:
            assert printed_spans(form.notes) != DECIDED_SPANS[form.line]


# --- versions inside a form ----------------------------------------------------------------------

#: (line, version) printed beside a form that changes nothing of it, and why.
NO_CHANGE = {
    # The change at that version is the end of the other homepage form.
    ("GET /eeprom.cgi?byte0=<A>", "1.45b"),
    # Deprecated there, and said so; it works on.
    ("GET /inpa.cgi?eclear=<A>", "1.56a"),
}
#: (section, version) printed below a table that only changed a label.
LABELS_ONLY = {("### Power and energy", "1.36")}


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
        name: (param.schema(profile), param.allowed(profile))
        for name, param in row.params.items()
        if not isinstance(param, Trailing) or offered(param.when, profile)
    }
    return row.offered(profile), repr(fields), row.body and repr(row.body.describe(profile))


def versions_printed(text: str) -> set[str]:
    """Versions in a text; "up to" a version means the change comes with the next letter."""
    until = set(re.findall(rf"up to SW {SOFTWARE}", text))
    return (set(re.findall(rf"SW {SOFTWARE}", text)) - until) | {next_letter(sw) for sw in until}


def next_letter(sw: str) -> str:
    return sw[:-1] + chr(ord(sw[-1]) + 1) if sw[-1].isalpha() else sw + "a"


@pytest.mark.parametrize(("form", "row"), PAIRS)
def test_a_form_changes_with_every_version_printed_beside_it(form: Printed, row: Row) -> None:
    printed = versions_printed(f"{form.parameters} {form.notes}")
    unchanged = {sw for sw in printed - changes_of(row) if (form.line, sw) not in NO_CHANGE}
    assert unchanged == set()


def test_a_deprecated_form_says_since_when() -> None:
    (row,) = [row for row in DOCUMENT_ROWS if "eclear" in row.line]
    assert "Deprecated since SW 1.56a" in row.doc


@pytest.mark.parametrize("heading", dict.fromkeys(form.section for form in FORMS))
def test_codes_below_a_table_change_with_the_versions_printed_there(heading: str) -> None:
    text = sections()[heading]
    rows = [row for form, row in zip(FORMS, DOCUMENT_ROWS, strict=True) if form.section == heading]
    if heading == "### Events (entries)":
        text += sections()[EVENTS]
    changes = {sw for row in rows for sw in changes_of(row)}
    no_change = {sw for line, sw in NO_CHANGE if line in {row.line for row in rows}}
    labels_only = {sw for section, sw in LABELS_ONLY if section == heading}
    assert versions_printed(text) - changes - no_change - labels_only == set()


def test_the_program_knows_every_version_of_the_document_and_no_others() -> None:
    text = "\n".join(sections().values())
    without_effect = {sw for _, sw in NO_CHANGE} - set(VERSIONS)
    assert versions_printed(text) - without_effect - versions_in(TABLE) == set()
    # The wide range of PWM frequencies comes after the last letter with the narrow one.
    assert versions_in(TABLE) - versions_printed(text) - {BEFORE_ALL} == set()


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


#: "A 0-5 sets on time, 6-11 sets off time" is one range in two parts.
TWO_PARTS = "A 0-5 sets on time, 6-11"


def ranges_printed(parameters: str) -> dict[str, tuple[int, int]]:
    """Letter or name of a field -> the first range printed for it."""
    parameters = parameters.replace(TWO_PARTS, "A 0-11")
    form_fields = re.findall(r"`(\w+)`(?: kHz)? (\d+)-(\d+)", parameters)
    found = {name: (int(low), int(high)) for name, low, high in form_fields}
    for segment in re.split(r"; (?=[A-Z]\b)", parameters):
        printed = re.match(r"([A-Z])\b[^0-9-]*(-?\d+)(?:-| to )(-?\d+)", segment)
        if printed and "up to" not in printed[0] and "separated" not in segment:
            found[printed[1]] = int(printed[2]), int(printed[3])
    return found


def params_of(row: Row) -> Mapping[str, Param]:
    match row.body:
        case ListBody():
            return row.body.params
        case FormBody():
            return row.body.fields
        case _:
            return row.params


def newest_that_offers(row: Row) -> Profile:
    return NEWEST if row.offered(NEWEST) else [p for p in PROFILES if row.offered(p)][-1]


@pytest.mark.parametrize(
    ("form", "row"), [pair for pair in PAIRS if ranges_printed(pair.values[0].parameters)]
)
def test_a_field_has_the_range_printed_beside_it(form: Printed, row: Row) -> None:
    params = params_of(row)
    for letter, printed in ranges_printed(form.parameters).items():
        param = params[letter]
        if isinstance(param, Position):
            assert (0, param.count - 1) == printed
        else:
            assert limits(param.schema(newest_that_offers(row))) == printed, letter


def test_most_ranges_of_the_document_are_found() -> None:
    assert sum(len(ranges_printed(form.parameters)) for form in FORMS) > 90


@pytest.mark.parametrize(
    ("form", "row"), [pair for pair in PAIRS if "up to" in pair.values[0].parameters]
)
def test_a_text_has_the_length_printed_beside_it(form: Printed, row: Row) -> None:
    lengths = re.findall(r"\b([A-Z])\b[^;]*? up to (\d+) characters", form.parameters)
    for letter, length in lengths:
        assert row.params[letter].schema(NEWEST)["maxLength"] == int(length)


def test_list_sizes_are_those_of_the_limits_table() -> None:
    text = sections()["## Limits"]
    assert "offsets 79 values (78 before SW 1.49, 43 before SW 1.44)" in text
    assert "visibility 132 flags (118 before SW 1.49, 87 before SW 1.44)" in text
    older_and_newer = [Profile("3.5", sw) for sw in ("1.43e", "1.44", "1.49")]
    sizes = {
        form.line: [row.params["A"].schema(older)["minItems"] for older in older_and_newer]
        for form, row in zip(FORMS, DOCUMENT_ROWS, strict=True)
        if re.search("postop|posleft|echeck", form.line)
    }
    assert list(sizes.values()) == [[43, 78, 79], [43, 78, 79], [87, 118, 132]]
