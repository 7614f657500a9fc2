"""OUT0-OUT5: every transition of the interface document, and the decisions of `outputs.py`."""

import pytest

from leverframe.core.engine.calls import (
    OFF,
    ON,
    REVERSE,
    DriveOutput,
    ForgetCounters,
    Persist,
    Pulse,
    Switch,
)
from leverframe.core.labels import OUTPUTS
from tests.cases import for_each

from .bench import BY_TEST, START_NOW, Bench


def periodic(on_time: int, off_time: int) -> dict[str, object]:
    return {
        "outputs.0.periodic": True,
        "outputs.0.on_time": on_time,
        "outputs.0.off_time": off_time,
    }


def states_by_second(bench: Bench, seconds: int, label: str = "OUT0") -> str:
    """The state now and after each of a number of seconds, as digits."""
    states = str(bench.values[label])
    for _ in range(seconds):
        bench.wait(1)
        states += str(bench.values[label])
    return states


# Pulses


def test_pulse_ends_automatically_and_keeps_the_return_time() -> None:
    bench = Bench({"outputs.0.return_time": 2})
    bench.do(Pulse(0, 4))
    assert states_by_second(bench, 6) == "1111000"
    assert bench.history() == ["command test: OUT0 on", "timer pulse: OUT0 off"]
    assert bench.settings.outputs[0].return_time == 2
    bench.switch_on("OUT0")
    assert states_by_second(bench, 3) == "1100"


def test_pulse_of_an_output_that_is_on_ends_it_then() -> None:
    bench = Bench()
    bench.switch_on("OUT0")
    bench.do(Pulse(0, 3))
    assert states_by_second(bench, 4) == "11100"


def test_second_pulse_restarts_the_time() -> None:
    bench = Bench()
    bench.do(Pulse(0, 3))
    bench.wait(2)
    bench.do(Pulse(0, 3))
    assert states_by_second(bench, 4) == "11100"


@pytest.mark.parametrize(("value", "after"), [(OFF, "0000"), (ON, "1111")])
def test_any_switching_of_the_output_ends_the_pulse(value: int, after: str) -> None:
    bench = Bench()
    bench.do(Pulse(0, 2))
    bench.do(Switch("OUT0", value))
    assert states_by_second(bench, 3) == after


def test_changed_return_time_does_not_touch_a_pulse() -> None:
    bench = Bench()
    bench.do(Pulse(0, 3))
    bench.set(outputs__0__return_time=1)
    assert states_by_second(bench, 4) == "11100"


def test_pulse_is_remembered_as_off() -> None:
    bench = Bench({"outputs.0.remember": True})
    bench.do(Pulse(0, 3))
    assert bench.effects(Persist)[-1] == Persist("output.0", False)
    bench.do(ForgetCounters())
    assert bench.effects(Persist)[0] == Persist("output.0", False)


def test_rest_of_a_pulse_is_shown() -> None:
    bench = Bench({"outputs.0.return_time": 60})
    bench.do(Pulse(0, 5))
    bench.wait(2)
    assert bench.engine.outputs.returns_in(0, bench.now) == 3


# Switching


@for_each("label", OUTPUTS)
@for_each(
    ("before", "value", "after"),
    [(0, OFF, 0), (0, ON, 1), (0, REVERSE, 1), (1, OFF, 0), (1, ON, 1), (1, REVERSE, 0)],
)
def test_switching_sets_or_reverses_one_output(
    label: str, before: int, value: int, after: int
) -> None:
    bench = Bench()
    bench.do(Switch(label, before))
    bench.effects()
    bench.do(Switch(label, value))
    assert bench.values[label] == after
    assert all(bench.values[other] == 0 for other in OUTPUTS if other != label)
    index = OUTPUTS.index(label)
    assert bench.effects() == ([DriveOutput(index, bool(after))] if after != before else [])


def test_journal_records_only_changes_of_outputs_with_their_cause() -> None:
    bench = Bench()
    bench.switch_on("OUT2")
    bench.switch_on("OUT2")
    bench.switch_off("OUT2")
    assert bench.history() == ["command test: OUT2 on", "command test: OUT2 off"]


def test_locked_output_still_follows_the_engine() -> None:
    bench = Bench({"output_flags.lock": True})
    bench.switch_on("OUT0")
    assert bench.values["OUT0"] == 1


def test_inverted_display_does_not_touch_the_output() -> None:
    bench = Bench()
    bench.effects()
    bench.set(output_flags__invert_display=True)
    assert bench.effects() == []
    assert bench.values["OUT0"] == 0


# Return time


def test_output_goes_off_when_its_return_time_has_elapsed() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.switch_on("OUT0")
    bench.wait(4.9)
    assert bench.values["OUT0"] == 1
    bench.effects()
    bench.wait(0.1)
    assert bench.values["OUT0"] == 0
    assert bench.effects() == [DriveOutput(0, False)]
    assert bench.history()[-1] == "timer return time: OUT0 off"
    assert bench.due_in() is None


def test_return_time_restarts_when_switched_on_again() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.switch_on("OUT0")
    bench.wait(4)
    bench.switch_on("OUT0")
    bench.wait(4)
    assert bench.values["OUT0"] == 1
    bench.wait(1)
    assert bench.values["OUT0"] == 0


def test_return_time_0_never_switches_off() -> None:
    bench = Bench()
    bench.switch_on("OUT0")
    assert bench.due_in() is None


def test_return_time_does_not_switch_an_output_on() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.switch_on("OUT0")
    bench.wait(1)
    bench.switch_off("OUT0")
    assert bench.due_in() is None


def test_new_return_time_counts_from_when_the_output_was_switched_on() -> None:
    bench = Bench({"outputs.0.return_time": 10})
    bench.switch_on("OUT0")
    bench.wait(3)
    bench.set(outputs__0__return_time=5)
    assert bench.due_in() == 2
    bench.set(outputs__0__return_time=20)
    assert bench.due_in() == 17
    bench.set(outputs__0__return_time=0)
    assert bench.due_in() is None


def test_return_time_that_has_passed_already_switches_off_immediately() -> None:
    bench = Bench()
    bench.switch_on("OUT0")
    bench.wait(100)
    bench.set(outputs__0__return_time=5)
    assert bench.values["OUT0"] == 0
    assert bench.due_in() is None


def test_return_time_set_while_the_output_is_off_switches_nothing() -> None:
    bench = Bench()
    bench.switch_on("OUT0")
    bench.switch_off("OUT0")
    bench.set(outputs__0__return_time=5)
    assert bench.due_in() is None


def test_time_until_the_return_can_be_asked() -> None:
    bench = Bench({"outputs.3.return_time": 10})
    outputs = bench.engine.outputs
    assert outputs.returns_in(3, bench.now) is None
    bench.switch_on("OUT3")
    assert outputs.returns_in(3, bench.now + 4) == 6
    assert outputs.returns_in(3, bench.now + 11) == 0


# Start


def test_every_output_is_driven_off_at_the_start() -> None:
    bench = Bench()
    assert bench.effects(DriveOutput) == [DriveOutput(index, False) for index in range(6)]


def test_on_after_start_switches_on_after_the_start_delay() -> None:
    bench = Bench({"outputs.1.on_after_start": True, "outputs.1.start_delay": 7})
    assert bench.effects(DriveOutput)[1] == DriveOutput(1, False)
    bench.wait(6.5)
    assert bench.values["OUT1"] == 0
    bench.wait(0.5)
    assert bench.values["OUT1"] == 1
    assert bench.effects() == [DriveOutput(1, True)]
    assert bench.history() == ["timer start delay: OUT1 on"]


def test_on_after_start_without_a_delay_drives_the_pin_once_and_on() -> None:
    bench = Bench({"outputs.1.on_after_start": True})
    drives = bench.effects(DriveOutput)
    assert [drive for drive in drives if drive.index == 1] == [DriveOutput(1, True)]
    assert bench.history() == ["start: OUT1 on"]


def test_start_delay_alone_switches_nothing_on() -> None:
    assert Bench({"outputs.1.start_delay": 7}).due_in() is None


def test_return_time_counts_from_the_end_of_the_start_delay() -> None:
    bench = Bench(
        {
            "outputs.0.on_after_start": True,
            "outputs.0.start_delay": 2,
            "outputs.0.return_time": 3,
        }
    )
    assert states_by_second(bench, 7) == "00111000"


def test_switching_during_the_start_delay_decides_instead_of_it() -> None:
    bench = Bench({"outputs.0.on_after_start": True, "outputs.0.start_delay": 5})
    bench.wait(1)
    bench.switch_off("OUT0")
    assert bench.due_in() is None


def test_new_start_delay_counts_from_the_start() -> None:
    bench = Bench({"outputs.0.on_after_start": True, "outputs.0.start_delay": 60})
    bench.wait(10)
    bench.set(outputs__0__start_delay=15)
    assert bench.due_in() == 5
    bench.set(outputs__0__start_delay=3)
    assert bench.values["OUT0"] == 1


def test_on_after_start_taken_back_during_the_delay_switches_nothing() -> None:
    bench = Bench({"outputs.0.on_after_start": True, "outputs.0.start_delay": 60})
    bench.set(outputs__0__on_after_start=False)
    assert bench.due_in() is None


def test_on_after_start_set_later_waits_for_the_next_start() -> None:
    bench = Bench()
    bench.set(outputs__0__on_after_start=True)
    assert (bench.values["OUT0"], bench.due_in()) == (0, None)
    bench.restart()
    assert bench.values["OUT0"] == 1


# Remembering


def test_remembered_state_is_restored_after_a_restart() -> None:
    bench = Bench({"outputs.0.remember": True, "outputs.1.remember": True})
    bench.switch_on("OUT0")
    bench.switch_on("OUT1")
    bench.switch_off("OUT1")
    bench.switch_on("OUT2")
    bench.effects()
    bench.restart()
    assert [bench.values[label] for label in OUTPUTS] == [1, 0, 0, 0, 0, 0]
    assert bench.effects(DriveOutput) == [DriveOutput(index, index == 0) for index in range(6)]


def test_every_change_of_a_remembered_output_is_kept() -> None:
    bench = Bench({"outputs.2.remember": True})
    bench.effects()
    bench.reverse("OUT2")
    bench.reverse("OUT2")
    bench.switch_off("OUT2")
    assert bench.effects(Persist) == [Persist("output.2", True), Persist("output.2", False)]


def test_other_outputs_are_not_kept() -> None:
    bench = Bench()
    bench.switch_on("OUT2")
    assert bench.effects(Persist) == []


def test_remembered_state_wins_over_on_after_start() -> None:
    changes = {"outputs.0.remember": True, "outputs.0.on_after_start": True}
    bench = Bench(changes, remembered={"output.0": False})
    assert bench.values["OUT0"] == 0
    assert bench.due_in() is None


def test_on_after_start_counts_with_nothing_remembered_yet() -> None:
    bench = Bench({"outputs.0.remember": True, "outputs.0.on_after_start": True})
    assert bench.values["OUT0"] == 1
    assert bench.kept == {"output.0": True}


def test_turning_remember_on_keeps_the_present_state() -> None:
    bench = Bench()
    bench.switch_on("OUT0")
    bench.effects()
    bench.set(outputs__0__remember=True)
    assert bench.effects() == [Persist("output.0", True)]


def test_turning_remember_off_forgets_the_state() -> None:
    bench = Bench({"outputs.0.remember": True})
    bench.switch_on("OUT0")
    bench.effects()
    bench.set(outputs__0__remember=False)
    assert bench.effects() == [Persist("output.0", None)]
    bench.restart()
    assert bench.values["OUT0"] == 0


def test_state_kept_earlier_is_nothing_to_an_output_that_does_not_remember() -> None:
    assert Bench(remembered={"output.0": True}).values["OUT0"] == 0


def test_state_that_is_not_kept_up_is_forgotten() -> None:
    bench = Bench(remembered={"output.0": True})
    bench.switch_on("OUT0")
    bench.switch_off("OUT0")
    assert bench.kept == {"output.0": None}


def test_return_time_of_a_restored_output_counts_from_the_start() -> None:
    changes = {"outputs.0.remember": True, "outputs.0.return_time": 9}
    assert Bench(changes, remembered={"output.0": True}).due_in() == 9


def test_forgetting_drops_what_was_remembered() -> None:
    bench = Bench()
    bench.kept["output.4"] = True
    bench.do(ForgetCounters())
    assert bench.kept["output.4"] is None


# Periodic switching


def test_periodic_switching_starts_with_the_on_time_and_alternates() -> None:
    bench = Bench(periodic(3, 2))
    assert states_by_second(bench, 11) == "111001110011"
    assert bench.history()[1] == "timer periodic switching: OUT0 off"


def test_periodic_switching_begins_when_it_is_enabled() -> None:
    bench = Bench({**periodic(2, 1), "outputs.0.periodic": False})
    bench.wait(100)
    assert bench.values["OUT0"] == 0
    bench.set(outputs__0__periodic=True)
    assert states_by_second(bench, 5) == "110110"


def test_ending_periodic_switching_leaves_the_output_as_it_is() -> None:
    bench = Bench(periodic(3, 2))
    bench.set(outputs__0__periodic=False)
    assert bench.values["OUT0"] == 1
    assert bench.due_in() is None


def test_periodic_switching_does_not_drift_when_it_is_served_a_little_late() -> None:
    bench = Bench(periodic(1, 1))
    for _ in range(1000):
        late_by = bench.due_in()
        assert late_by is not None
        bench.oversleep(late_by + 0.4)
    assert bench.engine.next_deadline() == START_NOW + 1001


def test_absence_is_not_made_up_for_by_rattling() -> None:
    bench = Bench(periodic(1, 1))
    bench.effects()
    bench.oversleep(3600)
    assert bench.effects() == [DriveOutput(0, False)]


def test_new_on_or_off_time_restarts_the_cycle() -> None:
    bench = Bench(periodic(3, 2))
    bench.wait(4)
    assert bench.values["OUT0"] == 0
    bench.set(outputs__0__off_time=1)
    assert states_by_second(bench, 7) == "11101110"


def test_without_an_off_time_the_output_stays_on() -> None:
    bench = Bench(periodic(3, 0))
    assert (bench.values["OUT0"], bench.due_in()) == (1, None)


def test_without_an_on_time_the_output_stays_off() -> None:
    bench = Bench({**periodic(0, 3), "outputs.0.periodic": False})
    bench.switch_on("OUT0")
    bench.set(outputs__0__periodic=True)
    assert (bench.values["OUT0"], bench.due_in()) == (0, None)


def test_nothing_is_switched_with_both_times_0() -> None:
    bench = Bench({"outputs.0.periodic": True})
    bench.switch_on("OUT0")
    assert (bench.values["OUT0"], bench.due_in()) == (1, None)


def test_times_set_one_after_the_other_make_a_cycle() -> None:
    bench = Bench({"outputs.0.periodic": True})
    bench.set(outputs__0__off_time=2)
    bench.set(outputs__0__on_time=1)
    assert states_by_second(bench, 6) == "1001001"


def test_switching_from_elsewhere_lasts_until_the_next_phase() -> None:
    bench = Bench(periodic(3, 2))
    bench.wait(1)
    bench.switch_off("OUT0")
    assert states_by_second(bench, 5) == "000011"


def test_return_time_also_ends_an_on_phase() -> None:
    bench = Bench({**periodic(4, 1), "outputs.0.return_time": 2})
    assert states_by_second(bench, 10) == "11000110001"


def test_periodic_switching_overrides_start_delay_and_remembered_state() -> None:
    changes = {
        **periodic(2, 2),
        "outputs.0.remember": True,
        "outputs.0.on_after_start": True,
        "outputs.0.start_delay": 3,
    }
    bench = Bench(changes, remembered={"output.0": False})
    drives = [drive for drive in bench.effects(DriveOutput) if drive.index == 0]
    assert drives == [DriveOutput(0, True)]
    assert states_by_second(bench, 4) == "11001"


def test_periodic_switching_can_be_switched_live_without_its_setting() -> None:
    bench = Bench({**periodic(1, 1), "outputs.0.periodic": False})
    outputs = bench.engine.outputs
    outputs.set_periodic(0, True, BY_TEST)
    assert outputs.is_periodic(0)
    assert states_by_second(bench, 3) == "1010"
    assert bench.settings.outputs[0].periodic is False
    outputs.set_periodic(0, False, BY_TEST)
    assert bench.due_in() is None
    assert "command test: OUT0 periodic switching on" in bench.history()


def test_switching_periodic_on_while_it_is_on_does_not_restart_it() -> None:
    bench = Bench(periodic(3, 2))
    bench.wait(1)
    bench.engine.outputs.set_periodic(0, True, BY_TEST)
    assert bench.due_in() == 2


def test_setting_counts_again_when_it_changes_and_after_a_restart() -> None:
    bench = Bench(periodic(3, 2))
    outputs = bench.engine.outputs
    outputs.set_periodic(0, False, BY_TEST)
    bench.set(outputs__0__name="pump")
    assert not outputs.is_periodic(0)
    bench.set(outputs__0__periodic=False)
    outputs.set_periodic(0, True, BY_TEST)
    bench.set(outputs__0__periodic=True)
    outputs.set_periodic(0, False, BY_TEST)
    bench.restart()
    assert bench.engine.outputs.is_periodic(0)


def test_changed_name_leaves_everything_as_it_is() -> None:
    bench = Bench({**periodic(3, 2), "outputs.0.return_time": 9})
    bench.wait(1)
    bench.effects()
    bench.set(outputs__0__name="pump")
    assert bench.effects() == []
    assert bench.due_in() == 2
