"""An accepted command takes effect, also where it sets what is set already.

Rules switch periodic switching and the regulator live, without touching the settings; the last
command decides, as with outputs.
"""

import msgspec

from leverframe.core.engine.pid import Explanation
from leverframe.testing import LoopTwin

TIMES = "/outs.cgi?atout=0*4&atout=6*4"
#: Met while INPD1 is open.
AUTO_SWITCH = "/inpa.cgi?event=0*100*0*1*0*0*18*0*0*0*0*0*1&eventon=0*1"
ENABLE_PID = "/inpa.cgi?event=0*100*0*1*0*0*47*0*0*0*0*0*1&eventon=0*1"
#: DS1 to 25.0 °C with Kp 10: more than 0 % whenever it runs.
REGULATE = "/stm.cgi?pidvalue=1*10*{}*1000*0*0*1"
HOST = "1*0*0*10.0.0.1*1*1*5*0*1*1*0"
NO_HOST = "0*0*0**1*1*5*0*1*0*0"
WATCHDOG = "/stm.cgi?wdog1=" + HOST + "".join(f"&wdog{number}={NO_HOST}" for number in range(2, 7))


async def pass_time(twin: LoopTwin, seconds: float) -> None:
    await twin.controller.advance(seconds)


async def switchings(twin: LoopTwin) -> int:
    """How often OUT0 is found changed when looked at every four seconds."""
    count, before = 0, await twin.outputs()
    for _ in range(6):
        await pass_time(twin, 4)
        now = await twin.outputs()
        count, before = count + (now != before), now
    return count


async def meet_and_delete(twin: LoopTwin, rule: str) -> None:
    """A rule becomes met, ceases to be, and is deleted."""
    await twin.ok(rule)
    await twin.ok("/sim.cgi?INPD1=0")
    await twin.ok("/inpa.cgi?eventdel=0")


async def test_periodic_switching_that_a_rule_began_is_ended_by_its_command() -> None:
    twin = await LoopTwin.start()
    await twin.ok(TIMES)
    await twin.ok(AUTO_SWITCH)
    await twin.ok("/inpa.cgi?eventdel=0")
    assert await switchings(twin) == 6
    await twin.ok("/outs.cgi?aout=00")
    assert await switchings(twin) == 0


async def test_periodic_switching_that_a_rule_ended_begins_by_its_command() -> None:
    twin = await LoopTwin.start()
    await twin.ok(TIMES)
    await twin.ok("/outs.cgi?aout=01")
    await meet_and_delete(twin, AUTO_SWITCH)
    assert await switchings(twin) == 0
    await twin.ok("/outs.cgi?aout=01")
    assert await switchings(twin) == 6


async def test_command_that_changes_nothing_does_not_restart_the_cycle() -> None:
    twin = await LoopTwin.start()
    await twin.ok(TIMES)
    await twin.ok("/outs.cgi?aout=01")
    await pass_time(twin, 3)
    await twin.ok("/outs.cgi?aout=01")
    await pass_time(twin, 1)
    assert await twin.outputs() == "000000"


async def test_last_one_of_joined_commands_counts() -> None:
    twin = await LoopTwin.start()
    await twin.ok(TIMES)
    await twin.ok("/outs.cgi?aout=01&aout=00")
    assert await switchings(twin) == 0
    assert await twin.outputs() == "000000"


async def test_permanent_rule_keeps_on_what_a_command_would_end() -> None:
    twin = await LoopTwin.start()
    await twin.ok(TIMES)
    await twin.ok(AUTO_SWITCH + "&eventper=0*1")
    await twin.ok("/outs.cgi?aout=00")
    assert await switchings(twin) == 6


def regulator(twin: LoopTwin) -> Explanation:
    return twin.controller.engine.pid.explain()


async def test_regulator_that_a_rule_stopped_runs_by_its_command() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/sim.cgi?DS1=20")
    await twin.ok(REGULATE.format(250))
    await meet_and_delete(twin, ENABLE_PID)
    assert not regulator(twin)["enabled"]
    await twin.ok(REGULATE.format(230))
    assert regulator(twin)["enabled"]
    assert regulator(twin)["duty"] == 30.0


async def test_same_regulator_sent_again_runs_again() -> None:
    twin = await LoopTwin.start()
    await twin.ok(REGULATE.format(250))
    await meet_and_delete(twin, ENABLE_PID)
    await twin.ok(REGULATE.format(250))
    assert regulator(twin)["enabled"]


async def test_count_of_switchings_by_a_live_rule_ends_with_a_reset() -> None:
    twin = await LoopTwin.start()
    await twin.ok(TIMES)
    await twin.ok(AUTO_SWITCH)
    await twin.ok("/stm.cgi?eeprom_reset=1")
    await twin.ok(TIMES)
    assert await switchings(twin) == 0


async def test_count_of_switchings_by_a_live_rule_ends_with_a_restore() -> None:
    twin = await LoopTwin.start()
    await twin.ok(TIMES)
    backup = (await twin.ok("/dev_settings.bin")).body
    await twin.ok(AUTO_SWITCH)
    await twin.ok("/post.cgi?settingsupload", "POST", backup)
    assert await switchings(twin) == 0


async def test_watchdog_entry_that_gave_up_restarts_when_it_is_set_again() -> None:
    twin = await LoopTwin.start()
    await twin.ok(WATCHDOG)
    await pass_time(twin, 60)
    explained = twin.controller.engine.watchdog.explain()
    assert explained[0].state == "given up"
    await twin.ok(WATCHDOG)
    explained = twin.controller.engine.watchdog.explain()
    assert (explained[0].state, explained[0].restarts) == ("running", 0)


async def test_audit_trail_records_only_who_made_a_setting_count_again() -> None:
    twin = await LoopTwin.start()
    await twin.ok(TIMES)
    await twin.ok(AUTO_SWITCH)
    await twin.ok("/outs.cgi?aout=00")
    await twin.ok("/outs.cgi?aout=00")
    entries = msgspec.json.decode((await twin.ok("/api/audit")).body)
    changes = [change for entry in entries for change in entry["changes"]]
    assert [change for change in changes if "AutoSwitch" in str(change["path"])] == [
        {"path": "AutoSwitch OUT0", "old": "overridden", "new": "as set"}
    ]
