"""The test bench at `/sim.cgi`."""

from datetime import UTC
from urllib.parse import quote

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.host.assembly import build
from leverframe.host.controller.faults import MAX_FAULTS
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.devices.waiting import until


@pytest.fixture
async def twin() -> LoopTwin:
    return await LoopTwin.start()


async def test_simulated_inputs_show_in_the_state(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?DS1=21.5&INPD2=0&T1=20&H1=50&m3=7.25&PM2.5=8&VCC=11.9")
    state = await twin.state()
    expected = {"DS1": 21.5, "INPD2": 0, "T1": 20, "H1": 50, "m3": 7.25, "PM2.5": 8, "VCC": 11.9}
    assert {label: state[label] for label in expected} == expected


async def test_none_unplugs(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?DS1=21.5&INPD1=0")
    await twin.ok("/sim.cgi?DS1=none&INPD1=none")
    state = await twin.state()
    assert (state["DS1"], state["INPD1"]) == (None, 1)


async def test_analog_values_are_volts_at_the_pin(twin: LoopTwin) -> None:
    await twin.ok("/inpa.cgi?sensor=21")
    await twin.ok("/sim.cgi?INPA3=2.41")
    assert (await twin.state())["INPA3"] == 2.41


async def test_time_stands_still_until_it_is_advanced(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?ortime=05&out0=1")
    before = (await twin.state())["time"]
    await twin.ok("/sim.cgi?advance=4.5")
    state = await twin.state()
    assert (state["time"], state["OUT0"], state["returns_in"]) == (before + 4.5, 1, {"OUT0": 0.5})
    await twin.ok("/sim.cgi?advance=next")
    assert (await twin.state())["OUT0"] == 0
    await twin.ok("/sim.cgi?advance=next")
    assert (await twin.state())["time"] == before + 5


async def test_items_are_carried_out_in_order(twin: LoopTwin) -> None:
    await twin.ok("/inpa.cgi?event=0*100*0*0*0*0*0*0*0*0*0*0&eventon=0*1")
    await twin.ok("/sim.cgi?INPD1=0&advance=2&INPD1=1&advance=3")
    history = [
        (entry.now, entry.value)
        for entry in twin.controller.board.history  # type: ignore[attr-defined]
        if entry.what == "OUT0"
    ]
    assert history[-2:] == [(0.0, 1), (2.0, 0)]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("DS1=warm", 400),
        ("DS1=nan", 400),
        ("DS1=inf", 400),
        ("INPD1=2", 400),
        ("DS9=1", 404),
        ("OUT0=1", 404),
        ("DS1", 400),
        ("onewire=28", 400),
        ("advance=-1", 400),
        ("advance=soon", 400),
        ("advance=1e300", 400),
        ("i2c=SHT31", 400),
        ("barcode=%00", 400),
        ("sms=out=0", 400),
        ("sms=boss:1234:out=0", 400),
        ("sms=%2B48601:", 400),
        ("sms=%2B48601:" + "x" * 613, 400),
        ("28:FF:64:1E:8C:16:03:5A=warm", 400),
        ("28:FF:64:1E:8C:16:03=20", 404),
        ("d9=1", 404),
    ],
)
async def test_bad_item_voids_the_whole_request(twin: LoopTwin, query: str, status: int) -> None:
    await twin.refused(f"/sim.cgi?DS2=5&{query}", status)
    assert (await twin.state())["DS2"] is None


async def test_real_time_cannot_be_advanced() -> None:
    built = await build(Profile(), MemoryStore(), SystemClock(), UTC)
    await LoopTwin(built.controller, built.web).refused("/sim.cgi?advance=1", 409)
    await built.controller.stop()


# --- the board as data ----------------------------------------------------------------------------


async def test_readings_that_are_joined_are_one_instant(twin: LoopTwin) -> None:
    """The dew point is never computed from the new T1 and the old H1."""
    await twin.ok("/sim.cgi?T1=10&H1=40")
    await twin.ok("/inpa.cgi?event=0*46*0*1500*0*0*0*0*0*0*0*0*1*0*0*1&eventon=0*1")
    await twin.ok("/sim.cgi?T1=30&H1=30")
    await twin.ok("/sim.cgi?H1=90&T1=5")
    assert await twin.outputs() == "000000"
    await twin.ok("/sim.cgi?T1=30&H1=90")
    assert await twin.outputs() == "100000"


async def test_two_values_of_one_reading_are_two_instants(twin: LoopTwin) -> None:
    await twin.ok("/inpa.cgi?powsel=0*6&powim=01000")
    await twin.ok("/sim.cgi?INPD1=1&INPD1=0&INPD1=1&INPD1=0&INPD1=1&DS1=20")
    state = await twin.state()
    assert (state["ENERGY1"], state["INPD1"], state["DS1"]) == (0.002, 1, 20.0)


@pytest.mark.parametrize(
    "item", ["DS1=126", "T1=-56", "INPA1=61", "H1=111", "P1=1200", f"{'28' + ':00' * 7}=126"]
)
async def test_impossible_reading_is_refused_unless_it_is_raw(twin: LoopTwin, item: str) -> None:
    problem = await twin.refused(f"/sim.cgi?{item}", 400)
    label, _, value = item.partition("=")
    assert "raw:" in problem["detail"]
    await twin.ok(f"/sim.cgi?{label}=raw:{value}")
    assert twin.controller.board.readings[label] == float(value)  # type: ignore[attr-defined]


async def test_raw_needs_a_number(twin: LoopTwin) -> None:
    await twin.refused("/sim.cgi?DS1=raw:hot", 400)


FIRST, SECOND = "28:FF:64:1E:8C:16:03:5A", "28:00:00:00:00:00:00:01"


async def test_one_sensor_of_the_bus_measures_and_is_unplugged_alone(twin: LoopTwin) -> None:
    await twin.ok(f"/stm.cgi?dswrite=1:{FIRST}&dswrite=2:{SECOND}")
    await twin.ok(f"/sim.cgi?onewire={FIRST}&{SECOND}=-3.5")
    state = await twin.state()
    assert (state["DS1"], state["DS2"]) == (20.0, -3.5)
    await twin.ok(f"/sim.cgi?{FIRST}=none")
    state = await twin.state()
    assert (state["DS1"], state["DS2"]) == (None, -3.5)
    assert (await twin.json("/api/sim"))["onewire"] == {SECOND: -3.5}


async def test_none_unplugs_the_sensor_that_is_bound_to_the_place(twin: LoopTwin) -> None:
    await twin.ok(f"/stm.cgi?dswrite=1:{FIRST}&dswrite=2:{SECOND}")
    await twin.ok(f"/sim.cgi?{FIRST}=21&{SECOND}=22&DS1=30")
    await twin.ok("/sim.cgi?DS1=none")
    state = await twin.state()
    assert (state["DS1"], state["DS2"]) == (None, 22.0)
    await twin.ok(f"/sim.cgi?{FIRST}=23")
    assert (await twin.state())["DS1"] == 23.0


async def test_sensor_that_was_unplugged_measures_when_it_is_attached_again(
    twin: LoopTwin,
) -> None:
    await twin.ok(f"/stm.cgi?dswrite=1:{FIRST}")
    await twin.ok(f"/sim.cgi?onewire={FIRST}&onewire=none&onewire={FIRST}")
    assert (await twin.state())["DS1"] == 20.0


@pytest.mark.parametrize(
    ("label", "value", "shown"),
    [
        *(("d0", 21.5, "215"), ("d3", 1.25, "12"), ("d4", 1.25, "125"), ("d5", 7.0, "7")),
        *(("d6", -2.0, "-2"), ("d7", 3.3, "33"), ("d8", 9.0, "9")),
    ],
)
async def test_reading_of_the_lighting_module_has_its_scale(
    twin: LoopTwin, label: str, value: float, shown: str
) -> None:
    assert (await twin.json("/json/all.json"))[label] == "0"
    await twin.ok(f"/sim.cgi?{label}={value}")
    assert (await twin.json("/json/all.json"))[label] == shown
    assert (await twin.state())["lighting"][label] == value
    await twin.ok(f"/sim.cgi?{label}=none")
    assert (await twin.json("/json/all.json"))[label] == "0"


async def test_sms_with_the_code_is_obeyed_and_answered(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?gsmcode=1234")
    await twin.ok("/sim.cgi?sms=%2B48601:1234:out0%3D1")
    assert (await twin.state())["OUT0"] == 1
    [message] = (await twin.json("/api/sim"))["sms"]["received"]
    assert (message["sender"], message["text"]) == ("+48601", "1234:out0=1")
    assert message["answer"].startswith("OK OUT 100000")


async def test_sms_without_the_code_is_ignored(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?gsmcode=1234")
    await twin.ok("/sim.cgi?sms=48601:1235:out0%3D1")
    assert (await twin.state())["OUT0"] == 0
    [message] = (await twin.json("/api/sim"))["sms"]["received"]
    assert message["answer"] is None


async def test_pins_are_shown_as_driven(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?out3=1")
    await twin.ok("/stm.cgi?pwmp=1&pwmd=030")
    await twin.ok("/outs.cgi?pwm0=1")
    await twin.ok("/sim.cgi?advance=60")
    pins = (await twin.json("/api/sim"))["pins"]
    assert (pins["OUT3"], pins["OUT4"]) == (1, 0)
    # Active low turns the pin round, not the state.
    assert (pins["PWM0"], pins["PWM1"]) == (70.0, 0.0)
    assert pins["PWM0 Hz"] > 0
    assert pins["INPD1 pull-up"] in (0, 1)
    await twin.ok("/stm.cgi?upgrade=devstart3")
    assert (await twin.json("/api/sim"))["pins"]["OUT3"] == 0


async def test_board_shows_its_configured_state(twin: LoopTwin) -> None:
    plant = "load*switch:OUT0*reading:m1*on:5"
    await twin.ok(
        f"/sim.cgi?VCC=11.9&INPD2=0&i2c=BME280&barcode=590&ping=router:5&plant={plant}"
        f"&plant=load*switch:OUT1*reading:m2*on:5&plant=load*switch:OUT2*reading:m2*on:7"
    )
    report = await twin.json("/api/sim")
    assert report["readings"]["VCC"] == {
        "value": 11.9,
        "limits": [0.0, 100.0],
        "usual": [0.0, 60.0],
        "unit": "V",
    }
    assert report["levels"] == {"INPD1": None, "INPD2": 0, "INPD3": None, "INPD4": None}
    assert report["i2c"]["found"] == "BME280"
    assert report["barcode"]["scanned"] == "590"
    assert report["hosts"] == {"router": 5}
    # The third plant took the reading of the second one over.
    assert report["plants"]["wired"] == [plant, "load*switch:OUT2*reading:m2*on:7"]
    assert report["plants"]["kinds"]["room"]["fields"]["heater"]["labels"][0] == "OUT0"
    await twin.ok("/sim.cgi?plant=none&ping=router:none")
    report = await twin.json("/api/sim")
    assert (report["plants"]["wired"], report["hosts"]) == ([], {})


async def test_board_shows_the_next_due_moment(twin: LoopTwin) -> None:
    assert (await twin.json("/api/sim"))["due"] is None
    await twin.ok("/outs.cgi?ortime=05&out0=1")
    report = await twin.json("/api/sim")
    assert (report["virtual_time"], report["due"]) == (True, report["time"] + 5)
    assert report["time"] == (await twin.state())["time"]


async def test_faults_are_set_and_ended_by_number(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?DS1=20&fault=sensor_85*label:DS1*for:1h&fault=slow*delay:5s*path:/x")
    assert (await twin.state())["DS1"] == 85
    report = (await twin.json("/api/sim"))["faults"]
    assert report["set"] == [
        {"number": 1, "text": "sensor_85*label:DS1*for:1h", "is_on": True, "acted": 1},
        {"number": 2, "text": "slow*delay:5s*path:/x", "is_on": True, "acted": 0},
    ]
    assert report["kinds"]["slow"]["fields"]["delay"]["required"]
    assert report["kinds"]["garbage"]["fields"]["of"]["default"] == "body"
    await twin.ok("/sim.cgi?fault=end:1")
    assert (await twin.state())["DS1"] == 20
    await twin.ok("/sim.cgi?fault=none")
    assert (await twin.json("/api/sim"))["faults"]["set"] == []


@pytest.mark.parametrize(
    ("item", "status", "sentence"),
    [
        ("melted", 400, "slow, drip, refuse"),
        ("slow*delay:soon", 400, "delay"),
        ("sensor_85*label:DS9", 400, "DS1"),
        ("end:7", 400, "none is set"),
        ("refuse", 409, "for:TIME"),
        ("reboot*takes:2h", 409, "takes:TIME"),
    ],
)
async def test_fault_that_cannot_be_is_refused(
    twin: LoopTwin, item: str, status: int, sentence: str
) -> None:
    problem = await twin.refused(f"/sim.cgi?DS1=20&fault={item}", status)
    assert sentence in problem["detail"]
    assert (await twin.json("/api/sim"))["faults"]["set"] == []


async def test_reboot_over_http_is_over_in_real_time(twin: LoopTwin) -> None:
    before = (await twin.state())["time"]
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/sim.cgi?fault=reboot*takes:0.05s")
    await until(lambda: twin.controller.bootloader_until is None)
    state = await twin.state()
    assert (state["OUT0"], state["time"]) == (0, before + 0.05)


async def test_faults_are_limited_in_number(twin: LoopTwin) -> None:
    for _ in range(MAX_FAULTS):
        await twin.ok("/sim.cgi?fault=frozen")
    problem = await twin.refused("/sim.cgi?fault=frozen", 409)
    assert "fault=none" in problem["detail"]


@pytest.mark.parametrize(
    "query", ["advance=31622401", "advance=3e9", "advance=20000000&DS1=20&advance=20000000"]
)
async def test_one_request_moves_time_by_a_year_at_most(twin: LoopTwin, query: str) -> None:
    before = (await twin.state())["time"]
    refused = await twin.refused(f"/sim.cgi?{query}", 400)
    assert "0 to 31622400 in one request, or next" in refused["detail"]
    assert (await twin.state())["time"] == before


def until_query(condition: str) -> str:
    return f"/sim.cgi?until={quote(condition, safe='')}"


async def test_time_moves_until_a_condition_holds(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?oname=0Pump")
    await twin.ok("/outs.cgi?ortime=0600&out0=1")
    before = (await twin.state())["time"]
    await twin.ok(until_query("OUT0 = on"))
    assert (await twin.state())["time"] == before
    await twin.ok(f"/sim.cgi?DS1=20&{until_query('Pump = off and DS1 > 1')[9:]}&DS1=30")
    state = await twin.state()
    assert (state["time"], state["DS1"]) == (before + 600, 30)


async def test_condition_that_does_not_hold_in_time_is_a_conflict(twin: LoopTwin) -> None:
    before = (await twin.state())["time"]
    problem = await twin.refused(until_query("OUT0 = 1*within:1h30m"), 409)
    assert problem["title"] == "The condition was not met"
    assert problem["detail"] == "'OUT0 = 1' was not met within 1h30m."
    assert (await twin.state())["time"] == before + 5400
    await twin.refused(until_query("OUT0 = 1"), 409)
    assert (await twin.state())["time"] == before + 5400 + 86_400


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("OUT0 is on", "a label or a name, then >="),
        ("OUT9 = 1", "OUT0 to OUT5"),
        ("OUT0 = 1*within:soon", "CONDITION*within:TIME"),
        ("OUT0 = 1*within:367d", "0 to 31622400 in one request"),
        ("OUT0 = 1*within:200d&advance=20000000", "0 to 31622400 in one request"),
    ],
)
async def test_wait_that_cannot_be_is_refused_before_time_moves(
    twin: LoopTwin, condition: str, sentence: str
) -> None:
    before = (await twin.state())["time"]
    first, mark, more = condition.partition("&")
    problem = await twin.refused(until_query(first) + mark + more, 400)
    assert sentence in problem["detail"]
    assert (await twin.state())["time"] == before
