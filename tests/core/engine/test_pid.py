"""The PID regulator: its formula, its limits, and how it joins and leaves a PWM output."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.calls import DrivePwm, FollowDuty
from leverframe.core.engine.journal import Cause
from leverframe.core.engine.machine import Samples
from leverframe.core.engine.portable_state import ENCODER, portable
from leverframe.core.settings import Rule

from .bench import BY_TEST, Bench

HEATER = {
    "pid.enabled": True,
    "pid.source": "DS1",
    "pid.target": 21.0,
    "pid.pwm": 2,
}


def heater(kp: int = 0, ki: int = 0, kd: int = 0, **changes: object) -> Bench:
    """A regulator whose input reads 20 °C against a target of 21 °C."""
    bench = Bench({"pid.kp": kp, "pid.ki": ki, "pid.kd": kd})
    bench.sense(DS1=20.0)
    bench.set(**{path.replace(".", "__"): value for path, value in {**HEATER, **changes}.items()})
    return bench


def duty(bench: Bench) -> float:
    return bench.engine.pwm.duty(2)


def test_regulator_that_is_off_has_no_deadline_and_changes_nothing() -> None:
    bench = Bench({**HEATER, "pid.enabled": False, "pid.kp": 1000})
    bench.sense(DS1=20.0)
    assert bench.due_in() is None
    assert bench.engine.pid.explain()["enabled"] is False


def test_coefficients_are_hundredths_and_p_is_percent_per_unit_of_error() -> None:
    assert duty(heater(kp=1234)) == pytest.approx(12.34)


def test_regulator_samples_once_a_second() -> None:
    bench = heater(kp=1000)
    assert bench.due_in() == 1
    bench.wait(0.5)
    bench.sense(DS1=19.0)
    assert duty(bench) == pytest.approx(10)
    bench.wait(0.5)
    assert duty(bench) == pytest.approx(20)
    assert bench.due_in() == 1


def test_i_grows_by_ki_per_unit_of_error_and_second() -> None:
    bench = heater(ki=250)
    assert duty(bench) == 50
    bench.wait(1)
    assert duty(bench) == pytest.approx(52.5)
    bench.wait(2)
    assert duty(bench) == pytest.approx(57.5)


def test_d_works_against_the_change_of_the_input() -> None:
    bench = heater(kp=5000, kd=1000)
    bench.sense(DS1=20.2)
    bench.wait(1)
    assert duty(bench) == pytest.approx(50 * 0.8 - 10 * 0.2)
    bench.wait(1)
    assert duty(bench) == pytest.approx(40)


def test_new_target_causes_no_kick_of_d() -> None:
    bench = heater(kp=1000, kd=10000)
    bench.set(pid__target=22.0)
    bench.wait(1)
    assert duty(bench) == pytest.approx(20)


def test_output_stays_within_0_and_100_percent() -> None:
    bench = heater(kp=100000)
    assert duty(bench) == 100
    bench.sense(DS1=22.0)
    bench.wait(1)
    assert duty(bench) == 0


def test_i_does_not_wind_up_while_the_output_is_at_a_limit() -> None:
    bench = heater(kp=2000, ki=1000)
    bench.sense(DS1=-20.0)
    bench.wait(3600)
    assert duty(bench) == 100
    bench.sense(DS1=22.0)
    bench.wait(10)
    assert duty(bench) < 50


def test_i_does_not_wind_up_at_the_lower_limit_or_with_negative_coefficients() -> None:
    bench = heater(ki=-1000)
    bench.wait(3600)
    assert duty(bench) == 0
    bench.sense(DS1=22.0)
    bench.wait(2)
    assert duty(bench) == pytest.approx(20)


def test_passing_disturbance_that_fills_the_output_does_not_empty_i() -> None:
    bench = heater(kp=2000, ki=100)
    bench.sense(DS1=-20.0)
    bench.wait(1)
    bench.sense(DS1=21.0)
    bench.wait(1)
    assert duty(bench) == pytest.approx(30)  # the I that joined the duty of 50 %: 50 - 20


def test_reading_before_enabling_does_not_count_for_d() -> None:
    bench = heater(kp=1000, kd=10000)
    bench.engine.pid.enable(False, BY_TEST)
    bench.sense(DS1=19.0)
    bench.engine.pid.enable(True, BY_TEST)
    assert duty(bench) == pytest.approx(20)


def test_enabling_leaves_the_duty_where_it_is() -> None:
    bench = heater(kp=3000, ki=100, **{"pwm.2.duty": 37})
    assert duty(bench) == pytest.approx(37)
    bench.wait(1)
    assert duty(bench) == pytest.approx(38)


def test_without_ki_the_duty_is_p_from_the_first_sample_on() -> None:
    assert duty(heater(kp=3000, **{"pwm.2.duty": 90})) == pytest.approx(30)


def test_new_coefficients_leave_the_duty_where_it_is() -> None:
    bench = heater(kp=1000, ki=100)
    bench.wait(5)
    before = duty(bench)
    bench.set(pid__kp=9000, pid__ki=1)
    assert duty(bench) == pytest.approx(before)


def test_new_target_keeps_i() -> None:
    bench = heater(ki=100)
    bench.wait(5)
    bench.set(pid__target=20.0)
    bench.wait(5)
    assert duty(bench) == pytest.approx(55)


def test_setting_of_the_duty_is_not_changed() -> None:
    bench = heater(kp=1000)
    assert bench.settings.pwm[2].duty == 50


def test_regulator_sets_the_duty_and_leaves_the_state_alone() -> None:
    bench = heater(kp=1000)
    assert bench.values["PWM2"] == 0
    bench.effects()
    bench.switch_on("PWM2")
    (drive,) = bench.effects(DrivePwm)
    assert drive.index == 2
    assert drive.level == pytest.approx(0.1)


def test_absent_input_holds_the_last_duty_and_says_so() -> None:
    bench = heater(kp=1000, ki=500)
    bench.wait(3)
    before = duty(bench)
    bench.sense(DS1=None)
    bench.wait(60)
    assert duty(bench) == before
    explanation = bench.engine.pid.explain()
    assert explanation["holding"] == "DS1 is absent"
    assert explanation["input"] is None
    assert bench.history()[-1] == "timer PID regulator: DS1 is absent: PWM2 keeps its duty"


def test_regulation_resumes_without_a_jump_of_i_or_d_when_the_input_is_back() -> None:
    bench = heater(ki=500, kd=10000)
    bench.wait(2)
    bench.sense(DS1=None)
    bench.wait(60)
    bench.sense(DS1=20.0)
    bench.wait(1)
    assert duty(bench) == pytest.approx(65)
    assert bench.engine.pid.explain()["holding"] is None
    assert bench.history()[-1] == "timer PID regulator: PWM2 is regulated again"


def test_input_that_was_never_there_holds_the_duty_from_the_start() -> None:
    bench = Bench({**HEATER, "pid.kp": 1000})
    bench.wait(10)
    assert duty(bench) == 50
    assert len([line for line in bench.history() if "keeps its duty" in line]) == 1


def test_absent_input_stops_a_moving_duty() -> None:
    bench = Bench({"pwm.2.duty": 0, "pwm.2.change_time": 10})
    bench.set(pwm__2__duty=100)
    bench.wait(3)
    bench.set(**{path.replace(".", "__"): value for path, value in HEATER.items()})
    bench.wait(30)
    assert duty(bench) == pytest.approx(30)


def test_regulator_that_ends_leaves_the_duty_at_0_after_the_change_time() -> None:
    bench = heater(kp=1000, **{"pwm.2.change_time": 4})
    bench.set(pid__enabled=False)
    assert duty(bench) == pytest.approx(10)
    bench.wait(2)
    assert duty(bench) == pytest.approx(5)
    bench.wait(2)
    assert duty(bench) == 0
    assert bench.due_in() is None


def test_duty_set_after_the_regulator_counts_even_if_unchanged() -> None:
    bench = heater(kp=1000)
    bench.set(pid__enabled=False)
    assert duty(bench) == 0
    bench.do(FollowDuty(2))
    assert duty(bench) == 50
    bench.set(pid__enabled=True)
    bench.set(pid__enabled=False)
    bench.set(pwm__2__duty=40)
    assert duty(bench) == 40


def test_new_change_time_on_the_way_to_0_leads_to_0_too() -> None:
    bench = heater(kp=1000, **{"pwm.2.change_time": 4})
    bench.set(pid__enabled=False)
    bench.wait(2)
    bench.set(pwm__2__change_time=0)
    assert duty(bench) == 0


def test_heater_stops_and_resumes_with_the_regulator_of_a_rule() -> None:
    enables = Rule(source="EVENT1", reference=1, action="ENABLE PID", enabled=True)
    bench = heater(kp=1000, **{"pid.enabled": False, "rules": (enables,)})
    bench.switch_on("EVENT1")
    bench.switch_on("PWM2")
    assert bench.pwm_pins[2] == pytest.approx(0.1)
    bench.switch_off("EVENT1")
    assert (bench.values["PWM2"], bench.pwm_pins[2]) == (1, 0.0)
    bench.switch_on("EVENT1")
    assert bench.pwm_pins[2] == pytest.approx(0.1)


def test_moving_to_another_pwm_output_releases_the_first() -> None:
    bench = heater(kp=1000)
    bench.set(pid__pwm=1)
    assert duty(bench) == 0
    assert bench.engine.pwm.duty(1) == pytest.approx(10)


def test_enabling_and_disabling_live_leaves_the_setting_alone() -> None:
    bench = heater(kp=1000, **{"pid.enabled": False})
    pid = bench.engine.pid
    pid.enable(True, BY_TEST)
    pid.enable(True, BY_TEST)
    assert duty(bench) == pytest.approx(10)
    assert bench.settings.pid.enabled is False
    pid.enable(False, BY_TEST)
    assert duty(bench) == 0
    assert bench.due_in() is None
    assert bench.history() == ["command test: PID regulator on", "command test: PID regulator off"]


def test_live_enabling_lasts_until_the_setting_changes() -> None:
    bench = heater(kp=1000)
    bench.engine.pid.enable(False, BY_TEST)
    bench.set(pid__target=22.0)
    assert bench.engine.pid.explain()["enabled"] is False
    bench.set(pid__enabled=False)
    bench.set(pid__enabled=True)
    assert bench.engine.pid.explain()["enabled"] is True


def test_setting_counts_again_after_a_restart() -> None:
    bench = heater(kp=1000)
    bench.engine.pid.enable(False, BY_TEST)
    bench.restart()
    assert bench.engine.pid.explain()["enabled"] is True


def test_explanation_shows_the_terms() -> None:
    bench = heater(kp=1000, ki=200, kd=300)
    bench.sense(DS1=20.5)
    bench.wait(1)
    explanation = bench.engine.pid.explain()
    assert dict(explanation["terms"]) == pytest.approx({"p": 5, "i": 40 + 1, "d": -1.5})
    assert explanation["duty"] == pytest.approx(5 + 41 - 1.5)
    assert (explanation["input"], explanation["target"]) == (20.5, 21.0)


def test_heated_room_reaches_its_target() -> None:
    bench = heater(kp=2000, ki=20, kd=500)
    room = 15.0
    for _ in range(3600):
        room += duty(bench) * 0.002 - (room - 10.0) * 0.01
        bench.sense(DS1=room)
        bench.wait(1)
    assert room == pytest.approx(21.0, abs=0.1)


coefficients = st.integers(-100_000, 100_000)
readings = st.none() | st.floats(-55, 125)


@given(coefficients, coefficients, coefficients, st.lists(readings, max_size=30))
def test_duty_is_a_percentage_for_any_coefficients_and_readings(
    kp: int, ki: int, kd: int, script: list[float | None]
) -> None:
    bench = heater(kp, ki, kd)
    for reading in script:
        bench.sense(DS1=reading)
        bench.wait(1)
        assert 0 <= duty(bench) <= 100
        assert bench.due_in() == 1


def wait_with_skips(bench: Bench, seconds: float) -> None:
    """Let time pass as on a virtual clock: what changes nothing is passed without a call."""
    until = bench.now + seconds
    while True:
        last = bench.engine.skip_quiet(until)
        if last is not None:
            bench.now = last
            bench.engine.machine.at = bench.at
        due = bench.engine.next_deadline()
        if due is None or due > until:
            break
        bench.wait(due - bench.now)
    bench.wait(until - bench.now)


def state(bench: Bench) -> tuple[bytes, list[object]]:
    return ENCODER.encode(portable(bench.engine)), bench.effects()


steps = st.one_of(
    st.tuples(st.just("DS1"), st.sampled_from([None, 15.0, 20.9, 21.0, 30.0])),
    st.tuples(st.just("pid__target"), st.sampled_from([10.0, 20.0, 21.0])),
    st.tuples(st.just("pid__enabled"), st.booleans()),
    st.tuples(st.just("pwm__1__duty"), st.sampled_from([0, 7, 100])),
    st.tuples(st.just("outputs__0__periodic"), st.booleans()),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.5, 1.0, 2.5, 60.0])),
)


@given(st.sampled_from([0, 500, -500]), st.sampled_from([0, 3000]), st.lists(steps, max_size=20))
def test_regulator_whose_quiet_samples_are_skipped_lives_the_same(
    kp: int, ki: int, script: list[tuple[str, object]]
) -> None:
    others = {"pwm__1__change_time": 3, "outputs__0__on_time": 2, "outputs__0__off_time": 3}
    whole, skipping = heater(kp, ki, 100, **others), heater(kp, ki, 100, **others)
    for what, value in script:
        for bench in (whole, skipping):
            if what == "DS1":
                bench.sense(DS1=value)
            elif what != "wait":
                bench.set(**{what: value})
        if what == "wait":
            assert isinstance(value, float)
            whole.wait(value)
            wait_with_skips(skipping, value)
        assert state(skipping) == state(whole)


def test_settled_regulator_has_its_samples_skipped_until_its_target_changes() -> None:
    bench = heater(kp=1000)
    bench.wait(1)
    assert bench.engine.skip_quiet(bench.now + 60) == bench.now + 60
    bench.set(pid__target=22.0)
    assert bench.engine.skip_quiet(bench.now + 60) is None


def mover(bench: Bench) -> str:
    return bench.engine.machine.mover("PWM2").detail


def test_regulator_counts_as_who_moves_an_output_that_a_hand_switched_on() -> None:
    bench = heater(kp=1000)
    assert mover(bench) == ""
    bench.switch_on("PWM2")
    assert mover(bench) == "PID regulator"
    journal = bench.engine.machine.journal.entries()
    assert [entry.text for entry in journal[-2:]] == ["PWM2 on", "PWM2 is regulated"]
    assert journal[-1].cause.after == journal[-2].number
    bench.wait(5)
    assert bench.engine.machine.journal.count == journal[-1].number


def test_switching_a_regulated_output_off_counts_as_moving_it() -> None:
    bench = heater(kp=1000)
    bench.switch_on("PWM2")
    bench.switch_off("PWM2")
    assert mover(bench) == BY_TEST.detail


def test_regulator_takes_an_output_that_is_on_and_gives_it_back() -> None:
    bench = Bench({"pid.kp": 1000, **HEATER, "pid.enabled": False})
    bench.sense(DS1=20.0)
    bench.switch_on("PWM2")
    samples = bench.engine.machine.samples = Samples()
    bench.set(pid__enabled=True)
    assert mover(bench) == "PID regulator"
    bench.set(pid__enabled=False)
    assert mover(bench) == BY_TEST.detail
    causes = [cause.detail for _, _, cause in samples if isinstance(cause, Cause)]
    assert causes == ["PID regulator", BY_TEST.detail]
