"""Plants: exact in steps of any length, quiet at rest, never quicker than the instant."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.devices.simulated.plant_kinds import (
    PULSE_S,
    REACTION_S,
    Load,
    Meter,
    Plant,
    Plants,
    Room,
    Tank,
    approach,
    level_after,
    seconds_until,
)

OFF = {"OUT0": 0.0, "PWM0": 0.0}
ON = {"OUT0": 1.0, "PWM0": 1.0}
YEAR_S = 365 * 86400.0

temperatures = st.floats(-50, 120)
rates = st.floats(-100, 100)


def room(**changes: object) -> Room:
    fields: dict[str, object] = {
        "heater": "PWM0",
        "reading": "DS1",
        "outside": 5.0,
        "power": 30.0,
        "time_constant": 3600.0,
        "start": None,
        "sample": 1.0,
    }
    return Room(**{**fields, **changes})  # type: ignore[arg-type]


def tank(**changes: object) -> Tank:
    fields: dict[str, object] = {
        "pump": "OUT0",
        "reading": "DISTANCE",
        "switch": "INPD1",
        "height": 1000.0,
        "fill": 2.0,
        "drain": 0.5,
        "start": 500.0,
        "switch_at": 950.0,
        "volts": 3.3,
        "sample": 10.0,
    }
    return Tank(**{**fields, **changes})  # type: ignore[arg-type]


def live(plant: Plant, until: float) -> list[tuple[float, dict[str, float]]]:
    """Serve the plant's deadlines; when it said what."""
    said: list[tuple[float, dict[str, float]]] = []
    while (due := plant.next_deadline()) is not None and due <= until:
        said.append((due, plant.tick(due)))
        assert len(said) < 20_000, "the plant holds time still"
    return said


# --- formulas -------------------------------------------------------------------------------------


@given(temperatures, temperatures, st.floats(1, 1e6), st.lists(st.floats(0, 1e5), max_size=20))
def test_approach_in_small_steps_ends_where_one_step_does(
    start: float, end: float, time_constant_s: float, steps: list[float]
) -> None:
    value = start
    for step_s in steps:
        value = approach(value, end, time_constant_s, step_s)
    assert value == pytest.approx(approach(start, end, time_constant_s, sum(steps)), abs=1e-9)


@given(temperatures, temperatures, st.floats(1, 1e6), st.floats(0, 1e9))
def test_approach_never_overshoots(
    start: float, end: float, time_constant_s: float, elapsed_s: float
) -> None:
    value = approach(start, end, time_constant_s, elapsed_s)
    assert min(start, end) - 1e-9 <= value <= max(start, end) + 1e-9


@given(st.floats(0, 1000), rates, st.floats(0, 1e9))
def test_level_stays_within_its_tank(level: float, rate: float, elapsed_s: float) -> None:
    assert 0 <= level_after(level, rate, 1000.0, elapsed_s) <= 1000


@given(st.floats(0, 1000), st.floats(0, 1000), st.floats(0.001, 100))
def test_level_is_at_the_mark_when_it_is_due_there(level: float, mark: float, rate: float) -> None:
    towards = rate if mark >= level else -rate
    elapsed_s = seconds_until(mark, level, towards)
    assert level_after(level, towards, 1000.0, elapsed_s) == pytest.approx(mark, abs=1e-6)


# --- room -----------------------------------------------------------------------------------------


def test_room_begins_as_warm_as_it_is_outside() -> None:
    assert room().begin(0.0, OFF) == {"DS1": 5.0}


def test_heated_room_does_63_percent_of_the_way_in_the_time_constant() -> None:
    heated = room()
    heated.begin(0.0, ON)
    assert heated.tick(3600.0) == {"DS1": round(5 + 30 * (1 - exp(-1)), 2)}


def test_room_is_as_exact_after_one_step_of_hours_as_after_thousands() -> None:
    jumped, sampled = room(), room()
    for plant in (jumped, sampled):
        plant.begin(0.0, ON)
    live(sampled, 7200.0)
    sampled.put("PWM0", 0.25, 7200.0)
    jumped.put("PWM0", 0.25, 7200.0)
    live(sampled, 20_000.0)
    assert jumped.tick(20_000.5) == sampled.tick(20_000.5)


def test_room_is_sampled_at_its_period_while_it_moves_and_not_at_rest() -> None:
    plant = room(sample=10.0)
    plant.begin(100.0, OFF)
    assert plant.next_deadline() is None
    plant.put("PWM0", 1.0, 200.0)
    said = live(plant, 200.0 + YEAR_S)
    assert [due for due, _ in said[:3]] == [210.0, 220.0, 230.0]
    assert said[-1][1] == {"DS1": 35.0}
    assert plant.next_deadline() is None


def test_heater_that_flutters_does_not_put_samples_off() -> None:
    plant = room(sample=10.0)
    plant.begin(0.0, ON)
    for second in range(1, 10):
        plant.put("PWM0", second % 2, float(second))
    assert plant.next_deadline() == 10.0


def test_outside_may_be_another_reading() -> None:
    plant = room(outside="DS2", time_constant=1.0)
    assert plant.inputs == ("PWM0", "DS2")
    assert plant.begin(0.0, {**OFF, "DS2": -3.0}) == {"DS1": -3.0}
    plant.put("DS2", 12.0, 0.0)
    assert live(plant, 60.0)[-1][1] == {"DS1": 12.0}


def test_outside_is_twenty_degrees_until_its_reading_is_known() -> None:
    assert room(outside="DS2").begin(0.0, OFF) == {"DS1": 20.0}


# --- tank -----------------------------------------------------------------------------------------


def test_tank_shows_the_distance_to_the_surface_and_its_switch() -> None:
    assert tank().begin(0.0, OFF) == {"DISTANCE": 500.0, "INPD1": 1}
    assert tank(start=960.0).begin(0.0, OFF) == {"DISTANCE": 40.0, "INPD1": 0}


def test_tank_on_an_analog_input_gives_its_volts_when_full() -> None:
    assert tank(reading="INPA2", switch=None).begin(0.0, OFF) == {"INPA2": 1.65}


def test_switch_closes_at_the_moment_the_level_reaches_it() -> None:
    plant = tank(reading=None)
    plant.begin(0.0, ON)
    assert live(plant, 1e6) == [(300.0, {"INPD1": 0})]


def test_switch_opens_a_band_below_so_that_it_does_not_chatter() -> None:
    plant = tank(reading=None)
    plant.begin(0.0, ON)
    live(plant, 300.0)
    plant.put("OUT0", 0.0, 300.0)
    assert live(plant, 1e6) == [(320.0, {"INPD1": 1})]


def test_full_or_empty_tank_asks_for_no_time() -> None:
    for inputs, end in ((ON, 0.0), (OFF, 1000.0)):
        plant = tank()
        plant.begin(0.0, inputs)
        assert live(plant, YEAR_S)[-1][1]["DISTANCE"] == end
        assert plant.next_deadline() is None


def test_negative_rates_make_a_sump() -> None:
    sump = tank(fill=-2.0, drain=-0.5, start=0.0, switch_at=900.0, reading=None)
    sump.begin(0.0, OFF)
    assert live(sump, 1800.0) == [(1800.0, {"INPD1": 0})]
    sump.put("OUT0", 1.0, 1800.0)
    assert live(sump, 1e6) == [(pytest.approx(1800 + 10 / 1.5), {"INPD1": 1})]


@given(
    st.lists(st.tuples(st.floats(0.001, 5000), st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=30)
)
def test_switch_agrees_with_the_level_whatever_the_pump_does(
    moves: list[tuple[float, float]],
) -> None:
    plant = tank()
    shown = plant.begin(0.0, OFF)
    now = 0.0
    for wait_s, pumping in moves:
        now += wait_s
        for _, news in live(plant, now):
            shown.update(news)
        plant.put("OUT0", pumping, now)
    shown.update(plant.tick(now))
    level = 1000.0 - shown["DISTANCE"]
    if level >= 950.01:
        assert shown["INPD1"] == 0
    elif level <= 939.99:
        assert shown["INPD1"] == 1


# --- load and meter -------------------------------------------------------------------------------


def test_load_shows_after_the_reaction_time_and_never_in_the_same_instant() -> None:
    plant = Load("OUT0", "INPA1", on=1.5, off=0.1)
    assert plant.begin(0.0, OFF) == {"INPA1": 0.1}
    plant.put("OUT0", 1.0, 5.0)
    assert live(plant, 1e6) == [(5.0 + REACTION_S, {"INPA1": 1.5})]


def test_load_on_pwm_is_in_between() -> None:
    plant = Load("PWM0", "m1", on=200.0, off=0.0)
    plant.begin(0.0, OFF)
    plant.put("PWM0", 0.3, 1.0)
    assert live(plant, 2.0)[0][1] == {"m1": 60.0}


def test_meter_pulses_once_for_its_part_of_a_kilowatt_hour() -> None:
    plant = Meter("OUT0", "INPD2", watts=1000.0, pulses=3600.0, standby=0.0)
    assert plant.begin(0.0, ON) == {"INPD2": 1}
    assert live(plant, 2.5) == [
        (1.0, {"INPD2": 0}),
        (1.0 + PULSE_S, {"INPD2": 1}),
        (2.0, {"INPD2": 0}),
        (2.0 + PULSE_S, {"INPD2": 1}),
    ]


def test_meter_without_power_asks_for_no_time_and_keeps_what_was_begun() -> None:
    plant = Meter("OUT0", "INPD2", watts=1000.0, pulses=3600.0, standby=0.0)
    plant.begin(0.0, ON)
    plant.put("OUT0", 0.0, 0.75)
    assert plant.next_deadline() is None
    plant.put("OUT0", 1.0, 1000.0)
    assert plant.next_deadline() == pytest.approx(1000.25)


@given(st.lists(st.tuples(st.floats(0.01, 50), st.sampled_from([0.0, 0.5, 1.0])), max_size=30))
def test_meter_loses_no_energy_when_the_load_is_switched(
    moves: list[tuple[float, float]],
) -> None:
    plant = Meter("PWM0", "INPD1", watts=1000.0, pulses=3600.0, standby=100.0)
    plant.begin(0.0, OFF)
    now, level, joules, pulses = 0.0, 0.0, 0.0, 0
    for wait_s, next_level in moves:
        now += wait_s
        joules += (100.0 + 900.0 * level) * wait_s
        pulses += sum(news["INPD1"] == 0 for _, news in live(plant, now))
        plant.put("PWM0", next_level, now)
        level = next_level
    assert joules / 1000 - 1.0001 <= pulses <= joules / 1000 + 0.0001


def test_pulses_missed_in_a_long_absence_are_not_made_up_for_in_a_burst() -> None:
    plant = Meter("OUT0", "INPD1", watts=1000.0, pulses=3600.0, standby=0.0)
    plant.begin(0.0, ON)
    assert plant.tick(1000.5) == {"INPD1": 0}
    assert [due for due, _ in live(plant, 1002.0)] == [
        1000.5 + PULSE_S,
        pytest.approx(1001.0),
        pytest.approx(1001.0 + PULSE_S),
        pytest.approx(1002.0),
    ]


# --- all of them ----------------------------------------------------------------------------------


def test_earliest_deadline_of_all_plants_counts() -> None:
    plants = Plants()
    assert plants.next_due is None
    plants.wire(room(sample=60.0), 0.0, ON)
    plants.wire(tank(reading=None), 0.0, ON)
    assert plants.next_due == 60.0
    assert plants.tick(60.0).keys() == {"DS1"}


def test_plant_takes_its_reading_over_from_the_one_before() -> None:
    plants = Plants()
    plants.wire(room(sample=5.0), 0.0, ON)
    plants.wire(Load("OUT0", "INPA1", on=1.0, off=0.0), 0.0, ON)
    plants.wire(room(sample=60.0), 0.0, ON)
    assert plants.next_due == 60.0


def test_without_plants_nothing_is_due() -> None:
    plants = Plants()
    plants.wire(room(), 0.0, ON)
    plants.clear()
    assert plants.next_due is None
    assert plants.tick(1e9) == {}
