"""Lanes of the timeline: bars without gap or overlap, each with the cause of its beginning."""

from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.calls import ON, Pulse, Switch
from leverframe.core.engine.journal import Cause
from leverframe.core.engine.lanes import FINEST, Bar, bars_of, foresee, lane_rule
from leverframe.core.engine.machine import (
    ANOTHER_RULE,
    CAUSE_TRACES,
    MESSAGE_TRACE,
    RULE_TRACES,
    Samples,
    Traced,
    Value,
    export_state,
)
from leverframe.core.settings import Rule, ScheduleEntry

from .bench import START_WALL, Bench

HOUR = 3600.0
FIRST, LAST = 1000.0, 2000.0
HAND, RULE = Cause("command", "admin"), Cause("rule", "1")
HEAT = Rule(source="DS1", compare="<", reference=20, hysteresis=2, action="OUT0", enabled=True)
FAN = Rule(source="DS1", compare=">=", reference=30, action="OUT1", enabled=True)
MAIL = Rule(source="DS1", compare=">=", reference=40, action="eMail 1", enabled=True)

#: Times within and around what is asked for, and values that hold from then on.
changes = st.lists(
    st.tuples(
        st.floats(FIRST - 500, LAST + 500, allow_nan=False),
        st.sampled_from([0, 1, None]),
        st.sampled_from([HAND, RULE]),
    ),
    max_size=40,
).map(lambda one: sorted(one, key=lambda change: change[0]))


def state_at(course: list[tuple[float, Value, Cause]], time: float) -> tuple[Value, Cause | None]:
    """What held, found without bars."""
    held = [(value, cause) for at, value, cause in course if at <= time]
    value, cause = held[-1] if held else (None, None)
    return value, None if value is None else cause


@given(changes)
def test_bars_cover_the_time_without_gap_or_overlap_and_name_their_causes(
    course: list[tuple[float, Value, Cause]],
) -> None:
    values = [(time, value) for time, value, _ in course]
    causes = [(time, cause) for time, _, cause in course]
    bars = bars_of(values, causes, FIRST, LAST)
    assert (bars[0].begin, bars[-1].end) == (FIRST, LAST)
    assert all(one.end == other.begin for one, other in zip(bars, bars[1:], strict=False))
    assert all(bar.begin < bar.end for bar in bars)
    assert len(bars) <= 2 / FINEST + 1
    for bar in bars:
        if bar.count == 1:
            for time in (bar.begin, (bar.begin + bar.end) / 2):
                assert (bar.value, bar.cause) == state_at(course, time)
        else:
            assert bar.end - bar.begin <= 2 * (LAST - FIRST) * FINEST


def test_lane_that_chatters_is_drawn_together_and_a_short_pulse_is_not() -> None:
    chatter: list[tuple[float, Value]] = [(FIRST + n / 100, n % 2) for n in range(1, 10_001)]
    bars = bars_of([(FIRST, 0), *chatter, (1500.0, 1), (1500.2, 0)], [], FIRST, LAST)
    assert len(bars) < 300
    assert sum(bar.count for bar in bars) == 10_003
    assert Bar(1500.0, 1500.2, 1) in bars


def test_unrecorded_time_is_unknown() -> None:
    assert bars_of([], [], FIRST, LAST) == [Bar(FIRST, LAST, None)]
    assert bars_of([(1500.0, 1)], [(1500.0, HAND)], FIRST, LAST) == [
        Bar(FIRST, 1500.0, None),
        Bar(1500.0, LAST, 1, HAND),
    ]


# --- what the engine records ----------------------------------------------------------------------


def record_rules(bench: Bench) -> list[Traced]:
    samples = bench.engine.machine.samples = Samples()
    return samples


def of(samples: list[Traced], label: str) -> list[tuple[float, object]]:
    return [(time - START_WALL, value) for time, one, value in samples if one == label]


def texts(samples: list[Traced], label: str) -> list[tuple[float, str]]:
    return [(time, str(value)) for time, value in of(samples, label)]


def test_each_switching_is_recorded_with_its_cause() -> None:
    bench = Bench({"rules": (HEAT,), "outputs.1.return_time": 60})
    samples = record_rules(bench)
    bench.sense(DS1=19.0)
    bench.switch_on("OUT1")
    bench.wait(100)
    assert texts(samples, CAUSE_TRACES["OUT0"]) == [(0, "rule 1")]
    assert texts(samples, CAUSE_TRACES["OUT1"]) == [
        (0, "command test"),
        (60, "timer return time"),
    ]
    assert of(samples, RULE_TRACES[0]) == [(0, 1)]


def test_each_message_is_recorded_also_when_it_is_the_same_again() -> None:
    bench = Bench({"rules": (MAIL,), "email.on_texts": ("Hot", "", "", "")})
    samples = record_rules(bench)
    for celsius in (41.0, 39.0, 41.0):
        bench.sense(DS1=celsius)
        bench.wait(1)
    sent = [(at, message) for at, message in of(samples, MESSAGE_TRACE) if message is not None]
    # Between the two no text was to be shown, that is nothing at all.
    assert [at for at, _ in sent] == [0, 2]
    assert sum(message is None for _, message in of(samples, MESSAGE_TRACE)) == len(sent)


def test_places_of_rules_that_moved_are_listed() -> None:
    bench = Bench({"rules": (HEAT, FAN, MAIL)})
    samples = record_rules(bench)
    bench.set(rules=(FAN, MAIL))
    assert [of(samples, trace)[0][1] for trace in RULE_TRACES[:3]] == [ANOTHER_RULE] * 3
    samples.clear()
    bench.set(rules__0__reference=31.0)
    assert ANOTHER_RULE not in [value for _, _, value in samples]


# --- what is to come ------------------------------------------------------------------------------


def test_return_times_pulses_and_the_schedule_are_planned() -> None:
    lamp = ScheduleEntry("lamp", "OUT2", 1, time=7200, days=("Mon",), active=True)
    bench = Bench({"outputs.0.return_time": 600, "schedule": (lamp,)})
    bench.do(Switch("OUT0", ON), Pulse(1, 30))
    ahead = foresee(export_state(bench.engine), bench.at, START_WALL + 3 * HOUR)
    assert of(ahead, "OUT0") == [(600, 0)]
    assert of(ahead, "OUT1") == [(30, 0)]
    assert of(ahead, "OUT2") == [(7200, 1)]
    assert texts(ahead, CAUSE_TRACES["OUT2"]) == [(7200, "schedule lamp")]
    assert foresee(export_state(bench.engine), bench.at, START_WALL + 10) == []
    assert bench.values["OUT0"] == 1


def test_looking_ahead_ends_also_where_something_is_always_due() -> None:
    bench = Bench({"outputs.0.on_time": 1, "outputs.0.off_time": 1, "outputs.0.periodic": True})
    ahead = foresee(export_state(bench.engine), bench.at, START_WALL + 1000 * HOUR)
    assert 1000 < len(of(ahead, "OUT0")) < 10_000


def test_rule_has_the_numbers_of_its_changes() -> None:
    heating_rule = lane_rule(3, HEAT)
    assert (heating_rule.number, heating_rule.action, heating_rule.operator) == (3, "OUT0", "-")
    (condition,) = heating_rule.conditions
    assert (condition.label, condition.compare) == ("DS1", "<")
    assert (condition.reference, condition.ends) == (20, 22)
