"""1-Wire sensors as the kernel shows them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.devices.linux.onewire import (
    NoTemperature,
    celsius_from_text,
    check_byte,
    id_from_name,
    name_from_id,
)
from tests.cases import for_each

BYTES = "4b 01 4b 46 7f ff 05 10 e1"


def test_check_byte_is_that_of_the_makers_example() -> None:
    # Maxim's application note 27: 02 1C B8 01 00 00 00 has the CRC A2.
    assert check_byte(bytes.fromhex("021CB801000000")) == 0xA2


def test_id_has_the_order_of_the_wire_and_the_check_byte_at_its_end() -> None:
    assert id_from_name("02-00000001b81c") == "02:1C:B8:01:00:00:00:A2"


@given(st.integers(0, 0xFF), st.integers(0, 0xFFFF_FFFF_FFFF))
def test_folder_is_found_again_from_its_id(family: int, serial: int) -> None:
    name = f"{family:02x}-{serial:012x}"
    sensor_id = id_from_name(name)
    assert sensor_id is not None
    assert name_from_id(sensor_id) == name


@for_each("name", ["w1_bus_master1", "28-12", "28-0317611d64fg", ""])
def test_other_folders_are_no_sensors(name: str) -> None:
    assert id_from_name(name) is None


@for_each(("millidegrees", "celsius"), [(20687, 20.687), (-1250, -1.25), (0, 0.0), (85062, 85.062)])
def test_temperature_is_in_thousandths(millidegrees: int, celsius: float) -> None:
    text = f"{BYTES} : crc=e1 YES\n{BYTES} t={millidegrees}\n"
    assert celsius_from_text(text) == celsius


def test_wrong_checksum_is_no_reading() -> None:
    with pytest.raises(NoTemperature, match="wrong checksums"):
        celsius_from_text(f"{BYTES} : crc=ff NO\n{BYTES} t=20687\n")


def test_idle_wire_is_silence_and_no_wrong_checksum() -> None:
    ones = " ".join(["ff"] * 9)
    for text in (f"{ones} : crc=c9 NO\n{ones} t=-62\n", "", "garbage"):
        with pytest.raises(NoTemperature, match="does not answer; check its wires"):
            celsius_from_text(text)


def slave_text(scratchpad: str, millidegrees: int) -> str:
    """The file with the right check byte."""
    data = bytes.fromhex(scratchpad)
    shown = bytes([*data, check_byte(data)]).hex(" ")
    return f"{shown} : crc={shown[-2:]} YES\n{shown} t={millidegrees}\n"


def test_power_on_value_is_no_reading_and_a_measured_one_is() -> None:
    with pytest.raises(NoTemperature, match="has not measured since; check its supply"):
        celsius_from_text(slave_text("50054b467fff0c10", 85000))
    assert celsius_from_text(slave_text("50054b467fff1010", 85000)) == 85.0
    assert celsius_from_text(slave_text("4f054b467fff0110", 84937)) == 84.937


def test_shorted_wire_is_no_reading_and_zero_degrees_are() -> None:
    with pytest.raises(NoTemperature, match="shorted"):
        celsius_from_text(slave_text("0000000000000000", 0))
    assert celsius_from_text(slave_text("00004b467fff1010", 0)) == 0.0


@pytest.mark.parametrize(("scratchpad", "millidegrees"), [("ff07", 127937), ("8ffc", -55062)])
def test_impossible_value_of_a_sensor_is_no_reading(scratchpad: str, millidegrees: int) -> None:
    with pytest.raises(NoTemperature, match="cannot measure"):
        celsius_from_text(slave_text(f"{scratchpad}4b467fff0110", millidegrees))


@given(st.text(alphabet="0123456789abcdef crc=YESNO:t-\n\0ü"))
def test_any_text_is_a_reading_or_none(text: str) -> None:
    with suppress(NoTemperature):
        celsius_from_text(text)
        assert "YES" in text
