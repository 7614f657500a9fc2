"""The Modbus master beside a whole controller: commands choose modules, the state shows values."""

import asyncio

from leverframe.core.runtime.clock import VirtualClock
from leverframe.devices.modbus_master import ModbusMaster
from leverframe.devices.wire.modbus_modules import STALE_S
from leverframe.testing import LoopTwin
from tests.devices.modbus_ports import connect_modbus

from .test_modbus_master import SimulatedBus
from .virtual_loop import run_virtually
from .waiting import until


def test_state_shows_readings_of_the_configured_module_and_their_absence() -> None:
    async def scenario() -> None:
        twin = await LoopTwin.start()
        controller, bus = twin.controller, SimulatedBus(s12=2305)
        master = ModbusMaster(
            bus,
            controller.engine.settings,
            controller.sense,
            controller.troubles,
            lambda: controller.clock.read().wall,
        )
        controller.settings_watchers.append(master.adopt)
        controller.reports["modbus"] = master.report
        mapping = "*".join(["12", "110", *["00"] * 28])
        await twin.ok(f"/stm.cgi?modbus_sensor=06&modbusid=012&modbusmapping={mapping}")
        await asyncio.sleep(2.0)
        state = await twin.state()
        assert (state["m1"], state["m2"], state["m3"]) == (230.5, None, None)
        assert state["modbus"]["1"]["readings"]["grid voltage"] == 230.5

        bus.refusing.add(0)
        await asyncio.sleep(2.0)
        health = await twin.json("/health")
        assert (health["status"], health["troubles"]) == ("degraded", ["Modbus slot 1"])
        state = await twin.state()
        assert "exception 2, illegal data address" in state["troubles"]["Modbus slot 1"]
        assert state["modbus"]["1"]["refused"][0]["code"] == 2
        bus.refusing.clear()
        await asyncio.sleep(2.0)
        assert (await twin.json("/health"))["status"] == "ok"

        bus.slaves.clear()
        assert isinstance(controller.clock, VirtualClock)
        controller.clock.move_to(500.0)
        await asyncio.sleep(STALE_S + 2.0)
        state = await twin.state()
        assert state["m1"] is None
        assert state["absent_since"]["m1"] == controller.clock.read().wall
        await asyncio.sleep(20.0)
        health = await twin.json("/health")
        assert (health["status"], health["troubles"]) == ("degraded", ["Modbus slot 1"])
        await master.close()
        await controller.stop()

    run_virtually(scenario())


def test_readings_come_back_after_a_restart_of_the_controller() -> None:
    async def scenario() -> None:
        twin = await LoopTwin.start()
        controller = twin.controller
        master = ModbusMaster(
            SimulatedBus(s1=500),
            controller.engine.settings,
            controller.sense,
            controller.troubles,
            lambda: 0.0,
        )
        controller.settings_watchers.append(master.adopt)
        mapping = "*".join(["10", *["00"] * 29])
        await twin.ok(f"/stm.cgi?modbus_sensor=06&modbusmapping={mapping}")
        await asyncio.sleep(2.0)
        await twin.ok("/stm.cgi?devrestart=1")
        await asyncio.sleep(2.0)
        assert (await twin.state())["m1"] == 50.0
        await master.close()
        await controller.stop()

    run_virtually(scenario())


async def test_bus_that_is_not_there_degrades_the_controller_and_stops_nothing() -> None:
    twin = await LoopTwin.start()
    services = await connect_modbus(twin.controller, "/dev/there-is-no-such-port")
    await twin.ok("/stm.cgi?modbus_sensor=01")
    await until(lambda: bool(twin.controller.troubles))
    assert "is missing" in twin.controller.troubles["Modbus slot 1"]
    await twin.ok("/outs.cgi?out0=1")
    for service in reversed(services):
        await service.close()
    await twin.controller.stop()
