"""Contacts in the journal: each change with its input, and floods of them folded."""

import pytest

from leverframe.core.engine.digital_inputs import LONGEST_PAUSE_S, MAX_SINGLE, QUIET_S
from leverframe.core.engine.journal import Entry
from leverframe.core.settings import Rule

from .bench import Bench

HOUR_S = 3600


def contact_entries(bench: Bench) -> list[Entry]:
    entries = bench.engine.machine.journal.entries()
    return [entry for entry in entries if entry.cause.kind == "input"]


def texts(bench: Bench) -> list[str]:
    return [entry.text for entry in contact_entries(bench)]


def flip(bench: Bench, times: int, every_s: float = 0.1) -> None:
    for _ in range(times):
        bench.sense(INPD1=1 - int(bench.values["INPD1"] or 0))
        bench.wait(every_s)


def test_contact_that_closes_and_opens_is_recorded_with_its_values() -> None:
    bench = Bench()
    bench.sense(INPD1=0)
    bench.sense(INPD1=1)
    assert texts(bench) == ["INPD1 closed", "INPD1 opened"]
    closed, opened = (entry.fact for entry in contact_entries(bench))
    assert (closed.which, closed.old, closed.new) == ("INPD1", 1, 0)
    assert (opened.which, opened.old, opened.new) == ("INPD1", 0, 1)


def test_contact_that_is_shown_negated_is_recorded_as_shown() -> None:
    bench = Bench({"digital_inputs.0.negate_display": True})
    bench.sense(INPD1=0)
    assert texts(bench) == ["INPD1 opened"]


def test_states_at_startup_and_changes_by_settings_are_not_recorded() -> None:
    bench = Bench()
    bench.set(digital_inputs__0__pull_up=False)
    assert bench.values["INPD1"] == 0
    assert contact_entries(bench) == []


def test_bistable_input_that_falls_back_is_recorded() -> None:
    bench = Bench({"digital_inputs.0.bistable": True, "digital_inputs.0.bistable_time": 30})
    bench.sense(INPD1=0)
    bench.wait(30)
    assert texts(bench) == ["INPD1 opened", "INPD1 closed"]


def test_pulses_that_a_meter_counts_are_not_recorded() -> None:
    bench = Bench({"power.0.current": "INPD1"})
    flip(bench, 4)
    assert contact_entries(bench) == []


def test_entry_of_a_rule_names_that_of_the_contact_that_it_watches() -> None:
    rule = Rule(source="INPD1", compare="=", reference=0, action="OUT0", value=1, enabled=True)
    bench = Bench({"rules": (rule,)})
    bench.sense(INPD1=0)
    (closed,) = contact_entries(bench)
    last = bench.engine.machine.journal.entries()[-1]
    assert last.fact.what == "on"
    assert last.cause.conditions[0].after == closed.number


def test_input_that_flips_without_end_leaves_room_for_everything_else() -> None:
    bench = Bench()
    flip(bench, 2 * HOUR_S, every_s=1)
    entries = contact_entries(bench)
    assert len(entries) < MAX_SINGLE + 12
    assert entries[MAX_SINGLE].text == "INPD1 changed 60 more times in 59 s and is open"
    counted = sum(entry.fact.figures.get("count", 1) for entry in entries)
    bench.wait(LONGEST_PAUSE_S)
    assert counted < 2 * HOUR_S
    assert sum(entry.fact.figures.get("count", 1) for entry in contact_entries(bench)) == 2 * HOUR_S


@pytest.mark.parametrize("while_counting", [False, True])
def test_each_change_is_recorded_again_after_a_quiet_time(while_counting: bool) -> None:
    bench = Bench()
    # A long row is reported at long intervals: the quiet time can be over before.
    flip(bench, 9000 if while_counting else MAX_SINGLE + 3, every_s=1)
    known = len(contact_entries(bench))
    bench.wait(QUIET_S)
    flip(bench, 1)
    facts_since = [entry.fact.what for entry in contact_entries(bench)][known:]
    assert facts_since[-1] in ("opened", "closed")
    assert [what.removeprefix("closed").removeprefix("opened") for what in facts_since] == [
        "_often",
        "",
    ]
