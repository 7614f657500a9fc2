"""Schedule entries that were due while the controller was off: reported, and caught up if set."""

from collections.abc import Mapping
from typing import Any

import pytest

from leverframe.core.engine.missed_runs import MissedRun

from .bench import START_WALL, Bench
from .clockwork import DAY, HOUR, MINUTE, entry, places
from .rule_bench import rule

MORNING, EVENING = entry(6 * HOUR, name="Morning"), entry(22 * HOUR, name="Evening", value=0)
REMEMBERED = {"outputs.0.remember": True}


def bench_with(*entries: Any, **settings: Any) -> Bench:
    return Bench({"schedule": places(*entries), **settings})


def power_cut(bench: Bench, from_h: float, to_h: float, **readings: float) -> None:
    """Take the power away between two hours of the first day."""
    bench.wait(from_h * HOUR - (bench.at.wall - START_WALL))
    bench.now += (to_h - from_h) * HOUR
    bench.restart(**readings)


def list_missed(bench: Bench) -> list[tuple[str, float, bool]]:
    """Return name, hour and whether it was caught up."""
    runs: list[MissedRun] = list(bench.engine.schedule.list_missed_runs())
    return [(one.entry, (one.time - START_WALL) / HOUR, bool(one.caught_up)) for one in runs]


@pytest.mark.parametrize("catches_up", [False, True])
def test_run_missed_by_a_power_cut_is_reported_and_caught_up_if_set(catches_up: bool) -> None:
    bench = bench_with(MORNING, EVENING, schedule_catch_up=catches_up)
    power_cut(bench, 5, 8)
    assert bench.values["OUT0"] == catches_up
    assert list_missed(bench) == [("Morning", 6, catches_up)]
    explained = bench.engine.schedule.explain()[0]
    assert explained.missed == START_WALL + 6 * HOUR
    assert explained.caught_up == (START_WALL + 8 * HOUR if catches_up else None)
    bench.wait(15 * HOUR)
    assert list_missed(bench) == [], "the span is over"


def test_missed_run_is_forgotten_when_the_output_is_switched_as_it_wanted() -> None:
    bench = bench_with(MORNING, EVENING)
    power_cut(bench, 5, 8)
    bench.switch_on("OUT0")
    assert list_missed(bench) == []
    assert bench.engine.find_deviations() == []


def test_missed_end_of_a_span_switches_a_remembered_output_off() -> None:
    bench = bench_with(MORNING, EVENING, schedule_catch_up=True, **REMEMBERED)
    power_cut(bench, 21, 23)
    assert bench.values["OUT0"] == 0
    assert list_missed(bench) == [("Evening", 22, True)]


def test_missed_end_of_a_span_is_reported_while_the_output_is_still_on() -> None:
    bench = bench_with(MORNING, EVENING, **REMEMBERED)
    power_cut(bench, 21, 23)
    assert bench.values["OUT0"] == 1
    assert list_missed(bench) == [("Evening", 22, False)]
    assert bench.engine.find_deviations() == []
    bench.switch_off("OUT0")
    assert list_missed(bench) == []


def test_span_that_passed_while_the_controller_was_off_is_reported_and_not_caught_up() -> None:
    bench = bench_with(MORNING, entry(7 * HOUR, value=0), schedule_catch_up=True)
    power_cut(bench, 5, 8)
    assert bench.values["OUT0"] == 0
    assert list_missed(bench) == [("Morning", 6, False)]
    bench.wait(DAY)
    assert list_missed(bench) == []


def test_power_cut_within_a_span_misses_no_run_and_leaves_the_output_off_against_it() -> None:
    bench = bench_with(MORNING, EVENING)
    power_cut(bench, 8, 9)
    assert list_missed(bench) == []
    (deviation,) = bench.engine.find_deviations()
    assert (deviation.label, deviation.mover.kind) == ("OUT0", "start")


def test_span_continues_after_a_power_cut_within_it_if_runs_are_caught_up() -> None:
    bench = bench_with(MORNING, EVENING, schedule_catch_up=True)
    power_cut(bench, 8, 9)
    assert bench.values["OUT0"] == 1
    assert (list_missed(bench), bench.engine.find_deviations()) == ([], [])


@pytest.mark.parametrize("settings", [{}, {"schedule_catch_up": True}], ids=["reported", "caught"])
def test_start_without_a_missed_run_changes_and_reports_nothing(
    settings: Mapping[str, Any],
) -> None:
    bench = bench_with(MORNING, EVENING, **settings)
    power_cut(bench, 1, 2)
    assert (list_missed(bench), bench.values["OUT0"]) == ([], 0)
    power_cut(bench, 22.5, 23)
    assert (list_missed(bench), bench.values["OUT0"]) == ([], 0)


def test_entry_saved_after_its_time_was_not_missed() -> None:
    bench = bench_with(schedule_catch_up=True)
    bench.wait(8 * HOUR)
    bench.set(schedule=places(MORNING, EVENING))
    power_cut(bench, 9, 10)
    assert (list_missed(bench), bench.values["OUT0"]) == ([], 0)


def test_output_that_a_rule_keeps_is_left_to_the_rule() -> None:
    dark = rule(source="INPD1", reference=1, value=0)
    bench = bench_with(MORNING, EVENING, schedule_catch_up=True, rules=(dark,))
    power_cut(bench, 5, 8, INPD1=1)
    assert bench.values["OUT0"] == 0


def test_entry_without_an_end_is_caught_up_for_a_day() -> None:
    days = ("Mon",)
    bench = bench_with(entry(6 * HOUR, days=days), schedule_catch_up=True)
    power_cut(bench, 5, 7)
    assert bench.values["OUT0"] == 1
    bench = bench_with(entry(6 * HOUR, days=days), schedule_catch_up=True)
    power_cut(bench, 5, 31)
    assert bench.values["OUT0"] == 0


def test_controller_without_a_clock_looks_back_when_the_clock_is_set() -> None:
    bench = bench_with(MORNING, EVENING, schedule_catch_up=True)
    bench.wait(5 * HOUR)
    noon = START_WALL + 12 * HOUR
    bench.set_clock(1000.0)
    bench.restart()
    bench.wait(MINUTE)
    assert (list_missed(bench), bench.values["OUT0"]) == ([], 0)
    bench.set_clock(noon)
    assert list_missed(bench) == [("Morning", 6, True)]
    assert bench.values["OUT0"] == 1


def test_last_runs_are_known_after_a_restart() -> None:
    bench = bench_with(MORNING, EVENING)
    power_cut(bench, 7, 8)
    assert bench.engine.schedule.explain()[0].last_run == START_WALL + 6 * HOUR


def test_restart_by_the_schedule_or_a_periodic_entry_misses_nothing() -> None:
    every_hour = entry(HOUR, periodic=True)
    bench = bench_with(every_hour, entry(3 * HOUR, action="RESTART"), schedule_catch_up=True)
    power_cut(bench, 2.5, 4.5)
    assert (list_missed(bench), bench.values["OUT0"]) == ([], 0)


def test_missed_run_that_would_change_nothing_is_not_caught_up_at_a_later_start() -> None:
    bench = bench_with(MORNING, EVENING, schedule_catch_up=True, **REMEMBERED)
    bench.wait(7 * HOUR)
    bench.switch_off("OUT0")
    power_cut(bench, 21, 22.5)
    assert list_missed(bench) == []
    bench.switch_on("OUT0")
    power_cut(bench, 23, 23.5)
    assert bench.values["OUT0"] == 1


def test_entry_with_an_invalid_date_stops_no_start() -> None:
    bench = bench_with(entry(6 * HOUR, date="2026-02-30"))
    power_cut(bench, 5, 8)
    assert list_missed(bench) == []
