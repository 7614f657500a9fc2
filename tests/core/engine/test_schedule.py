"""The schedule: when entries run, on clocks that change their offset, are set, or run wrong."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from leverframe.core.engine.calls import RestartController
from leverframe.core.engine.schedule_times import WEEKDAYS, next_run
from leverframe.core.engine.timers import Moment
from leverframe.core.settings import ScheduleEntry
from tests.cases import for_each

from .bench import START_WALL, Bench
from .clockwork import DAY, HOUR, MINUTE, Clockwork, at, entry

# When entries run


def test_weekday_entry_runs_at_its_time_on_its_days() -> None:
    clock = Clockwork(at("2025-06-02 12:00"), entry(days=("Mon", "Thu")))
    clock.pass_time(8 * DAY)
    assert clock.runs() == ["Thu 05.06. 06:00:00", "Mon 09.06. 06:00:00"]


def test_one_time_entry_runs_once_on_its_date() -> None:
    clock = Clockwork(at("2025-06-02 12:00"), entry(date="2025-06-11", days=()))
    clock.pass_time(30 * DAY)
    assert clock.runs() == ["Wed 11.06. 06:00:00"]
    assert clock.machine.timers.next_due is None, "nothing is planned, nothing wakes"


def test_date_wins_over_days() -> None:
    clock = Clockwork(at("2025-06-02 12:00"), entry(date="2025-06-11", days=WEEKDAYS))
    clock.pass_time(30 * DAY)
    assert clock.runs() == ["Wed 11.06. 06:00:00"]


def test_one_time_entry_whose_date_is_past_never_runs() -> None:
    clock = Clockwork(at("2025-06-02 12:00"), entry(date="2025-06-02"))
    assert clock.machine.timers.next_due is None


def test_periodic_entry_runs_at_its_period_from_midnight_on_its_days() -> None:
    periodic = entry(7 * HOUR, days=("Tue",), periodic=True)
    clock = Clockwork(at("2025-06-02 12:00"), periodic)
    clock.pass_time(3 * DAY)
    assert clock.runs() == [
        "Tue 03.06. 00:00:00",
        "Tue 03.06. 07:00:00",
        "Tue 03.06. 14:00:00",
        "Tue 03.06. 21:00:00",
    ]


def test_periodic_entry_with_a_date_repeats_on_that_date() -> None:
    periodic = entry(10 * HOUR, date="2025-06-04", periodic=True)
    clock = Clockwork(at("2025-06-02 12:00"), periodic)
    clock.pass_time(9 * DAY)
    assert clock.runs() == ["Wed 04.06. 00:00:00", "Wed 04.06. 10:00:00", "Wed 04.06. 20:00:00"]


def test_periodic_entry_without_days_runs_every_day() -> None:
    clock = Clockwork(at("2025-06-02 12:00"), entry(12 * HOUR, days=(), periodic=True))
    clock.pass_time(1.5 * DAY)
    assert clock.runs() == ["Tue 03.06. 00:00:00", "Tue 03.06. 12:00:00", "Wed 04.06. 00:00:00"]


def test_period_longer_than_a_day_restarts_at_midnight() -> None:
    clock = Clockwork(at("2025-06-02 12:00"), entry(40 * HOUR, periodic=True))
    clock.pass_time(2 * DAY)
    assert clock.runs() == ["Tue 03.06. 00:00:00", "Wed 04.06. 00:00:00"]


@for_each(
    "idle",
    [
        entry(days=()),
        entry(0, periodic=True),
        entry(active=False),
        entry(date="2025-06-01"),
        entry(date="2025-02-30"),
        entry(date="9999-12-31", periodic=True),
    ],
)
def test_entry_that_never_runs_has_no_deadline(idle: ScheduleEntry) -> None:
    clock = Clockwork(at("2025-06-02 12:00"), idle)
    assert clock.machine.timers.next_due is None


def test_idle_schedule_wakes_once_for_a_run_years_away() -> None:
    clock = Clockwork(at("2025-06-02 12:00"), entry(date="2041-03-01"))
    clock.pass_time(20 * 366 * DAY)
    assert (clock.runs(), clock.wakes) == (["Fri 01.03. 06:00:00"], 1)


def test_entries_of_one_instant_run_in_their_order() -> None:
    clock = Clockwork(at("2025-06-02 12:00"), *(entry(name=name) for name in "abc"))
    clock.pass_time(DAY)
    assert [name for _, name in clock.actuator.runs] == ["a", "b", "c"]


# The offset of local time changes


def test_time_in_the_skipped_hour_comes_at_its_end_and_once() -> None:
    clock = Clockwork(at("2025-03-29 12:00"), entry(2 * HOUR + 30 * MINUTE))
    clock.pass_time(2 * DAY)
    assert clock.runs() == ["Sun 30.03. 03:00:00", "Mon 31.03. 02:30:00"]


def test_time_in_the_repeated_hour_comes_the_first_time_and_once() -> None:
    clock = Clockwork(at("2025-10-25 12:00"), entry(2 * HOUR + 30 * MINUTE))
    clock.pass_time(2 * DAY)
    assert [wall for wall, _ in clock.actuator.runs] == [
        datetime(2025, 10, 26, 0, 30, tzinfo=UTC).timestamp(),
        datetime(2025, 10, 27, 1, 30, tzinfo=UTC).timestamp(),
    ]


@pytest.mark.parametrize(("start", "hours"), [("2025-03-30 00:00", 23), ("2025-10-26 00:00", 25)])
def test_periodic_entry_counts_real_seconds_of_a_short_and_a_long_day(
    start: str, hours: int
) -> None:
    clock = Clockwork(at(start) - 1, entry(HOUR, days=("Sun",), periodic=True))
    clock.pass_time(2 * DAY)
    times = [wall for wall, _ in clock.actuator.runs]
    assert times == [at(start) + HOUR * n for n in range(hours)]


@pytest.mark.parametrize(
    ("zone", "day", "second", "utc"),
    [
        # Half an hour is skipped, midnight is skipped, a whole day is skipped.
        ("Australia/Lord_Howe", "2025-10-05", 2 * HOUR + 600, "2025-10-04 15:30"),
        ("Africa/Cairo", "2025-04-25", 600, "2025-04-24 22:00"),
        ("Pacific/Apia", "2011-12-30", 12 * HOUR, "2011-12-30 10:00"),
    ],
)
def test_end_of_a_gap_is_found_wherever_it_is(zone: str, day: str, second: int, utc: str) -> None:
    run = next_run(entry(second, date=day), 0.0, ZoneInfo(zone))
    assert run == at(utc, UTC)


# The clock is set


def test_entry_stepped_over_by_up_to_a_minute_runs_late() -> None:
    clock = Clockwork(at("2025-06-02 05:59:50"), entry())
    clock.set_clock(at("2025-06-02 06:01:00"))
    assert clock.runs() == ["Mon 02.06. 06:01:00"]
    clock.pass_time(DAY)
    assert clock.runs()[1:] == ["Tue 03.06. 06:00:00"]


def test_entry_stepped_over_by_more_than_a_minute_does_not_run() -> None:
    clock = Clockwork(at("2025-06-02 05:00"), entry())
    clock.set_clock(at("2025-06-02 06:01:01"))
    clock.pass_time(HOUR)
    assert clock.runs() == []
    (log,) = clock.machine.journal.entries()
    assert log.text == "not run: more than a minute late"


def test_step_over_many_runs_makes_up_for_one_at_most() -> None:
    clock = Clockwork(at("2025-06-02 12:00:00"), entry(10, periodic=True))
    clock.set_clock(at("2025-06-02 13:00:05"))
    assert clock.runs() == ["Mon 02.06. 13:00:05"]
    clock.pass_time(5)
    assert clock.runs()[1:] == ["Mon 02.06. 13:00:10"]


def test_past_run_is_not_repeated_when_the_clock_is_set_back() -> None:
    clock = Clockwork(at("2025-06-02 05:00"), entry())
    clock.pass_time(2 * HOUR)
    clock.set_clock(at("2025-06-02 05:30"))
    clock.pass_time(DAY + HOUR)
    assert clock.runs() == ["Mon 02.06. 06:00:00", "Tue 03.06. 06:00:00"]


def test_skipped_entry_runs_when_the_clock_is_set_back() -> None:
    clock = Clockwork(at("2025-06-02 05:00"), entry())
    clock.set_clock(at("2025-06-02 08:00"))
    clock.set_clock(at("2025-06-02 05:30"))
    clock.pass_time(HOUR)
    assert clock.runs() == ["Mon 02.06. 06:00:00"]


def test_clock_that_was_wrong_by_years_does_not_silence_an_entry() -> None:
    clock = Clockwork(at("2030-06-03 05:00"), entry())
    clock.pass_time(2 * HOUR)
    clock.set_clock(at("2025-06-02 05:00"))
    clock.pass_time(2 * HOUR)
    assert clock.runs() == ["Mon 03.06. 06:00:00", "Mon 02.06. 06:00:00"]


def test_periodic_entry_continues_when_the_clock_is_set_back_by_hours() -> None:
    clock = Clockwork(at("2025-06-02 12:00"), entry(10 * MINUTE, periodic=True))
    clock.pass_time(10 * MINUTE)
    clock.set_clock(at("2025-06-02 05:00"))
    clock.pass_time(10 * MINUTE)
    assert clock.runs() == ["Mon 02.06. 12:10:00", "Mon 02.06. 05:10:00"]


def test_periodic_entry_does_not_repeat_a_run_after_a_small_clock_change() -> None:
    clock = Clockwork(at("2025-06-02 12:00"), entry(10 * MINUTE, periodic=True))
    clock.pass_time(10 * MINUTE)
    clock.set_clock(at("2025-06-02 12:09:58"))
    clock.pass_time(5 * MINUTE)
    assert clock.runs() == ["Mon 02.06. 12:10:00"]


def test_deadline_that_comes_early_by_the_wall_clock_waits_on() -> None:
    clock = Clockwork(at("2025-06-02 05:00"), entry())
    # The wall clock lost ten seconds without notice.
    clock.machine.at = Moment(clock.machine.at.now, clock.machine.at.wall - 10)
    clock.pass_time(HOUR)
    assert clock.runs() == []
    clock.pass_time(10)
    assert clock.runs() == ["Mon 02.06. 06:00:00"]


def test_another_time_zone_counts_from_the_moment_it_is_set() -> None:
    clock = Clockwork(at("2025-06-02 05:00"), entry())
    clock.machine.timezone = UTC
    clock.set_clock(clock.machine.at.wall)
    clock.pass_time(4 * HOUR)
    assert clock.runs(UTC) == ["Mon 02.06. 06:00:00"]


def test_engine_notifies_the_schedule_when_the_clock_was_set() -> None:
    bench = Bench({"schedule.0": entry(HOUR)})
    bench.engine.clock_changed(Moment(bench.now, START_WALL + HOUR - 10))
    assert bench.due_in() == 10


# Saving, starting, explaining


def test_entry_saved_at_its_very_time_waits_for_the_next_one() -> None:
    clock = Clockwork(at("2025-06-02 06:00"))
    clock.edit(entry())
    clock.pass_time(HOUR)
    assert clock.runs() == []


def test_edited_entry_is_rescheduled_and_the_others_keep_their_times() -> None:
    clock = Clockwork(at("2025-06-02 05:00"), entry(), entry(7 * HOUR))
    clock.edit(entry(8 * HOUR), entry(7 * HOUR))
    clock.pass_time(5 * HOUR)
    assert clock.runs() == ["Mon 02.06. 07:00:00", "Mon 02.06. 08:00:00"]
    assert [e.last_run for e in clock.schedule.explain()] == [
        at("2025-06-02 08:00"),
        at("2025-06-02 07:00"),
    ]


def test_disabled_or_removed_entry_does_not_run() -> None:
    clock = Clockwork(at("2025-06-02 05:00"), entry(), entry())
    clock.edit(entry(active=False), None)
    assert clock.machine.timers.next_due is None


def test_explanations_have_the_last_and_the_next_run_of_every_entry() -> None:
    clock = Clockwork(at("2025-06-02 05:00"), entry(), None, entry(active=False))
    clock.pass_time(2 * HOUR)
    first, third = clock.schedule.explain()
    assert (first.index, first.last_run, first.next_run) == (
        0,
        at("2025-06-02 06:00"),
        at("2025-06-03 06:00"),
    )
    assert (third.index, third.last_run, third.next_run) == (2, None, None)


@for_each("target", ["OUT5", "PWM3", "EVENT8"])
@for_each(("value", "results"), [(0, [0, 0]), (1, [1, 1]), (2, [1, 0])])
def test_value_sets_or_reverses(target: str, value: int, results: list[int]) -> None:
    bench = Bench({"schedule.0": entry(HOUR, action=target, value=value, name="lamp")})
    bench.set(output_flags__lock=True)
    seen = []
    for _ in range(2):
        bench.wait(DAY)
        seen.append(bench.values[target])
    assert seen == results
    if value == 1:
        assert f"schedule lamp: {target} on" in bench.history()


def test_unnamed_entry_is_named_by_its_number() -> None:
    bench = Bench({"schedule.7": entry(HOUR)})
    bench.wait(DAY)
    assert bench.history()[-1] == "schedule 8: OUT0 on"


def test_entry_that_restarts_the_controller_does_so_once() -> None:
    bench = Bench({"schedule.0": entry(HOUR, action="RESTART")})
    bench.wait(HOUR)
    assert bench.effects(RestartController) == [RestartController()]
    bench.restart()
    bench.wait(0)
    assert bench.effects(RestartController) == []
    assert bench.engine.schedule.explain()[0].next_run == START_WALL + DAY + HOUR
