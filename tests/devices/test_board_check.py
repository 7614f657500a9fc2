"""What a check of the board finds on lines and buses: each cause has a sentence of its own."""

import errno
from pathlib import Path

import pytest

from leverframe.devices.linux.board_check import PartCheck, display_checks, part_checks
from leverframe.devices.readings import IN_USE, Unusable
from leverframe.devices.wire import i2c_chips
from leverframe.devices.wiring import FilteredPin, I2cWiring, OledWiring, Pin, Wiring

from .fake_i2c import FakeI2cBus, am2320_part, bme280_part, sps30_part
from .fake_lines import CHIP, FakeInput, FakeLines


def check_parts(wiring: Wiring, lines: FakeLines, bus: FakeI2cBus) -> dict[str, PartCheck]:
    return {finding.label: finding for finding in part_checks(wiring, lines, lambda number: bus)}


def on_bus(tmp_path: Path, bus: FakeI2cBus) -> dict[str, PartCheck]:
    wiring = Wiring(kind="linux", sysfs=str(tmp_path), i2c=I2cWiring(1))
    return check_parts(wiring, FakeLines(), bus)


def test_inputs_are_opened_and_outputs_are_not() -> None:
    lines = FakeLines()
    lines.held[11] = 1
    wiring = Wiring(
        kind="linux",
        outputs={"OUT0": Pin(CHIP, 0)},
        digital_inputs={"INPD1": FilteredPin(CHIP, 11)},
    )
    rows = check_parts(wiring, lines, FakeI2cBus())
    assert rows["OUT0"].text == "free"
    assert lines.driven == {}
    assert rows["INPD1"] == ("INPD1", f"{CHIP} line 11", True, "free; level 1")


def test_input_whose_driver_cannot_watch_it_is_reported() -> None:
    class Unwatched(FakeLines):
        def open_input(self, pin: FilteredPin, pull_up: bool) -> FakeInput:
            raise Unusable("rejects its setting")

    wiring = Wiring(kind="linux", digital_inputs={"INPD1": FilteredPin(CHIP, 11)})
    assert check_parts(wiring, Unwatched(), FakeI2cBus())["INPD1"].is_good is False


def test_input_of_a_running_controller_is_left_alone() -> None:
    class Taken(FakeLines):
        def describe(self, pin: Pin) -> str:
            return IN_USE

    lines = Taken()
    wiring = Wiring(kind="linux", digital_inputs={"INPD1": FilteredPin(CHIP, 11)})
    assert check_parts(wiring, lines, FakeI2cBus())["INPD1"].text == IN_USE
    assert lines.inputs == {}


def test_sensor_that_answers_with_errors_is_not_missing(tmp_path: Path) -> None:
    bus = FakeI2cBus()
    damaged = am2320_part(20.0, 40.0)
    damaged.answer = damaged.answer[:-1] + b"\0"
    particulates = sps30_part(1.0, 2.0, 3.0, 4.0)
    particulates.answers[i2c_chips.SPS30_DATA_READY] = b"\0\1\0"
    bus.parts = {
        0x76: bme280_part(),
        i2c_chips.AM2320_ADDRESS: damaged,
        i2c_chips.SPS30_ADDRESS: particulates,
    }
    rows = on_bus(tmp_path, bus)
    assert rows["BME280"].text == "answers"
    for name in ("AM2320", "SPS30"):
        assert rows[name].is_good is False
        assert rows[name].text.startswith("answers with wrong checksums on I2C bus 1")
    assert "I2C" not in rows


def test_bus_without_a_sensor_has_bad_wires(tmp_path: Path) -> None:
    missing = on_bus(tmp_path, FakeI2cBus())["I2C"]
    assert missing.is_good is False
    assert missing.text == "no known sensor answers; check its wires and its supply."


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.EREMOTEIO, "does not answer; check its wires, its supply and the address."),
        (errno.ENODEV, "/dev/i2c-1 is missing"),
        (errno.EBUSY, "/dev/i2c-1 is used by another program or driver"),
    ],
)
def test_display_fails_for_its_own_reason(number: int, text: str) -> None:
    class Broken(FakeI2cBus):
        def read(self, address: int, count: int) -> bytes:
            raise OSError(number, "")

    [finding] = display_checks(OledWiring(1), lambda number: Broken())
    assert finding.text.startswith(text)
