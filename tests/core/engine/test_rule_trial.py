"""Trying a rule on the past: it acts when it would have, and nothing else is touched."""

from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.lanes import Course
from leverframe.core.engine.live_rule import Firing
from leverframe.core.engine.rule_report import (
    MAX_FIRINGS,
    sources_of_trial,
    try_rule,
    turning,
    turns_of_trial,
)
from leverframe.core.profile import Profile
from leverframe.core.settings import Rule
from tests.cases import for_each
from tests.effort import examples

from .rule_bench import bench_with, rule

DAY = (1000.0, 87400.0)
NEWEST = Profile()


def run_trial(*rules: Rule, index: int = 0, **courses: Course) -> list[tuple[float, bool]]:
    firings, _ = try_rule(rules, index, courses, DAY, NEWEST)
    return [(firing.time, firing.active) for firing in firings]


def test_rule_begins_and_ceases_with_its_delays() -> None:
    warm = ((1000.0, 18.0), (2000.0, 21.0), (2001.5, 19.0), (3000.0, 22.0), (4000.0, 18.0))
    heating = rule(on_delay=3, off_delay=5)
    assert run_trial(heating, DS1=warm) == [(3003.0, True), (4005.0, False)]


def test_disabled_rule_is_tried_as_if_it_were_enabled() -> None:
    assert run_trial(rule(enabled=False), DS1=[(1000.0, 25.0)]) == [(1000.0, True)]


def test_absent_value_makes_a_rule_neither_begin_nor_cease() -> None:
    assert run_trial(rule(), DS1=[(1000.0, 25.0), (2000.0, None), (3000.0, 10.0)]) == [
        (1000.0, True),
        (3000.0, False),
    ]


def test_event_due_after_the_last_moment_has_not_happened() -> None:
    assert run_trial(rule(on_delay=10), DS1=[(87395.0, 25.0)]) == []


def test_later_or_unlabelled_readings_change_nothing() -> None:
    warm = ((1000.0, 25.0), (87401.0, 15.0))
    assert run_trial(rule(), DS1=warm, DS99=[(1000.0, 1.0)]) == [(1000.0, True)]


def test_trial_simulates_the_rule_it_depends_on_too() -> None:
    needed = rule(source="T1", action="EVENT1")
    dependent = rule(depends=21)
    courses = {"DS1": [(1000.0, 25.0)], "T1": [(1000.0, 10.0), (5000.0, 30.0), (6000.0, 10.0)]}
    rules = (needed, dependent)
    assert sources_of_trial(rules, 1) == {"DS1", "T1"}
    assert run_trial(*rules, index=1, **courses) == [(5000.0, True), (6000.0, False)]


def test_trial_ignores_recorded_values_that_the_rule_switches_itself() -> None:
    own = rule(source="OUT0", reference=1.0, operator="AND", source2="DS1", action="OUT0")
    assert sources_of_trial([own], 0) == {"DS1"}


def test_flickering_rule_does_not_fill_the_answer() -> None:
    flicker = [(1000.0 + step, 25.0 if step % 2 else 15.0) for step in range(3 * MAX_FIRINGS)]
    assert len(run_trial(rule(), DS1=flicker)) == MAX_FIRINGS


@for_each(("compare", "reference", "level"), [(">=", 1, 1), (">=", 0, 0), ("<", 1, 0), ("<", 0, 0)])
def test_digital_source_turns_a_rule_that_is_tried_between_0_and_1(
    compare: str, reference: int, level: int
) -> None:
    digital = rule(source="INPD1", compare=compare, reference=reference)
    past = [(1000.0, 1 - level), (2000.0, level), (3000.0, level), (4000.0, 1 - level)]
    course = turning(past, turns_of_trial([None, digital], 1, "INPD1"))
    assert [time for time, _ in course] == [1000.0, 2000.0, 4000.0]
    firings, _ = try_rule([None, digital], 1, {"INPD1": course}, DAY, NEWEST)
    later = [(one.time, one.active) for one in firings if one.time > DAY[0]]
    assert later == [(2000.0, True), (4000.0, False)]


STEPS = st.lists(st.tuples(st.integers(1, 20), st.sampled_from([15.0, 19.5, 20.0, 25.0, None])))


@given(steps=STEPS, delays=st.tuples(st.integers(0, 9), st.integers(0, 9)))
@examples(60)
def test_trial_finds_what_the_engine_did_with_the_same_values(
    steps: list[tuple[int, float | None]], delays: tuple[int, int]
) -> None:
    lived = rule(hysteresis=1.0, on_delay=delays[0], off_delay=delays[1])
    bench = bench_with(lived)
    start = bench.engine.machine.at.wall
    course: list[tuple[float, float | None]] = [(start, None)]
    time = start
    for wait, value in steps:
        bench.wait(wait)
        bench.sense(DS1=value)
        time += wait
        course.append((time, value))
    bench.wait(0)
    happened: list[Firing] = bench.engine.rules.firings()[0]
    found, _ = try_rule([lived], 0, {"DS1": course}, (start, time), NEWEST)
    assert found[-len(happened) :] == happened if happened else found == []
