"""A power cut with a store on disk: what outputs and rules do when the controller starts again."""

from pathlib import Path

import msgspec

from leverframe.storage.sqlite import SqliteStore
from leverframe.testing import LoopTwin

#: DS1 below 20 °C puts OUT0 on, until 22 °C; OUT0 remembers its state.
HEATING = "/inpa.cgi?event=0*10*1*2000*200*0*0*0*0*0*0*0*1*0*0*0"


async def make_heated_twin(path: Path) -> LoopTwin:
    """A controller whose heater a rule has switched on."""
    twin = await LoopTwin.start(store=SqliteStore(path))
    for command in ("/outs.cgi?roafs=01", HEATING, "/inpa.cgi?eventon=0*1", "/sim.cgi?DS1=15"):
        await twin.ok(command)
    assert await twin.outputs() == "100000"
    return twin


async def after_power_cut(path: Path, twin: LoopTwin) -> LoopTwin:
    await twin.controller.writer.close()
    return await LoopTwin.start(store=SqliteStore(path))


async def test_heater_goes_off_after_a_power_cut_when_its_rule_is_not_met(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    again = await after_power_cut(path, await make_heated_twin(path))
    assert await again.outputs() == "100000"
    await again.ok("/sim.cgi?DS1=25")
    assert await again.outputs() == "000000"
    await again.controller.stop()


async def test_restart_by_command_keeps_what_rules_have_switched(tmp_path: Path) -> None:
    twin = await make_heated_twin(tmp_path / "store.db")
    await twin.ok("/sim.cgi?DS1=none")
    await twin.ok("/stm.cgi?devrestart=1")
    assert await twin.outputs() == "100000"
    await twin.ok("/sim.cgi?advance=60")
    assert await twin.outputs() == "000000"
    await twin.controller.stop()


async def test_duty_that_is_set_again_after_the_regulator_counts() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/sim.cgi?DS1=20")
    await twin.ok("/stm.cgi?pwmd=250&pidvalue=1*10*210*1000*0*0*2")
    await twin.ok("/stm.cgi?pidvalue=0*10*210*1000*0*0*2")
    assert twin.controller.engine.values["PWM2.duty"] == 0
    await twin.ok("/stm.cgi?pwmd=250")
    assert twin.controller.engine.values["PWM2.duty"] == 50
    trail = msgspec.json.decode((await twin.ok("/api/audit")).body)
    assert "PWM2.duty" in str(trail)
