"""Outputs in another state than a met rule or the schedule wants, whatever has set them."""

from collections.abc import Callable
from typing import Any

import pytest

from leverframe.core.engine.calls import Persist, Pulse
from leverframe.core.engine.wishes import name_mover
from leverframe.core.settings import ScheduleEntry
from tests.cases import for_each

from .bench import Bench
from .rule_bench import COOL, WARM, bench_with, rule

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOUR_S = 3600


def entry(name: str, hour: float, value: int, action: str = "OUT0") -> ScheduleEntry:
    time = round(hour * HOUR_S)
    return ScheduleEntry(
        name=name, action=action, value=value, time=time, days=WEEKDAYS, active=True
    )


#: The bench starts at midnight.
MORNING, EVENING = entry("Morning", 6, 1), entry("Evening", 22, 0)


def deviations(bench: Bench) -> list[tuple[str, str, str]]:
    """Return label, state and mover of each deviation."""
    found = bench.engine.find_deviations()
    return [(one.label, one.state, name_mover(one.mover)) for one in found]


def wait_for_return(bench: Bench) -> None:
    bench.set(outputs__0__return_time=5)
    bench.wait(5)


def switch_by_schedule(bench: Bench) -> None:
    bench.set(schedule=(entry("Night", 0.01, 0),))
    bench.wait(60)


def switch_by_rule(bench: Bench) -> None:
    door = rule(source="INPD1", reference=1, mode=1, value=0, name="Door")
    bench.set(rules=(*bench.settings.rules, door))
    bench.sense(INPD1=1)


def switch_periodically(bench: Bench) -> None:
    bench.set(outputs__0__off_time=9)
    bench.set(outputs__0__periodic=True)


@for_each(
    "case",
    [
        (lambda bench: bench.switch_off("OUT0"), "manual command"),
        (wait_for_return, "return time"),
        (switch_by_schedule, "schedule entry Night"),
        (switch_by_rule, "rule Door"),
        (switch_periodically, "periodic switching"),
    ],
    ids=lambda case: case[1],
)
def test_output_that_anything_switches_against_its_rule_deviates_until_it_is_back(
    case: tuple[Callable[[Bench], Any], str],
) -> None:
    overrule, mover = case
    bench = bench_with(rule(), DS1=WARM)
    assert deviations(bench) == []
    overrule(bench)
    assert deviations(bench) == [("OUT0", "off", mover)]
    bench.switch_on("OUT0")
    assert deviations(bench) == []


def test_pulse_against_a_rule_that_keeps_an_output_off_deviates_until_it_ends() -> None:
    bench = bench_with(rule(value=0), DS1=WARM)
    bench.do(Pulse(0, 10))
    assert deviations(bench) == [("OUT0", "on", "manual command")]
    bench.wait(10)
    assert deviations(bench) == []


def test_output_deviates_from_no_rule_that_ended_or_only_starts_something() -> None:
    bench = bench_with(rule(), rule(action="OUT1", mode=1), DS1=WARM)
    bench.switch_off("OUT0")
    bench.switch_off("OUT1")
    assert deviations(bench) == [("OUT0", "off", "manual command")]
    bench.sense(DS1=COOL)
    assert deviations(bench) == []


def test_output_deviates_within_the_span_of_a_schedule_entry_alone() -> None:
    bench = Bench({"schedule": (MORNING, EVENING)})
    bench.wait(5 * HOUR_S)
    assert deviations(bench) == []
    bench.wait(2 * HOUR_S)
    bench.switch_off("OUT0")
    assert deviations(bench) == [("OUT0", "off", "manual command")]
    bench.wait(16 * HOUR_S)
    assert deviations(bench) == [], "the span has ended"
    bench.switch_on("OUT0")
    assert deviations(bench) == [], "the schedule has switched it off and keeps nothing"


def test_schedule_entry_that_no_other_ends_wants_nothing() -> None:
    bench = Bench({"schedule": (MORNING,), "outputs.0.return_time": 60})
    bench.wait(7 * HOUR_S)
    assert bench.values["OUT0"] == 0
    assert deviations(bench) == []


def test_rule_decides_before_the_schedule() -> None:
    bench = Bench({"schedule": (MORNING, EVENING), "rules": (rule(value=0),)})
    bench.wait(7 * HOUR_S)
    bench.sense(DS1=WARM)
    assert bench.values["OUT0"] == 0
    assert deviations(bench) == []


def test_pulse_gives_an_output_back_to_the_rule_that_wants_it_on() -> None:
    bench = bench_with(rule(name="Frost"), DS1=WARM)
    bench.do(Pulse(0, 10))
    assert bench.engine.outputs.returns_in(0, bench.now) is None, "it does not go off"
    bench.wait(10)
    assert bench.values["OUT0"] == 1
    assert bench.history()[-1] == "rule Frost: OUT0 stays on after the pulse"
    bench.sense(DS1=COOL)
    assert bench.values["OUT0"] == 0


def test_pulse_gives_back_an_output_that_was_off_against_its_rule() -> None:
    bench = bench_with(rule(), DS1=WARM)
    bench.switch_off("OUT0")
    bench.do(Pulse(0, 10))
    bench.wait(10)
    assert bench.values["OUT0"] == 1
    assert deviations(bench) == []


def test_pulse_within_a_span_of_the_schedule_leaves_the_output_on() -> None:
    bench = Bench({"schedule": (MORNING, EVENING)})
    bench.wait(7 * HOUR_S)
    bench.do(Pulse(0, 10))
    bench.wait(10)
    assert bench.values["OUT0"] == 1


def test_return_time_begins_when_a_pulse_gives_the_output_back() -> None:
    bench = bench_with(rule(), DS1=WARM)
    bench.set(outputs__0__return_time=60)
    bench.do(Pulse(0, 10))
    bench.wait(10)
    assert bench.engine.outputs.returns_in(0, bench.now) == 60


@pytest.mark.parametrize("is_wanted", [True, False])
def test_output_after_a_pulse_is_remembered_as_it_is(is_wanted: bool) -> None:
    bench = bench_with(rule(), DS1=WARM if is_wanted else COOL)
    bench.set(outputs__0__remember=True)
    bench.do(Pulse(0, 10))
    bench.wait(10)
    kept = [one.value for one in bench.effects(Persist) if one.name == "output.0"]
    assert kept[-1] is is_wanted
