"""The time zone that the settings name: of the schedule and of the clock, from the moment it is."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from leverframe.core.engine.schedule_times import zone_named
from leverframe.testing import LoopTwin

AT_SEVEN = "timezone=Europe%2FWarsaw"


async def test_schedule_goes_by_the_zone_as_soon_as_it_is_chosen() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/post.cgi?sched_save", "POST", b"&s0=Dawn*5*1*25200*0*127*1&&")
    before = (await twin.json("/api/state"))["schedule"][0]["next_run"]
    await twin.ok(f"/stm.cgi?{AT_SEVEN}")
    after = (await twin.json("/api/state"))["schedule"][0]["next_run"]
    assert datetime.fromtimestamp(before, UTC).hour == 7
    assert datetime.fromtimestamp(after, ZoneInfo("Europe/Warsaw")).hour == 7
    await twin.ok("/stm.cgi?timezone=")
    assert (await twin.json("/api/state"))["schedule"][0]["next_run"] == before
    await twin.controller.stop()


async def test_state_shows_the_time_zone_of_the_controller() -> None:
    twin = await LoopTwin.start(timezone=ZoneInfo("Asia/Kolkata"))

    async def read_zone() -> str:
        return str((await twin.json("/api/state"))["timezone"])

    assert await read_zone() == "Asia/Kolkata"
    await twin.ok(f"/stm.cgi?{AT_SEVEN}")
    assert await read_zone() == "Europe/Warsaw"
    await twin.ok("/stm.cgi?timezone=")
    assert await read_zone() == "Asia/Kolkata"
    await twin.controller.stop()


async def test_zone_that_the_machine_does_not_know_is_refused_and_changes_nothing() -> None:
    twin = await LoopTwin.start()
    for name in ("Europe%2FNowhere", "Europe", "..%2Fpasswd"):
        await twin.refused(f"/stm.cgi?timezone={name}", 400)
    assert (await twin.settings())["timezone"] == ""
    await twin.controller.stop()


def test_stored_zone_that_is_unknown_here_is_none() -> None:
    assert zone_named("Europe/Nowhere") is None
    assert zone_named("UTC") is not None
