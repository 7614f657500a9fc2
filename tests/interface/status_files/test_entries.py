"""Rules and schedule in the files: what a command set is what the file shows, digit by digit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.labels import DIGITAL
from leverframe.core.profile import Profile
from leverframe.core.settings import ScheduleEntry
from leverframe.core.tree import with_value
from leverframe.interface.table import codes
from leverframe.interface.table.codes import CodeTable
from tests.cases import for_each

from .files_bench import PROFILES, FilesBench

EVERY_PROFILE = pytest.mark.parametrize("profile", PROFILES, ids=str)
HUNDREDTHS = st.integers(-(2**31), 2**31 - 1)
SECONDS = st.integers(0, 2**31 - 1)


def numbers(table: CodeTable, profile: Profile) -> st.SearchStrategy[int]:
    return st.sampled_from([code.number for code in table.of(profile)])


@st.composite
def conditions(draw: st.DrawFn, profile: Profile) -> list[int]:
    """Source, comparison, reference, hysteresis."""
    source = draw(numbers(codes.RULE_SOURCES, profile))
    digital = codes.RULE_SOURCES.word(source, profile) in DIGITAL
    reference = draw(st.integers(0, 1) if digital else HUNDREDTHS)
    return [source, draw(st.integers(0, 1)), reference, draw(SECONDS)]


def late_fields(profile: Profile) -> list[st.SearchStrategy[int]]:
    """L to P as far as the version has them."""
    fields = [SECONDS]
    if profile.since("1.45", ("3.5", "3.9")):
        fields.append(st.integers(0, 2))
    if profile.since("1.57", ("3.5", "3.9")):
        fields += [SECONDS, st.integers(0, 40), st.integers(0, 2)]
    return fields


@given(data=st.data(), enabled=st.integers(0, 1), permanent=st.integers(0, 1))
@EVERY_PROFILE
def test_event_entry_is_shown_as_it_was_sent(
    profile: Profile, data: st.DataObject, enabled: int, permanent: int
) -> None:
    first = data.draw(conditions(profile))
    operator = data.draw(st.integers(0, 5))
    action = data.draw(numbers(codes.RULE_ACTIONS, profile))
    second = data.draw(conditions(profile))
    late = [data.draw(field) for field in late_fields(profile)]
    fields = [*first, operator, action, *second]
    bench = FilesBench(profile=profile)
    bench.send("/inpa.cgi?event=" + "*".join(map(str, [0, *fields, *late])))
    bench.send(f"/inpa.cgi?eventon=0*{enabled}&eventper=0*{permanent}")
    shown_late = [] if profile.hw == "3.0" else late
    expected = [1, enabled, *fields, permanent, *shown_late]
    assert bench.xml("/xml/eve2.xml")["ev0"] == "*".join(map(str, expected))


def test_hw_30_shows_an_event_entry_as_a_real_unit_does() -> None:
    bench = FilesBench(profile=Profile("3.0", "1.58a"))
    bench.send("/inpa.cgi?event=0*11*0*100*0*0*31*65*0*1*100*0")
    bench.send("/inpa.cgi?eventon=0*1&eventper=0*1")
    assert bench.xml("/xml/eve2.xml")["ev0"] == "1*1*11*0*100*0*0*31*65*0*1*100*1"


@EVERY_PROFILE
def test_places_without_an_entry_are_zeros(profile: Profile) -> None:
    bench = FilesBench(profile=profile)
    bench.send("/inpa.cgi?event=0*10*0*2000*50*0*0*0*0*0*0*0")
    entries, results = bench.xml("/xml/eve2.xml"), bench.xml("/xml/eve.xml")
    assert list(entries) == [f"ev{n}" for n in range(20)]
    assert list(results) == [f"eve{n}" for n in range(20)]
    assert set(entries["ev19"].split("*")) == {"0"}
    assert entries["ev19"].count("*") == entries["ev0"].count("*")
    assert results["eve19"] == "00"


@for_each(
    ("operator", "ds1", "ds2", "shown"),
    [
        (0, 25.0, 25.0, "10"),
        (0, 15.0, 25.0, "00"),
        (1, 25.0, 25.0, "11"),
        (1, 15.0, 25.0, "01"),
        (2, 25.0, 15.0, "10"),
        (2, None, 25.0, "01"),
    ],
)
@for_each("enabled", [0, 1])
def test_results_of_both_conditions_are_two_digits(
    operator: int, ds1: float | None, ds2: float, shown: str, enabled: int
) -> None:
    bench = FilesBench()
    bench.send(f"/inpa.cgi?event=0*10*0*2000*0*{operator}*0*11*0*2000*0*0*1*0*0*0")
    bench.send(f"/inpa.cgi?eventon=0*{enabled}")
    bench.sense(DS1=ds1, DS2=ds2)
    assert bench.xml("/xml/eve.xml")["eve0"] == shown


# --- schedule -------------------------------------------------------------------------------------


@st.composite
def schedule_items(draw: st.DrawFn, profile: Profile) -> dict[str, Any]:
    periodic = draw(st.booleans())
    return {
        "name": draw(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=15)),
        "action": draw(numbers(codes.SCHEDULE_ACTIONS, profile)),
        "value": draw(st.integers(0, 1)),
        "time": draw(st.integers(1, 86400) if periodic else st.integers(0, 86399)),
        "date": draw(st.integers(0, 40000)),
        "days": draw(st.integers(0, 127)) + 256 * periodic,
        "active": draw(st.integers(0, 1)),
    }


@given(data=st.data(), index=st.integers(0, 49))
@EVERY_PROFILE
def test_schedule_entry_is_shown_as_it_was_sent(
    profile: Profile, data: st.DataObject, index: int
) -> None:
    item = data.draw(schedule_items(profile))
    sent = "".join(f"%{ord(letter):02X}" for letter in item["name"])
    numbers_sent = [item[field] for field in ("action", "value", "time", "date", "days")]
    body = "*".join(map(str, [sent, *numbers_sent, item["active"]]))
    bench = FilesBench(profile=profile)
    bench.send("/post.cgi?sched_save", f"&s{index}={body}&&".encode())
    shown = bench.xml("/xml/sched.xml")
    name = item["name"].replace("*", "%2A")
    fields = [1, item["active"], name, *numbers_sent]
    assert shown.pop(f"sched{index}") == "*".join(map(str, fields))
    assert len(shown) == 49
    assert set(shown.values()) == {"0*0**0*0*0*0*0"}


def test_date_that_does_not_exist_hides_no_other_entry() -> None:
    bench = FilesBench()
    settings = with_value(bench.settings, "schedule.0", ScheduleEntry(date="2025-02-30"))
    bench.apply(with_value(settings, "schedule.1", ScheduleEntry(date="1970-01-03")))
    shown = bench.xml("/xml/sched.xml")
    assert (shown["sched0"], shown["sched1"]) == ("1*0**0*0*0*0*0", "1*0**0*0*0*2*0")
