"""BME280: the data sheet's formulas and example."""

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.devices.wire.i2c_chips import (
    Bme280Calibration,
    decode_bme280_calibration,
    decode_bme280_measurement,
)
from tests.cases import for_each
from tests.effort import examples

#: The example of the maker's data sheets.
T = (27504, 26435, -1000)
P = (36477, -10685, 3024, 2855, 140, -7, 15500, -14600, 6000)
#: Of a part on a desk.
H = (75, 370, 0, 313, 50, 30)
EXAMPLE = Bme280Calibration(T, P, H)
RAW_TEMPERATURE, RAW_PRESSURE = 519888, 415148


def raw_measurement(temperature: int, pressure: int, humidity: int) -> bytes:
    return (
        (pressure << 4).to_bytes(3, "big")
        + (temperature << 4).to_bytes(3, "big")
        + humidity.to_bytes(2, "big")
    )


def whole_number_humidity(raw: int, t_fine: int, h: tuple[int, ...]) -> float:
    """The other formula of the data sheet, for processors without floating point."""
    h1, h2, h3, h4, h5, h6 = h
    x = t_fine - 76800
    x = (((raw << 14) - (h4 << 20) - h5 * x + 16384) >> 15) * (
        (((((x * h6) >> 10) * (((x * h3) >> 11) + 32768)) >> 10) + 2097152) * h2 + 8192 >> 14
    )
    x -= ((((x >> 15) * (x >> 15)) >> 7) * h1) >> 4
    return float(min(max(x, 0), 419430400) >> 12) / 1024


def test_example_of_the_data_sheet() -> None:
    found = decode_bme280_measurement(
        raw_measurement(RAW_TEMPERATURE, RAW_PRESSURE, 0x7000), EXAMPLE
    )
    assert found.celsius == 25.08
    assert found.hpa == 1006.53


@for_each("raw", [0, 20_000, 25_000, 28_672, 35_000, 65_535])
def test_both_formulas_of_the_data_sheet_give_the_same_humidity(raw: int) -> None:
    found = decode_bme280_measurement(raw_measurement(RAW_TEMPERATURE, RAW_PRESSURE, raw), EXAMPLE)
    assert found.percent == pytest.approx(whole_number_humidity(raw, 128422, H), abs=0.05)


@given(
    st.tuples(st.integers(0, 65535), *[st.integers(-32768, 32767)] * 2),
    st.tuples(st.integers(0, 65535), *[st.integers(-32768, 32767)] * 8),
    st.tuples(
        st.integers(0, 255),
        st.integers(-32768, 32767),
        st.integers(0, 255),
        *[st.integers(-2048, 2047)] * 2,
        st.integers(-128, 127),
    ),
)
@examples(50)
def test_calibration_numbers_are_found_in_their_registers(
    t: tuple[int, ...], p: tuple[int, ...], h: tuple[int, ...]
) -> None:
    h1, h2, h3, h4, h5, h6 = h
    low = pack("<HhhHhhhhhhhh", *t, *p) + bytes((0, h1))
    shared = (h4 & 0x0F) | (h5 & 0x0F) << 4
    high = pack("<hBbBbb", h2, h3, h4 >> 4, shared, h5 >> 4, h6)
    assert decode_bme280_calibration(low, high) == Bme280Calibration(t, p, h)


def test_value_that_was_not_measured_is_absent() -> None:
    found = decode_bme280_measurement(raw_measurement(RAW_TEMPERATURE, 0x80000, 0x8000), EXAMPLE)
    assert found == (25.08, None, None)
    assert decode_bme280_measurement(raw_measurement(0x80000, 0x80000, 0x8000), EXAMPLE) == (
        None,
        None,
        None,
    )


@given(
    st.binary(min_size=26, max_size=26),
    st.binary(min_size=7, max_size=7),
    st.binary(min_size=8, max_size=8),
)
@examples(200)
def test_any_registers_give_numbers_or_nothing(low: bytes, high: bytes, data: bytes) -> None:
    for value in decode_bme280_measurement(data, decode_bme280_calibration(low, high)):
        assert value is None or isinstance(value, float)
