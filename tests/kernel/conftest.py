"""The bench: lines, a USB adapter with sensors behind it, and one service that uses it all.

A start takes most of a minute on an emulated processor, so the tests share one controller, and
each leaves it as it found it; those that take something away come last.
"""

import grp
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import gpiod
import pytest
from gpiod.line import Direction

from tests.devices.fake_i2c import bme280_part
from tests.kernel.i2c_parts import Ads1015, Ds18b20, Ds2482, Pca9685
from tests.kernel.machine import Service, SimulatedChip, load, run, until
from tests.kernel.usb_adapter import UsbI2cAdapter

GUIDE = Path("/opt/tests/linux-board.md")
RULES = Path("/etc/udev/rules.d/60-leverframe.rules")
GROUPS = ("gpio", "i2c", "dialout")
#: Addresses on the I2C bus, by the name of the driver.
DRIVERS = {"ads1015": 0x48, "pca9685": 0x40, "ds2482": 0x18}
#: A line that another program holds when the controller starts.
TAKEN = 2


class Bench:
    def __init__(self) -> None:
        load("gpio-sim-debian", "vhci-hcd", "i2c-tiny-usb", "i2c-dev")
        load("ti-ads1015", "pwm-pca9685", "ds2482", "w1_therm")
        self.chip = SimulatedChip("bench", 8)
        self.adc, self.pwm, self.onewire = Ads1015(), Pca9685(), Ds2482()
        self.sensor = Ds18b20(b"\1\2\3\4\5\6")
        self.onewire.sensors.append(self.sensor)
        self.adc.volts[1] = 1.25
        self.adapter = UsbI2cAdapter()
        self.adapter.parts = {0x76: bme280_part(), 0x18: self.onewire}
        self.adapter.parts |= {0x40: self.pwm, 0x48: self.adc}
        self.plug()

    def plug(self) -> None:
        self.bus = self.adapter.plug()
        place = Path(f"/sys/bus/i2c/devices/i2c-{self.bus}/new_device")
        for driver, address in DRIVERS.items():
            # Nothing on this bus identifies itself.
            place.write_text(f"{driver} 0x{address:02x}\n")
        until(lambda: any(Path("/sys/bus/w1/devices").glob("28-*")), "the sensor is found")
        (chip,) = Path("/sys/class/pwm").iterdir()
        self.pwm_chip = int(chip.name.removeprefix("pwmchip"))
        run("udevadm", "settle")

    def config(self) -> str:
        chip = self.chip.path
        return f"""\
port = 8080
[board]
kind = "linux"
[board.outputs]
OUT0 = {{chip = "{chip}", line = 0}}
OUT1 = {{chip = "{chip}", line = 1, active_low = true}}
OUT2 = {{chip = "{chip}", line = {TAKEN}}}
[board.digital_inputs]
INPD1 = {{chip = "{chip}", line = 4, debounce_ms = 0}}
INPD2 = {{chip = "{chip}", line = 5, debounce_ms = 50}}
[board.pwm]
PWM1 = {{chip = {self.pwm_chip}, channel = 2}}
[board.analog]
VCC = {{device = "ads1015", channel = "voltage1", factor = 10}}
[board.onewire]
extra = ["{self.sensor.id}"]
[board.i2c]
bus = {self.bus}
"""


@pytest.fixture(scope="session", autouse=True)
def groups() -> None:
    """Groups as a machine with such devices has them, and the rule for PWM of our guide."""
    for group in GROUPS:
        subprocess.run(["groupadd", "--system", "--force", group], check=True, timeout=60)
        assert grp.getgrnam(group)
    rule = re.search(r'^SUBSYSTEM=="pwm\*".*$', GUIDE.read_text(), re.MULTILINE)
    assert rule is not None
    RULES.write_text(
        'SUBSYSTEM=="gpio", KERNEL=="gpiochip*", GROUP="gpio", MODE="0660"\n'
        f'SUBSYSTEM=="i2c-dev", GROUP="i2c", MODE="0660"\n{rule[0]}\n'
    )
    run("udevadm", "control", "--reload")
    run("udevadm", "trigger", "--subsystem-match=gpio")
    run("udevadm", "settle")


@pytest.fixture(scope="session")
def bench(groups: None) -> Bench:
    return Bench()


@pytest.fixture(scope="session")
def service(bench: Bench) -> Service:
    """The service without the groups that it needs; it is not running yet."""
    service = Service()
    service.configure(bench.config(), "")
    return service


@pytest.fixture(scope="session")
def line_holder(bench: Bench) -> Iterator[gpiod.LineRequest]:
    """Another program that holds a line."""
    settings = gpiod.LineSettings(direction=Direction.INPUT)
    with gpiod.request_lines(
        bench.chip.path, {TAKEN: settings}, consumer="another-program"
    ) as request:
        yield request


@pytest.fixture(scope="session")
def running(bench: Bench, service: Service, line_holder: gpiod.LineRequest) -> Service:
    """The service with its groups, up and running."""
    service.configure(bench.config(), f"SupplementaryGroups={' '.join(GROUPS)}")
    service.start()
    return service
