"""The order of things in one instant, and rules that set each other off."""

import pytest

from leverframe.core.engine.calls import ON, DriveOutput, PingHost
from leverframe.core.engine.engine import MAX_LATE_S, MAX_STEPS
from leverframe.core.labels import EVENT_VARIABLES
from leverframe.core.settings import Rule, WatchdogEntry

from .bench import START_WALL, Bench


def rules(*given: Rule) -> dict[str, object]:
    return {"rules": given}


def rule(source: str, reference: float, action: str, value: int = ON, **more: object) -> Rule:
    settings = {"source": source, "reference": reference, "action": action, "value": value}
    return Rule(**{**settings, "enabled": True, **more})  # type: ignore[arg-type]


#: Switches its own source to and fro without end.
LOOP = rule("OUT0", 0, "OUT0")


def test_reading_and_all_its_consequences_are_one_call() -> None:
    bench = Bench(rules(rule("DS1", 20.0, "OUT0"), rule("OUT0", 1, "EVENT1")))
    bench.effects()
    bench.sense(DS1=20.0)
    assert bench.effects() == [DriveOutput(0, True)]
    assert bench.values["EVENT1"] == 1


def test_rules_see_one_snapshot_and_actions_come_afterwards() -> None:
    # If the second rule saw the first rule's action immediately, the two could not swap.
    bench = Bench()
    bench.switch_on("EVENT1")
    swap = [
        rule("EVENT1", 1, "EVENT2", mode=1),
        rule("EVENT2", 0, "EVENT1", value=0, mode=1),
    ]
    bench.set(rules=tuple(swap))
    assert [bench.values["EVENT1"], bench.values["EVENT2"]] == [0, 1]


def test_derived_readings_are_derived_before_rules_look() -> None:
    bench = Bench(
        {
            "differentials.0.first": "DEWPOINT",
            "differentials.0.second": "T1",
            **rules(rule("DIFF1", -0.5, "OUT0")),
        }
    )
    bench.sense(T1=20.0, H1=50.0)
    assert bench.values["OUT0"] == 0
    bench.sense(H1=100.0)
    assert bench.values["DIFF1"] == pytest.approx(0)
    assert bench.values["OUT0"] == 1


def test_differentials_follow_power_in_the_same_instant() -> None:
    bench = Bench(
        {
            "power.0.current": "m1",
            "differentials.0.first": "POWER1",
            "differentials.0.second": "POWER1",
            "differentials.0.operator": "+",
        }
    )
    bench.sense(m1=2.0)
    assert bench.values["DIFF1"] == 4


def test_derived_readings_belong_to_the_same_snapshot() -> None:
    doubled = {"first": "T1", "operator": "+", "second": "T1"}
    bench = Bench(
        {
            **{f"differentials.0.{name}": value for name, value in doubled.items()},
            **rules(
                rule("T1", 20.0, "EVENT1"),
                rule("DIFF1", 40.0, "OUT0", operator="AND", source2="EVENT1", mode=1),
            ),
        }
    )
    bench.sense(T1=25.0)
    assert (bench.values["EVENT1"], bench.values["OUT0"]) == (1, 1)


def test_timers_of_an_instant_come_after_its_readings() -> None:
    # The reading switches on again and so restarts the return time before it can elapse.
    bench = Bench({"outputs.0.return_time": 5, **rules(rule("DS1", 20.0, "OUT0", mode=1))})
    bench.switch_on("OUT0")
    bench.now += 5
    bench.sense(DS1=25.0)
    assert bench.values["OUT0"] == 1
    assert bench.due_in() == 5


def test_deadline_before_the_moment_of_a_reading_is_served_before_it() -> None:
    bench = Bench({"outputs.0.return_time": 5, **rules(rule("DS1", 20.0, "OUT0", mode=1))})
    bench.switch_on("OUT0")
    bench.now += 5.25
    bench.sense(DS1=25.0)
    assert [line.partition(":")[0] for line in bench.history()] == [
        "command test",
        "timer return time",
        "rule 1",
    ]
    journal = bench.engine.machine.journal.entries()
    assert [entry.wall - START_WALL for entry in journal] == [0, 5, 5.25]


def test_call_serves_what_is_due_in_its_very_instant() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.switch_on("OUT0")
    bench.now += 5
    bench.connect(True)
    assert bench.values["OUT0"] == 0


def test_deadline_missed_for_long_is_served_late_and_once() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.switch_on("OUT0")
    bench.oversleep(100)
    entry = bench.engine.machine.journal.entries()[-1]
    assert entry.wall == START_WALL + 100 - MAX_LATE_S
    assert entry.text == "OUT0 off"


def test_ping_that_was_never_sent_does_not_time_out() -> None:
    watched = WatchdogEntry(enabled=True, host="router", failures=1, interval=60, delay=0)
    bench = Bench({"watchdog.0": watched})
    bench.answer_ping(0, 1.0)
    bench.effects()
    bench.oversleep(3600)
    assert bench.effects() == [PingHost(0, "router", 2.0)]
    assert bench.values["OUT0"] == 0


def test_past_deadline_is_due_immediately_and_time_does_not_run_backwards() -> None:
    bench = Bench()
    bench.engine.machine.timers.set(("outputs", "delay", 1), bench.now - 0.1)
    bench.oversleep(0.1)
    (entry,) = bench.engine.machine.journal.entries()
    assert (entry.text, entry.wall) == ("OUT1 on", START_WALL)


def test_events_before_the_clock_was_set_have_times_of_the_old_clock() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.switch_on("OUT0")
    bench.now += 5.25
    bench.set_clock(START_WALL + 1_000_000)
    bench.switch_on("OUT1")
    journal = bench.engine.machine.journal.entries()
    assert [entry.wall - START_WALL for entry in journal] == [0, 5, 1_000_000]


def test_loop_of_rules_is_bounded_and_logged() -> None:
    bench = Bench(rules(LOOP))
    drives = [drive for drive in bench.effects(DriveOutput) if drive.index == 0]
    assert len(drives) <= MAX_STEPS + 2
    loop = [line for line in bench.history() if line.startswith("rule loop")]
    assert loop == [f"rule loop: stopped after {MAX_STEPS} steps, still changing: OUT0"]


def test_remainder_of_a_loop_waits_for_the_next_change_from_outside() -> None:
    bench = Bench(rules(LOOP))
    bench.effects()
    assert bench.due_in() is None
    bench.wait(1)
    assert bench.effects() == []
    bench.sense(DS1=20.0)
    assert len(bench.effects(DriveOutput)) == MAX_STEPS


def test_loop_of_rules_rests_for_a_second_while_other_rules_run() -> None:
    bench = Bench(rules(LOOP, rule("INPD1", 1, "OUT1")))
    bench.effects()
    for step in range(30):
        bench.sense(INPD1=step % 2)
        assert bench.values["OUT1"] == step % 2
        assert not [drive for drive in bench.effects(DriveOutput) if drive.index == 0]
        bench.wait(1 / 32)
    bench.wait(2 / 32)
    bench.sense(INPD1=0)
    of_loop = [drive for drive in bench.effects(DriveOutput) if drive.index == 0]
    assert len(of_loop) == MAX_STEPS


def test_change_during_the_rest_is_judged_afterwards() -> None:
    bench = Bench(rules(LOOP, rule("OUT0", 1, "OUT1")))
    bench.wait(0.5)
    bench.reverse("OUT0")
    bench.reverse("OUT0")
    bench.effects()
    assert bench.due_in() == 0.5
    bench.wait(0.5)
    assert len([drive for drive in bench.effects(DriveOutput) if drive.index == 0]) == MAX_STEPS
    assert bench.due_in() is None


@pytest.mark.parametrize("level", [0, 1])
def test_reading_that_turns_nothing_itself_is_judged_with_what_rests(level: int) -> None:
    both = rule("DS1", 20.0, "OUT1", operator="AND", source2="OUT0", reference2=level)
    bench = Bench({**rules(LOOP, both), "rules.0.enabled": False})
    bench.sense(DS1=21.0)
    bench.set(rules__0__enabled=True)
    assert bench.engine.machine.resting
    bench.sense(DS1=22.0)
    assert bench.values["OUT1"] == (bench.values["OUT0"] == level)


def test_changed_rules_are_judged_immediately() -> None:
    bench = Bench(rules(LOOP, rule("OUT0", 1, "OUT1")))
    assert bench.engine.machine.resting
    bench.set(rules__0__enabled=False)
    assert not bench.engine.machine.resting
    assert bench.values["OUT1"] == bench.values["OUT0"]


def test_long_chain_of_rules_that_ends_is_no_loop() -> None:
    chain = [
        rule(before, 1, after)
        for before, after in zip(EVENT_VARIABLES, EVENT_VARIABLES[1:], strict=False)
    ]
    bench = Bench(rules(*chain))
    bench.switch_on("EVENT1")
    assert bench.values["EVENT8"] == 1
    assert not [line for line in bench.history() if line.startswith("rule loop")]
