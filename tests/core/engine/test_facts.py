"""What the journal holds as data: what, which, from, to, and the cause with its numbers."""

import re
from pathlib import Path
from string import Formatter

import pytest

import leverframe
from leverframe.core.engine.calls import Pulse
from leverframe.core.engine.journal import SENTENCES, Decided, Entry, Fact

from .bench import Bench
from .rule_bench import bench_with, rule
from .test_watchdog import bench_with as watchdog_with
from .test_watchdog import entry as watchdog_entry
from .test_watchdog import let_fail

SOURCES = Path(leverframe.__file__).parent


def last(bench: Bench) -> Entry:
    return bench.engine.machine.journal.entries()[-1]


def program_text() -> str:
    """Return the source of everything but the table."""
    paths = (path for path in SOURCES.rglob("*.py") if path.name != "facts.py")
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def test_table_has_exactly_the_kinds_that_the_program_records() -> None:
    text = program_text()
    made = set(re.findall(r'\bFact\(\s*"(\w+)"', text))
    assert len(made) > 30
    assert made <= set(SENTENCES)
    made_here = {"on", "off"}
    assert {kind for kind in SENTENCES if f'"{kind}"' not in text} <= made_here


def test_sentence_needs_nothing_but_its_figures() -> None:
    for kind, sentence in SENTENCES.items():
        names = [name for _, name, _, _ in Formatter().parse(sentence) if name]
        figures = {name: 1 for name in names if name != "which"}
        assert str(Fact(kind, "OUT0", figures=figures))


def test_switching_records_label_old_and_new_value() -> None:
    bench = Bench()
    bench.switch_on("OUT2")
    entry = last(bench)
    assert entry.text == "OUT2 on"
    assert entry.fact == Fact("on", "OUT2", 0, 1)


def test_rule_records_the_comparison_that_decided() -> None:
    bench = bench_with(rule(compare="<", reference=18.0, hysteresis=2.0))
    bench.sense(DS1=17.7)
    on = last(bench)
    assert (on.fact.what, on.cause.kind, on.cause.number) == ("on", "rule", 1)
    assert on.cause.conditions == (Decided("DS1", 17.7, "<", 18.0, True),)
    bench.sense(DS1=20.2)
    off = last(bench)
    assert off.fact.what == "off"
    assert off.cause.conditions == (Decided("DS1", 20.2, "<", 20.0, False),)


@pytest.mark.parametrize(
    ("operator", "readings", "decided"),
    [
        ("OR", {"DS1": 17.0, "T1": 30.0}, ["DS1"]),
        ("OR", {"DS1": 19.0, "T1": 41.0}, ["T1"]),
        ("OR", {"DS1": 17.0, "T1": 41.0}, ["DS1", "T1"]),
        ("AND", {"DS1": 17.0, "T1": 41.0}, ["DS1", "T1"]),
        ("NOR", {"DS1": 19.0, "T1": 30.0}, ["DS1", "T1"]),
        ("NAND", {"DS1": 17.0, "T1": 30.0}, ["T1"]),
        ("XOR", {"DS1": 17.0, "T1": 30.0}, ["DS1", "T1"]),
    ],
)
def test_rule_records_no_condition_without_effect(
    operator: str, readings: dict[str, float], decided: list[str]
) -> None:
    both = rule(
        compare="<",
        reference=18.0,
        operator=operator,
        source2="T1",
        compare2=">=",
        reference2=40.0,
    )
    bench = bench_with(both, **readings)
    entry = last(bench)
    assert entry.fact.what == "on"
    assert [one.label for one in entry.cause.conditions] == decided


def test_rule_with_both_conditions_ends_by_the_one_that_no_longer_holds() -> None:
    both = rule(reference=18.0, operator="AND", source2="T1", reference2=40.0)
    bench = bench_with(both, DS1=19.0, T1=41.0)
    bench.sense(T1=39.0)
    entry = last(bench)
    assert entry.fact.what == "off"
    assert [one.label for one in entry.cause.conditions] == ["T1"]


def test_condition_kept_met_by_hysteresis_records_that_threshold() -> None:
    both = rule(
        compare=">=",
        reference=20.0,
        hysteresis=2.0,
        operator="AND",
        source2="INPD1",
        compare2=">=",
        reference2=1,
    )
    bench = bench_with(both, DS1=21.0, INPD1=0)
    bench.sense(DS1=19.0)
    bench.sense(INPD1=1)
    assert last(bench).cause.conditions == (
        Decided("DS1", 19.0, ">=", 18.0, True),
        Decided("INPD1", 1, "=", 1, True, after=last(bench).number - 1),
    )


def test_consequence_of_a_switching_names_its_entry() -> None:
    follows = rule(source="OUT1", reference=1, action="OUT2")
    bench = bench_with(follows)
    bench.switch_on("OUT1")
    first, second = bench.engine.machine.journal.entries()[-2:]
    assert second.fact.which == "OUT2"
    assert second.cause.after == first.number
    assert second.cause.conditions[0].after == first.number


def test_return_time_records_its_length_and_what_it_ends() -> None:
    bench = Bench({"outputs.0.return_time": 600})
    bench.switch_on("OUT0")
    on = last(bench)
    bench.wait(600)
    off = last(bench)
    assert str(off.cause) == "timer return time"
    assert (off.fact.what, off.cause.seconds, off.cause.after) == ("off", 600, on.number)


def test_pulse_records_its_duration() -> None:
    bench = Bench()
    bench.do(Pulse(0, 10))
    on = last(bench)
    assert on.text == "OUT0 on"
    assert (on.fact.what, on.fact.figures) == ("pulse", {"seconds": 10})
    bench.wait(10)
    assert (last(bench).cause.seconds, last(bench).cause.after) == (10, on.number)


def test_action_after_a_delay_names_the_entry_that_announced_it() -> None:
    bench = bench_with(rule(on_delay=180))
    bench.sense(DS1=25.0)
    waits = last(bench)
    assert (waits.fact.what, waits.fact.figures) == ("rule_waits", {"seconds": 180})
    bench.wait(180)
    assert (last(bench).fact.what, last(bench).cause.after) == ("on", waits.number)


def test_restart_by_the_watchdog_names_the_entry_with_the_reason() -> None:
    bench = watchdog_with(watchdog_entry())
    let_fail(bench)
    why, switching = bench.engine.machine.journal.entries()[-2:]
    assert why.fact.what == "watchdog_restarts"
    assert switching.cause.number == 1
    assert switching.cause.after == why.number
