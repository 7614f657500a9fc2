"""A Linux board on a bench: on a tree of files, on lines without a chip, on a bus without wires."""

from pathlib import Path
from typing import Any

from leverframe.core.settings import I2c, OneWireSensor, Settings
from leverframe.core.tree import with_value
from leverframe.devices.linux.board import LinuxBoard
from leverframe.devices.readings import Readings
from leverframe.devices.wire import i2c_chips
from leverframe.devices.wiring import (
    AdcChannel,
    FilteredPin,
    I2cWiring,
    OneWireWiring,
    Pin,
    PwmChannel,
    Wiring,
)

from .fake_i2c import FakeI2cBus, am2320_part
from .fake_lines import CHIP, FakeLines
from .sysfs_tree import SysfsTree, w1_text

SENSOR = "28:FF:64:1D:61:17:03:8D"
OTHER_SENSOR = "28:AA:64:1D:61:17:03:48"

WIRING = {
    "kind": "linux",
    "outputs": {f"OUT{n}": Pin(CHIP, n) for n in range(6)},
    "digital_inputs": {f"INPD{n}": FilteredPin(CHIP, 10 + n) for n in range(1, 5)},
    "pwm": {f"PWM{n}": PwmChannel(0, n) for n in range(4)},
    "analog": {
        **{f"INPA{n}": AdcChannel("iio:device0", f"voltage{n}") for n in range(1, 7)},
        "VCC": AdcChannel("iio:device0", "voltage0", factor=11.0),
    },
    "onewire": OneWireWiring(),
    "i2c": I2cWiring(1),
}


class LinuxBench:
    """Everything is wired; DS1 and DS2 are bound, and the AM2320 is the primary sensor."""

    def __init__(self, root: Path, **wiring: Any) -> None:
        self.tree = SysfsTree(root)
        self.tree.add_pwm(0, 4)
        self.tree.open_onewire()
        for channel in range(7):
            self.tree.set_voltage("iio:device0", channel, 0.0)
        self.lines = FakeLines()
        self.bus = FakeI2cBus()
        self.wiring = Wiring(**{**WIRING, "sysfs": str(root), **wiring})
        self.board = LinuxBoard(self.wiring, self.lines, lambda number: self.bus)
        self.sensed: dict[str, Any] = {}
        self.reports: list[Readings] = []
        self.troubles: dict[str, str] = {}
        settings = with_value(Settings(), "i2c", I2c(primary="AM2320"))
        bound = (OneWireSensor(id=SENSOR), OneWireSensor(id=OTHER_SENSOR))
        self.settings = with_value(settings, "onewire", (*bound, *settings.onewire[2:]))

    async def open(self) -> None:
        await self.board.open(self.settings, self.troubles)
        self.sensed.update(self.board.connect(self._sense))

    def _sense(self, readings: Readings) -> None:
        self.reports.append(readings)
        self.sensed.update(readings)

    def set(self, path: str, value: Any) -> None:
        """Change a setting, as a command would."""
        self.settings = with_value(self.settings, path, value)
        self.board.adopt(self.settings)

    async def poll(self) -> None:
        await self.board.poll()
        await self.board.poll()

    async def close(self) -> None:
        await self.board.close()

    def set_level(self, label: str, *levels: int) -> None:
        self.lines.hold(10 + int(label[-1]), *levels)

    def set_voltage(self, label: str, volts: float) -> None:
        channel, factor = (0, 11.0) if label == "VCC" else (int(label[-1]), 1.0)
        self.tree.set_voltage("iio:device0", channel, volts / factor)

    def plug_onewire(self, sensor_id: str, celsius: float) -> None:
        self.tree.set_onewire(sensor_id, w1_text(celsius))

    def unplug_onewire(self, sensor_id: str) -> None:
        self.tree.remove_onewire(sensor_id)

    def plug_weather(self, celsius: float, percent: float) -> None:
        self.bus.parts[i2c_chips.AM2320_ADDRESS] = am2320_part(celsius, percent)

    def unplug_weather(self) -> None:
        del self.bus.parts[i2c_chips.AM2320_ADDRESS]

    def output(self, index: int) -> bool:
        return self.lines.driven[index]

    def pwm_level(self, index: int) -> float:
        period, duty, enabled = self.tree.pwm(0, index)
        return duty / period if enabled else 0.0
