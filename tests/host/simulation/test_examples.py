"""The scenarios that come with the program do what they say."""

from pathlib import Path

import pytest

from leverframe.host.scenario import read_scenario
from leverframe.host.simulate import Simulation
from leverframe.host.simulation_report import Summary

EXAMPLES = Path(__file__).parents[3] / "examples"
HOUR_S = 3600.0


class Run:
    """An example that was lived, and what it left behind."""

    def __init__(self, simulation: Simulation, summary: Summary) -> None:
        self.values = simulation.controller.engine.values
        self.summary = summary
        entries = simulation.controller.engine.machine.journal.entries()
        self.journal = [
            (entry.wall - simulation.scenario.start, f"{entry.text}: {entry.cause}")
            for entry in entries
        ]


async def run_example(name: str, for_s: float) -> Run:
    scenario = read_scenario(EXAMPLES / name)
    simulation = await Simulation.start(scenario)
    summary = Summary(simulation.controller, scenario.record)
    await simulation.run(for_s, [summary])
    return Run(simulation, summary)


def test_every_example_is_tested_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.toml")} == {
        "greenhouse.toml",
        "tank.toml",
        "tariff.toml",
    }


@pytest.mark.thorough
async def test_greenhouse_stays_warm_and_is_lit_in_the_evening() -> None:
    run = await run_example("greenhouse.toml", 24 * HOUR_S)
    greenhouse = run.summary.track("DS1")
    assert greenhouse.low == 14
    assert greenhouse.high is not None
    assert greenhouse.high < 18.6
    assert run.values["DS1"] == pytest.approx(18, abs=0.05)
    # Holding 18 degrees at 1 degree outside takes 17 of the heater's 35 degrees.
    assert run.values["PWM0.duty"] == pytest.approx(100 * 17 / 35, abs=0.2)
    assert (18 * HOUR_S, "OUT1 on: schedule Evening") in run.journal
    assert (22.5 * HOUR_S, "OUT1 off: schedule Night") in run.journal
    assert run.summary.track("OUT1").seconds == 4.5 * HOUR_S


async def test_overflow_switch_protects_the_tank_while_its_sensor_is_broken() -> None:
    run = await run_example("tank.toml", 12 * HOUR_S)
    assert (2000.0, "OUT0 on: rule 1") in run.journal
    by_switch = [at for at, text in run.journal if text == "OUT0 off: rule 2"]
    by_level = [at for at, text in run.journal if text == "OUT0 off: rule 1"]
    # The switch takes over when the water reaches it, at 1950 mm, until the sensor is repaired.
    assert by_switch[0] == pytest.approx(2000 + (1950 - 500) / 0.4)
    assert max(by_switch) < 2.5 * HOUR_S
    assert min(by_level) >= 2.5 * HOUR_S
    assert run.summary.track("DISTANCE").low == pytest.approx(60, abs=10)


@pytest.mark.thorough
async def test_boiler_heats_by_night_and_every_kilowatt_hour_is_counted_once() -> None:
    run = await run_example("tariff.toml", 24 * HOUR_S)
    assert run.summary.track("OUT2").seconds == 8.5 * HOUR_S
    assert run.values["ENERGY1"] == pytest.approx(1.0, abs=0.002)
    assert run.values["ENERGY2"] == pytest.approx(16.0, abs=0.002)
    assert run.summary.track("POWER1").high == pytest.approx(2.0, abs=0.01)
    assert run.summary.track("INPA1").high == pytest.approx(8.7)
