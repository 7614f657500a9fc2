"""PULSE OUT0 to PULSE OUT5: outputs that a rule switches on for a while."""

from leverframe.core.engine.rule_report import report

from .rule_bench import COOL, WARM, bench_with, rule


def test_rule_switches_an_output_on_for_its_delay_of_ceasing() -> None:
    bench = bench_with(rule(action="PULSE OUT3", off_delay=10), DS1=COOL)
    bench.set(outputs__3__return_time=600)
    said = report(bench.settings.rules[0], bench.engine.rules.explain()[0], [], [], str, None)
    assert said.when_met is not None
    assert said.when_met.text == "OUT3 on for 10 s"
    assert said.when_ceasing is None
    bench.sense(DS1=WARM)
    assert bench.values["OUT3"] == 1
    assert bench.engine.outputs.returns_in(3, bench.now) == 10
    bench.sense(DS1=COOL)
    assert bench.values["OUT3"] == 1, "ceasing undoes nothing"
    bench.wait(10)
    assert bench.values["OUT3"] == 0
    assert bench.settings.outputs[3].return_time == 600


def test_pulse_by_a_rule_of_no_time_lasts_a_second() -> None:
    bench = bench_with(rule(action="PULSE OUT0", mode=2), DS1=WARM)
    assert bench.values["OUT0"] == 0, "it acts only when it ceases"
    bench.sense(DS1=COOL)
    assert bench.values["OUT0"] == 1
    bench.wait(1)
    assert bench.values["OUT0"] == 0
