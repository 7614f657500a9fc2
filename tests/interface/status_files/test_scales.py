"""What a client makes of the files is what the engine measures, within half a step of the scale.

Two clients are asked: a table of the documented scales, and the parser of the makers' own library,
which knows how each version has to be read.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tinytoolslib.models import get_device

from leverframe.core.engine.calls import SetEnergy
from leverframe.core.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    FLOAT32,
    LIMITS,
    MAPPED,
)
from leverframe.core.profile import Profile
from leverframe.core.settings import Differential, ModbusMapping
from leverframe.core.tree import with_value
from tests.cases import for_each
from tests.effort import examples

from .files_bench import NEWEST, PROFILES, FilesBench

#: Label -> key, scale, text if absent: what clients are written against.
SCALES = {
    "VCC": ("vin", 100, "0"),
    "TEMP": ("tem", 100, "0"),
    **{f"DS{n}": (f"ds{n}", 10, "-600") for n in range(1, 9)},
    "T1": ("dthTemp", 10, "-600"),
    "H1": ("dthHum", 10, "-600"),
    "P1": ("bm280p", 100, "-600"),
    **{f"INPA{n}": (f"inpp{n}", 100, "0") for n in range(1, 7)},
    "PM1.0": ("pm1", 10, "-1"),
    "PM2.5": ("pm2", 10, "-1"),
    "PM4.0": ("pm4", 10, "-1"),
    "PM10.0": ("pm10", 10, "-1"),
    "CO2": ("co2", 1, "-1"),
    "DISTANCE": ("distanceSensor", 1_000_000, "-1"),
}
XML_NAMES = {"T1": "dth0", "H1": "dth1", "PM2.5": "pm25"}
VOLTMETERS = {f"analog_inputs.{index}.sensor": "vin=3.3V/5V" for index in range(6)}
EVERY_PROFILE = pytest.mark.parametrize("profile", PROFILES, ids=str)


def library(profile: Profile, bench: FilesBench) -> dict[str, Any]:
    """What the makers' library reads, put together as it does itself."""
    device = get_device(profile.hw, profile.sw, "a host")
    return {
        name: value
        for path in device._get_all()
        for name, value in device._get(bench.json(path), path).items()
    }


def is_close(shown: float, value: float, scale: int) -> bool:
    return abs(shown - value) <= 0.5 / scale * (1 + 1e-9) + abs(value) * 1e-12


# --- readings -------------------------------------------------------------------------------------


@examples(30)
@given(data=st.data())
@pytest.mark.parametrize("label", SCALES)
def test_reading_divided_by_its_scale_is_the_value(label: str, data: st.DataObject) -> None:
    key, scale, _ = SCALES[label]
    bench = FilesBench(VOLTMETERS)
    bench.sense(**{label: data.draw(st.floats(*LIMITS[label]))})
    shown = bench.json("/json/status.json")[key]
    value = bench.values[label]
    assert value is not None
    unit = 1 if label == "DISTANCE" else scale
    assert is_close(float(shown) / unit, value, scale)
    if label != "DISTANCE":
        assert shown == str(int(shown))
        assert bench.xml("/xml/ix.xml")[XML_NAMES.get(label, key)] == shown


@for_each("label", SCALES)
def test_absent_reading_has_a_text_of_its_own(label: str) -> None:
    key, _, absent = SCALES[label]
    bench = FilesBench(VOLTMETERS)
    assert bench.json("/json/status.json")[key] == absent
    bench.sense(**{label: LIMITS[label][1]})
    assert bench.json("/json/status.json")[key] != absent
    bench.sense(**{label: None})
    assert bench.json("/json/status.json")[key] == absent


def test_dew_point_is_absent_like_its_temperature() -> None:
    bench = FilesBench()
    assert bench.json("/json/all.json")["dewPoint"] == "-600"
    bench.sense(T1=20.0, H1=50.0)
    assert bench.json("/json/all.json")["dewPoint"] == "93"


@given(volts=st.floats(*LIMITS["INPA1"]), gain=st.sampled_from([1, 10, 50]))
def test_raw_analog_inputs_are_millivolts_at_the_pin(volts: float, gain: int) -> None:
    bench = FilesBench(
        VOLTMETERS | {"analog_inputs.2.gain": gain, "analog_inputs.2.calibration": 9}
    )
    bench.sense(INPA3=volts)
    assert is_close(int(bench.xml("/xml/ix.xml")["inp3"]) / 1000, volts, 1000)


@given(power=st.floats(0, 1e6), energy=st.floats(0, 4e6))
@EVERY_PROFILE
def test_power_and_energy_are_thousandths(profile: Profile, power: float, energy: float) -> None:
    bench = FilesBench({"power.0.current": "m1"}, profile=profile)
    bench.sense(m1=power)
    bench.do(SetEnergy(0, energy))
    read = library(profile, bench)
    assert is_close(read["power1"], power, 1000)
    assert is_close(read["energy1"], energy, 1000)


@given(
    celsius=st.floats(*LIMITS["DS1"]),
    volts=st.floats(*LIMITS["INPA1"]),
    vcc=st.floats(*LIMITS["VCC"]),
    hpa=st.floats(*LIMITS["P1"]),
    humidity=st.floats(0, 100),
)
@EVERY_PROFILE
def test_makers_library_reads_real_units(
    profile: Profile, celsius: float, volts: float, vcc: float, hpa: float, humidity: float
) -> None:
    bench = FilesBench(VOLTMETERS, profile=profile)
    bench.sense(DS3=celsius, T1=celsius, TEMP=celsius, INPA6=volts, VCC=vcc, P1=hpa, H1=humidity)
    read = library(profile, bench)
    assert is_close(read["ds3"], celsius, 10)
    assert is_close(read["i2cTemp"], celsius, 10)
    assert is_close(read["boardTemp"], celsius, 100)
    assert is_close(read["iAValue6"], volts, 100)
    assert is_close(read["boardVoltage"], vcc, 100)
    assert is_close(read["i2cPressure"], hpa, 100)
    assert is_close(read["i2cHum"], humidity, 10)


def test_reading_too_great_for_its_scale_is_shown_as_absent() -> None:
    """Only products of modules' readings become so great."""
    bench = FilesBench({"power.0.current": "m1"})
    settings = bench.settings
    for index, factor in enumerate(("POWER1", "DIFF1", "DIFF2")):
        squared = Differential(first=factor, second=factor, operator="*")
        settings = with_value(settings, f"differentials.{index}", squared)
    bench.apply(settings)
    bench.sense(m1=2.3e38)
    greatest = bench.values["DIFF3"]
    assert greatest is not None
    assert greatest > 1e306
    assert bench.json("/json/all.json")["diff3"] == "0"


# --- states ---------------------------------------------------------------------------------------


@given(levels=st.lists(st.integers(0, 1), min_size=4, max_size=4), negated=st.integers(0, 15))
@EVERY_PROFILE
def test_makers_library_sees_digital_inputs_negated(
    profile: Profile, levels: list[int], negated: int
) -> None:
    bench = FilesBench(profile=profile)
    bench.send(f"/stm.cgi?inpdnn={negated}")
    bench.sense(**dict(zip(DIGITAL_INPUTS, levels, strict=True)))
    read = library(profile, bench)
    assert [read[f"iDValue{n + 1}"] for n in range(4)] == [
        level ^ (negated >> bit & 1) for bit, level in enumerate(levels)
    ]


@given(levels=st.lists(st.integers(0, 1), min_size=4, max_size=4), negated=st.integers(0, 15))
@pytest.mark.parametrize(
    ("hw", "sw", "applies"),
    [("3.0", "1.75", False), ("3.5", "1.48", False), ("3.5", "1.49", True), ("3.9", "1.75", True)],
)
def test_negation_is_applied_from_hw_35_sw_149_on(
    hw: str, sw: str, applies: bool, levels: list[int], negated: int
) -> None:
    bench = FilesBench(profile=Profile(hw, sw))
    bench.send(f"/stm.cgi?inpdnn={negated}")
    bench.sense(**dict(zip(DIGITAL_INPUTS, levels, strict=True)))
    mask = sum(level << bit for bit, level in enumerate(levels))
    expected = mask ^ negated if applies else mask
    assert bench.json("/json/all.json")["ind"] == str(expected)
    assert bench.xml("/xml/ix.xml")["ind"] == str(expected)
    words = ["up" if expected >> bit & 1 else "dn" for bit in range(4)]
    assert [bench.xml("/st0.xml")[f"di{n}"] for n in range(4)] == words


@given(on=st.sets(st.integers(0, 5)), inverted=st.booleans())
@EVERY_PROFILE
def test_files_show_outputs_as_they_are_and_the_library_inverts_them(
    profile: Profile, on: set[int], inverted: bool
) -> None:
    bench = FilesBench({"output_flags.invert_display": inverted}, profile=profile)
    for index in on:
        bench.switch_on(f"OUT{index}")
    states = [int(index in on) for index in range(6)]
    shown = bench.json("/json/all.json")
    assert [int(shown[f"out{n}"]) for n in range(6)] == states
    assert bench.xml("/xml/ix.xml")["out"] == "".join(map(str, states))
    read = library(profile, bench)
    assert [read[f"out{n}"] for n in range(6)] == [state ^ inverted for state in states]


@given(on=st.sets(st.integers(0, 5)))
def test_older_file_shows_what_the_out_command_would_set(on: set[int]) -> None:
    """So a client that sends `out3=1` reads `out3` as 1 afterwards."""
    bench = FilesBench()
    for index in on:
        bench.send(f"/outs.cgi?out{index}=1")
    shown = bench.xml("/st0.xml")
    assert [shown[f"out{n}"] for n in range(6)] == [str(int(n in on)) for n in range(6)]


@EVERY_PROFILE
def test_pwm_is_shown_with_its_present_duty(profile: Profile) -> None:
    bench = FilesBench(profile=profile)
    bench.send("/outs.cgi?pwm0=1&pwm2=1")
    bench.send("/stm.cgi?pwmd=273&pwmf=0500&pwmf=12000")
    read = library(profile, bench)
    assert [read[f"pwm{n}"] for n in range(4)] == [1, 0, 1, 0]
    assert read["pwmDuty2"] == 73
    assert (read["pwmFrequency0"], read["pwmFrequency13"]) == (500, 2000)


def test_moving_duty_is_shown_where_it_is() -> None:
    bench = FilesBench({"pwm.1.duty": 0, "pwm.1.change_time": 10})
    bench.send("/stm.cgi?pwmd=1100")
    bench.wait(4)
    assert bench.json("/json/pwmpid.json")["pwmd1"] == "40"


@given(on=st.sets(st.integers(1, 8)))
@pytest.mark.parametrize("profile", [one for one in PROFILES if one.hw != "3.0"], ids=str)
def test_makers_library_reads_event_variables(profile: Profile, on: set[int]) -> None:
    bench = FilesBench(profile=profile)
    for number in on:
        bench.switch_on(f"EVENT{number}")
    read = library(profile, bench)
    assert [read[f"event{n}"] for n in range(1, 9)] == [int(n in on) for n in range(1, 9)]


@given(milliseconds=st.integers(1, 10**6))
def test_impulse_times_are_milliseconds(milliseconds: int) -> None:
    bench = FilesBench({"impulse_time": (False, True)})
    bench.sense(INPD3=0)
    bench.wait(milliseconds / 1000)
    bench.sense(INPD4=0)
    shown = bench.json("/json/all.json")
    assert abs(int(shown["inpd3tim"]) - milliseconds) <= 1
    assert shown["inpd1tim"] == "0"


# --- differentials --------------------------------------------------------------------------------

#: One of each scale that old versions have, and what the library divides by.
FIRST_INPUTS = {"INPA2": 100, "DS1": 10, "DS8": 10, "T1": 10, "H1": 10, "POWER1": 1000}


@given(value=st.floats(-50, 50), first=st.sampled_from(sorted(FIRST_INPUTS)))
@EVERY_PROFILE
def test_makers_library_reads_differentials_whatever_they_begin_with(
    profile: Profile, value: float, first: str
) -> None:
    changes = {
        "power.0.current": "m1",
        "differentials.1.first": first,
        "differentials.1.operator": "+",
        "differentials.1.second": "DS2",
    }
    bench = FilesBench(VOLTMETERS | changes, profile=profile)
    bench.sense(INPA2=value, DS1=value, DS8=value, T1=value, H1=abs(value), m1=value, DS2=0.0)
    new = profile.since("1.49", ("3.5", "3.9"))
    scale = 1000 if new else FIRST_INPUTS[first]
    measured = bench.values["DIFF2"]
    assert measured is not None
    assert is_close(library(profile, bench)["diff2"], measured, scale)


@pytest.mark.parametrize("profile", [Profile("3.5", "1.36"), Profile("3.0", "1.58a")], ids=str)
def test_differential_of_differentials_has_the_scale_of_the_first_reading(
    profile: Profile,
) -> None:
    bench = FilesBench(profile=profile)
    bench.send("/inpa.cgi?diffsel=026&diffsel=127&diffsel=26&diffsel=37&diffsel=47&diffsel=57")
    bench.sense(DS1=21.5, DS2=1.5)
    assert bench.json("/json/all.json")["diffsel"] == "26*27*6*7*7*7*0*0*0"
    read = library(profile, bench)
    assert [read[f"diff{n}"] for n in (1, 2, 3)] == [17.0, 18.5, 20.0]


def test_differentials_that_begin_with_each_other_are_shown_as_absent() -> None:
    bench = FilesBench(profile=Profile("3.5", "1.36"))
    bench.send("/inpa.cgi?diffsel=026&diffsel=125")
    shown = bench.json("/json/all.json")
    assert [shown[key.lower()] for key in DIFFERENTIALS[:2]] == ["0", "0"]


# --- readings of modules --------------------------------------------------------------------------

MODULE_VALUES = st.floats(-1e9, 1e9)


@given(value=MODULE_VALUES)
@pytest.mark.parametrize("sw", ["1.10", "1.31"])
def test_old_software_shows_m1_to_m14_in_hundredths(sw: str, value: float) -> None:
    for profile in (Profile("3.5", sw), Profile("3.0", "1.58a")):
        bench = FilesBench(profile=profile)
        bench.sense(m14=value, m15=value)
        read = library(profile, bench)
        assert is_close(read["mValue14"], value, 100)
        assert read["mValue15"] == 0


@for_each("module", range(8))
@for_each("sw", ["1.31a", "1.32", "1.32c"])
def test_up_to_sw_132_a_list_is_scaled_by_the_module(sw: str, module: int) -> None:
    profile = Profile("3.5", sw)
    bench = FilesBench(profile=profile)
    bench.send(f"/stm.cgi?modbus_sensor=0{module}")
    bench.sense(**dict.fromkeys(MAPPED, 12.0))
    assert bench.json("/json/all.json")["modbusSensor"] == str(module)
    read = library(profile, bench)
    assert {read[f"mValue{n}"] for n in range(1, 30)} == {12.0}


MAPPINGS = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 29)), min_size=30, max_size=30, unique=True
)


@given(values=st.lists(MODULE_VALUES, min_size=30, max_size=30), mapping=MAPPINGS)
@pytest.mark.parametrize("sw", ["1.36", "1.49"])
def test_sw_133_to_149_shows_mapped_readings_in_their_slots(
    sw: str, values: list[float], mapping: list[tuple[int, int]]
) -> None:
    profile = Profile("3.5", sw)
    bench = FilesBench(profile=profile)
    bench.send("/stm.cgi?modbusmapping=" + "*".join(f"{slot}{number}" for slot, number in mapping))
    bench.sense(**dict(zip(MAPPED, values, strict=True)))
    read = library(profile, bench)
    assert all(is_close(read[f"mValue{n + 1}"], value, 10**6) for n, value in enumerate(values))


@pytest.mark.parametrize("sw", ["1.36", "1.49"])
def test_reading_that_is_not_mapped_is_0_there(sw: str) -> None:
    profile = Profile("3.5", sw)
    bench = FilesBench(profile=profile)
    bench.sense(m1=5.0)
    assert library(profile, bench)["mValue1"] == 0


def test_slot_1_is_m1_to_m30_before_the_mapping_command() -> None:
    profile = Profile("3.5", "1.33")
    bench = FilesBench(profile=profile)
    bench.sense(m1=5.5, m30=-7.25)
    read = library(profile, bench)
    assert (read["mValue1"], read["mValue30"]) == (5.5, -7.25)


@pytest.mark.parametrize("sw", ["1.33", "1.49"])
def test_readings_of_a_module_are_all_shown_with_a_bus(sw: str) -> None:
    bench = FilesBench(profile=Profile("3.5", sw))
    bench.sense(slot2=(230.1, None, -5.0, *[None] * 27))
    first, second, third = bench.json("/json/all.json")["modbusReadings"]
    assert second == ["230.1", "0", "-5", *["0"] * 27]
    assert first == third == ["0"] * 30


def test_mapping_to_additional_onewire_sensors_needs_no_slot_of_a_module() -> None:
    profile = Profile("3.5", "1.49")
    bench = FilesBench(profile=profile)
    bench.apply(with_value(bench.settings, "modbus_mapping.0", ModbusMapping(4, 1)))
    assert bench.json("/json/all.json")["modbusReadings"] == [["0"] * 30] * 3


@given(values=st.lists(st.floats(-FLOAT32, FLOAT32), min_size=30, max_size=30))
def test_sw_150_on_shows_m1_to_m30_as_plain_decimals(values: list[float]) -> None:
    bench = FilesBench()
    bench.sense(**dict(zip(MAPPED, values, strict=True)))
    shown = bench.json("/json/all.json")["customReadings"]
    assert all("e" not in text for text in shown)
    read = library(NEWEST, bench)
    assert all(is_close(read[f"mValue{n + 1}"], value, 10**6) for n, value in enumerate(values))


def test_plain_decimals_have_no_needless_zeros() -> None:
    bench = FilesBench()
    bench.sense(m1=230.0, m2=0.5, m3=-1e-9, m4=1200.0, DISTANCE=12.5)
    shown = bench.json("/json/all.json")
    assert shown["customReadings"][:5] == ["230", "0.5", "0", "1200", "0"]
    assert shown["distanceSensor"] == "12.5"


def test_analog_inputs_without_a_sensor_are_0() -> None:
    bench = FilesBench()
    bench.sense(**dict.fromkeys(ANALOG_INPUTS, 3.3))
    shown = bench.json("/json/all.json")
    assert {shown[f"inpp{n}"] for n in range(1, 7)} == {"0"}
