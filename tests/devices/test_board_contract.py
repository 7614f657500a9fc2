"""What every board does: the simulated one, and one made of a Linux machine.

The Linux board runs on a tree of files, on GPIO lines without a chip and on an I2C bus without
wires. A `Bench` is the hand that plugs, switches and measures.
"""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from leverframe.devices.board import Board
from leverframe.devices.readings import Readings
from leverframe.devices.simulated.simulated_board import SimulatedBoard

from .linux_bench import OTHER_SENSOR, SENSOR, LinuxBench


class Bench(Protocol):
    """A board with a user at its terminals; what the board reports is in `sensed`."""

    sensed: dict[str, Any]
    reports: list[Readings]

    @property
    def board(self) -> Board: ...

    async def poll(self) -> None:
        """Let the board notice what was done, and carry out its commands."""

    def set_level(self, label: str, *levels: int) -> None: ...

    def set_voltage(self, label: str, volts: float) -> None: ...

    def plug_onewire(self, sensor_id: str, celsius: float) -> None: ...

    def unplug_onewire(self, sensor_id: str) -> None: ...

    def plug_weather(self, celsius: float, percent: float) -> None: ...

    def unplug_weather(self) -> None: ...

    def output(self, index: int) -> bool: ...

    def pwm_level(self, index: int) -> float: ...


class SimulatedBench:
    def __init__(self) -> None:
        self.board = SimulatedBoard(lambda: 0.0)
        self.sensed: dict[str, Any] = {}
        self.reports: list[Readings] = []
        self.sensed.update(self.board.connect(self._sense))
        self._attached: dict[str, float] = {}

    def _sense(self, readings: Readings) -> None:
        self.reports.append(readings)
        self.sensed.update(readings)

    async def poll(self) -> None:
        """Everything happened immediately."""

    async def close(self) -> None:
        """Nothing is open."""

    def set_level(self, label: str, *levels: int) -> None:
        for level in levels:
            self.board.set_readings({label: level})

    def set_voltage(self, label: str, volts: float) -> None:
        self.board.set_readings({label: volts})

    def plug_onewire(self, sensor_id: str, celsius: float) -> None:
        self._attached[sensor_id] = celsius
        self.board.attach_onewire(sensor_id)
        self.board.set_readings({sensor_id: celsius})

    def unplug_onewire(self, sensor_id: str) -> None:
        del self._attached[sensor_id]
        self.board.clear_onewire()
        for other, celsius in dict(self._attached).items():
            self.plug_onewire(other, celsius)

    def plug_weather(self, celsius: float, percent: float) -> None:
        self.board.set_readings({"T1": celsius, "H1": percent})

    def unplug_weather(self) -> None:
        self.board.set_readings({"T1": None, "H1": None})

    def output(self, index: int) -> bool:
        return self.board.outputs[index]

    def pwm_level(self, index: int) -> float:
        return self.board.levels[index]


@pytest.fixture(params=["simulated", "linux"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    if request.param == "simulated":
        yield SimulatedBench()
        return
    linux = LinuxBench(tmp_path)
    await linux.open()
    yield linux
    await linux.close()


async def test_output_follows_its_last_command(bench: Bench) -> None:
    for on in (True, False, True):
        bench.board.drive_output(2, on)
    bench.board.drive_output(3, False)
    await bench.poll()
    assert bench.output(2) is True
    assert bench.output(3) is False


async def test_pwm_pin_has_the_commanded_level(bench: Bench) -> None:
    bench.board.set_pwm_frequency(0, 1000)
    bench.board.set_pwm_frequency(1, 200)
    for index, level in enumerate((0.0, 0.25, 0.5, 1.0)):
        bench.board.drive_pwm(index, level)
    await bench.poll()
    assert [bench.pwm_level(index) for index in range(4)] == [0.0, 0.25, 0.5, 1.0]


async def test_new_frequency_keeps_the_level(bench: Bench) -> None:
    bench.board.drive_pwm(1, 0.75)
    await bench.poll()
    bench.board.set_pwm_frequency(1, 20_000)
    await bench.poll()
    assert bench.pwm_level(1) == 0.75


async def test_levels_of_digital_inputs_are_reported(bench: Bench) -> None:
    bench.set_level("INPD2", 0)
    await bench.poll()
    assert bench.sensed["INPD2"] == 0
    bench.set_level("INPD2", 1)
    await bench.poll()
    assert bench.sensed["INPD2"] == 1


async def test_every_edge_is_reported_in_order(bench: Bench) -> None:
    bench.set_level("INPD1", 0, 1, 0, 1, 0)
    await bench.poll()
    levels = [report["INPD1"] for report in bench.reports if "INPD1" in report]
    assert levels == [0, 1, 0, 1, 0]


async def test_voltages_are_reported_in_volts_at_the_pin(bench: Bench) -> None:
    bench.set_voltage("INPA3", 2.413)
    bench.set_voltage("VCC", 12.1)
    await bench.poll()
    assert bench.sensed["INPA3"] == pytest.approx(2.413)
    assert bench.sensed["VCC"] == pytest.approx(12.1)


async def test_sensor_on_the_1_wire_bus_reports_under_its_id(bench: Bench) -> None:
    bench.plug_onewire(SENSOR, 21.5)
    await bench.poll()
    assert bench.sensed[SENSOR] == 21.5
    assert bench.sensed["onewire"] == (SENSOR,)


async def test_1_wire_sensor_that_is_unplugged_is_absent(bench: Bench) -> None:
    bench.plug_onewire(SENSOR, 21.5)
    bench.plug_onewire(OTHER_SENSOR, 18.0)
    await bench.poll()
    bench.unplug_onewire(SENSOR)
    await bench.poll()
    assert bench.sensed[SENSOR] is None
    assert bench.sensed[OTHER_SENSOR] == 18.0
    assert bench.sensed["onewire"] == (OTHER_SENSOR,)


async def test_weather_sensor_reports_and_is_absent_when_unplugged(bench: Bench) -> None:
    bench.plug_weather(-3.5, 61.0)
    await bench.poll()
    assert (bench.sensed["T1"], bench.sensed["H1"]) == (-3.5, 61.0)
    bench.unplug_weather()
    await bench.poll()
    assert (bench.sensed["T1"], bench.sensed["H1"]) == (None, None)


async def test_reconnected_controller_gets_all_readings(bench: Bench) -> None:
    bench.set_level("INPD4", 0)
    bench.set_voltage("INPA1", 1.5)
    bench.plug_onewire(SENSOR, 20.25)
    await bench.poll()
    later: list[Readings] = []
    sensed = bench.board.connect(later.append)
    assert sensed["INPD4"] == 0
    assert sensed["INPA1"] == 1.5
    assert sensed[SENSOR] == 20.25
    bench.set_level("INPD4", 1)
    await bench.poll()
    assert {"INPD4": 1} in later


@pytest.mark.parametrize(
    "drive",
    [
        lambda board: board.set_pull_up(0, False),
        lambda board: board.set_pull_up(3, True),
    ],
)
async def test_pull_up_can_be_switched_while_the_level_is_held(
    bench: Bench, drive: Callable[[Board], None]
) -> None:
    bench.set_level("INPD1", 0)
    bench.set_level("INPD4", 0)
    await bench.poll()
    drive(bench.board)
    await bench.poll()
    assert (bench.sensed["INPD1"], bench.sensed["INPD4"]) == (0, 0)


async def test_board_without_deadlines_is_never_ticked_in_vain(bench: Bench) -> None:
    assert bench.board.next_deadline() is None
    bench.board.tick(0.0)
    await bench.poll()
