"""The engine over days and years: nothing piles up, and no clock reading wears it out."""

import gc
import tracemalloc

import pytest

from leverframe.core.engine.engine import Engine
from leverframe.core.engine.timers import Moment
from leverframe.core.profile import Profile
from leverframe.core.settings import ScheduleEntry
from leverframe.core.tree import defaults
from tests.cases import for_each

from .bench import START_NOW, START_WALL, Bench
from .rule_bench import rule

DAY_S = 86400.0
YEAR_S = 365.25 * DAY_S


BUSY = {
    "outputs.0.periodic": True,
    "outputs.0.on_time": 170,
    "outputs.0.off_time": 190,
    "outputs.1.return_time": 30,
    "oled.enabled": True,
    "oled.display_time": 20,
    "pwm.0.change_time": 600,
    "power.0.current": "m1",
    "energy_remember": True,
    "rules": (
        rule(source="OUT0", reference=1, action="OUT1", on_delay=5, off_delay=7),
        rule(source="OUT1", reference=1, action="OLED ON/NEXT SCREEN"),
    ),
    "schedule.0": ScheduleEntry(
        action="PWM0", value=2, time=900, days=("Mon", "Wed", "Sun"), active=True
    ),
}


def test_thirty_days_leave_no_deadlines_behind() -> None:
    bench = Bench(BUSY)
    timers = bench.engine.machine.timers
    for day in range(30):
        bench.set(pwm__0__duty=(day * 37) % 101)
        bench.wait(DAY_S)
        bench.effects()
        assert len(timers) <= 10
        assert len(timers._heap) <= 40
    assert len(bench.engine.machine.journal.entries()) == 500
    assert bench.values["OUT0"] == 1  # 30 days are 7200 cycles of 360 s
    assert bench.engine.uptime(bench.at) == 30 * DAY_S


def test_hour_of_regulation_leaves_one_deadline() -> None:
    bench = Bench({"pid.enabled": True, "pid.kp": 100})
    bench.wait(3600)
    assert len(bench.engine.machine.timers) == 1
    assert bench.engine.next_deadline() == START_NOW + 3601


@for_each("now", [0.0, 10 * YEAR_S, 1e10, 2.0**40])
def test_engine_works_the_same_whatever_the_monotonic_clock_shows(now: float) -> None:
    bench = Bench({**BUSY, "pid.enabled": True, "pid.pwm": 1}, now=now)
    bench.set(pwm__0__duty=75)
    bench.wait(50)
    assert bench.engine.pwm.duty(0) == pytest.approx(50 + 25 * 50 / 600, abs=0.01)
    bench.wait(125)
    assert [bench.values["OUT0"], bench.values["OUT1"]] == [0, 0]
    assert bench.engine.uptime(bench.at) == 175


def test_ten_years_of_uptime_do_not_wear_delays_out() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.wait(10 * YEAR_S)
    assert bench.engine.uptime(bench.at) == 10 * YEAR_S
    bench.switch_on("OUT0")
    bench.wait(4.99)
    assert bench.values["OUT0"] == 1
    bench.wait(0.01)
    assert bench.values["OUT0"] == 0


def test_idle_controller_takes_little_memory() -> None:
    profile = Profile()
    settings = defaults(profile)

    def build_engine() -> Engine:
        engine = Engine(profile, settings)
        engine.start(Moment(0.0, START_WALL))
        return engine

    build_engine()
    gc.collect()
    tracemalloc.start()
    try:
        fleet = [build_engine() for _ in range(50)]
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / len(fleet) < 40_000
