"""Sensing: plain readings, limits, analog inputs through their settings, texts, and garbage."""

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.labels import DIGITAL_INPUTS, LABELS, LIMITS, READINGS
from tests.cases import for_each

from .measuring import Measuring


@for_each(
    ("label", "value"),
    [
        ("VCC", 12.1),
        ("TEMP", 31.49),
        ("T1", -20.5),
        ("CO2", 412),
        ("PM1.0", 0.4),
        ("PM2.5", 3),
        ("PM4.0", 4.5),
        ("PM10.0", 8.1),
        ("DISTANCE", 123.4),
        ("m1", -5.25),
        ("m30", 1e9),
    ],
)
def test_plain_reading_is_shown_as_it_comes_and_goes(label: str, value: float) -> None:
    bench = Measuring()
    bench.sense({label: value})
    assert bench.values[label] == value
    assert bench.inputs.raw(label) == value
    bench.sense({label: None})
    assert bench.values[label] is None


@for_each("label", LIMITS)
def test_limits_of_a_label_are_readings_and_what_is_beyond_is_absent(label: str) -> None:
    low, high = LIMITS[label]
    bench = Measuring()
    for fine in (low, high):
        bench.sense({label: fine})
        assert bench.inputs.raw(label) == fine
    for absurd in (math.nextafter(low, -math.inf), math.nextafter(high, math.inf)):
        bench.sense({label: absurd})
        assert bench.inputs.raw(label) is None


@for_each("garbage", [math.nan, math.inf, -math.inf, 10**400, "21", True, [1.0]])
def test_reading_that_is_not_finite_is_absent(garbage: object) -> None:
    bench = Measuring()
    bench.sense({"VCC": 12.0})
    bench.sense({"VCC": garbage})
    assert bench.values["VCC"] is None


def test_no_thermometer_reads_the_number_that_stands_for_a_missing_one() -> None:
    assert all(LIMITS[label][0] > -60 for label in ("TEMP", "T1", "DS1"))


def test_analog_input_that_is_off_is_absent() -> None:
    bench = Measuring()
    bench.sense({"INPA3": 2.41})
    assert bench.values["INPA3"] is None
    assert bench.inputs.raw("INPA3") == 2.41


def test_analog_input_is_converted_by_its_settings() -> None:
    bench = Measuring(
        {
            "analog_inputs.2.sensor": "R=0.1",
            "analog_inputs.2.multiplier": 2.0,
            "analog_inputs.2.calibration": 100,
        }
    )
    bench.sense({"INPA3": 0.2})
    assert bench.values["INPA3"] == 5.0


def test_new_settings_convert_what_was_sensed_before() -> None:
    bench = Measuring()
    bench.sense({"INPA1": 2.5})
    bench.set({"analog_inputs.0.sensor": "vin=3.3V/5V"})
    assert bench.values["INPA1"] == 2.5
    bench.set({"analog_inputs.0.gain": 10})
    assert bench.values["INPA1"] == 0.25
    bench.set({"analog_inputs.0.sensor": "off"})
    assert bench.values["INPA1"] is None


def test_readings_sensed_before_the_start_are_there_after_it() -> None:
    bench = Measuring(
        {"analog_inputs.0.sensor": "vin=3.3V/5V"}, sensed_before_start={"INPA1": 1.5, "T1": 20}
    )
    assert (bench.values["INPA1"], bench.values["T1"]) == (1.5, 20)


def test_sensor_on_the_i2c_bus_and_the_scanned_text_are_kept() -> None:
    bench = Measuring()
    assert (bench.inputs.i2c_found, bench.inputs.barcode) == (None, None)
    bench.version_grows()
    bench.sense({"i2c": "BME280", "barcode": "5901234123457"})
    assert (bench.inputs.i2c_found, bench.inputs.barcode) == ("BME280", "5901234123457")
    assert bench.version_grows()
    bench.sense({"barcode": "5901234123457"})
    assert not bench.version_grows()
    bench.sense({"i2c": None, "barcode": None})
    assert (bench.inputs.i2c_found, bench.inputs.barcode) == (None, None)


def test_reading_that_stays_the_same_changes_nothing() -> None:
    bench = Measuring()
    bench.sense({"VCC": 12.0, "INPD1": 0})
    bench.version_grows()
    bench.inputs.sense({"VCC": 12.0, "INPD1": 0, "T1": None})
    assert not bench.version_grows()
    assert not bench.machine.changed


def test_labels_that_are_not_sensed_are_ignored() -> None:
    bench = Measuring()
    before = dict(bench.values)
    bench.sense({"OUT0": 1, "DIFF1": 3.0, "POWER1": 1.0, "ENERGY1": 5.0, "no such thing": 1})
    assert bench.values == before


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.tuples(st.text()),
    st.lists(st.integers()),
)
keys = st.one_of(
    st.sampled_from([*LABELS, "onewire", "i2c", "barcode"]),
    st.text(),
    st.from_regex(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){7}", fullmatch=True),
)


@given(st.lists(st.dictionaries(keys, anything, max_size=8), max_size=5))
def test_garbage_never_raises_and_never_becomes_a_value(reports: list[dict[str, Any]]) -> None:
    bench = Measuring(
        {
            "analog_inputs.0.sensor": "PT1000",
            "analog_inputs.1.sensor": "4..20mA",
            "analog_inputs.2.sensor": "ACS712-20A",
            "analog_inputs.2.multiplier": 327.67,
            "onewire.0.id": "28:FF:00:00:00:00:00:0A",
            "power.1.current": "m1",
            "power.2.current": "INPD1",
            "power.3.current": "INPA3",
            "power.3.voltage": "m2",
            "differentials.0.operator": "/",
            "differentials.1.first": "POWER4",
            "differentials.1.operator": "*",
            "differentials.1.second": "POWER2",
            "weather.altitude": 2000,
        }
    )
    for report in reports:
        bench.sense(report)
        bench.wait(0.5)
    numbers = [bench.values[label] for label in READINGS]
    assert all(number is None or math.isfinite(number) for number in numbers)
    assert all(bench.values[label] in (0, 1) for label in DIGITAL_INPUTS)
