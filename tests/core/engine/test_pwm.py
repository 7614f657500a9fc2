"""PWM0-PWM3: state, the moving duty, and the level at the pin."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.calls import OFF, ON, REVERSE, DrivePwm, SetPwmFrequency, Switch
from leverframe.core.engine.pwm import MAX_STEPS_PER_SECOND, ramp
from leverframe.core.labels import PWMS
from tests.cases import for_each

from .bench import Bench

percents = st.floats(0, 100)


def levels(bench: Bench, index: int = 0) -> list[float]:
    """What the pin was driven to since the last look."""
    return [drive.level for drive in bench.effects(DrivePwm) if drive.index == index]


# State and pin


@for_each("label", PWMS)
@for_each(
    ("before", "value", "after"),
    [(0, OFF, 0), (0, ON, 1), (0, REVERSE, 1), (1, OFF, 0), (1, ON, 1), (1, REVERSE, 0)],
)
def test_switching_sets_or_reverses_one_pwm_output(
    label: str, before: int, value: int, after: int
) -> None:
    bench = Bench()
    bench.do(Switch(label, before))
    bench.effects()
    bench.do(Switch(label, value))
    assert bench.values[label] == after
    assert all(bench.values[other] == 0 for other in PWMS if other != label)
    expected = [DrivePwm(PWMS.index(label), 0.5 * after)] if after != before else []
    assert bench.effects() == expected


@for_each(
    ("state", "active_low", "on_off_mode", "level"),
    [
        (0, False, False, 0.0),
        (1, False, False, 0.3),
        (0, True, False, 1.0),
        (1, True, False, 0.7),
        (0, False, True, 0.0),
        (1, False, True, 1.0),
        (0, True, True, 1.0),
        (1, True, True, 0.0),
    ],
)
def test_pin_follows_state_duty_mode_and_active_low(
    state: int, active_low: bool, on_off_mode: bool, level: float
) -> None:
    bench = Bench(
        {
            "pwm.2.duty": 30,
            "pwm.2.active_low": active_low,
            "pwm.2.on_off_mode": on_off_mode,
        }
    )
    bench.do(Switch("PWM2", state))
    assert levels(bench, 2)[-1] == pytest.approx(level)
    assert bench.values["PWM2"] == state


def test_changing_active_low_or_the_mode_drives_the_pin_immediately() -> None:
    bench = Bench({"pwm.0.duty": 30})
    bench.switch_on("PWM0")
    bench.effects()
    bench.set(pwm__0__active_low=True)
    bench.set(pwm__0__on_off_mode=True)
    assert levels(bench) == pytest.approx([0.7, 0.0])
    assert bench.values["PWM0"] == 1


def test_start_sets_frequencies_first_and_drives_every_pin() -> None:
    bench = Bench({"pwm_frequency": (250, 40000), "pwm.1.active_low": True})
    effects = [e for e in bench.effects() if isinstance(e, SetPwmFrequency | DrivePwm)]
    assert effects == [
        SetPwmFrequency(0, 250),
        SetPwmFrequency(1, 40000),
        DrivePwm(0, 0.0),
        DrivePwm(1, 1.0),
        DrivePwm(2, 0.0),
        DrivePwm(3, 0.0),
    ]


def test_new_frequency_is_set_for_its_group_only() -> None:
    bench = Bench()
    bench.effects()
    bench.set(pwm_frequency=(1000, 2000))
    assert bench.effects() == [SetPwmFrequency(1, 2000)]


def test_pwm_outputs_are_off_after_a_restart() -> None:
    bench = Bench()
    bench.switch_on("PWM3")
    bench.restart()
    assert bench.values["PWM3"] == 0
    assert levels(bench, 3)[-1] == 0.0


# The duty


def test_without_a_change_time_the_duty_is_new_immediately() -> None:
    bench = Bench()
    bench.switch_on("PWM0")
    bench.effects()
    bench.set(pwm__0__duty=80)
    assert bench.values["PWM0.duty"] == 80
    assert levels(bench) == [0.8]
    assert bench.due_in() is None


def test_duty_moves_in_a_straight_line_over_the_change_time() -> None:
    bench = Bench({"pwm.0.duty": 0, "pwm.0.change_time": 100})
    bench.set(pwm__0__duty=50)
    assert bench.engine.pwm.duty(0) == 0
    bench.wait(25)
    assert bench.engine.pwm.duty(0) == pytest.approx(12.5)
    bench.wait(50)
    assert bench.engine.pwm.duty(0) == pytest.approx(37.5)
    bench.wait(25)
    assert bench.engine.pwm.duty(0) == 50
    assert bench.values["PWM0.duty"] == 50
    assert bench.due_in() is None


def test_duty_also_moves_down() -> None:
    bench = Bench({"pwm.0.duty": 100, "pwm.0.change_time": 10})
    bench.set(pwm__0__duty=0)
    bench.wait(4)
    assert bench.engine.pwm.duty(0) == pytest.approx(60)
    bench.wait(6)
    assert bench.engine.pwm.duty(0) == 0


def test_new_duty_during_a_ramp_starts_from_the_present_value_and_needs_the_full_time() -> None:
    bench = Bench({"pwm.0.duty": 0, "pwm.0.change_time": 10})
    bench.set(pwm__0__duty=100)
    bench.wait(6)
    bench.set(pwm__0__duty=20)
    assert bench.engine.pwm.duty(0) == pytest.approx(60)
    bench.wait(5)
    assert bench.engine.pwm.duty(0) == pytest.approx(40)
    bench.wait(5)
    assert bench.engine.pwm.duty(0) == 20


def test_new_change_time_during_a_move_applies_to_the_rest_of_it() -> None:
    bench = Bench({"pwm.0.duty": 0, "pwm.0.change_time": 100})
    bench.set(pwm__0__duty=100)
    bench.wait(10)
    bench.set(pwm__0__change_time=30)
    assert bench.values["PWM0.duty"] == 10
    bench.wait(10)
    assert bench.engine.pwm.duty(0) == pytest.approx(40)
    bench.set(pwm__0__change_time=0)
    assert bench.values["PWM0.duty"] == 100
    assert bench.due_in() is None


def test_new_change_time_alone_moves_nothing() -> None:
    bench = Bench({"pwm.0.duty": 50, "pwm.0.change_time": 0})
    bench.set(pwm__0__change_time=30)
    assert bench.values["PWM0.duty"] == 50
    assert bench.due_in() is None


def test_moving_duty_is_shown_without_the_noise_of_computing() -> None:
    bench = Bench({"pwm.0.duty": 0, "pwm.0.change_time": 7})
    bench.set(pwm__0__duty=100)
    for _ in range(70):
        bench.wait(0.1)
        shown = bench.values["PWM0.duty"]
        assert shown == round(float(shown or 0), 9)


def test_pin_follows_in_steps_of_about_one_percent() -> None:
    bench = Bench({"pwm.0.duty": 0, "pwm.0.change_time": 60})
    bench.switch_on("PWM0")
    bench.effects()
    bench.set(pwm__0__duty=40)
    bench.wait(60)
    driven = levels(bench)
    assert len(driven) == 40
    assert all(after - before <= 0.0101 for before, after in pairwise(driven))
    assert driven[-1] == 0.4


def test_quick_move_takes_no_more_than_fifty_steps_a_second() -> None:
    bench = Bench({"pwm.0.duty": 0, "pwm.0.change_time": 1})
    bench.switch_on("PWM0")
    bench.effects()
    bench.set(pwm__0__duty=100)
    bench.wait(1)
    assert len(levels(bench)) == MAX_STEPS_PER_SECOND


def test_longest_change_time_arrives_exactly() -> None:
    bench = Bench({"pwm.0.duty": 0, "pwm.0.change_time": 2147483647})
    bench.set(pwm__0__duty=100)
    bench.wait(2147483646)
    assert 99 < bench.engine.pwm.duty(0) < 100
    bench.wait(1)
    assert bench.engine.pwm.duty(0) == 100
    assert bench.due_in() is None


def test_duty_moves_also_while_the_output_is_off() -> None:
    bench = Bench({"pwm.0.duty": 0, "pwm.0.change_time": 10})
    bench.effects()
    bench.set(pwm__0__duty=100)
    bench.wait(5)
    assert levels(bench) == []
    bench.switch_on("PWM0")
    assert levels(bench) == pytest.approx([0.5])


def test_switching_takes_no_time_even_with_a_change_time() -> None:
    bench = Bench({"pwm.0.duty": 70, "pwm.0.change_time": 10})
    bench.effects()
    bench.switch_on("PWM0")
    bench.switch_off("PWM0")
    assert levels(bench) == [0.7, 0.0]
    assert bench.due_in() is None


def test_duty_set_with_its_change_time_in_one_request_takes_that_time() -> None:
    bench = Bench({"pwm.0.duty": 0})
    bench.set(pwm__0__change_time=4, pwm__0__duty=100)
    bench.wait(2)
    assert bench.engine.pwm.duty(0) == pytest.approx(50)


def test_no_deadline_is_set_while_nothing_moves() -> None:
    bench = Bench({"pwm.0.change_time": 10})
    bench.switch_on("PWM0")
    bench.set(pwm__0__name="lamp")
    assert bench.due_in() is None


def test_present_duty_is_published_while_it_moves() -> None:
    bench = Bench({"pwm.1.duty": 0, "pwm.1.change_time": 100})
    assert bench.values["PWM1.duty"] == 0
    bench.set(pwm__1__duty=100)
    version = bench.engine.machine.version
    bench.wait(42)
    assert bench.values["PWM1.duty"] == pytest.approx(42)
    assert bench.engine.machine.version > version


# Under the regulator


def test_regulator_sets_the_duty_immediately_and_not_the_setting() -> None:
    bench = Bench({"pwm.0.change_time": 10})
    bench.engine.pwm.set_target(0, 12.5)
    assert bench.values["PWM0.duty"] == 12.5
    assert bench.settings.pwm[0].duty == 50
    assert bench.due_in() is None


def test_duty_set_while_regulated_counts_neither_then_nor_after_the_release() -> None:
    bench = Bench({"pwm.0.change_time": 10})
    bench.engine.pwm.set_target(0, 10)
    bench.set(pwm__0__duty=90)
    bench.wait(20)
    assert bench.values["PWM0.duty"] == 10
    bench.engine.pwm.release(0)
    bench.wait(5)
    assert bench.engine.pwm.duty(0) == pytest.approx(5)
    bench.wait(5)
    assert bench.engine.pwm.duty(0) == 0


def test_releasing_what_is_not_regulated_does_nothing() -> None:
    bench = Bench({"pwm.0.duty": 0, "pwm.0.change_time": 10})
    bench.set(pwm__0__duty=100)
    bench.wait(5)
    bench.engine.pwm.release(0)
    bench.wait(5)
    assert bench.engine.pwm.duty(0) == 100


# Properties of the move


@given(percents, percents, st.floats(0.001, 3e9), st.floats(0, 4e9))
def test_ramp_never_overshoots(start: float, end: float, lasts: float, elapsed: float) -> None:
    assert min(start, end) <= ramp(start, end, lasts, elapsed) <= max(start, end)


@given(percents, percents, st.floats(0.001, 3e9), st.floats(0, 1), st.floats(0, 1))
def test_ramp_never_moves_away_from_its_end(
    start: float, end: float, lasts: float, first: float, other: float
) -> None:
    early, late = sorted((first * lasts, other * lasts))
    before, after = ramp(start, end, lasts, early), ramp(start, end, lasts, late)
    assert abs(end - after) <= abs(end - before) + 1e-9


@given(percents, percents, st.floats(0.001, 3e9))
def test_ramp_goes_exactly_from_its_start_to_its_end(
    start: float, end: float, lasts: float
) -> None:
    assert ramp(start, end, lasts, 0.0) == start
    assert ramp(start, end, lasts, lasts) == end


@given(
    st.lists(
        st.tuples(st.integers(0, 100), st.integers(0, 90), st.floats(0, 60)),
        min_size=1,
        max_size=8,
    )
)
def test_duty_moves_towards_any_set_value_and_arrives(
    script: list[tuple[int, int, float]],
) -> None:
    bench = Bench()
    bench.switch_on("PWM0")
    bench.effects()
    for duty, change_time, pause in script:
        before = bench.engine.pwm.duty(0)
        bench.set(pwm__0__duty=duty, pwm__0__change_time=change_time)
        bench.wait(pause)
        for level in levels(bench):
            assert min(before, duty) - 1e-9 <= level * 100 <= max(before, duty) + 1e-9
    bench.wait(91)
    assert bench.engine.pwm.duty(0) == script[-1][0]
    assert bench.due_in() is None
