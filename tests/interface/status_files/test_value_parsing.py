"""The way back: what a file says of values is what the engine has, or nothing at all."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.labels import ANALOG_INPUTS, LIMITS, ONEWIRE, OUTPUTS
from leverframe.core.profile import Profile
from leverframe.core.settings import Differential
from leverframe.interface.status_files.catalogue import parse_values
from leverframe.interface.status_files.parsers import Unreadable
from leverframe.interface.status_files.states import parse_uptime
from tests.cases import for_each
from tests.effort import examples

from .files_bench import PROFILES, FilesBench

ALL, PERIODIC = "/json/all.json", "/json/status_per.json"
EVERY_PROFILE = pytest.mark.parametrize("profile", PROFILES, ids=str)
#: Half a step of the scale: those that are shown as whole numbers, and all others.
WHOLE_STEP, OTHER_STEP = 0.5, 0.05 + 1e-9
WHOLE = ("CO2", "PWM0.duty", "PWM1.duty", "PWM2.duty", "PWM3.duty")
SENSED = ("VCC", "TEMP", "T1", "H1", "P1", "CO2", "PM2.5", "DISTANCE", *ONEWIRE, *ANALOG_INPUTS)


def parse_files(bench: FilesBench, profile: Profile) -> dict[str, Any]:
    both = {**bench.json(ALL), **bench.json(PERIODIC)}
    return parse_values(ALL, both, profile) | parse_values(PERIODIC, both, profile)


@examples(3)
@EVERY_PROFILE
@given(data=st.data())
def test_parsed_values_are_the_measured_values(profile: Profile, data: st.DataObject) -> None:
    tree = {
        **{f"analog_inputs.{index}.sensor": "vin=3.3V/5V" for index in range(6)},
        "differentials.0": Differential("DS1", "DS2", "-"),
        "digital_inputs.1.negate_display": data.draw(st.booleans()),
    }
    bench = FilesBench(tree, profile=profile)
    sensed = data.draw(st.lists(st.sampled_from(SENSED), unique=True))
    bench.sense(**{label: data.draw(st.floats(*LIMITS[label])) for label in sensed})
    found = parse_files(bench, profile)
    assert set(OUTPUTS) | {"INPD1", "VCC", "DS1", "DIFF1", "PWM0.duty"} <= found.keys()
    for label, value in found.items():
        known = bench.values[label]
        assert not isinstance(value, Unreadable), (label, value)
        if known is None:
            # Some files have no other sign for an absent reading than 0.
            assert value in (None, 0), label
        else:
            assert value is not None, label
            step = WHOLE_STEP if label in WHOLE else OTHER_STEP
            assert abs(value - known) <= step, label


@for_each(
    ("key", "text", "label", "why"),
    [
        ("ds1", "abc", "DS1", "not a number"),
        ("ds1", "21.5", "DS1", "not a number"),
        ("ds1", None, "DS1", "not a number"),
        ("ds1", True, "DS1", "not a number"),
        ("ds1", ["1"], "DS1", "not a number"),
        ("ds1", "٢٣", "DS1", "not a number"),
        ("vin", "1e3", "VCC", "not a number"),
        ("out0", "2", "OUT0", "neither 0 nor 1"),
        ("pwm", "16", "PWM0", "not a mask"),
        ("ind", "-1", "INPD1", "not a mask"),
        ("inpdnn", "x", "INPD1", "`inpdnn`"),
        ("distanceSensor", "nan", "DISTANCE", "not a number"),
        ("customReadings", "12", "m1", "not a list"),
        ("customReadings", ["x"] * 30, "m1", "not a number"),
        ("customReadings", ["1"] * 3, "m1", "not a list"),
    ],
)
def test_text_that_a_key_cannot_have_is_not_taken_for_a_value(
    key: str, text: Any, label: str, why: str
) -> None:
    profile = Profile()
    value = parse_values(ALL, {**FilesBench({}).json(ALL), key: text}, profile)[label]
    assert isinstance(value, Unreadable)
    assert why in value.why


def test_bare_number_is_taken_as_the_same_text_is() -> None:
    file = FilesBench({}).json(ALL)
    assert parse_values(ALL, {**file, "vin": 4349}, Profile())["VCC"] == 43.49


@for_each("missing", ["ds1", "ind", "diff1", "customReadings", "out3"])
def test_missing_key_is_not_taken_for_a_value(missing: str) -> None:
    file = FilesBench({}).json(ALL)
    del file[missing]
    values = parse_values(ALL, file, Profile())
    assert any(isinstance(value, Unreadable) for value in values.values())


@for_each(
    ("sw", "changes"),
    [
        ("1.32", {"sdm": ["1"]}),
        ("1.32", {"modbusSensor": "x"}),
        ("1.40", {"modbusReadings": ["1", "2", "3"], "modbusMapping": "*".join(["10"] * 30)}),
        ("1.40", {"modbusReadings": "x"}),
        ("1.40", {"modbusMapping": "10*11"}),
        ("1.40", {"modbusMapping": "*".join(["x"] * 30)}),
    ],
)
def test_readings_of_modules_at_unknown_places_are_not_guessed(
    sw: str, changes: dict[str, Any]
) -> None:
    profile = Profile("3.9", sw)
    file = {**FilesBench({}, profile=profile).json(ALL), **changes}
    assert isinstance(parse_values(ALL, file, profile)["m1"], Unreadable)


@for_each("text", ["", "0*0", "x*0*0", "99*0*0"])
def test_differential_whose_scale_is_unknown_has_no_value(text: str) -> None:
    profile = Profile("3.0", "1.58a")
    file = {**FilesBench({}, profile=profile).json(ALL), "diffsel": text, "diff1": "5"}
    assert isinstance(parse_values(ALL, file, profile)["DIFF1"], Unreadable)


def test_uptime_is_in_seconds_or_missing() -> None:
    parts = {"uptimeSeconds": "5", "uptimeMinutes": "4", "uptimeHours": "3", "uptimeDays": "2"}
    assert parse_uptime(parts) == 5 + 4 * 60 + 3 * 3600 + 2 * 86400
    for wrong in ("60", "-1", "x"):
        assert isinstance(parse_uptime({**parts, "uptimeSeconds": wrong}), Unreadable)
    assert isinstance(parse_uptime({}), Unreadable)
