"""Plants and pings at `/sim.cgi`, and the loops that they close."""

import asyncio
from datetime import UTC

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.host.assembly import build
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.patience import PATIENCE_S

ROOM = "plant=room*heater:PWM0*reading:DS1*outside:5*power:30*time_constant:10m"
LOAD = "plant=load*switch:OUT0*reading:m1*on:2"
#: One entry: OUT0, router, 3 failures, timeout 2, interval 10, wait 30, restart of 5 s, delay 1.
WATCHDOG = "1*0*0*router*3*2*10*30*5*0*1"
NO_WATCHDOG = "0*0*0**3*2*10*30*5*0*1"


@pytest.fixture
async def twin() -> LoopTwin:
    return await LoopTwin.start()


async def watch_router(twin: LoopTwin) -> None:
    entries = "&".join(f"wdog{n}={NO_WATCHDOG if n > 1 else WATCHDOG}" for n in range(1, 7))
    await twin.ok(f"/stm.cgi?{entries}")


async def test_regulator_brings_a_room_to_its_target(twin: LoopTwin) -> None:
    await twin.ok(f"/sim.cgi?{ROOM}")
    await twin.ok("/stm.cgi?pidvalue=1*10*215*2000*5*0*0")
    await twin.ok("/outs.cgi?pwm0=1")
    await twin.ok("/sim.cgi?advance=7200")
    state = await twin.state()
    assert state["DS1"] == pytest.approx(21.5, abs=0.05)
    assert state["PWM0.duty"] == pytest.approx(55, abs=0.5)


async def test_rule_with_hysteresis_keeps_a_room_within_its_band(twin: LoopTwin) -> None:
    await twin.ok(f"/sim.cgi?{ROOM.replace('PWM0', 'OUT1')}")
    # DS1 below 20.0 switches OUT1 on, 20.5 off again.
    await twin.ok("/inpa.cgi?event=0*10*1*2000*50*0*1*0*0*0*0*0&eventon=0*1")
    await twin.ok("/sim.cgi?advance=3600")
    readings = []
    for _ in range(200):
        await twin.ok("/sim.cgi?advance=17")
        readings.append((await twin.state())["DS1"])
    assert 19.9 <= min(readings) < 20.1
    assert 20.4 < max(readings) <= 20.6


async def test_load_shows_on_its_module_reading(twin: LoopTwin) -> None:
    await twin.ok(f"/sim.cgi?{LOAD}")
    await twin.ok("/outs.cgi?out0=1")
    assert (await twin.state())["m1"] == 0
    await twin.ok("/sim.cgi?advance=0.1")
    assert (await twin.state())["m1"] == 2


async def test_next_deadline_may_be_that_of_a_plant(twin: LoopTwin) -> None:
    await twin.ok(f"/sim.cgi?{LOAD}")
    await twin.ok("/outs.cgi?ortime=05&out0=1")
    await twin.ok("/sim.cgi?advance=next")
    state = await twin.state()
    assert (state["m1"], state["OUT0"], state["uptime"]) == (2, 1, 0.1)
    await twin.ok("/sim.cgi?advance=next")
    assert (await twin.state())["uptime"] == 5


async def test_removing_all_plants_ends_their_deadlines(twin: LoopTwin) -> None:
    await twin.ok(f"/sim.cgi?{ROOM}&plant=none")
    assert twin.controller.next_deadline() is None


async def test_plant_outlives_a_restart_of_the_controller(twin: LoopTwin) -> None:
    await twin.ok(f"/sim.cgi?{LOAD}")
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/stm.cgi?devrestart=1")
    await twin.ok("/sim.cgi?advance=1")
    assert (await twin.state())["m1"] == 0
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/sim.cgi?advance=1")
    assert (await twin.state())["m1"] == 2


async def test_tank_drains_while_the_bootloader_waits(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?plant=tank*pump:OUT0*reading:DISTANCE*height:1000*fill:1*start:1000")
    await twin.ok("/sim.cgi?plant=tank*pump:OUT1*reading:INPA1*height:10*fill:0*drain:0.1*start:10")
    await twin.ok("/stm.cgi?upgrade=devstart3")
    await twin.controller.advance(90)
    await twin.ok("/inpa.cgi?sensor=01")
    assert (await twin.state())["INPA1"] == pytest.approx(3.3 * 0.1)


@pytest.mark.parametrize(
    ("item", "field"),
    [
        ("plant=volcano", "plant"),
        ("plant=room*heater:PWM0", "plant"),
        ("plant=load*switch:OUT9*reading:m1*on:2", "plant"),
        ("plant=load*switch:OUT0*reading:m1*on:2*on:3", "plant"),
        ("plant=", "plant"),
        ("ping=router", "ping"),
        ("ping=router:soon", "ping"),
        ("ping=router:-1", "ping"),
        ("ping=:5", "ping"),
        ("barcode=plant%00", "barcode"),
    ],
)
async def test_bad_item_is_refused_and_nothing_is_done(
    twin: LoopTwin, item: str, field: str
) -> None:
    problem = await twin.refused(f"/sim.cgi?DS2=5&{item}", 400)
    assert problem["field"] == field
    assert problem["allowed"]
    assert (await twin.state())["DS2"] is None


async def test_readings_that_do_not_exist_cannot_be_plugged_in(twin: LoopTwin) -> None:
    await twin.refused("/sim.cgi?OUT0=plant", 404)


async def test_encoded_plant_is_the_same_plant(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?plant=load%2Aswitch%3AOUT0%2Areading%3Am1%2Aon%3A2%2Aoff%3A1")
    assert (await twin.state())["m1"] == 1


async def test_host_that_answers_keeps_its_output(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?out0=1")
    await watch_router(twin)
    await twin.ok("/sim.cgi?ping=router:12.5&advance=3600")
    state = await twin.state()
    assert (state["watchdog"][0]["last_answer"], state["OUT0"]) == (12.5, 1)
    assert state["watchdog"][0]["restarts"] == 0


async def test_silent_host_has_its_output_restarted(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?out0=1")
    await watch_router(twin)
    await twin.ok("/sim.cgi?ping=router:5&advance=60")
    await twin.ok("/sim.cgi?ping=router:none&advance=24")
    assert await twin.outputs() == "000000"
    await twin.ok("/sim.cgi?advance=5")
    assert await twin.outputs() == "100000"
    assert (await twin.state())["watchdog"][0]["restarts"] == 1


async def test_host_with_colons_in_its_address_can_answer(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?ping=fe80::1:3&ping=fe80::2:none")


async def test_on_real_time_pings_are_real_and_plants_are_lived() -> None:
    built = await build(Profile(), MemoryStore(), SystemClock(), UTC)
    twin = LoopTwin(built.controller, built.web)
    await twin.refused("/sim.cgi?ping=router:5", 409)
    await twin.ok(f"/sim.cgi?{LOAD}")
    shown = asyncio.Event()
    built.controller.watchers.add(lambda: shown.set() if twin_shows(twin) else None)
    await twin.ok("/outs.cgi?out0=1")
    await asyncio.wait_for(shown.wait(), PATIENCE_S)
    await built.stop()


def twin_shows(twin: LoopTwin) -> bool:
    return twin.controller.engine.values["m1"] == 2
