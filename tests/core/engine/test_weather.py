"""Dew point and sea-level pressure: the formulas, and how readings and settings feed them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.inputs import dew_point, sea_level_pressure
from tests.cases import for_each

from .measuring import Measuring


@for_each(
    ("celsius", "humidity", "dew"),
    [(25, 50, 13.85), (20, 100, 20.0), (0, 80, -3.04), (-10, 70, -14.43)],
)
def test_dew_point_follows_the_magnus_formula(celsius: float, humidity: float, dew: float) -> None:
    assert dew_point(celsius, humidity) == pytest.approx(dew, abs=0.01)


@given(st.floats(-55, 125), st.floats(0.01, 100))
def test_dew_point_is_never_above_the_temperature(celsius: float, humidity: float) -> None:
    dew = dew_point(celsius, humidity)
    assert dew is not None
    assert dew <= celsius + 1e-6


@pytest.mark.parametrize(("celsius", "humidity"), [(None, 50), (20, None), (20, 0)])
def test_dew_point_is_absent_without_temperature_or_moisture(
    celsius: float | None, humidity: float | None
) -> None:
    assert dew_point(celsius, humidity) is None


@pytest.mark.parametrize(
    ("hpa", "metres", "celsius", "reduced"),
    [
        (1013.25, 0, 3.0, 1013.25),
        # The standard atmosphere: 954.6 hPa and 11.75 °C at 500 m, 898.8 hPa and 8.5 °C at 1000 m.
        (954.61, 500, 11.75, 1013.25),
        (898.75, 1000, 8.5, 1013.25),
    ],
)
def test_pressure_is_reduced_to_sea_level(
    hpa: float, metres: int, celsius: float, reduced: float
) -> None:
    assert sea_level_pressure(hpa, metres, celsius) == pytest.approx(reduced, abs=0.1)


def test_pressure_is_reduced_as_at_15_degrees_without_a_thermometer() -> None:
    assert sea_level_pressure(950, 500, None) == sea_level_pressure(950, 500, 15.0)


@given(st.floats(300, 1100), st.integers(-(2**31), 2**31 - 1), st.floats(-55, 125))
def test_pressure_of_any_altitude_is_a_number_or_absent(
    hpa: float, metres: int, celsius: float
) -> None:
    reduced = sea_level_pressure(hpa, metres, celsius)
    assert reduced is None or reduced > 0


def test_dew_point_exists_for_the_least_moisture() -> None:
    dew = dew_point(20.0, 5e-324)
    assert dew is not None
    assert dew < -200


def test_dew_point_follows_t1_and_h1() -> None:
    bench = Measuring()
    bench.sense({"T1": 25, "H1": 50})
    assert bench.values["DEWPOINT"] == pytest.approx(13.85, abs=0.01)
    bench.sense({"H1": 100})
    assert bench.values["DEWPOINT"] == pytest.approx(25)
    bench.sense({"T1": None})
    assert bench.values["DEWPOINT"] is None


def test_p1_follows_the_altitude_setting() -> None:
    bench = Measuring({"weather.altitude": 500})
    bench.sense({"P1": 954.61, "T1": 11.75})
    assert bench.values["P1"] == pytest.approx(1013.25, abs=0.1)
    bench.set({"weather.altitude": 0})
    assert bench.values["P1"] == 954.61
    assert bench.inputs.raw("P1") == 954.61


def test_p1_follows_t1_in_whatever_order_they_are_reported() -> None:
    bench = Measuring({"weather.altitude": 500})
    bench.sense({"P1": 950.0, "T1": -10.0})
    in_one_go = bench.values["P1"]
    bench.sense({"T1": 20.0})
    assert bench.values["P1"] != in_one_go
    bench.sense({"T1": -10.0})
    assert bench.values["P1"] == in_one_go


@pytest.mark.parametrize(("sensed", "shown"), [(-3.0, 0.0), (104.0, 100.0), (55.5, 55.5)])
def test_humidity_is_clipped_to_0_and_100(sensed: float, shown: float) -> None:
    bench = Measuring()
    bench.sense({"H1": sensed})
    assert bench.values["H1"] == shown
