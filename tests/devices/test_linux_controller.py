"""A whole controller on a Linux board made of files: commands in, readings and troubles out."""

from collections.abc import AsyncIterator
from datetime import UTC
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.devices.linux.board import LinuxBoard
from leverframe.devices.wire import i2c_chips
from leverframe.devices.wiring import AdcChannel, OneWireWiring, Pin, PwmChannel, Wiring
from leverframe.host.assembly import ControllerHost, build
from leverframe.host.controller import Controller
from leverframe.server.routes.router import Web
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin

from .fake_i2c import full_bus, hts221_part
from .linux_bench import OTHER_SENSOR, SENSOR, LinuxBench
from .sysfs_tree import SysfsTree, w1_text


@pytest.fixture
def tree(tmp_path: Path) -> SysfsTree:
    tree = SysfsTree(tmp_path)
    tree.add_pwm(0, 1)
    tree.open_onewire()
    tree.set_voltage("iio:device0", 0, 1.1)
    return tree


@pytest.fixture
async def host(tree: SysfsTree) -> AsyncIterator[ControllerHost]:
    wiring = Wiring(
        kind="linux",
        sysfs=str(tree.root),
        outputs={"OUT1": Pin(str(tree.root / "gpiochip7"), 4)},
        pwm={"PWM0": PwmChannel(0, 0)},
        analog={"VCC": AdcChannel("iio:device0", "voltage0", factor=11.0)},
        onewire=OneWireWiring(),
    )
    host = await build(Profile(), MemoryStore(), SystemClock(), UTC, wiring=wiring)
    yield host
    await host.stop()


@pytest.fixture
def twin(host: ControllerHost) -> LoopTwin:
    return LoopTwin(host.controller, host.web)


async def poll(twin: LoopTwin) -> None:
    board = twin.controller.board
    assert isinstance(board, LinuxBoard)
    await board.poll()


async def test_commands_drive_and_readings_are_shown(twin: LoopTwin, tree: SysfsTree) -> None:
    await twin.ok("/stm.cgi?pwmd=025")
    await twin.ok("/outs.cgi?pwm0=1")
    await poll(twin)
    assert tree.pwm(0, 0) == (1_000_000, 250_000, 1)
    assert (await twin.state())["VCC"] == pytest.approx(12.1)


async def test_ids_are_stepped_through_and_bound(twin: LoopTwin, tree: SysfsTree) -> None:
    tree.set_onewire(SENSOR, w1_text(21.5))
    tree.set_onewire(OTHER_SENSOR, w1_text(19.0))
    await poll(twin)
    seen = []
    for _ in range(3):
        await twin.ok("/stm.cgi?dswrite=0")
        seen.append((await twin.json("/json/dsi2c.json"))["dsid"])
    assert set(seen) == {SENSOR, OTHER_SENSOR, "00:00:00:00:00:00:00:00"}
    await twin.ok(f"/stm.cgi?dswrite=3:{SENSOR}")
    await poll(twin)
    state = await twin.state()
    assert (state["DS3"], state["DS1"]) == (21.5, None)
    tree.remove_onewire(SENSOR)
    await poll(twin)
    await poll(twin)
    assert (await twin.state())["DS3"] is None


async def test_missing_chip_is_degraded_and_the_rest_runs(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?out1=1")
    await poll(twin)
    assert await twin.json("/health") == {
        "status": "degraded",
        "board": "linux",
        "troubles": ["OUT1"],
        "findings": 1,
    }
    assert (await twin.state())["VCC"] == pytest.approx(12.1)


async def test_real_board_has_no_test_bench(twin: LoopTwin) -> None:
    await twin.refused("/sim.cgi?DS1=20", 404)
    await twin.refused("/api/sim", 404)
    await twin.refused("/api/sim/snapshots", 404)


async def test_connected_i2c_sensor_is_detected_and_others_are_chosen(tmp_path: Path) -> None:
    bench = LinuxBench(tmp_path)
    bench.bus.parts[i2c_chips.HTS221_ADDRESS] = hts221_part()
    controller = Controller(Profile(), MemoryStore(), bench.board, SystemClock(), UTC)
    await bench.board.open(controller.engine.settings, controller.troubles)
    controller.settings_watchers.append(lambda _, settings: bench.board.adopt(settings))
    controller.start()
    twin = LoopTwin(controller, Web(controller, name="twin", mac="02:00:00:00:00:01"))
    await twin.ok("/stm.cgi?bme280detect=1")
    await poll(twin)
    assert (await twin.settings())["i2c"]["primary"] == "HTS221"
    state = await twin.state()
    assert (state["T1"], state["H1"]) == (26.0, 40.0)
    bench.bus.parts.update(full_bus().parts)
    await twin.ok("/stm.cgi?i2csensors=18")
    await poll(twin)
    await poll(twin)
    state = await twin.state()
    assert (state["T1"], state["P1"]) == (25.08, 1006.53)
    assert (state["PM1.0"], state["PM10.0"]) == (1.5, 4.5)
    await bench.close()
    await controller.stop()
