"""Findings about sensors: lost ones that answered before the start, and power-on values."""

import pytest

from leverframe.core.engine.findings import engine_findings
from leverframe.core.settings import OneWireSensor

from .bench import Bench
from .rule_bench import rule

SENSOR, OTHER = "28:FF:00:00:00:00:00:01", "28:FF:00:00:00:00:00:02"
BOUND = {"onewire.0": OneWireSensor(id=SENSOR)}


def findings(bench: Bench) -> list[str]:
    return [one.id for one in engine_findings(bench.engine, bench.at)]


def test_sensor_that_answered_before_the_start_is_lost_and_not_without_an_answer() -> None:
    bench = Bench(BOUND | {"rules": (rule(),)})
    assert findings(bench) == ["sensor_silent.DS1", "rule_waits.1.DS1"]
    bench.sense(DS1=20.0)
    assert findings(bench) == []
    bench.restart()
    assert findings(bench) == ["sensor_lost.DS1"]
    bench.sense(DS1=20.0)
    assert findings(bench) == []


def test_another_sensor_has_not_answered_although_the_former_had() -> None:
    bench = Bench(BOUND)
    bench.sense(DS1=20.0)
    bench.restart()
    bench.set(onewire__0=OneWireSensor(id=OTHER))
    bench.restart()
    assert findings(bench) == ["sensor_silent.DS1"]


@pytest.mark.parametrize(("before", "is_found"), [(None, True), (20.0, True), (84.9, False)])
def test_power_on_value_is_recognised_by_its_leap(before: float | None, is_found: bool) -> None:
    bench = Bench(BOUND | {"onewire.0.offset": 0.5})
    bench.sense(DS1=before)
    bench.sense(DS1=85.0)
    assert ("sensor_powered_up.DS1" in findings(bench)) is is_found
    bench.sense(DS1=85.1)
    assert "sensor_powered_up.DS1" not in findings(bench)


def test_sensor_that_is_lost_with_its_power_on_value_shows_none() -> None:
    bench = Bench(BOUND)
    bench.sense(DS1=85.0)
    bench.sense(DS1=None)
    assert findings(bench) == ["sensor_lost.DS1"]
