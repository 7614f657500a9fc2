"""HTS221: values on the lines between the maker's points."""

from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from leverframe.devices.wire.i2c_chips import decode_hts221_calibration, decode_hts221_measurement


def calibration(
    humidities_x2: tuple[int, int],
    humidity_raws: tuple[int, int],
    temperatures_x8: tuple[int, int],
    temperature_raws: tuple[int, int],
) -> bytes:
    t0, t1 = temperatures_x8
    tops = t0 >> 8 | t1 >> 8 << 2
    low = bytes((*humidities_x2, t0 & 0xFF, t1 & 0xFF, 0, tops))
    return low + pack("<5h", humidity_raws[0], 0, humidity_raws[1], *temperature_raws)


#: 33.5 % to 70.5 %, and 20.5 °C to 35.75 °C (which needs the ninth bit).
EXAMPLE = calibration((67, 141), (-1000, 6400), (164, 286), (-80, 590))


def test_makers_points_are_on_the_lines() -> None:
    lines = decode_hts221_calibration(EXAMPLE)
    assert decode_hts221_measurement(pack("<2h", -1000, -80), lines) == (20.5, 33.5)
    assert decode_hts221_measurement(pack("<2h", 6400, 590), lines) == (35.75, 70.5)


def test_values_between_and_beyond_follow_the_line() -> None:
    lines = decode_hts221_calibration(EXAMPLE)
    assert decode_hts221_measurement(pack("<2h", 2700, 255), lines) == (28.12, 52.0)
    assert decode_hts221_measurement(pack("<2h", -1200, -750), lines) == (5.25, 32.5)


def test_humidity_stays_within_percent() -> None:
    lines = decode_hts221_calibration(EXAMPLE)
    assert decode_hts221_measurement(pack("<2h", 32767, 0), lines).percent == 100.0
    assert decode_hts221_measurement(pack("<2h", -32768, 0), lines).percent == 0.0


def test_part_without_calibration_gives_no_reading() -> None:
    lines = decode_hts221_calibration(bytes(16))
    assert decode_hts221_measurement(pack("<2h", 100, 100), lines) == (None, None)


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=4, max_size=4))
def test_any_registers_give_numbers_or_nothing(registers: bytes, data: bytes) -> None:
    for value in decode_hts221_measurement(data, decode_hts221_calibration(registers)):
        assert value is None or isinstance(value, float)
