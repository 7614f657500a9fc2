"""Several rules on one output: the rule that is met decides; when no rule is met, the rule that
ended last.
"""

import pytest

from leverframe.core.engine.calls import DriveOutput, FollowSetting
from leverframe.core.settings import Rule
from tests.cases import for_each

from .bench import Bench
from .rule_bench import COOL, WARM, bench_with, rule


def by(source: str, **fields: object) -> Rule:
    """A rule that is met while an event variable is 1."""
    return rule(source=source, reference=1, **fields)


def drive_states(bench: Bench) -> list[bool]:
    return [effect.on for effect in bench.effects(DriveOutput)]


@for_each("target", ["OUT0", "PWM0", "EVENT8"])
@for_each("value", [0, 1])
def test_rule_that_ends_changes_nothing_while_another_one_is_met(target: str, value: int) -> None:
    both = [by("EVENT1", action=target, value=value), by("EVENT2", action=target, value=value)]
    for first, last in (("EVENT1", "EVENT2"), ("EVENT2", "EVENT1")):
        bench = bench_with(*both)
        bench.switch_on("EVENT1")
        bench.switch_on("EVENT2")
        bench.switch_off(first)
        assert bench.values[target] == value
        bench.switch_off(last)
        assert bench.values[target] == 1 - value


@pytest.mark.parametrize("begins_first", [True, False])
def test_rule_that_begins_beats_one_that_ends_at_the_same_instant(begins_first: bool) -> None:
    begins, ends = rule(reference=20.0), rule(compare="<", reference=20.0)
    bench = bench_with(*([begins, ends] if begins_first else [ends, begins]), DS1=COOL)
    assert bench.values["OUT0"] == 1
    bench.effects()
    bench.sense(DS1=WARM)
    assert bench.values["OUT0"] == 1
    assert drive_states(bench) == [], "the relay does not click in between"


def test_rule_whose_on_delay_runs_does_not_decide_yet() -> None:
    bench = bench_with(by("EVENT1"), by("EVENT2", on_delay=10))
    bench.switch_on("EVENT1")
    bench.switch_on("EVENT2")
    bench.switch_off("EVENT1")
    assert bench.values["OUT0"] == 0
    bench.wait(10)
    assert bench.values["OUT0"] == 1


def test_output_is_handed_over_when_the_off_delay_is_over() -> None:
    bench = bench_with(by("EVENT1", off_delay=10), by("EVENT2"))
    bench.switch_on("EVENT1")
    bench.switch_off("EVENT1")
    bench.wait(5)
    bench.switch_on("EVENT2")
    bench.wait(5)
    assert bench.values["OUT0"] == 1
    assert bench.history()[-1] == (
        "rule 1: no longer met: OUT0 remains controlled by rule 2, which is met"
    )


def test_newest_of_several_met_rules_decides() -> None:
    for order, state in ((("EVENT2", "EVENT1"), 1), (("EVENT1", "EVENT2"), 0)):
        bench = bench_with(by("EVENT1", value=1), by("EVENT2", value=0), by("EVENT3", value=1))
        for variable in (*order, "EVENT3"):
            bench.switch_on(variable)
        bench.switch_off("EVENT3")
        assert bench.values["OUT0"] == state


def test_manual_switching_in_between_stays() -> None:
    bench = bench_with(by("EVENT1"), by("EVENT2"))
    bench.switch_on("EVENT1")
    bench.switch_on("EVENT2")
    bench.switch_off("OUT0")
    bench.switch_off("EVENT2")
    assert bench.values["OUT0"] == 0


def test_rule_that_acts_only_when_it_stops_leaves_it_to_one_that_is_met() -> None:
    bench = bench_with(by("EVENT1", mode=2), by("EVENT2"))
    bench.switch_on("EVENT1")
    bench.switch_on("EVENT2")
    bench.switch_off("EVENT1")
    assert bench.values["OUT0"] == 1


@pytest.mark.parametrize("mode", [1, 2])
def test_rule_that_acts_at_one_moment_decides_nothing_afterwards(mode: int) -> None:
    bench = bench_with(by("EVENT1"), by("EVENT2", mode=mode))
    bench.switch_on("EVENT1")
    bench.switch_on("EVENT2")
    bench.switch_off("EVENT1")
    assert bench.values["OUT0"] == 0, "nothing would switch it off later"


def test_two_switches_of_one_light_reverse_it_at_every_change() -> None:
    bench = bench_with(by("EVENT1", value=2), by("EVENT2", value=2))
    seen = []
    for variable in ("EVENT1", "EVENT2", "EVENT1", "EVENT2"):
        bench.reverse(variable)
        seen.append(bench.values["OUT0"])
    assert seen == [1, 0, 1, 0]


def test_rule_that_reverses_leaves_it_to_one_that_sets() -> None:
    bench = bench_with(by("EVENT1", value=2), by("EVENT2"))
    bench.switch_on("EVENT1")
    bench.switch_on("EVENT2")
    bench.switch_off("EVENT1")
    assert bench.values["OUT0"] == 1


def test_permanent_rule_is_not_interrupted_by_one_that_ends() -> None:
    bench = bench_with(by("EVENT1", permanent=True), by("EVENT2"))
    bench.switch_on("EVENT2")
    bench.switch_on("EVENT1")
    bench.effects()
    bench.switch_off("EVENT2")
    assert drive_states(bench) == []


# Periodic switching


def blinking(*rules: Rule) -> Bench:
    bench = Bench({"rules": rules, "outputs.0.on_time": 10, "outputs.0.off_time": 10})
    bench.effects()
    return bench


@pytest.mark.parametrize("phase_s", [5, 15])
def test_periodic_switching_that_a_rule_ends_leaves_the_output_off(phase_s: int) -> None:
    bench = blinking(by("EVENT1", action="AutoSwitch OUT0"))
    bench.switch_on("EVENT1")
    bench.wait(phase_s)
    bench.switch_off("EVENT1")
    bench.wait(60)
    assert bench.values["OUT0"] == 0
    assert bench.output_pins[0] is False


def test_periodic_switching_ended_by_a_command_is_not_ended_again_by_the_rule() -> None:
    bench = blinking(by("EVENT1", action="AutoSwitch OUT0"))
    bench.switch_on("EVENT1")
    bench.do(FollowSetting("AutoSwitch OUT0"))
    bench.switch_on("OUT0")
    bench.switch_off("EVENT1")
    assert bench.values["OUT0"] == 1


def test_periodic_switching_continues_while_one_of_its_rules_is_met() -> None:
    bench = blinking(by("EVENT1", action="AutoSwitch OUT0"), by("EVENT2", action="AutoSwitch OUT0"))
    bench.switch_on("EVENT1")
    bench.switch_on("EVENT2")
    bench.switch_off("EVENT2")
    assert bench.engine.outputs.is_periodic(0)


def test_periodic_switching_that_ends_leaves_the_output_to_a_rule_that_is_met() -> None:
    bench = blinking(by("EVENT1"), by("EVENT2", action="AutoSwitch OUT0"))
    bench.switch_on("EVENT1")
    bench.switch_on("EVENT2")
    bench.wait(5)
    bench.effects()
    bench.switch_off("EVENT2")
    bench.wait(60)
    assert bench.values["OUT0"] == 1
    assert drive_states(bench) == []


def test_rule_that_ends_does_not_disturb_periodic_switching() -> None:
    bench = blinking(by("EVENT1", action="AutoSwitch OUT0"), by("EVENT2"))
    bench.switch_on("EVENT1")
    bench.switch_on("EVENT2")
    bench.switch_off("EVENT2")
    assert bench.values["OUT0"] == 1
    bench.wait(10)
    assert bench.values["OUT0"] == 0


def test_regulator_runs_while_one_of_its_rules_is_met() -> None:
    bench = bench_with(by("EVENT1", action="ENABLE PID"), by("EVENT2", action="ENABLE PID"))
    bench.switch_on("EVENT1")
    bench.switch_on("EVENT2")
    bench.switch_off("EVENT1")
    assert bench.engine.pid.explain()["enabled"]
    bench.switch_off("EVENT2")
    assert not bench.engine.pid.explain()["enabled"]
