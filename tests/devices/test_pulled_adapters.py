"""Adapters that are pulled: reported within two seconds, and in use again when they are back."""

import errno
import os
import pty
import select
import shutil
import tty
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from leverframe.core.settings import ModbusSlot, Settings
from leverframe.core.tree import with_value
from leverframe.devices.linux.board import LinuxBoard
from leverframe.devices.linux.i2c_parts import I2cBus
from leverframe.devices.modbus_lines import SerialLine
from leverframe.devices.modbus_master import ModbusMaster
from leverframe.devices.readings import Unusable, os_error_text
from leverframe.devices.serial_module import SENSORS, SensorSession, SerialPortService
from leverframe.devices.wiring import OneWireWiring, Pin, PwmChannel
from tests.stopwatch import within

from .linux_bench import SENSOR, LinuxBench
from .waiting import until

REPORTED_WITHIN_S = 2.0


async def await_report(troubles: dict[str, str], *devices: str) -> None:
    with within(REPORTED_WITHIN_S):
        await until(lambda: set(devices) <= troubles.keys())


async def is_over(troubles: dict[str, str], *devices: str) -> None:
    await until(lambda: not set(devices) & troubles.keys())


class PluggedBench(LinuxBench):
    """Adapters that have files, which go with them."""

    def __init__(self, root: Path) -> None:
        self.chip = root / "gpiochip7"
        super().__init__(
            root,
            outputs={"OUT0": Pin(str(self.chip), 0), "OUT1": Pin(str(self.chip), 1)},
            digital_inputs={"INPD1": Pin(str(self.chip), 11)},
            pwm={"PWM1": PwmChannel(0, 1)},
            onewire=OneWireWiring(extra=(SENSOR,)),
        )
        self.i2c = self.tree.root / "bus/i2c/devices/i2c-1"
        self.plug_chip()
        self.i2c.mkdir(parents=True)
        self.board = LinuxBoard(self.wiring, self.lines, self.open_bus)

    def plug_chip(self) -> None:
        self.chip.touch()
        self.lines.chips.add(str(self.chip))

    def pull_chip(self) -> None:
        self.chip.unlink()
        self.lines.chips.clear()

    def open_bus(self, number: int) -> I2cBus:
        if not self.i2c.is_dir():
            raise Unusable(os_error_text(OSError(errno.ENOENT, ""), f"/dev/i2c-{number}"))
        self.bus.closed = False
        return self.bus


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[PluggedBench]:
    bench = PluggedBench(tmp_path)
    await bench.open()
    yield bench
    await bench.close()


async def test_pulled_gpio_chip_is_reported_and_restored_with_its_levels(
    bench: PluggedBench,
) -> None:
    bench.board.drive_output(0, True)
    bench.board.drive_output(1, False)
    await bench.poll()
    assert bench.troubles.keys().isdisjoint({"OUT0", "OUT1", "INPD1"})
    bench.pull_chip()
    await await_report(bench.troubles, "OUT0", "OUT1", "INPD1")
    assert bench.sensed["INPD1"] is None
    bench.lines.driven.clear()
    bench.plug_chip()
    await is_over(bench.troubles, "OUT0", "OUT1", "INPD1")
    assert bench.lines.driven == {0: True, 1: False}
    assert bench.sensed["INPD1"] == 1


async def test_pulled_pwm_chip_is_reported_and_restored_with_its_duty(bench: PluggedBench) -> None:
    bench.board.drive_pwm(1, 0.25)
    await bench.poll()
    chip = bench.tree.root / "class/pwm/pwmchip0"
    shutil.rmtree(chip)
    await await_report(bench.troubles, "PWM1")
    assert "pwmchip0/export is missing" in bench.troubles["PWM1"]
    bench.tree.add_pwm(0, 4)
    await is_over(bench.troubles, "PWM1")
    assert bench.pwm_level(1) == 0.25


async def test_pulled_1_wire_adapter_is_reported_and_its_sensors_are_absent(
    bench: PluggedBench,
) -> None:
    bench.plug_onewire(SENSOR, 21.5)
    await bench.poll()
    assert bench.sensed[SENSOR] == 21.5
    bench.unplug_onewire(SENSOR)
    (bench.tree.root / "bus/w1/devices/w1_bus_master1").rmdir()
    await await_report(bench.troubles, "1-Wire bus")
    assert "contains no adapter; plug one in" in bench.troubles["1-Wire bus"]
    assert bench.sensed[SENSOR] is None
    (bench.tree.root / "bus/w1/devices/w1_bus_master1").mkdir()
    bench.plug_onewire(SENSOR, 22.5)
    await is_over(bench.troubles, "1-Wire bus")
    assert bench.sensed[SENSOR] == 22.5


async def test_pulled_i2c_adapter_is_reported_and_released(bench: PluggedBench) -> None:
    bench.plug_weather(20.0, 40.0)
    await bench.poll()
    assert bench.sensed["T1"] == 20.0
    bench.i2c.rmdir()
    await await_report(bench.troubles, "I2C bus 1")
    assert bench.troubles["I2C bus 1"].startswith("/dev/i2c-1 is missing")
    assert bench.sensed["T1"] is None
    assert bench.bus.closed
    bench.i2c.mkdir()
    await is_over(bench.troubles, "I2C bus 1")
    assert bench.sensed["T1"] == 20.0


# --- serial ports ---------------------------------------------------------------------------------


class Adapter:
    """A USB adapter with a serial port; pulled, its end of the line is closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.end, self._port = pty.openpty()
        tty.setraw(self._port)
        path.symlink_to(os.ttyname(self._port))
        os.set_blocking(self.end, False)

    def pull(self) -> None:
        os.close(self._port)
        os.close(self.end)
        self._path.unlink()


async def test_pulled_port_of_a_serial_module_is_reported(tmp_path: Path) -> None:
    path, troubles = tmp_path / "ttyUSB0", dict[str, str]()
    adapter = Adapter(path)
    name = "PM sensor SDS011"
    session = partial(SensorSession, name, SENSORS[name], lambda readings: None, troubles)
    service = SerialPortService(str(path), {name: session}, troubles, unreadable={})
    service.start(with_value(Settings(), "serial.module", name))
    await until(lambda: _is_readable(adapter.end))
    assert troubles == {}
    adapter.pull()
    await await_report(troubles, "serial port")
    assert "disappeared" in troubles["serial port"] or "is missing" in troubles["serial port"]
    back = Adapter(path)
    await is_over(troubles, "serial port")
    await service.close()
    back.pull()


async def test_pulled_modbus_port_is_reported_while_no_slave_is_polled(tmp_path: Path) -> None:
    path, troubles = tmp_path / "ttyUSB0", dict[str, str]()
    adapter = Adapter(path)
    slots = (ModbusSlot("GTIL", 7), *Settings().modbus_slots[1:])
    settings = with_value(Settings(), "modbus_slots", slots)
    master = ModbusMaster(
        SerialLine(str(path)), settings, lambda readings: None, troubles, lambda: 0.0
    )
    await until(lambda: _is_readable(adapter.end))
    # It has been asked, and is silent: from now on it is asked less and less often.
    await await_report(troubles, "Modbus slot 1")
    adapter.pull()
    with within(REPORTED_WITHIN_S):
        await until(lambda: str(path) in troubles["Modbus slot 1"])
    await master.close()


def _is_readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])
