"""POWER and ENERGY: sources, units, counting, remembering."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from leverframe.core.engine.calls import Persist
from leverframe.core.engine.energy import KW, KW_TO_W, LITRES_PER_MIN, M3_PER_H, UNITS, W_TO_KW, W
from leverframe.core.labels import ENERGIES, POWERS
from leverframe.core.profile import Profile
from tests.cases import for_each

from .bench import Bench
from .measuring import BY_TEST, Measuring

HOUR = 3600.0
#: INPA1 is amperes (10 A per volt at the pin), INPA2 volts.
CURRENT_AND_VOLTAGE = {
    "analog_inputs.0.sensor": "R=0.1",
    "analog_inputs.1.sensor": "vin=33V/55V",
}
MODULE = {"power.0.current": "m1"}
PULSES = {"power.0.current": "INPD1", "power.0.pulses": 1000}
REMEMBER = {"energy_remember": True}


def pulse(bench: Measuring) -> None:
    bench.sense({"INPD1": 0})
    bench.sense({"INPD1": 1})


@for_each(("voltage", "kilowatts"), [("225V", 2.25), ("230V", 2.3), ("235V", 2.35), ("VCC", 0.12)])
def test_power_is_current_times_voltage_in_kilowatts(voltage: str, kilowatts: float) -> None:
    bench = Measuring(CURRENT_AND_VOLTAGE | {"power.0.voltage": voltage})
    bench.sense({"INPA1": 1.0, "VCC": 12.0})
    assert bench.values["POWER1"] == kilowatts


@pytest.mark.parametrize(("voltage", "kilowatts"), [("INPA2", 0.24), ("m4", 4.0)])
def test_voltage_may_be_measured(voltage: str, kilowatts: float) -> None:
    bench = Measuring(CURRENT_AND_VOLTAGE | {"power.0.voltage": voltage})
    bench.sense({"INPA1": 1.0})
    assert bench.values["POWER1"] is None
    bench.sense({"INPA2": 2.4, "m4": 400.0})
    assert bench.values["POWER1"] == kilowatts


@for_each(
    ("unit", "power", "per_hour"),
    [
        (KW, 2.3, 2.3),
        (W, 2300.0, 2.3),
        (LITRES_PER_MIN, 2.3, 0.138),
        (M3_PER_H, 2.3, 2.3),
        (KW_TO_W, 2.3, 2.3),
        (W_TO_KW, 2.3, 2.3),
    ],
)
def test_units_of_a_measured_current(unit: str, power: float, per_hour: float) -> None:
    bench = Measuring(CURRENT_AND_VOLTAGE | {"power.0.unit": unit})
    bench.sense({"INPA1": 1.0})
    assert bench.values["POWER1"] == power
    bench.jump(HOUR)
    assert bench.values["ENERGY1"] == pytest.approx(per_hour)


@for_each(
    ("unit", "power", "per_hour"),
    [
        (KW, 50.0, 50.0),
        (W, 50.0, 0.05),
        (LITRES_PER_MIN, 50.0, 3.0),
        (M3_PER_H, 50.0, 50.0),
        (KW_TO_W, 50_000.0, 50.0),
        (W_TO_KW, 0.05, 0.05),
    ],
)
def test_units_of_a_module_reading(unit: str, power: float, per_hour: float) -> None:
    bench = Measuring(MODULE | {"power.0.unit": unit})
    bench.sense({"m1": 50.0})
    assert bench.values["POWER1"] == power
    bench.jump(HOUR)
    assert bench.values["ENERGY1"] == pytest.approx(per_hour)


@for_each("unit", UNITS)
def test_units_do_not_change_the_power_of_pulses(unit: str) -> None:
    bench = Measuring(PULSES | {"power.0.unit": unit})
    pulse(bench)
    bench.wait(3.6)
    pulse(bench)
    assert bench.values["POWER1"] == 1.0
    assert bench.values["ENERGY1"] == 0.002


def test_voltage_of_a_module_reading_is_not_used() -> None:
    bench = Measuring(MODULE | {"power.0.voltage": "INPA2"})
    bench.sense({"m1": 2.0})
    assert bench.values["POWER1"] == 2.0


def test_absent_source_makes_the_power_absent_and_holds_the_energy() -> None:
    bench = Measuring(MODULE)
    assert bench.values["POWER1"] is None
    assert bench.values["ENERGY1"] == 0.0
    bench.sense({"m1": 2.0})
    bench.wait(HOUR)
    bench.sense({"m1": None})
    bench.wait(HOUR)
    assert bench.values["POWER1"] is None
    assert bench.values["ENERGY1"] == 2.0


def test_energy_grows_every_second_while_power_flows_and_nothing_happens_otherwise() -> None:
    bench = Measuring(MODULE)
    assert bench.machine.timers.next_due is None
    bench.sense({"m1": 3.6})
    bench.wait(1)
    assert bench.values["ENERGY1"] == pytest.approx(0.001)
    bench.wait(1)
    assert bench.values["ENERGY1"] == pytest.approx(0.002)
    bench.sense({"m1": 0.0})
    assert bench.machine.timers.next_due is None


def test_long_jump_counts_exactly() -> None:
    bench = Measuring(CURRENT_AND_VOLTAGE)
    bench.sense({"INPA1": 1.0})
    bench.jump(30 * 24 * HOUR)
    assert bench.values["ENERGY1"] == 1656.0


def test_change_of_power_counts_up_to_its_moment() -> None:
    bench = Measuring(MODULE)
    bench.sense({"m1": 1.0})
    bench.jump(HOUR / 2)
    bench.sense({"m1": 4.0})
    bench.jump(HOUR / 4)
    bench.sense({"m1": 0.0})
    assert bench.values["ENERGY1"] == 1.5


def test_negative_power_is_shown_and_counts_nothing() -> None:
    bench = Measuring(MODULE)
    bench.sense({"m1": 1.0})
    bench.jump(HOUR)
    bench.sense({"m1": -5.0})
    bench.jump(HOUR)
    assert (bench.values["POWER1"], bench.values["ENERGY1"]) == (-5.0, 1.0)


def test_falling_edges_are_pulses_also_of_a_bistable_input() -> None:
    bench = Measuring(PULSES | {"digital_inputs.0.bistable": True})
    for _ in range(5):
        pulse(bench)
    assert bench.values["ENERGY1"] == 0.005


def test_thousand_pulses_are_one_unit() -> None:
    bench = Measuring(PULSES)
    for _ in range(1000):
        pulse(bench)
        bench.wait(1)
    assert bench.values["ENERGY1"] == 1.0


def test_power_of_pulses_falls_towards_0_and_gets_there() -> None:
    bench = Measuring(PULSES)
    assert bench.values["POWER1"] == 0.0
    pulse(bench)
    bench.wait(3.6)
    pulse(bench)
    assert bench.values["POWER1"] == 1.0
    bench.wait(36)
    assert bench.values["POWER1"] == pytest.approx(0.1, rel=0.1)
    bench.wait(8000)
    assert bench.values["POWER1"] == 0.0
    assert bench.machine.timers.next_due is None
    assert bench.values["ENERGY1"] == 0.002


def test_one_input_may_deliver_pulses_to_two_meters() -> None:
    bench = Measuring(PULSES | {"power.1.current": "INPD1", "power.1.pulses": 10})
    pulse(bench)
    assert (bench.values["ENERGY1"], bench.values["ENERGY2"]) == (0.001, 0.1)


def test_ratio_of_0_pulses_measures_nothing() -> None:
    bench = Measuring(PULSES | {"power.0.pulses": 0})
    pulse(bench)
    assert (bench.values["POWER1"], bench.values["ENERGY1"]) == (None, 0.0)


def test_new_settings_restart_the_measurement_and_keep_the_energy() -> None:
    bench = Measuring(MODULE)
    bench.sense({"m1": 2.0, "m2": 3.0})
    bench.wait(HOUR)
    bench.set({"power.0.current": "m2"})
    assert (bench.values["POWER1"], bench.values["ENERGY1"]) == (3.0, 2.0)
    bench.set({"power.0.current": "INPD1"})
    assert (bench.values["POWER1"], bench.values["ENERGY1"]) == (0.0, 2.0)
    assert bench.machine.timers.next_due is None


def test_new_name_does_not_disturb_a_pulse_meter() -> None:
    bench = Measuring(PULSES)
    pulse(bench)
    bench.wait(3.6)
    pulse(bench)
    bench.set({"power.0.name": "heat pump"})
    assert bench.values["POWER1"] == 1.0


def test_energy_is_set_by_command_also_downwards() -> None:
    bench = Measuring(MODULE)
    bench.sense({"m1": 1.0})
    bench.wait(HOUR)
    bench.energy.set_energy(0, 0.25, BY_TEST)
    assert bench.values["ENERGY1"] == 0.25
    bench.wait(HOUR)
    assert bench.values["ENERGY1"] == 1.25
    (entry,) = bench.machine.journal.entries()
    assert (entry.cause, entry.text) == (BY_TEST, "ENERGY1 was set to 0.25")


def test_energy_cannot_be_set_to_what_is_no_number() -> None:
    bench = Measuring()
    with pytest.raises(ValueError, match="ENERGY1 cannot be set to nan"):
        bench.energy.set_energy(0, math.nan, BY_TEST)


def test_counting_is_switched_while_the_power_is_shown() -> None:
    bench = Measuring(MODULE)
    bench.sense({"m1": 1.0})
    bench.wait(HOUR)
    bench.energy.count(0, False, BY_TEST)
    assert bench.machine.timers.next_due is None
    bench.wait(HOUR)
    assert (bench.values["POWER1"], bench.values["ENERGY1"]) == (1.0, 1.0)
    bench.energy.count(0, True, BY_TEST)
    bench.wait(HOUR)
    assert bench.values["ENERGY1"] == 2.0
    texts = [entry.text for entry in bench.machine.journal.entries()]
    assert texts == ["ENERGY1 stopped counting", "ENERGY1 counts"]


def test_pulses_do_not_count_while_counting_is_off() -> None:
    bench = Measuring(PULSES)
    bench.energy.count(0, False, BY_TEST)
    pulse(bench)
    bench.wait(3.6)
    pulse(bench)
    assert (bench.values["POWER1"], bench.values["ENERGY1"]) == (1.0, 0.0)


def test_value_set_while_counting_is_off_shows_immediately() -> None:
    bench = Measuring()
    bench.energy.count(0, False, BY_TEST)
    bench.energy.set_energy(0, 7.0, BY_TEST)
    assert bench.values["ENERGY1"] == 7.0


def test_forgetting_resets_all_counters() -> None:
    bench = Measuring(MODULE)
    bench.sense({"m1": 1.0})
    bench.energy.set_energy(1, 5.0, BY_TEST)
    bench.energy.count(0, False, BY_TEST)
    bench.energy.forget()
    assert (bench.values["ENERGY1"], bench.values["ENERGY2"]) == (0.0, 0.0)
    bench.wait(HOUR)
    assert bench.values["ENERGY1"] == 1.0


def test_energy_is_kept_once_a_minute_while_it_changes() -> None:
    bench = Measuring(MODULE | REMEMBER)
    bench.sense({"m1": 60.0})
    bench.wait(59)
    assert bench.effects(Persist) == []
    bench.wait(2)
    assert bench.effects(Persist) == [
        Persist("energy.0", pytest.approx(1.0, abs=0.05)),
        Persist("power.0", 60.0),
    ]
    bench.sense({"m1": 0.0})
    bench.wait(60)
    assert len(bench.effects(Persist)) == 2
    bench.wait(600)
    assert bench.effects(Persist) == []
    assert bench.machine.timers.next_due is None


def test_energy_is_kept_at_a_clean_stop() -> None:
    bench = Measuring(MODULE | REMEMBER)
    bench.sense({"m1": 1.0})
    bench.jump(HOUR)
    bench.effects(Persist)
    bench.jump(0.5 * HOUR)
    bench.effects(Persist)
    bench.sense({"m1": 2.0})
    bench.machine.at = replace(bench.machine.at, now=bench.machine.at.now + HOUR)
    bench.energy.save()
    assert bench.effects(Persist) == [Persist("energy.0", 3.5), Persist("power.0", 2.0)]
    bench.energy.save()
    assert bench.effects(Persist) == []


def test_kept_energy_and_counting_come_back() -> None:
    kept = {"energy.0": 12.5, "energy.3": 1, "counting.3": False}
    bench = Measuring(
        REMEMBER | {"power.0.current": "m1", "power.3.current": "m1"}, remembered=kept
    )
    assert [bench.values[label] for label in ENERGIES] == [12.5, 0.0, 0.0, 1.0, 0.0, 0.0]
    assert bench.effects(Persist) == []
    bench.sense({"m1": 1.0})
    bench.wait(HOUR)
    assert (bench.values["ENERGY1"], bench.values["ENERGY4"]) == (13.5, 1.0)


def test_kept_power_is_shown_until_it_is_measured_and_counts_nothing() -> None:
    kept = {"energy.0": 1.0, "power.0": 2.5}
    bench = Measuring(MODULE | REMEMBER, remembered=kept)
    assert bench.values["POWER1"] == 2.5
    bench.wait(30)
    assert (bench.values["POWER1"], bench.values["ENERGY1"]) == (2.5, 1.0)
    bench.sense({"m1": 3.0})
    assert bench.values["POWER1"] == 3.0
    bench.sense({"m1": None})
    assert bench.values["POWER1"] is None


def test_stored_power_without_its_source_is_absent_after_a_minute() -> None:
    bench = Measuring(MODULE | REMEMBER, remembered={"power.0": 2.5})
    bench.wait(59)
    assert bench.values["POWER1"] == 2.5
    bench.wait(2)
    assert bench.values["POWER1"] is None


def test_measured_power_comes_before_a_kept_one() -> None:
    bench = Measuring(
        MODULE | REMEMBER, remembered={"power.0": 2.5}, sensed_before_start={"m1": 1.0}
    )
    assert bench.values["POWER1"] == 1.0


def test_kept_power_of_pulses_continues_and_falls_without_new_pulses() -> None:
    bench = Measuring(PULSES | REMEMBER, remembered={"power.0": 1.0})
    assert bench.values["POWER1"] == pytest.approx(1.0)
    bench.wait(1)
    pulse(bench)
    assert bench.values["POWER1"] == pytest.approx(1.0)
    bench.wait(1.8)
    pulse(bench)
    assert bench.values["POWER1"] == pytest.approx(2.0)
    fallen = Measuring(PULSES | REMEMBER, remembered={"power.0": 1.0})
    fallen.wait(36)
    assert fallen.values["POWER1"] == pytest.approx(0.1, rel=0.1)


def test_energy_and_power_survive_a_restart_of_the_controller() -> None:
    bench = Bench({**MODULE, **REMEMBER})
    bench.sense(m1=2.0)
    bench.wait(HOUR)
    bench.stop()
    bench.restart()
    assert (bench.values["POWER1"], bench.values["ENERGY1"]) == (2.0, 2.0)


def test_kept_garbage_starts_at_0() -> None:
    bench = Measuring(
        REMEMBER, remembered={"energy.0": math.nan, "energy.1": None, "power.0": math.nan}
    )
    assert (bench.values["ENERGY1"], bench.values["ENERGY2"]) == (0.0, 0.0)


def test_without_remembering_energy_starts_at_0_and_is_not_kept() -> None:
    bench = Measuring(MODULE, remembered={"energy.0": 12.5, "counting.0": False})
    assert bench.values["ENERGY1"] == 0.0
    bench.sense({"m1": 1.0})
    bench.wait(HOUR)
    bench.energy.set_energy(1, 5.0, BY_TEST)
    bench.energy.save()
    assert bench.values["ENERGY1"] == 1.0
    assert {effect.value for effect in bench.effects(Persist)} == {None}


def test_counters_that_are_not_kept_up_are_forgotten() -> None:
    """Also those of meters that this version does not have."""
    kept = {"energy.0": 12.5, "counting.0": False, "energy.5": 7.0}
    bench = Measuring(remembered=kept, profile=Profile("3.5", "1.40"))
    assert bench.effects(Persist) == [Persist(name, None) for name in kept]
    off = Measuring(REMEMBER, remembered=kept)
    off.effects(Persist)
    off.set({"energy_remember": False})
    assert off.effects(Persist) == [Persist(name, None) for name in kept]


def test_switching_remembering_on_keeps_immediately_and_off_stops_it() -> None:
    bench = Measuring(MODULE)
    bench.sense({"m1": 1.0})
    bench.wait(HOUR)
    bench.set(REMEMBER)
    kept = {effect.name: effect.value for effect in bench.effects(Persist)}
    assert kept["energy.0"] == 1.0
    assert kept["energy.5"] == 0.0
    assert kept["counting.0"] is True
    bench.wait(10)
    bench.set({"energy_remember": False})
    bench.wait(HOUR)
    assert bench.effects(Persist) == []


def test_energy_set_or_forgotten_and_counting_are_kept_immediately() -> None:
    bench = Measuring(REMEMBER)
    bench.energy.set_energy(2, 5.0, BY_TEST)
    bench.energy.count(2, False, BY_TEST)
    assert bench.effects(Persist) == [Persist("energy.2", 5.0), Persist("counting.2", False)]
    bench.energy.forget()
    kept = bench.effects(Persist)
    assert Persist("energy.2", 0.0) in kept
    assert Persist("counting.2", True) in kept


def test_older_profile_has_four_meters() -> None:
    bench = Measuring(profile=Profile("3.5", "1.45"))
    assert [bench.values[label] for label in ENERGIES] == [0.0] * 4 + [None] * 2


happenings = st.one_of(
    st.tuples(st.just("wait"), st.floats(0, 300)),
    st.tuples(st.just("jump"), st.floats(0, 1e8)),
    st.tuples(st.just("m1"), st.none() | st.floats(allow_nan=True)),
    st.tuples(st.just("INPA1"), st.none() | st.floats(-5, 5)),
    st.tuples(st.just("INPD1"), st.sampled_from([0, 1, None])),
    st.tuples(st.just("counting"), st.booleans()),
    st.tuples(st.just("unit"), st.sampled_from(UNITS)),
    st.tuples(st.just("pulses"), st.integers(0, 10_000)),
    st.tuples(st.just("current"), st.sampled_from(["m1", "INPA1", "INPD1", "m2"])),
)


def let_happen(bench: Measuring, what: str, value: Any) -> None:
    match what:
        case "wait":
            bench.wait(value)
        case "jump":
            bench.jump(value)
        case "counting":
            bench.energy.count(0, value, BY_TEST)
        case "unit" | "pulses" | "current":
            bench.set({f"power.0.{what}": value})
        case _:
            bench.sense({what: value})


@given(st.lists(happenings, max_size=30))
def test_energy_never_falls_whatever_happens(story: list[tuple[str, Any]]) -> None:
    bench = Measuring(CURRENT_AND_VOLTAGE | MODULE | REMEMBER | {"power.1.current": "INPD1"})
    before = [0.0] * 6
    for what, value in story:
        let_happen(bench, what, value)
        after = [bench.values[label] for label in ENERGIES]
        assert all(new is not None and new >= old for old, new in zip(before, after, strict=True))
        assert all(power is None or math.isfinite(power) for power in map(bench.values.get, POWERS))
        before = [new or 0.0 for new in after]


@given(
    st.lists(st.tuples(st.floats(-10, 10), st.floats(0, 100)), max_size=10),
)
def test_waiting_and_jumping_count_the_same(story: list[tuple[float, float]]) -> None:
    waiting, jumping = Measuring(MODULE), Measuring(MODULE)
    expected = 0.0
    for power, seconds in story:
        for bench in (waiting, jumping):
            bench.sense({"m1": power})
        waiting.wait(seconds)
        jumping.jump(seconds)
        expected += max(power, 0.0) * seconds / HOUR
    for bench in (waiting, jumping):
        bench.energy.save()
        assert bench.values["ENERGY1"] == pytest.approx(expected, abs=1e-6)
