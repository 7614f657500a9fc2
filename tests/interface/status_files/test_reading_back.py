"""The way back: settings that files show are those that the unit has, or they are not read."""

import re
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.profile import Profile
from leverframe.core.settings import ModbusMapping, Settings
from leverframe.core.tree import defaults, difference, leaves
from leverframe.interface.status_files.catalogue import keys_of
from leverframe.interface.status_files.forms import NotReadable
from leverframe.interface.status_files.settings_reader import ReadBack, files_of, keys_in, read_back
from leverframe.units.pulled_unit import reason_at
from tests.boundary_profiles import ALL_HARDWARE
from tests.cases import for_each
from tests.effort import examples, some_of
from tests.random_settings import random_settings

from .files_bench import NEWEST, FilesBench

#: What real units never show.
NEVER_SHOWN = ("email", "http", "gsm.code", "snmp", "watchdog", "mqtt", "access.users", "name")
OLD = Profile("3.0", "1.58a")
#: Only Leverframe names rules; it is asked for its settings, not for its files.
NAME_OF_RULE = re.compile(r"rules\.\d+\.name")


def files_with(settings: Settings, profile: Profile) -> dict[str, dict[str, Any]]:
    bench = FilesBench(profile=profile)
    bench.apply(settings)
    return {path: keys_in(path, bench.content(path)) for path in files_of(profile)}


def wrongly_read(settings: Settings, back: ReadBack) -> list[str]:
    """Return what differs and is not reported as unread or read with loss."""
    return [
        path
        for path, _, _ in difference(settings, back.settings)
        if reason_at(back.unread, path) is None
        and reason_at(back.lossy, path) is None
        and not NAME_OF_RULE.fullmatch(path)
    ]


@pytest.mark.parametrize("profile", some_of(ALL_HARDWARE), ids=str)
def test_random_settings_of_every_version_are_read_back(profile: Profile) -> None:
    settings = random_settings(profile, Random(str(profile)), commands=90)
    back = read_back(profile, files_with(settings, profile))
    assert wrongly_read(settings, back) == []
    assert back.remarks == []
    assert all(reason_at(back.unread, path) for path in NEVER_SHOWN)
    # Settings that a version does not have are known to be as they came.
    assert ("outputs.0.remember" in back.unread) is False
    read = [path for path, _ in leaves(settings) if reason_at(back.unread, path) is None]
    assert len(read) > 180


@examples(25)
@given(st.integers(0, 2**32), st.sampled_from([NEWEST, Profile("3.5", "1.45"), OLD]))
def test_settings_read_back_create_the_same_files(seed: int, profile: Profile) -> None:
    settings = random_settings(profile, Random(seed))
    first = read_back(profile, files_with(settings, profile))
    again = read_back(profile, files_with(first.settings, profile))
    assert dict(leaves(again.settings)) == dict(leaves(first.settings))
    assert again.unread == first.unread


WRONG_KINDS = (7, 1.5, None, True, [], ["1"], {}, {"a": "1"})
WRONG_TEXTS = (
    "",
    "x",
    "1.5",
    "-",
    "0x1",
    "1e3",
    " 1",
    "1 ",
    "٣",
    "<--#outnn-->",
    "9" * 16,
    "\ufffd",
)


@examples(40)
@given(st.data())
def test_value_that_no_unit_writes_is_never_taken_as_read(data: st.DataObject) -> None:
    profile = data.draw(st.sampled_from([NEWEST, OLD]))
    settings = random_settings(profile, Random(data.draw(st.integers(0, 2**32))))
    files = files_with(settings, profile)
    path = data.draw(st.sampled_from(sorted(files)))
    names = {name: keys.scale for keys in keys_of(path, profile) or () for name in keys.names}
    name = data.draw(st.sampled_from(sorted(names)))
    is_text = names[name] == "text"
    wrong = data.draw(st.sampled_from(WRONG_KINDS if is_text else WRONG_KINDS + WRONG_TEXTS))
    everywhere = data.draw(st.booleans())
    for other, content in files.items():
        if name in content and (everywhere or other == path):
            content[name] = wrong
    assert wrongly_read(settings, read_back(profile, files)) == []


@for_each(
    ("path", "changes", "unread", "why"),
    [
        ("/json/outputs.json", {"ortime3": "4294967296"}, "outputs.3.return_time", "not allow"),
        ("/json/outputs.json", {"aout0": "2"}, "outputs.0.periodic", "`aout0` of /json/outputs"),
        ("/json/outputs.json", {"outnn": "1"}, "output_flags.invert_display", "different values"),
        ("/json/status.json", {"tname": "a*b"}, "onewire.7.name", "2 fields instead of 10"),
        ("/json/status.json", {"bit5": "2"}, "variables.bits", "`bit5`"),
        ("/json/status.json", {"postop": "1*2"}, "layout.top", "not allow"),
        ("/json/status.json", {"lang": "77"}, "ui.language", "not a language code"),
        ("/json/outputs.json", {"oname1": "<--#oname1-->"}, "outputs.1.name", "a placeholder"),
        ("/json/outputs.json", {"oname1": "a\ufffd"}, "outputs.1.name", "was lost"),
        ("/json/inputs.json", {"inpdp": "16"}, "digital_inputs.0.pull_up", "not a mask of 4 bits"),
        ("/json/inputs.json", {"sensor5": "19"}, "analog_inputs.5.sensor", "does not allow"),
        ("/json/dsi2c.json", {"i2csensors": "3"}, "i2c.sps30", "not a selection of sensors"),
        ("/json/dsi2c.json", {"dsid1": "28:FF"}, "onewire.0.id", "does not allow"),
        ("/json/pwmpid.json", {"pidvalue": "0*99*0*0*0*0*0"}, "pid.source", "not a PID input code"),
        ("/xml/st.xml", {"userpass": "?*?*?*?"}, "access.admin.name", "not in Base64"),
        ("/xml/eve2.xml", {"ev0": "1*1*0"}, "rules.0", "3 fields instead of 18"),
        ("/xml/sched.xml", {"sched9": "1*1*x*99*0*0*0*0"}, "schedule.9", "not a schedule action"),
        ("/xml/sched.xml", {"sched9": "1*1*x*0*0*86400*0*0"}, "schedule.9", "second of the day"),
    ],
)
def test_value_that_cannot_be_is_unread_with_the_reason(
    path: str, changes: Mapping[str, str], unread: str, why: str
) -> None:
    files = files_with(defaults(NEWEST), NEWEST)
    files[path] |= changes
    back = read_back(NEWEST, files)
    assert why in str(reason_at(back.unread, unread))
    assert [path for path, _, _ in difference(defaults(NEWEST), back.settings)] in (
        [],
        # It keeps the places of the others.
        [leaf for leaf, _ in leaves(back.settings) if leaf.startswith("rules.0.")],
    )


def test_mapping_of_modules_is_read_where_the_version_has_one() -> None:
    with_mapping, without = Profile("3.5", "1.40"), Profile("3.5", "1.34")
    bench = FilesBench(profile=with_mapping)
    bench.send("/stm.cgi?modbusmapping=10*212" + "*00" * 28)
    files = {path: bench.show(path) for path in files_of(with_mapping)}
    back = read_back(with_mapping, files)
    assert back.settings.modbus_mapping[1] == ModbusMapping(2, 12)
    for content in files.values():
        if "modbusMapping" in content:
            content["modbusMapping"] = "10*999" + "*00" * 28
    back = read_back(with_mapping, files)
    assert "not a list of slots" in str(reason_at(back.unread, "modbus_mapping.1.slot"))
    assert read_back(without, files_with(defaults(without), without)).settings.modbus_mapping == ()


def test_one_entry_that_cannot_be_read_does_not_move_the_others() -> None:
    bench = FilesBench(profile=NEWEST)
    for entry in range(3):
        bench.send(f"/inpa.cgi?event={entry}*10*1*2150*50*1*0*9*0*4000*0*30*1*0*{entry}*0")
    files = {path: keys_in(path, bench.content(path)) for path in files_of(NEWEST)}
    files["/xml/eve2.xml"]["ev1"] = "1*1*250" + "*0" * 15
    back = read_back(NEWEST, files)
    assert [rule.depends for rule in back.settings.rules] == [0, 0, 2]
    assert "not a rule source code" in back.unread["rules.1"]


def test_missing_file_costs_only_what_it_alone_shows() -> None:
    files: dict[str, Any] = dict(files_with(defaults(NEWEST), NEWEST))
    files["/json/outputs.json"] = "is not there (status 404)"
    del files["/xml/eve2.xml"]
    back = read_back(NEWEST, files)
    assert back.unread["outputs.0.return_time"] == "/json/outputs.json is not there (status 404)"
    assert back.unread["rules"] == "/xml/eve2.xml was not read"
    assert reason_at(back.unread, "outputs.0.name") is None
    assert reason_at(back.unread, "output_flags.invert_display") is None
    assert "/json/outputs.json is not there (status 404)." in back.remarks


def test_unknown_and_missing_keys_are_reported() -> None:
    files = files_with(defaults(NEWEST), NEWEST)
    files["/json/status.json"] |= {f"novelty{number}": "1" for number in range(14)}
    del files["/json/outputs.json"]["ortime2"]
    back = read_back(NEWEST, files)
    assert any("unknown keys: novelty0" in remark for remark in back.remarks)
    assert any(remark.endswith("and 2 more.") for remark in back.remarks)
    assert "/json/outputs.json does not show ortime2." in back.remarks
    assert back.unread["outputs.2.return_time"] == "/json/outputs.json has no `ortime2`"
    del files["/xml/eve2.xml"]["ev7"]
    assert "lacks entry 7" in read_back(NEWEST, files).unread["rules"]


def test_star_in_a_name_is_read_with_loss() -> None:
    bench = FilesBench(profile=NEWEST)
    bench.send("/stm.cgi?tname=0a%2Ab&tname=1plain")
    bench.send("/post.cgi?sched_save", b"&s4=c%2Ad*0*1*60*0*127*1&&")
    back = read_back(NEWEST, {path: bench.show(path) for path in files_of(NEWEST)})
    assert [sensor.name for sensor in back.settings.onewire[:2]] == ["a*b", "plain"]
    assert {path for path in back.lossy if path.startswith("onewire")} == {"onewire.0.name"}
    assert "schedule.4.name" in back.lossy


def test_duty_that_may_move_is_read_with_loss() -> None:
    assert read_back(NEWEST, files_with(defaults(NEWEST), NEWEST)).lossy == {}
    bench = FilesBench(profile=NEWEST)
    bench.send("/stm.cgi?pwmt=130")
    back = read_back(NEWEST, {path: bench.show(path) for path in files_of(NEWEST)})
    assert set(back.lossy) == {"pwm.1.duty"}


def test_duty_that_is_regulated_is_not_read() -> None:
    bench = FilesBench(profile=NEWEST)
    bench.send("/stm.cgi?pwmd=173&pidvalue=1*10*215*100*10*0*1")
    files = {path: bench.show(path) for path in files_of(NEWEST)}
    back = read_back(NEWEST, files)
    assert "regulator" in back.unread["pwm.1.duty"]
    assert back.settings.pwm[1].duty == 50
    # It may have regulated another one before.
    assert "regulator" in back.lossy["pwm.0.duty"]
    del files["/json/pwmpid.json"]["pidvalue"]
    assert "regulator" in read_back(NEWEST, files).unread["pwm.0.duty"]


def test_two_positions_that_name_two_pages_say_nothing_about_the_page() -> None:
    both = Profile("3.5", "1.45")
    files = files_with(defaults(both), both)
    files["/json/status.json"] |= {"byte0": "0", "bit2": "1"}
    back = read_back(both, files)
    assert "two pages" in back.unread["ui.homepage"]
    assert back.settings.variables.bits[2] == 1


def test_passwords_that_a_real_unit_shows_are_not_taken() -> None:
    files = files_with(defaults(NEWEST), NEWEST)
    # admin:admin and owner:secret, as in the `auth` command.
    files["/xml/st.xml"]["userpass"] = "YWRtaW4=*YWRtaW4=*b3duZXI=*c2VjcmV0"
    back = read_back(NEWEST, files)
    assert back.settings.access.user.name == "owner"
    assert "secret" not in str(dict(leaves(back.settings)))
    assert "access.user.password" in back.unread


@for_each(
    ("path", "body"),
    [
        ("/json/a.json", b'{"a": 1'),
        ("/json/a.json", b"[]"),
        ("/json/a.json", b"\xff"),
        ("/xml/a.xml", b"<response><a>1</a>"),
        ("/xml/a.xml", b"<html><a>1</a></html>"),
        ("/xml/a.xml", b"<response><a><b>1</b></a></response>"),
        ("/xml/a.xml", b"<response><a>1</a><a>2</a></response>"),
        ("/xml/a.xml", b"<!DOCTYPE x><response><a>1</a></response>"),
        ("/xml/a.xml", b'<?xml version="1.0" encoding="klingon"?><response/>'),
    ],
)
def test_other_documents_are_not_read_as_status_files(path: str, body: bytes) -> None:
    with pytest.raises(NotReadable):
        keys_in(path, body)
