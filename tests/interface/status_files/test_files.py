"""Which files and keys there are, in which order, and that their form is what clients take."""

import json
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.calls import RaiseRestartFlag
from leverframe.core.profile import Profile
from leverframe.core.settings import SECRETS, ControlUser, ScheduleEntry
from leverframe.core.tree import with_value
from leverframe.interface.status_files import PATHS, build, content_type, describe
from tests.boundary_profiles import PROFILES as EVERY_PROFILE
from tests.cases import for_each

from .files_bench import MAC, NAME, NEWEST, PROFILES, FilesBench

EVERY_FILE = pytest.mark.parametrize("path", PATHS)
LISTS = {"customReadings", "modbusReadings", "sdm"}

#: `all.json` of a real unit, HW 3.0 SW 1.58a.
ALL_OF_HW30 = [
    *("mac", "hw", "sw", "vin", "tem", "diff1", "diff2", "diff3", "dthTemp", "dthHum", "bm280p"),
    *(f"ds{n}" for n in range(1, 9)),
    *(f"out{n}" for n in range(6)),
    *(f"inpp{n}" for n in range(1, 7)),
    *("pwm", "pwmd0", "pwmd1", "pwmd2", "pwmd3", "ind"),
    *(f"power{n}" for n in range(1, 5)),
    *(f"energy{n}" for n in range(1, 5)),
    *("pm1", "pm2", "pm4", "pm10", "co2"),
    *(f"d{n}" for n in range(9)),
    *(f"sdm{n}" for n in range(1, 15)),
    "diffsel",
]
STATUS_PER = [
    *("uptimeSeconds", "uptimeMinutes", "uptimeHours", "uptimeDays", "time", "vin", "tem"),
    *("diff1", "diff2", "diff3", "dthTemp", "dthHum", "bm280p"),
    *(f"ds{n}" for n in range(1, 9)),
    *(f"out{n}" for n in range(6)),
    *(f"inpp{n}" for n in range(1, 7)),
    *("pwm", "ind"),
    *(f"power{n}" for n in range(1, 5)),
    *(f"energy{n}" for n in range(1, 5)),
    *("pm1", "pm2", "pm4", "pm10", "co2", "pwmd0", "pwmd1", "pwmd2", "pwmd3"),
]
IX = [
    *(f"sec{n}" for n in range(5)),
    "out",
    *(f"out{n}" for n in range(6)),
    "pwm",
    *(f"inp{n}" for n in range(1, 7)),
    *(f"inpp{n}" for n in range(1, 7)),
    *("vin", "tem", "ind", "dth0", "dth1"),
    *(f"ds{n}" for n in range(1, 9)),
    *(f"power{n}" for n in range(1, 5)),
    *(f"energy{n}" for n in range(1, 5)),
    *("pm25", "pm10", "diff1", "diff2", "diffsel", "co2", "bm280p"),
]
STAT = [
    *("hw", "sw", "sname", "ip4"),
    *("pwmd0", "pwmd1", "pwmd2", "pwmd3", "pwmf0", "pwmf1"),
]
ST0 = [
    *(f"out{n}" for n in range(7)),
    *(f"di{n}" for n in range(4)),
    *(f"ia{n}" for n in range(20)),
    *("freq", "duty", "pwm"),
    *(f"sec{n}" for n in range(5)),
]


@for_each("profile", EVERY_PROFILE, ids=str)
def test_all_values_are_texts_but_for_the_lists_of_module_readings(profile: Profile) -> None:
    bench = FilesBench(profile=profile)
    for path in PATHS:
        content = build(path, bench.view)
        if content is not None and path.endswith(".json"):
            shown = json.loads(content, object_pairs_hook=_without_duplicates)
            values = [value for key, value in shown.items() if key not in LISTS]
            values += [item for key in LISTS & shown.keys() for item in _flat(shown[key])]
            assert {type(value) for value in values} == {str}


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    assert len({key for key, _ in pairs}) == len(pairs)
    return dict(pairs)


def _flat(items: list[object]) -> list[object]:
    return [one for item in items for one in (item if isinstance(item, list) else [item])]


@for_each("profile", EVERY_PROFILE, ids=str)
def test_xml_has_one_element_with_text_alone_on_every_line(profile: Profile) -> None:
    bench = FilesBench(profile=profile)
    for path in PATHS:
        if path.endswith(".xml"):
            first, *lines, last, after = bench.content(path).decode().split("\n")
            assert (first, last, after) == ("<response>", "</response>", "")
            elements = [ElementTree.fromstring(line) for line in lines]
            assert len({element.tag for element in elements}) == len(elements)
            assert [element for element in elements if len(element) or element.attrib] == []


@EVERY_FILE
def test_content_types_have_no_suffix(path: str) -> None:
    assert content_type(path) == ("application/json" if "json" in path else "text/xml")


@for_each("path", ["/st2.xml", "/board.xml", "/json/", "/xml/ix.xml/", ""])
def test_other_files_do_not_exist(path: str) -> None:
    assert build(path, FilesBench().view) is None


@for_each(
    ("hw", "sw", "exists"),
    [
        ("3.0", "1.58a", False),
        ("3.5", "1.22", False),
        ("3.5", "1.22b", True),
        ("3.9", "1.75", True),
    ],
)
def test_file_of_event_variables_came_with_hw_35_sw_122b(hw: str, sw: str, exists: bool) -> None:
    bench = FilesBench(profile=Profile(hw, sw))
    assert (build("/json/events_per.json", bench.view) is not None) is exists


def test_all_json_of_hw_30_has_the_keys_of_a_real_unit_in_their_order() -> None:
    assert list(FilesBench(profile=Profile("3.0", "1.58a")).json("/json/all.json")) == ALL_OF_HW30


@for_each(
    ("path", "known"),
    [
        ("/json/all.json", [key for key in ALL_OF_HW30 if not key.startswith("sdm")]),
        ("/json/status_per.json", STATUS_PER),
        ("/json/status.json", STATUS_PER),
    ],
)
@for_each("profile", EVERY_PROFILE, ids=str)
def test_known_keys_stay_in_their_order_in_json(
    profile: Profile, path: str, known: list[str]
) -> None:
    shown = FilesBench(profile=profile).json(path)
    assert [key for key in shown if key in known] == known


@for_each(("path", "known"), [("/xml/ix.xml", IX), ("/xml/stat.xml", STAT), ("/st0.xml", ST0)])
@for_each("profile", EVERY_PROFILE, ids=str)
def test_known_elements_stay_at_their_position_in_xml(
    profile: Profile, path: str, known: list[str]
) -> None:
    shown = FilesBench(profile=profile).xml(path)
    assert list(shown)[: len(known)] == known


@for_each("profile", PROFILES, ids=str)
def test_one_read_of_status_json_is_enough(profile: Profile) -> None:
    bench = FilesBench(profile=profile)
    status = bench.json("/json/status.json")
    for path in ("/json/status_per.json", "/json/all.json"):
        others = bench.json(path)
        # The lighting module's readings stand in all.json alone.
        wanted = {key: value for key, value in others.items() if key not in _LIGHTING}
        assert {key: status.get(key) for key in wanted} == wanted


_LIGHTING = {f"d{n}" for n in range(9)}


@for_each("profile", PROFILES, ids=str)
def test_profile_shows_as_many_readings_as_it_has(profile: Profile) -> None:
    shown = FilesBench(profile=profile).json("/json/all.json")
    six = profile.since("1.49", ("3.5", "3.9"))
    assert [key for key in shown if key.startswith("power")][-1] == ("power6" if six else "power4")
    assert ("diff6" in shown) is six
    assert ("eventVariables" in shown) is (profile.hw != "3.0")


def test_identity_is_shown_where_clients_look_for_it() -> None:
    bench = FilesBench(profile=Profile("3.5", "1.49"))
    assert bench.json("/json/all.json")["mac"] == MAC
    assert bench.json("/json/network.json")["sname"] == NAME
    stat = bench.xml("/xml/stat.xml")
    assert (stat["hw"], stat["sw"], stat["sname"], stat["ip4"]) == ("3.5", "1.49", NAME, MAC)


def test_restart_flag_is_0_until_it_is_raised() -> None:
    bench = FilesBench()
    assert bench.json("/json/status.json")["restart"] == "0"
    bench.do(RaiseRestartFlag())
    assert bench.json("/json/status.json")["restart"] == "1"
    bench.restart()
    assert bench.json("/json/status.json")["restart"] == "0"


def test_uptime_is_split_and_the_clock_counts_since_1970() -> None:
    bench = FilesBench()
    bench.wait(2 * 86400 + 3 * 3600 + 4 * 60 + 5.9)
    status = bench.json("/json/status_per.json")
    assert [status[f"uptime{part}"] for part in ("Seconds", "Minutes", "Hours", "Days")] == [
        *("5", "4", "3", "2")
    ]
    assert [bench.xml("/xml/ix.xml")[f"sec{n}"] for n in range(4)] == ["5", "4", "3", "2"]
    time = str(int(bench.at.wall))
    assert status["time"] == bench.xml("/xml/co.xml")["time"] == time
    assert bench.xml("/xml/ix.xml")["sec4"] == bench.xml("/st0.xml")["sec4"] == time


# --- names and secrets ----------------------------------------------------------------------------


@given(name=st.text(max_size=15))
def test_name_of_any_characters_leaves_every_file_readable(name: str) -> None:
    bench = FilesBench()
    settings = with_value(bench.settings, "outputs.0.name", name)
    settings = with_value(settings, "onewire.7.name", name)
    bench.apply(with_value(settings, "schedule.0", ScheduleEntry(name=name)))
    assert bench.json("/json/status.json")["oname0"] == name
    for path in PATHS:
        assert bench.show(path)
    if name.isascii() and name.isprintable() and "*" not in name:
        assert bench.xml("/xml/sched.xml")["sched0"].split("*")[2] == name


@given(names=st.lists(st.text(max_size=15), min_size=10, max_size=10))
def test_ten_names_joined_by_asterisks_are_always_ten(names: list[str]) -> None:
    bench = FilesBench()
    settings = bench.settings
    for index in range(8):
        settings = with_value(settings, f"onewire.{index}.name", names[index])
    settings = with_value(settings, "weather.t1_name", names[8])
    bench.apply(with_value(settings, "weather.h1_name", names[9]))
    shown = bench.json("/json/status.json")["tname"].split("*")
    assert [text.replace("%2A", "*") for text in shown] == [
        name.replace("%2A", "*") for name in names
    ]


@EVERY_FILE
def test_no_file_shows_a_secret(path: str) -> None:
    bench = FilesBench({"access.users.0": ControlUser("operator", "", True)})
    before = bench.content(path)
    settings = bench.settings
    for secret in SECRETS:
        settings = with_value(settings, secret.replace("*", "0"), "s3cret")
    bench.apply(settings)
    assert bench.content(path) == before


def test_account_names_are_shown_so_that_sending_them_back_changes_no_password() -> None:
    bench = FilesBench()
    settings = with_value(bench.settings, "access.updates_allowed", False)
    settings = with_value(settings, "access.admin.name", "chief>>?")
    bench.apply(with_value(settings, "access.admin.password", "a hash"))
    shown = bench.xml("/xml/st.xml")
    assert list(shown) == ["auth", "upgr", "userpass"]
    assert shown["upgr"] == "0"
    bench.send(f"/stm.cgi?auth={shown['auth']}1{shown['userpass']}")
    access = bench.settings.access
    assert access.updates_allowed
    assert (access.admin.name, access.admin.password) == ("chief>>?", "a hash")
    assert access.user.name == "user"


# --- the reference --------------------------------------------------------------------------------


def test_every_file_is_described_with_meaning_and_scale() -> None:
    rows = describe()
    assert {row.path for row in rows} == set(PATHS)
    assert [row for row in rows if not (row.key and row.meaning and row.scale and row.when)] == []


def test_keys_that_count_up_are_described_as_one_range_and_others_by_name() -> None:
    keys = [row.key for row in describe() if row.path == "/json/status_per.json"]
    assert "ds1-ds8" in keys
    assert "pm1, pm2, pm4, pm10" in keys
    assert "co2" in keys


@EVERY_FILE
def test_file_of_the_newest_profile_begins_with_the_first_key_described(path: str) -> None:
    first = next(row.key for row in describe() if row.path == path)
    assert re.split("[-,]", first)[0] == next(iter(FilesBench(profile=NEWEST).show(path)))
