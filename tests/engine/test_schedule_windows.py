"""Time windows: variables that the schedule alone switches follow the clock."""

from leverframe.engine.moment import Moment
from leverframe.engine.schedule_windows import course_of_window, windows_of
from leverframe.engine.settings import Rule, ScheduleEntry
from tests.cases import for_each

from .bench import START_WALL, Bench

HOUR = 3600
WORKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri")
AFTER_WORKDAYS = ("Tue", "Wed", "Thu", "Fri", "Sat")


def night(label: str = "EVENT3") -> tuple[ScheduleEntry, ScheduleEntry]:
    """From 22 to 6 o'clock, in the nights that begin on a working day."""
    begins = ScheduleEntry("Night", label, 1, 22 * HOUR, None, WORKDAYS, active=True)
    ends = ScheduleEntry("Night", label, 0, 6 * HOUR, None, AFTER_WORKDAYS, active=True)
    return begins, ends


def bench_with(*entries: ScheduleEntry | None, **settings: object) -> Bench:
    return Bench({"schedule": (*entries, *(None,) * (50 - len(entries))), **settings})


def test_a_window_is_open_after_a_start_in_the_middle_of_it() -> None:
    bench = bench_with(*night())
    # The controller starts on Monday at midnight; Sunday's night does not count.
    assert bench.values["EVENT3"] == 0
    bench.set_clock(START_WALL + 23 * HOUR)
    assert bench.values["EVENT3"] == 1
    settings, kept = bench.settings, bench.at
    assert kept == Moment(bench.now, START_WALL + 23 * HOUR)
    bench._start(settings)
    assert bench.values["EVENT3"] == 1
    bench.wait(7 * HOUR)
    assert bench.values["EVENT3"] == 0


def test_no_rule_acts_at_a_start_against_a_window_that_is_open() -> None:
    rule = Rule(source="EVENT3", reference=0, action="OUT0", enabled=True)
    bench = bench_with(*night(), rules=(rule,))
    bench.set_clock(START_WALL + 23 * HOUR)
    bench._start(bench.settings)
    assert bench.history() == ["schedule Night: EVENT3 on"]


def test_a_window_follows_its_entries_when_they_change_and_closes_when_they_go() -> None:
    bench = bench_with()
    bench.set_clock(START_WALL + 23 * HOUR)
    begins, ends = night()
    bench.set(schedule__4=begins, schedule__7=ends)
    assert bench.values["EVENT3"] == 1
    bench.switch_off("EVENT3")
    bench.set(outputs__0__name="Pump")
    assert bench.values["EVENT3"] == 0, "who switches it by hand has it so until the next edge"
    bench.set(schedule__7__time=7 * HOUR)
    assert bench.values["EVENT3"] == 1
    bench.set(schedule__4=None, schedule__7=None)
    assert bench.values["EVENT3"] == 0


@for_each(
    ("entries", "rules"),
    [
        (night()[:1], ()),
        (night("OUT0"), ()),
        (night(), (Rule(action="EVENT3"),)),
        ((*night(), ScheduleEntry("", "EVENT3", 1, 60, periodic=True, active=True)), ()),
    ],
)
def test_what_others_switch_too_is_no_window(
    entries: tuple[ScheduleEntry, ...], rules: tuple[Rule, ...]
) -> None:
    assert windows_of(bench_with(*entries, rules=rules).settings) == {}


def test_the_course_of_a_window_begins_with_what_it_is() -> None:
    bench = bench_with(*night())
    edges = windows_of(bench.settings)["EVENT3"]
    first = START_WALL + 23 * HOUR
    course = course_of_window(edges, first, first + 24 * HOUR, bench.timezone)
    assert [((time - first) / HOUR, value) for time, value in course] == [(0, 1), (7, 0), (23, 1)]
