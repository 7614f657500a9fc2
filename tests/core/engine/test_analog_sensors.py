"""The formula of every analog sensor against points of its data sheet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.sources import SENSORS, analog_value, convert
from leverframe.core.settings import AnalogInput
from tests.cases import for_each

PRINTED_LABELS = [
    "vin=3.3V/5V",
    "vin=33V/55V",
    "ACS711EX_15",
    "ACS711EX_30",
    "ACS709_75",
    "R=0.1",
    "R=0.05",
    "R=0.01",
    "LA100-P",
    "SCT-013-000",
    "SCT-013-030",
    "TR-12V",
    "PT1000",
    "4..20mA",
    "AC meter",
    "ACS711LC-12.5A",
    "ACS711LC-25A",
    "ACS712-20A",
    "WCS1800",
    "HV DC meter",
]

#: Sensor -> (millivolts, value).
POINTS = {
    "vin=3.3V/5V": [(0, 0), (2410, 2.41), (3300, 3.3), (5000, 5)],
    "vin=33V/55V": [(0, 0), (1200, 12), (2400, 24), (3300, 33), (5500, 55)],
    "ACS711EX_15": [(1650, 0), (1740, 1), (3045, 15.5), (255, -15.5)],
    "ACS711EX_30": [(1650, 0), (1695, 1), (3045, 31), (255, -31)],
    "ACS709_75": [(1650, 0), (1835, 10), (3037.5, 75), (262.5, -75)],
    "R=0.1": [(0, 0), (100, 1), (250, 2.5)],
    "R=0.05": [(0, 0), (50, 1), (500, 10)],
    "R=0.01": [(0, 0), (10, 1), (750, 75)],
    "LA100-P": [(0, 0), (165, 10), (1650, 100), (2475, 150)],
    "SCT-013-000": [(0, 0), (110, 10), (1100, 100)],
    "SCT-013-030": [(0, 0), (100, 3), (500, 15), (1000, 30)],
    "TR-12V": [(0, 0), (12_000 / 11, 230), (6000 / 11, 115)],
    "4..20mA": [(600, 4), (1800, 12), (3000, 20)],
    "AC meter": [(0, 0), (1000, 100), (2300, 230), (3300, 330)],
    "ACS711LC-12.5A": [(1650, 0), (1760, 1), (3025, 12.5), (275, -12.5)],
    "ACS711LC-25A": [(1650, 0), (1705, 1), (3025, 25), (275, -25)],
    "ACS712-20A": [(2500, 0), (2600, 1), (4500, 20), (500, -20)],
    "WCS1800": [(2500, 0), (2566, 1), (4810, 35), (190, -35)],
    "HV DC meter": [(0, 0), (1000, 300), (2000, 600), (3300, 990)],
}

#: Degrees and ohms as IEC 60751 tabulates them for a PT1000.
PLATINUM = [
    (-200, 185.20),
    (-100, 602.56),
    (-50, 803.06),
    (0, 1000.00),
    (20, 1077.94),
    (100, 1385.06),
    (200, 1758.56),
    (400, 2470.92),
    (850, 3904.81),
]


def divider_mv(ohm: float) -> float:
    """The voltage at a PT1000 below 3.3 kiloohms on 3.3 V."""
    return 3300.0 * ohm / (3300.0 + ohm)


def test_every_printed_sensor_has_a_formula() -> None:
    assert list(SENSORS) == PRINTED_LABELS
    assert {*POINTS, "PT1000"} == set(PRINTED_LABELS)


@for_each(
    ("sensor", "millivolts", "value"),
    [(sensor, *point) for sensor, points in POINTS.items() for point in points],
)
def test_sensor_means_what_its_data_sheet_says(
    sensor: str, millivolts: float, value: float
) -> None:
    assert convert(sensor, millivolts) == pytest.approx(value, abs=1e-9)


@for_each(("celsius", "ohm"), PLATINUM)
def test_pt1000_follows_the_table_of_the_standard(celsius: float, ohm: float) -> None:
    # The table is rounded to hundredths of an ohm; a little inward keeps its ends in the range.
    inward = 0.01 if celsius < 0 else -0.01
    assert convert("PT1000", divider_mv(ohm + inward)) == pytest.approx(celsius, abs=0.01)


@given(st.floats(-199.99, 849.99))
def test_pt1000_inverts_the_platinum_polynomial_over_its_range(celsius: float) -> None:
    below_zero = -4.183e-12 * (celsius - 100) * celsius**3 if celsius < 0 else 0.0
    ohm = 1000.0 * (1 + 3.9083e-3 * celsius - 5.775e-7 * celsius**2 + below_zero)
    assert convert("PT1000", divider_mv(ohm)) == pytest.approx(celsius, abs=1e-4)


@for_each("millivolts", [-5.0, 0.0, divider_mv(180), divider_mv(3950), 3300.0, 5000])
def test_pt1000_that_is_cut_or_shorted_is_absent(millivolts: float) -> None:
    assert convert("PT1000", millivolts) is None


@for_each("milliamperes", [0.0, 3.6, 21.0, 40.0])
def test_current_loop_outside_its_range_is_absent(milliamperes: float) -> None:
    assert convert("4..20mA", milliamperes * 150) is None


@pytest.mark.parametrize("milliamperes", [3.7, 20.9])
def test_current_loop_may_go_a_little_beyond_its_ends(milliamperes: float) -> None:
    assert convert("4..20mA", milliamperes * 150) == pytest.approx(milliamperes)


@pytest.mark.parametrize("sensor", ["off", "a sensor of a later version"])
def test_input_without_a_sensor_is_absent(sensor: str) -> None:
    assert convert(sensor, 1000.0) is None


@pytest.mark.parametrize(("gain", "value"), [(1, 2.5), (10, 0.25), (50, 0.05)])
def test_gain_divides_the_plain_voltage(gain: int, value: float) -> None:
    assert convert("vin=3.3V/5V", 2500.0, gain) == value


def test_gain_does_not_touch_other_sensors() -> None:
    assert convert("R=0.1", 100.0, 50) == 1.0


def test_multiplier_then_calibration_adjust_the_millivolts_before_the_sensor() -> None:
    setting = AnalogInput(sensor="R=0.1", multiplier=2.0, calibration=-50)
    assert analog_value(setting, 0.5) == 9.5


def test_one_calibration_step_is_a_millivolt() -> None:
    assert analog_value(AnalogInput(sensor="vin=3.3V/5V", calibration=7), 1.0) == 1.007


@given(st.integers(0, 5000))
def test_plain_voltage_comes_out_as_it_went_in(millivolts: int) -> None:
    volts = millivolts / 1000
    assert analog_value(AnalogInput(sensor="vin=3.3V/5V"), volts) == volts
