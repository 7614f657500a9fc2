"""Time windows: variables that the schedule alone switches follow the clock."""

from msgspec.structs import replace

from leverframe.core.engine.event_variables import course_of_window, windows_of
from leverframe.core.engine.timers import Moment
from leverframe.core.settings import Rule, ScheduleEntry
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


#: As the rules page writes one with a window: the variable is its second condition.
OWNER = Rule(operator="AND", source2="EVENT3", reference2=1.0)


def bench_with(
    *entries: ScheduleEntry | None, rules: tuple[Rule | None, ...] = (OWNER,), **settings: object
) -> Bench:
    schedule = (*entries, *(None,) * (50 - len(entries)))
    return Bench({"schedule": schedule, "rules": rules, **settings})


def test_window_is_open_after_a_start_in_the_middle_of_it() -> None:
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
    bench = bench_with(*night(), rules=(rule, OWNER))
    bench.set_clock(START_WALL + 23 * HOUR)
    bench._start(bench.settings)
    assert bench.history() == ["schedule Night: EVENT3 on"]


def test_window_follows_changes_of_its_entries_and_closes_with_them() -> None:
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
        (night()[:1], (OWNER,)),
        (night("OUT0"), (OWNER,)),
        (night(), (OWNER, Rule(action="EVENT3"))),
        ((*night(), ScheduleEntry("", "EVENT3", 1, 60, periodic=True, active=True)), (OWNER,)),
        ((*night(), replace(night()[0], active=False)), (OWNER,)),
        (tuple(replace(entry, name="") for entry in night()), (OWNER,)),
        ((night()[0], replace(night()[1], name="Day")), (OWNER,)),
        ((night()[0], replace(night()[1], days=WORKDAYS)), (OWNER,)),
        (night(), ()),
        (night(), (None, Rule(source="EVENT3", reference=1.0))),
        (night(), (replace(OWNER, operator="OR"),)),
    ],
)
def test_entries_not_made_by_the_page_are_no_window(
    entries: tuple[ScheduleEntry, ...], rules: tuple[Rule | None, ...]
) -> None:
    assert windows_of(bench_with(*entries, rules=rules).settings) == {}


@for_each(
    ("begin", "end", "days"),
    [(22, 6, AFTER_WORKDAYS), (6, 22, WORKDAYS), (0, 0, ("Sat",))],
)
def test_hours_of_every_form_are_a_window(begin: int, end: int, days: tuple[str, ...]) -> None:
    begins, ends = night()
    entries = replace(begins, time=begin * HOUR), replace(ends, time=end * HOUR, days=days)
    assert list(windows_of(bench_with(*entries, rules=(None, OWNER)).settings)) == ["EVENT3"]


@for_each("rules", [(), (Rule(source="EVENT3", reference=1.0, action="OUT1", enabled=True),)])
def test_weekday_entries_of_a_variable_act_only_at_their_time(
    rules: tuple[Rule, ...],
) -> None:
    bench = bench_with(rules=rules)
    bench.set_clock(START_WALL + 23 * HOUR)
    begins, ends = night()
    bench.set(schedule__4=begins, schedule__7=ends)
    assert bench.values["EVENT3"] == 0, "saved an hour after it would have begun"
    bench.switch_on("EVENT3")
    bench.set(schedule__7__time=5 * HOUR)
    assert bench.values["EVENT3"] == 1, "a change of an entry switches nothing"
    bench.wait(7 * HOUR)
    assert bench.values["EVENT3"] == 0, "at its time"
    bench.wait(16 * HOUR)
    assert bench.values["EVENT3"] == 1
    bench._start(bench.settings)
    assert bench.values["EVENT3"] == 0, "variables are 0 after a start"
    bench.switch_on("EVENT3")
    bench.set(schedule__4=None, schedule__7=None)
    assert bench.values["EVENT3"] == 1, "entries that are deleted leave it"


def test_course_of_a_window_begins_with_what_it_is() -> None:
    bench = bench_with(*night())
    edges = windows_of(bench.settings)["EVENT3"]
    first = START_WALL + 23 * HOUR
    course = course_of_window(edges, first, first + 24 * HOUR, bench.timezone)
    assert [((time - first) / HOUR, value) for time, value in course] == [(0, 1), (7, 0), (23, 1)]
