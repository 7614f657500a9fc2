"""Rows whose effect is neither a setting nor a live value: restarts, uploads, messages, the clock.

Together with the tests of the rows these are all: `OTHERWISE` lists them, and each has a test here.
"""

import re
from typing import Any

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.core.tree import defaults
from leverframe.devices.linux.oled_panel import png_of
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.uploads.site import pack_site
from leverframe.testing import LoopTwin
from tests.boundary_profiles import NEWEST
from tests.conformance.effects import OTHERWISE
from tests.conformance.requests import make_good_samples
from tests.conformance.test_rows import everything


async def test_modem_gets_the_command_as_it_was_written() -> None:
    twin = await LoopTwin.start()
    sent: list[Any] = []
    twin.controller.on_modem = sent.append
    await twin.ok("/stm.cgi?gsmcmd=AT%2BCSQ")
    assert [effect.command for effect in sent] == ["AT+CSQ"]


@pytest.mark.parametrize(("target", "channel"), [("gsmsendsms", "sms"), ("testemail=1", "email")])
async def test_test_message_is_sent(target: str, channel: str) -> None:
    twin = await LoopTwin.start()
    sent: list[Any] = []
    twin.controller.on_notify = sent.append
    await twin.ok(f"/stm.cgi?{target}")
    assert [effect.channel for effect in sent] == [channel]


async def test_client_of_hw_30_reads_back_the_entry_it_sent() -> None:
    twin = await LoopTwin.start(Profile("3.0", "1.40"))
    await twin.ok("/inpa.cgi?event=0*11*0*100*0*0*31*65*0*1*100")
    entries = (await twin.ok("/xml/eve2.xml")).body
    assert b"<ev0>1*0*11*0*100*0*0*31*65*0*1*100*0</ev0>" in entries


async def test_frequency_of_newer_hardware_is_refused_with_the_versions_that_have_it() -> None:
    twin = await LoopTwin.start(Profile("3.0", "1.58a"))
    refused = await twin.ask("/stm.cgi?pwmf=010")
    assert refused.status == 400
    detail = msgspec.json.decode(refused.body)["detail"]
    assert "HW 3.0 SW 1.58a does not have the value 10." in detail
    assert "Versions that have it: HW 3.5+ SW 1.49e+." in detail
    assert "Allowed: 50 to 100000." in detail
    await twin.ok("/stm.cgi?pwmf=050&pwmf=1100000")
    assert (await twin.settings())["pwm_frequency"] == [50, 100_000]


async def test_ids_of_the_bus_come_one_after_the_other() -> None:
    twin = await LoopTwin.start()
    ids = ["28:FF:64:1E:8C:16:03:5A", "28:FF:64:1E:8C:16:03:5B"]
    for sensor in ids:
        await twin.ok(f"/sim.cgi?onewire={sensor}")
    shown = []
    for _ in ids:
        await twin.ok("/stm.cgi?dswrite=0")
        shown.append((await twin.json("/json/dsi2c.json"))["dsid"])
    assert shown == ids


async def test_deleted_entry_is_gone_and_later_ones_move_down() -> None:
    twin = await LoopTwin.start()
    for entry in (0, 1, 2):
        await twin.ok(f"/inpa.cgi?event={entry}*{10 + entry}*0*0*0*0*0*0*0*0*0*0")
    await twin.ok("/inpa.cgi?eventdel=1")
    rules = (await twin.settings())["rules"]
    assert [rule["source"] for rule in rules] == ["DS1", "DS3"]


@pytest.mark.parametrize(
    "profile", [Profile("3.0", "1.58a"), Profile("3.5", "1.36"), NEWEST], ids=str
)
async def test_entry_that_is_set_first_exists_and_those_before_it_do_not(
    profile: Profile,
) -> None:
    twin = await LoopTwin.start(profile)
    # As a public client does: 5 first, then 4, then 3.
    for entry in (5, 4, 3):
        await twin.ok(f"/inpa.cgi?event={entry}*{10 + entry % 3}*0*100*0*0*0*0*0*0*0")
        await twin.ok(f"/inpa.cgi?eventon={entry}*1&eventper={entry}*1")
    assert await exists_and_enabled(twin) == {3: "1*1", 4: "1*1", 5: "1*1"}
    assert (await twin.ask("/inpa.cgi?eventon=2*1")).status == 409
    await twin.ok("/inpa.cgi?eventdel=3")
    assert await exists_and_enabled(twin) == {3: "1*1", 4: "1*1"}
    rules = (await twin.settings())["rules"]
    assert [rule and rule["source"] for rule in rules] == [None, None, None, "DS2", "DS3"]
    assert [one["number"] for one in await twin.json("/api/rules")] == [4, 5]
    assert [one["number"] for one in (await twin.json("/api/state"))["rules"]] == [4, 5]


async def exists_and_enabled(twin: LoopTwin) -> dict[int, str]:
    """The first two fields of each entry that `eve2.xml` says exists."""
    text = (await twin.ask("/xml/eve2.xml")).body.decode()
    entries = {int(number): fields for number, fields in re.findall(r"<ev(\d+)>([^<]*)<", text)}
    assert list(entries) == list(range(20))
    return {place: fields[:3] for place, fields in entries.items() if fields[0] == "1"}


async def test_deleted_schedule_entry_is_gone_and_the_others_stay() -> None:
    twin = await LoopTwin.start()
    for place in (3, 4):
        await twin.ok(f"/inpa.cgi?schedset={place}*N{place}*0*1*21600*0*31*1")
    await twin.ok("/inpa.cgi?scheddel=3")
    entries = (await twin.settings())["schedule"]
    assert [entry and entry["name"] for entry in entries[3:6]] == [None, "N4", None]
    assert (await twin.ask("/inpa.cgi?scheddel=3")).status == 409


async def test_moved_entry_takes_its_dependents_along() -> None:
    twin = await LoopTwin.start()
    for number, depends in enumerate((0, 0, 21)):
        await twin.ok(f"/inpa.cgi?event={number}*{10 + number}*0*0*0*0*0*0*0*0*0*0*1*0*{depends}*0")
    await twin.ok("/inpa.cgi?rulename=0*First&rulemove=0*2")
    rules = (await twin.settings())["rules"]
    assert [(rule["source"], rule["name"], rule["depends"]) for rule in rules] == [
        ("DS2", "", 0),
        ("DS3", "", 23),
        ("DS1", "First", 0),
    ]
    refused = await twin.ask("/inpa.cgi?rulemove=0*3")
    assert (refused.status, msgspec.json.decode(refused.body)["field"]) == (409, "B")


@pytest.mark.parametrize("name", ["devstart3", "lkstart3"])
async def test_bootloader_answers_nothing_for_a_minute(name: str) -> None:
    twin = await LoopTwin.start()
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok(f"/stm.cgi?upgrade={name}")
    reply = await twin.ask("/outs.cgi")
    assert (reply.status, dict(reply.headers)["Retry-After"]) == (503, "60")
    await twin.controller.advance(60)
    assert (await twin.ask("/outs.cgi")).status == 200


async def test_picture_is_kept_until_it_is_removed() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/post.cgi?pictureupload", "POST", png_of(("A", "B", "C", "D")))
    assert (await twin.ok("/picture")).content_type == "image/png"
    await twin.ok("/stm.cgi?delpicture=0")
    assert (await twin.ask("/picture")).status == 404


@pytest.mark.parametrize("path", ["/dev_settings.bin", "/lk3_settings.bin"])
async def test_backup_can_be_fetched_and_sent_back(path: str) -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?oname=0Pump")
    backup = await twin.ok(path)
    assert backup.content_type == "application/octet-stream"
    await twin.ok("/post.cgi?settingsupload", "POST", backup.body)
    assert (await twin.settings())["outputs"][0]["name"] == "Pump"


@pytest.mark.parametrize("path", ["/dev_settings.bin", "/lk3_settings.bin"])
async def test_backup_cannot_be_posted_to(path: str) -> None:
    twin = await LoopTwin.start()
    before = everything(twin)
    assert (await twin.ask(path, "POST")).status == 405
    assert everything(twin) == before


async def test_reset_brings_the_defaults_back() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?oname=0Pump&lang=0&outblock=1")
    await twin.ok("/stm.cgi?eeprom_reset=1")
    assert twin.controller.engine.settings == defaults(NEWEST)


async def test_clock_takes_every_time_that_the_row_allows() -> None:
    (row,) = [row for row in TABLE if "t_man" in row.line]
    for sample in make_good_samples(row, NEWEST):
        twin = await LoopTwin.start()
        reply = await twin.ask(sample.target)
        assert reply.status == 200, f"{sample}: {reply.body!r}"
        assert (await twin.state())["time"] == sample.values["A"]


async def test_signing_in_checks_name_and_password() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/post.cgi?users_save", "POST", b"&u0=keeper*secret*1&&")
    good, bad = b"username=keeper&password=secret", b"username=keeper&password=wrong"
    assert (await twin.ask("/post.cgi?signin", "POST", good)).status == 200
    assert (await twin.ask("/post.cgi?signin", "POST", bad)).status == 401


async def test_password_is_changed_with_the_present_one() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/post.cgi?users_save", "POST", b"&u0=keeper*secret*1&&")
    change = b"username=keeper&password=secret&new=a+longer+secret"
    assert (await twin.ask("/post.cgi?passwd", "POST", change)).status == 200
    assert (await twin.ask("/post.cgi?passwd", "POST", change)).status == 401
    good = b"username=keeper&password=a+longer+secret"
    assert (await twin.ask("/post.cgi?signin", "POST", good)).status == 200


async def test_signing_out_needs_nothing() -> None:
    twin = await LoopTwin.start()
    assert (await twin.ask("/post.cgi?signout", "POST")).status == 204


async def test_site_is_kept() -> None:
    twin = await LoopTwin.start()
    site = pack_site({"index.html": b"<title>Cellar</title>"})
    await twin.ok("/post.cgi?wwwfileupload", "POST", site)
    assert await twin.controller.store.blob("site") == site


def test_each_of_these_rows_is_in_the_table() -> None:
    assert {row.line for row in TABLE} >= OTHERWISE
