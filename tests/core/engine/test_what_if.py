"""Two futures of one engine: what differs by a change, and that nothing else does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.calls import ON, Action, ChangeClock, Restart, SendTest, Switch
from leverframe.core.engine.machine import export_state
from leverframe.core.engine.what_if import MAX_LISTED, TriedChange, WhatIf, labels_needed, what_if
from leverframe.core.settings import Pid, Rule, ScheduleEntry, WatchdogEntry
from leverframe.core.tree import with_value
from leverframe.devices.simulated.plant_kinds import Plants
from leverframe.devices.simulated.plant_wiring import plant_from_text
from tests.effort import examples

from .bench import START_WALL, Bench, with_values

HOUR = 3600.0
HEAT = Rule(source="DS1", compare="<", reference=20, action="OUT0", value=1, enabled=True)


def try_changes(bench: Bench, *actions: Action, for_s: float = HOUR, **more: Any) -> WhatIf:
    """Try changes by path, as `outputs__0__return_time=5`, and actions."""
    changes = {path.replace("__", "."): value for path, value in more.pop("set", {}).items()}
    change = TriedChange(with_values(bench.settings, changes), actions)
    return what_if(export_state(bench.engine), bench.at, for_s, change, **{"courses": {}, **more})


def lines(result: WhatIf) -> list[str]:
    sign = {"with": "+", "without": "-"}
    return [f"{sign[x.only]}{x.time - START_WALL:g} {x.cause}: {x.text}" for x in result.differing]


def test_switch_with_a_return_time_is_two_entries_more() -> None:
    result = try_changes(Bench({"outputs.0.return_time": 60}), Switch("OUT0", ON))
    assert lines(result) == ["+0 what-if: OUT0 on", "+60 timer return time: OUT0 off"]
    entries = [one.entry for one in result.differing if one.entry]
    assert [(one.what, one.which, one.cause) for one in entries] == [
        ("on", "OUT0", "what-if"),
        ("off", "OUT0", "timer"),
    ]
    assert (result.with_["OUT0"].changes, result.with_["OUT0"].on_s) == (2, 60)
    assert (result.without["OUT0"].changes, result.without["OUT0"].on_s) == (0, 0)
    assert (result.first, result.last) == (START_WALL, START_WALL + HOUR)


def test_output_that_is_already_on_counts_as_on() -> None:
    bench = Bench()
    bench.switch_on("OUT3")
    result = try_changes(bench, set={"outputs__3__return_time": 60})
    assert result.without["OUT3"].on_s == HOUR
    assert result.with_["OUT3"].on_s == 60


def test_engine_that_is_tried_stays_as_it_is() -> None:
    bench = Bench()
    before = (dict(bench.values), bench.history(), bench.due_in())
    try_changes(bench, Switch("OUT0", ON), set={"outputs__1__periodic": True})
    assert (dict(bench.values), bench.history(), bench.due_in()) == before


def test_recorded_readings_come_again_and_rules_act_on_them() -> None:
    bench = Bench({"rules": (HEAT,)})
    courses = {"DS1": [(START_WALL, 25.0), (START_WALL + 100, 19.5), (START_WALL + 900, 21.0)]}
    result = try_changes(bench, set={"rules__0__reference": 19.0}, courses=courses)
    assert [line for line in lines(result) if "OUT0" in line] == [
        "-100 rule 1: OUT0 on",
        "-900 rule 1: OUT0 off",
    ]
    needed = labels_needed(export_state(bench.engine), TriedChange(bench.settings))
    assert "DS1" in needed
    assert not needed & {"DS2", "OUT0", "POWER1"}


def test_source_used_only_by_the_change_is_needed() -> None:
    bench = Bench()
    change = TriedChange(with_value(bench.settings, "rules", (HEAT,)))
    assert "DS1" in labels_needed(export_state(bench.engine), change)
    regulated = TriedChange(with_value(bench.settings, "pid", Pid(source="DS7")))
    assert "DS7" in labels_needed(export_state(bench.engine), regulated)


@pytest.mark.parametrize("hours", [2, pytest.param(6, marks=pytest.mark.thorough)])
def test_plants_close_the_loop(hours: int) -> None:
    bench = Bench({"rules": (HEAT,)})
    room = "room*heater:OUT0*reading:DS1*outside:5*power:40*time_constant:10m*start:25"

    def world() -> Plants:
        plants = Plants()
        pins = {"OUT0": 0.0}
        plants.wire(plant_from_text(room), bench.now, pins)
        return plants

    result = try_changes(
        bench, set={"rules__0__reference": 15.0}, worlds=(world(), world()), for_s=hours * HOUR
    )
    assert result.without["OUT0"].on_s > 1.3 * result.with_["OUT0"].on_s > hours * HOUR / 24


def test_pwm_output_heats_a_plant_too() -> None:
    bench = Bench({"pwm.0.duty": 50})
    room = "room*heater:PWM0*reading:DS1*outside:5*power:40*time_constant:10m*start:5"

    def world() -> Plants:
        plants = Plants()
        plants.wire(plant_from_text(room), bench.now, {"PWM0": 0.0})
        return plants

    worlds = (world(), world())
    try_changes(bench, Switch("PWM0", ON), worlds=worlds, for_s=6 * HOUR)
    ends = [one.look("DS1", bench.now + 6 * HOUR)["DS1"] for one in worlds]
    assert ends == [5, 25]


def test_trial_includes_messages_pings_restarts_and_the_clock() -> None:
    watched = WatchdogEntry(enabled=True, host="router", interval=10, failures=1, output="OUT5")
    bench = Bench({"watchdog.0": watched, "outputs.1.on_after_start": True})
    result = try_changes(bench, SendTest("email"), Restart(), ChangeClock(int(START_WALL) + 86400))
    assert "+0 test: sends email 1 (begins)" in lines(result)
    assert any("OUT1 on" in line for line in lines(result))
    assert not any("OUT5" in line for line in lines(result))


def test_schedule_runs_on_the_days_to_come() -> None:
    bench = Bench()
    entry = ScheduleEntry(action="OUT2", value=1, time=6 * 3600, days=("Tue",), active=True)
    result = try_changes(bench, set={"schedule__0": entry}, for_s=48 * HOUR)
    assert [line for line in lines(result) if "OUT2" in line] == [
        f"+{30 * 3600} schedule 1: OUT2 on"
    ]


def test_differences_beyond_the_limit_are_counted() -> None:
    settings = {"outputs__0__periodic": True, "outputs__0__on_time": 1, "outputs__0__off_time": 1}
    result = try_changes(Bench(), set=settings, for_s=2 * HOUR)
    assert len(result.differing) == MAX_LISTED
    assert result.not_listed > 6000


@examples(20)
@given(
    st.lists(st.tuples(st.floats(0, HOUR), st.none() | st.floats(-20, 60)), max_size=20),
    st.sampled_from(["DS1", "T1", "INPA1", "INPD1"]),
)
def test_without_a_change_both_futures_are_the_same(
    course: list[tuple[float, float | None]], label: str
) -> None:
    bench = Bench({"rules": (HEAT,), "outputs.0.return_time": 7, "energy_remember": True})
    bench.switch_on("OUT1")
    values = [
        (START_WALL + after, None if value is None else (value > 0 if label == "INPD1" else value))
        for after, value in sorted(course, key=lambda item: item[0])
    ]
    result = try_changes(bench, courses={label: values})
    assert result.differing == []
    assert result.without == result.with_
