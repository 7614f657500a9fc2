"""A whole controller in long and odd times: changed clocks, years, far dates."""

import gc
import sys
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.host.assembly import build
from leverframe.storage.history.worker import HistoryWorker, NullHistory
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin

WARSAW = ZoneInfo("Europe/Warsaw")
HOUR_S, DAY_S, YEAR_S = 3600, 86400, 365.25 * 86400
EVERY_DAY = 127


async def twin_at(
    local: str, timezone: tzinfo = UTC, history: HistoryWorker | None = None
) -> LoopTwin:
    wall = datetime.fromisoformat(local).replace(tzinfo=timezone).timestamp()
    built = await build(Profile(), MemoryStore(), VirtualClock(wall), timezone, history=history)
    return LoopTwin(built.controller, built.web)


async def schedule(twin: LoopTwin, *entries: str) -> None:
    """Entries as `action*value*second`, every day."""
    items = (
        f"&s{index}=entry{index}*{entry}*0*{EVERY_DAY}*1" for index, entry in enumerate(entries)
    )
    await twin.ok("/post.cgi?sched_save", "POST", "".join([*items, "&&"]).encode())


def list_moments(twin: LoopTwin, timezone: tzinfo, text: str = "OUT0") -> list[str]:
    """The moments, in local time, of entries about a label."""
    return [
        f"{datetime.fromtimestamp(entry.wall, timezone):%d %H:%M:%S} {entry.text}"
        for entry in twin.controller.engine.machine.journal.entries()
        if entry.text.startswith(text)
    ]


def local_seconds(text: str) -> int:
    """What the clock command takes: local time as if it were UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


# --- daylight saving time -------------------------------------------------------------------------


async def test_entry_of_the_skipped_hour_runs_once_at_its_end_in_spring() -> None:
    twin = await twin_at("2026-03-28 12:00", WARSAW)
    await schedule(twin, f"0*2*{2 * HOUR_S + 1800}")
    await twin.ok(f"/sim.cgi?advance={2 * DAY_S}")
    assert list_moments(twin, WARSAW) == ["29 03:00:00 OUT0 on", "30 02:30:00 OUT0 off"]


async def test_entry_of_the_repeated_hour_runs_once_in_autumn() -> None:
    twin = await twin_at("2026-10-24 12:00", WARSAW)
    await schedule(twin, f"0*2*{2 * HOUR_S + 1800}")
    await twin.ok(f"/sim.cgi?advance={2 * DAY_S}")
    assert list_moments(twin, WARSAW) == ["25 02:30:00 OUT0 on", "26 02:30:00 OUT0 off"]


async def test_delays_know_nothing_of_daylight_saving_time() -> None:
    twin = await twin_at("2026-03-29 01:30", WARSAW)
    await twin.ok(f"/outs.cgi?ortime=0{HOUR_S}&out0=1")
    await twin.ok(f"/sim.cgi?advance={2 * HOUR_S}")
    assert list_moments(twin, WARSAW) == ["29 01:30:00 OUT0 on", "29 03:30:00 OUT0 off"]


# --- a clock that is set --------------------------------------------------------------------------


async def set_clock(twin: LoopTwin, local: str) -> None:
    await twin.ok(f"/stm.cgi?t_man={local_seconds(local)}")


async def test_setting_the_clock_forward_brings_the_next_entry_nearer() -> None:
    twin = await twin_at("2026-06-01 12:00")
    await schedule(twin, f"0*1*{18 * HOUR_S}")
    await set_clock(twin, "2026-06-01 17:00")
    await twin.ok(f"/sim.cgi?advance={HOUR_S}")
    assert list_moments(twin, UTC) == ["01 18:00:00 OUT0 on"]


async def test_setting_the_clock_back_does_not_repeat_what_ran() -> None:
    twin = await twin_at("2026-06-01 17:30")
    await schedule(twin, f"0*2*{18 * HOUR_S}")
    await twin.ok(f"/sim.cgi?advance={HOUR_S}")
    await set_clock(twin, "2026-06-01 17:30")
    await twin.ok(f"/sim.cgi?advance={DAY_S}")
    assert list_moments(twin, UTC) == ["01 18:00:00 OUT0 on"]
    await twin.ok(f"/sim.cgi?advance={HOUR_S}")
    assert list_moments(twin, UTC)[1:] == ["02 18:00:00 OUT0 off"]


@pytest.mark.parametrize("local", ["2020-01-01 00:00", "2031-12-31 23:59"])
async def test_delays_do_not_notice_that_the_clock_is_set(local: str) -> None:
    twin = await twin_at("2026-06-01 12:00")
    await twin.ok("/outs.cgi?ortime=060&out0=1")
    await twin.ok("/sim.cgi?advance=20")
    await set_clock(twin, local)
    await twin.ok("/sim.cgi?advance=39")
    assert await twin.outputs() == "100000"
    await twin.ok("/sim.cgi?advance=1")
    assert await twin.outputs() == "000000"
    assert (await twin.state())["uptime"] == 60


async def test_plant_does_not_notice_that_the_clock_is_set() -> None:
    twin = await twin_at("2026-06-01 12:00")
    await twin.ok("/sim.cgi?plant=tank*pump:OUT0*reading:DISTANCE*height:900*fill:1")
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/sim.cgi?advance=100")
    await set_clock(twin, "2020-01-01 00:00")
    await twin.ok("/sim.cgi?advance=100")
    assert (await twin.state())["DISTANCE"] == 700


# --- for years ------------------------------------------------------------------------------------


async def busy_twin() -> LoopTwin:
    """Rules, plants, schedule, watchdog and periodic switching, each a few times an hour."""
    # What is recorded of all values grows until it is full, and is bounded by tests of its own.
    twin = await twin_at("2026-06-01 00:00", history=NullHistory())
    periods = (f"atout={n}*{600 + n}&atout={n + 6}*{700 + n}&aout={n}1" for n in range(2, 6))
    await twin.ok(f"/outs.cgi?{'&'.join(periods)}")
    await twin.ok(
        "/sim.cgi?plant=room*heater:OUT0*reading:DS1*outside:5*power:30*time_constant:1h*sample:300"
        "&plant=tank*pump:OUT1*switch:INPD1*height:20000*fill:1*drain:0.2"
        "&plant=meter*switch:OUT2*reading:INPD2*watts:100*pulses:100&ping=router:5"
    )
    # DS1 below 20 with a band of 1 heats with a delay; an empty tank (INPD1 is 1) is pumped.
    await twin.ok("/inpa.cgi?event=0*10*1*2000*100*0*0*0*0*0*0*30*1*30*0*0&eventon=0*1")
    await twin.ok("/inpa.cgi?event=1*100*0*1*0*0*1*0*0*0*0*0&eventon=1*1")
    await schedule(twin, f"10*2*{6 * HOUR_S}", f"11*2*{22 * HOUR_S}")
    off = "0*0*0**3*2*600*30*5*0*1"
    entries = "&".join(f"wdog{n}={off}" for n in range(2, 7))
    await twin.ok(f"/stm.cgi?wdog1=1*0*3*router*3*2*600*30*5*0*1&{entries}")
    return twin


@pytest.mark.long
async def test_thirty_days_leave_no_timers_and_no_memory_behind() -> None:
    twin = await busy_twin()
    timers = twin.controller.engine.machine.timers
    counts, blocks = [], []
    for _ in range(6):
        await twin.controller.advance(5 * DAY_S)
        assert twin.controller.history is not None
        twin.controller.history.flush()
        gc.collect()
        counts.append(len(timers))
        blocks.append(sys.getallocatedblocks())
    assert max(counts) < 20
    # The journal and the board's history are full after the first days. Nothing else grows.
    assert blocks[-1] - blocks[1] < 300


@pytest.mark.parametrize(
    "local", ["2038-01-19 03:13:57", "2099-12-31 23:58:50", "2106-02-07 06:28:05"]
)
async def test_dates_beyond_32_bits_are_dates(local: str) -> None:
    twin = await twin_at(local)
    start = datetime.fromisoformat(local)
    run_at = (start.hour * HOUR_S + start.minute * 60 + start.second + 15) % DAY_S
    await schedule(twin, f"0*1*{run_at}")
    await twin.ok("/sim.cgi?advance=30")
    state = await twin.state()
    assert state["OUT0"] == 1
    assert state["time"] == local_seconds(local) + 30
    for path in ("/json/status.json", "/json/all.json", "/xml/ix.xml", "/st0.xml"):
        await twin.ok(path)
    await set_clock(twin, "2040-02-29 12:00")
    assert (await twin.state())["time"] == local_seconds("2040-02-29 12:00")


async def test_delays_after_ten_years_are_as_exact_as_on_the_first_day() -> None:
    twin = await twin_at("2026-06-01 00:00")
    await schedule(twin, f"1*2*{12 * HOUR_S}")
    await twin.controller.advance(10 * YEAR_S)
    state = await twin.state()
    assert state["uptime"] == 10 * YEAR_S
    # It ends at noon, with the 3653rd switching.
    assert state["OUT1"] == 1
    await twin.ok("/json/status.json")
    await twin.ok("/sim.cgi?plant=load*switch:OUT0*reading:m1*on:1")
    await twin.ok("/outs.cgi?ortime=01&out0=1")
    await twin.ok("/sim.cgi?advance=0.999")
    state = await twin.state()
    assert (state["OUT0"], state["m1"]) == (1, 1)
    await twin.ok("/sim.cgi?advance=0.002")
    assert (await twin.state())["OUT0"] == 0
    await twin.ok("/stm.cgi?pwmt=010&pwmd=0100")
    await twin.ok("/sim.cgi?advance=5")
    # From 50 to 100 percent in ten seconds: half way.
    assert (await twin.state())["PWM0.duty"] == pytest.approx(75, abs=1)


async def test_setting_the_clock_over_an_entry_leaves_pin_and_state_agreed() -> None:
    twin = await twin_at("2026-06-01 17:00")
    await twin.ok("/outs.cgi?pwm1=1")
    # The request that sets the clock past 18:00, when PWM1 is switched on, switches it off.
    await schedule(twin, f"7*1*{18 * HOUR_S}")
    await twin.ok(f"/stm.cgi?t_man={local_seconds('2026-06-01 18:00:10')}&pwm1=0")
    board = twin.controller.board
    assert (await twin.state())["PWM1"] == 1
    assert board.levels[1] == 0.5  # type: ignore[attr-defined]


async def test_pin_and_state_agree_after_a_restart_during_a_switching() -> None:
    twin = await twin_at("2026-06-01 05:00")
    # Action 18 restarts the controller; OUT0 is switched on at that very second.
    await schedule(twin, f"18*1*{6 * HOUR_S}", f"0*1*{6 * HOUR_S}")
    await twin.ok(f"/sim.cgi?advance={2 * HOUR_S}")
    board = twin.controller.board
    assert board.outputs[0] is bool((await twin.state())["OUT0"])  # type: ignore[attr-defined]
