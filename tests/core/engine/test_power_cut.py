"""Stories of a power cut: outputs that remember their state, and who switches them afterwards."""

import pytest

from leverframe.core.engine.calls import DriveOutput, Persist
from leverframe.core.engine.rules import CONFIRMED_WITHIN_S
from leverframe.core.settings import Rule, WatchdogEntry

from .bench import Bench
from .rule_bench import COOL, WARM, rule


def heating(**fields: object) -> Rule:
    """Below 20 °C it heats, up to 22 °C."""
    return rule(compare="<", reference=20.0, hysteresis=2.0, **fields)


def bench_with(*rules: Rule, **settings: object) -> Bench:
    return Bench({"outputs.0.remember": True, "rules": rules, **settings})


def power_cut(bench: Bench, **readings: float) -> None:
    """Off, and on again a while later; the first readings come with the start, or later."""
    bench.now += 600
    bench.effects()
    bench.restart(**readings)


def test_heater_that_is_remembered_goes_off_when_its_rule_is_no_longer_met() -> None:
    bench = bench_with(heating(), **{"outputs.0.return_time": 0})
    bench.sense(DS1=COOL)
    power_cut(bench)
    assert bench.values["OUT0"] == 1, "remembered, and nothing newer is known yet"
    bench.wait(2)
    bench.sense(DS1=WARM)
    assert bench.values["OUT0"] == 0


def test_heater_whose_rule_is_not_met_at_the_start_is_never_driven() -> None:
    bench = bench_with(rule(source="TEMP", compare="<", reference=20.0))
    bench.sense(TEMP=COOL)
    power_cut(bench, TEMP=WARM)
    assert bench.values["OUT0"] == 0
    assert [e for e in bench.effects(DriveOutput) if e.index == 0] == [DriveOutput(0, False)]


def test_heater_resumes_within_its_hysteresis() -> None:
    bench = bench_with(heating())
    bench.sense(DS1=COOL)
    bench.sense(DS1=21.0)
    power_cut(bench)
    bench.sense(DS1=21.5)
    assert bench.values["OUT0"] == 1
    bench.sense(DS1=22.0)
    assert bench.values["OUT0"] == 0


def test_off_delay_counts_from_the_start_if_it_was_running() -> None:
    bench = bench_with(heating(off_delay=30))
    bench.sense(DS1=COOL)
    bench.sense(DS1=WARM)
    power_cut(bench)
    bench.sense(DS1=WARM)
    assert (bench.values["OUT0"], bench.due_in()) == (1, 30)
    bench.wait(30)
    assert bench.values["OUT0"] == 0


def test_output_that_a_person_switched_is_left_alone() -> None:
    bench = bench_with(heating())
    bench.sense(DS1=WARM)
    bench.switch_on("OUT0")
    power_cut(bench)
    bench.sense(DS1=WARM)
    bench.wait(CONFIRMED_WITHIN_S)
    assert bench.values["OUT0"] == 1


def test_rule_whose_output_was_switched_by_hand_starts_as_not_met() -> None:
    bench = bench_with(heating())
    bench.sense(DS1=COOL)
    bench.switch_off("OUT0")
    power_cut(bench)
    assert bench.values["OUT0"] == 0
    bench.sense(DS1=COOL)
    assert bench.values["OUT0"] == 1, "rules that are met act at the start"


def test_rule_that_has_reversed_does_not_reverse_again() -> None:
    bench = bench_with(rule(source="INPD1", reference=1, value=2))
    bench.sense(INPD1=1)
    assert bench.values["OUT0"] == 1
    power_cut(bench, INPD1=1)
    assert bench.values["OUT0"] == 1
    bench.sense(INPD1=0)
    assert bench.values["OUT0"] == 0


def test_rule_that_acts_only_when_it_starts_undoes_nothing() -> None:
    bench = bench_with(heating(mode=1))
    bench.sense(DS1=COOL)
    power_cut(bench)
    bench.sense(DS1=WARM)
    bench.wait(CONFIRMED_WITHIN_S)
    assert bench.values["OUT0"] == 1


def test_heater_whose_sensor_does_not_come_back_goes_off_after_a_minute() -> None:
    bench = bench_with(heating())
    bench.sense(DS1=COOL)
    power_cut(bench)
    bench.wait(CONFIRMED_WITHIN_S - 1)
    assert bench.values["OUT0"] == 1
    bench.wait(1)
    assert bench.values["OUT0"] == 0
    assert bench.history()[-2:] == [
        "rule 1: DS1 unknown 60 s after startup: the rule counts as not met",
        "rule 1: OUT0 off",
    ]
    bench.sense(DS1=21.0)
    assert bench.values["OUT0"] == 0, "judged from scratch"


def test_overheated_heater_stays_off_if_its_sensor_does_not_return() -> None:
    bench = bench_with(rule(reference=80.0, value=0))
    bench.sense(DS1=90.0)
    power_cut(bench)
    bench.wait(2 * CONFIRMED_WITHIN_S)
    assert bench.values["OUT0"] == 0
    bench.sense(DS1=70.0)
    assert bench.values["OUT0"] == 1


def test_sensor_that_came_back_and_left_again_is_judged_as_ever() -> None:
    bench = bench_with(heating())
    bench.sense(DS1=COOL)
    power_cut(bench)
    bench.sense(DS1=COOL)
    bench.sense(DS1=None)
    bench.wait(2 * CONFIRMED_WITHIN_S)
    assert bench.values["OUT0"] == 1


def test_dependents_of_a_rule_whose_sensor_does_not_return_follow() -> None:
    follows = rule(source="TEMP", depends=21, action="OUT1")
    bench = bench_with(heating(), follows)
    bench.sense(DS1=COOL, TEMP=WARM)
    power_cut(bench, TEMP=WARM)
    assert bench.values["OUT1"] == 1
    bench.wait(CONFIRMED_WITHIN_S)
    assert bench.values["OUT1"] == 0


@pytest.mark.parametrize("operator", ["OR", "XOR", "NAND"])
def test_two_conditions_of_which_one_held_are_judged_from_scratch(operator: str) -> None:
    either = heating(operator=operator, source2="TEMP", compare2=">=", reference2=50.0)
    bench = bench_with(either)
    bench.sense(DS1=COOL, TEMP=20.0)
    assert bench.values["OUT0"] == 1
    power_cut(bench)
    bench.sense(DS1=WARM, TEMP=60.0 if operator == "NAND" else 20.0)
    assert bench.values["OUT0"] == (1 if operator == "NAND" else 0)


def test_met_rule_decides_of_two_that_had_switched_an_output() -> None:
    bench = bench_with(heating(), rule(source="DS2", compare="<", reference=20.0))
    bench.sense(DS1=COOL, DS2=COOL)
    power_cut(bench)
    bench.sense(DS1=WARM, DS2=COOL)
    assert bench.values["OUT0"] == 1
    bench.sense(DS2=WARM)
    assert bench.values["OUT0"] == 0


def test_rule_that_moved_or_was_edited_is_still_the_one_that_switched() -> None:
    bench = bench_with(rule(reference=99.0, action="OUT1"), heating())
    bench.sense(DS1=COOL)
    bench.set(rules=bench.settings.rules[1:])
    bench.set(rules__0__reference=19.0)
    power_cut(bench)
    bench.sense(DS1=WARM)
    assert bench.values["OUT0"] == 0


def test_edit_before_the_sensor_is_back_changes_nothing_about_the_minute() -> None:
    bench = bench_with(heating())
    bench.sense(DS1=COOL)
    power_cut(bench)
    bench.set(rules__0__reference=19.0)
    bench.wait(CONFIRMED_WITHIN_S)
    assert bench.values["OUT0"] == 0


def test_nothing_is_stored_of_rules_whose_output_does_not_remember() -> None:
    bench = bench_with(heating(action="OUT1"), heating(action="PWM0"), heating(action="HTTP1"))
    bench.effects()
    bench.sense(DS1=COOL)
    assert bench.effects(Persist) == []


def test_stored_state_follows_the_rule_and_the_flag_of_the_output() -> None:
    bench = bench_with(heating())
    bench.sense(DS1=COOL)
    assert bench.kept["rule.0"] == 1
    bench.sense(DS1=WARM)
    assert bench.kept["rule.0"] is None
    bench.sense(DS1=COOL)
    bench.set(outputs__0__remember=False)
    assert bench.kept["rule.0"] is None
    bench.set(outputs__0__remember=True)
    assert bench.kept["rule.0"] == 1
    bench.set(rules=())
    assert bench.kept["rule.0"] is None


def test_state_that_is_stored_of_a_disabled_rule_is_forgotten() -> None:
    bench = Bench(
        {"outputs.0.remember": True, "rules": (heating(enabled=False),)},
        remembered={"output.0": True, "rule.0": 1},
    )
    assert (bench.values["OUT0"], bench.kept["rule.0"]) == (1, None)


# Others than rules


def test_output_that_a_rule_switches_periodically_is_remembered_as_off() -> None:
    blinking = rule(action="AutoSwitch OUT0")
    bench = bench_with(blinking, **{"outputs.0.on_time": 10, "outputs.0.off_time": 10})
    bench.switch_on("OUT0")
    bench.sense(DS1=WARM)
    bench.wait(25)
    assert bench.values["OUT0"] == 1
    power_cut(bench)
    assert bench.values["OUT0"] == 0, "or nothing would switch it off"
    bench.sense(DS1=WARM)
    assert bench.values["OUT0"] == 1


def test_periodic_switching_that_is_set_is_remembered_with_its_phase() -> None:
    bench = bench_with(**{"outputs.0.on_time": 10, "outputs.0.off_time": 10})
    bench.set(outputs__0__periodic=True)
    assert bench.kept["output.0"] is True
    bench.set(outputs__0__periodic=False)
    power_cut(bench)
    assert bench.values["OUT0"] == 1


def test_output_that_the_watchdog_restarts_comes_back_in_its_own_state() -> None:
    modem = WatchdogEntry(
        enabled=True, output="OUT0", host="router", failures=1, interval=60, delay=0, length=10
    )
    bench = bench_with(**{"watchdog.0": modem})
    bench.switch_on("OUT0")
    bench.answer_ping(0, None)
    assert bench.values["OUT0"] == 0
    power_cut(bench)
    assert bench.values["OUT0"] == 1
