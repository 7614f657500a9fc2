"""The test bench at `/sim.cgi`."""

from datetime import UTC

import pytest

from leverframe.clock import SystemClock
from leverframe.process.build import build
from leverframe.profile import Profile
from leverframe.storage.store import MemoryStore
from tests.twin import Twin


@pytest.fixture
async def twin() -> Twin:
    return await Twin.start()


async def test_what_the_board_feels_shows_in_the_state(twin: Twin) -> None:
    await twin.ok("/sim.cgi?DS1=21.5&INPD2=0&T1=20&H1=50&m3=7.25&PM2.5=8&VCC=11.9")
    state = await twin.state()
    expected = {"DS1": 21.5, "INPD2": 0, "T1": 20, "H1": 50, "m3": 7.25, "PM2.5": 8, "VCC": 11.9}
    assert {label: state[label] for label in expected} == expected


async def test_none_unplugs(twin: Twin) -> None:
    await twin.ok("/sim.cgi?DS1=21.5&INPD1=0")
    await twin.ok("/sim.cgi?DS1=none&INPD1=none")
    state = await twin.state()
    assert (state["DS1"], state["INPD1"]) == (None, 1)


async def test_analog_values_are_volts_at_the_pin(twin: Twin) -> None:
    await twin.ok("/inpa.cgi?sensor=21")
    await twin.ok("/sim.cgi?INPA3=2.41")
    assert (await twin.state())["INPA3"] == 2.41


async def test_time_stands_still_until_it_is_advanced(twin: Twin) -> None:
    await twin.ok("/outs.cgi?ortime=05&out0=1")
    before = (await twin.state())["time"]
    await twin.ok("/sim.cgi?advance=4.5")
    state = await twin.state()
    assert (state["time"], state["OUT0"], state["returns_in"]) == (before + 4.5, 1, {"OUT0": 0.5})
    await twin.ok("/sim.cgi?advance=next")
    assert (await twin.state())["OUT0"] == 0
    await twin.ok("/sim.cgi?advance=next")
    assert (await twin.state())["time"] == before + 5


async def test_items_are_carried_out_in_order(twin: Twin) -> None:
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
    ],
)
async def test_a_bad_item_voids_the_whole_request(twin: Twin, query: str, status: int) -> None:
    await twin.refused(f"/sim.cgi?DS2=5&{query}", status)
    assert (await twin.state())["DS2"] is None


async def test_real_time_cannot_be_advanced() -> None:
    built = await build(Profile(), MemoryStore(), SystemClock(), UTC)
    await Twin(built.controller, built.web).refused("/sim.cgi?advance=1", 409)
    await built.controller.stop()
