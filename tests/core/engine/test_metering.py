"""The counter and the pulse rate alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.energy import MIN_POWER, Counter, PulseRate


def test_counter_does_not_depend_on_how_often_it_is_read() -> None:
    read_often, read_once = Counter(), Counter()
    for counter in (read_often, read_once):
        counter.set_rate(2.3, now=0.0)
    for second in range(10_000):
        read_often.value(float(second))
    assert read_often.value(2_592_000.0) == read_once.value(2_592_000.0) == 1656.0


def test_thousand_pulses_of_a_thousandth_are_one() -> None:
    counter = Counter()
    for _ in range(1000):
        counter.add_pulse(1000, now=0.0)
    assert counter.value(0.0) == 1.0


def test_pulses_of_different_meters_add_up() -> None:
    counter = Counter()
    counter.add_pulse(4, now=0.0)
    counter.add_pulse(2, now=0.0)
    assert counter.value(0.0) == 0.75


def test_negative_rate_counts_nothing() -> None:
    counter = Counter()
    counter.set_rate(-5.0, now=0.0)
    assert counter.value(3600.0) == 0.0


def test_power_is_known_from_the_second_pulse_on() -> None:
    rate = PulseRate()
    assert rate.per_hour(1000, now=0.0) == 0.0
    rate.mark(0.0)
    assert rate.per_hour(1000, now=0.0) == 0.0
    rate.mark(3.6)
    assert rate.per_hour(1000, now=3.6) == pytest.approx(1.0)


def test_power_falls_while_the_next_pulse_is_overdue() -> None:
    rate = PulseRate()
    rate.mark(0.0)
    rate.mark(3.6)
    assert rate.per_hour(1000, now=7.2) == pytest.approx(1.0)
    assert rate.per_hour(1000, now=3.6 + 36.0) == pytest.approx(0.1)


def test_power_too_small_to_show_is_none() -> None:
    rate = PulseRate()
    rate.mark(0.0)
    rate.mark(3.6)
    assert rate.per_hour(1000, now=3.6 + 7199.0) >= MIN_POWER
    assert rate.per_hour(1000, now=3.6 + 7201.0) == 0.0


def test_pulses_of_one_moment_say_nothing_about_power() -> None:
    rate = PulseRate()
    rate.mark(0.0)
    rate.mark(0.0)
    assert rate.per_hour(1000, now=0.0) == 0.0
    rate.mark(3.6)
    rate.mark(3.6)
    assert rate.per_hour(1000, now=3.6) == pytest.approx(1.0)


@given(st.floats(0.001, 1e7), st.integers(1, 100_000))
def test_overdue_pulse_is_looked_at_a_limited_number_of_times(
    interval_s: float, pulses_per_unit: int
) -> None:
    rate = PulseRate()
    rate.mark(0.0)
    rate.mark(interval_s)
    now, looks = interval_s, 0
    while rate.per_hour(pulses_per_unit, now) > 0.0:
        later = rate.next_look(now)
        assert later >= now + 0.99
        now, looks = later, looks + 1
    assert looks < 2000
