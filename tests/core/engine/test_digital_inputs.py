"""INPD1-INPD4: levels, pull-ups, bistable mode and impulse time."""

from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.calls import SetPullUp
from tests.cases import for_each

from .measuring import Measuring

BISTABLE = {"digital_inputs.0.bistable": True}


def press(bench: Measuring, label: str = "INPD1") -> None:
    bench.sense({label: 0})
    bench.sense({label: 1})


def test_open_input_reads_1_with_a_pull_up_and_0_without() -> None:
    bench = Measuring({"digital_inputs.1.pull_up": False})
    assert (bench.values["INPD1"], bench.values["INPD2"]) == (1, 0)
    bench.sense({"INPD1": 0, "INPD2": 1})
    assert (bench.values["INPD1"], bench.values["INPD2"]) == (0, 1)
    bench.sense({"INPD1": None, "INPD2": None})
    assert (bench.values["INPD1"], bench.values["INPD2"]) == (1, 0)


def test_pull_ups_are_set_at_start_and_when_they_change() -> None:
    bench = Measuring({"digital_inputs.2.pull_up": False})
    assert bench.effects(SetPullUp) == [
        SetPullUp(0, True),
        SetPullUp(1, True),
        SetPullUp(2, False),
        SetPullUp(3, True),
    ]
    bench.set({"digital_inputs.0.pull_up": False, "digital_inputs.1.name": "door"})
    assert bench.effects(SetPullUp) == [SetPullUp(0, False)]
    assert bench.values["INPD1"] == 0


def test_negated_display_does_not_touch_the_value() -> None:
    bench = Measuring({"digital_inputs.0.negate_display": True})
    bench.sense({"INPD1": 0})
    assert bench.values["INPD1"] == 0


def test_raw_level_of_an_open_input_is_none() -> None:
    bench = Measuring()
    assert bench.inputs.raw("INPD1") is None
    bench.sense({"INPD1": 0})
    assert bench.inputs.raw("INPD1") == 0


def test_each_falling_edge_flips_a_bistable_input() -> None:
    bench = Measuring(BISTABLE)
    assert bench.values["INPD1"] == 0
    press(bench)
    assert bench.values["INPD1"] == 1
    bench.sense({"INPD1": 0})
    assert bench.values["INPD1"] == 0
    bench.sense({"INPD1": 0})
    assert bench.values["INPD1"] == 0


def test_bistable_input_falls_back_after_its_time() -> None:
    bench = Measuring({**BISTABLE, "digital_inputs.0.bistable_time": 30})
    press(bench)
    bench.wait(29.9)
    assert bench.values["INPD1"] == 1
    bench.wait(0.1)
    assert bench.values["INPD1"] == 0


def test_press_while_set_flips_back_and_cancels_the_time() -> None:
    bench = Measuring({**BISTABLE, "digital_inputs.0.bistable_time": 30})
    press(bench)
    bench.wait(10)
    press(bench)
    assert bench.values["INPD1"] == 0
    assert bench.machine.timers.next_due is None
    press(bench)
    bench.wait(29)
    assert bench.values["INPD1"] == 1


def test_changed_bistable_time_counts_from_the_press() -> None:
    bench = Measuring({**BISTABLE, "digital_inputs.0.bistable_time": 30})
    press(bench)
    bench.wait(10)
    bench.set({"digital_inputs.0.bistable_time": 15})
    bench.wait(5)
    assert bench.values["INPD1"] == 0


def test_bistable_time_of_0_lets_the_input_stay_set() -> None:
    bench = Measuring({**BISTABLE, "digital_inputs.0.bistable_time": 30})
    press(bench)
    bench.set({"digital_inputs.0.bistable_time": 0})
    bench.wait(1000)
    assert bench.values["INPD1"] == 1


def test_leaving_bistable_mode_shows_the_level_and_entering_starts_at_0() -> None:
    bench = Measuring({**BISTABLE, "digital_inputs.0.bistable_time": 30})
    bench.sense({"INPD1": 0})
    assert bench.values["INPD1"] == 1
    bench.set({"digital_inputs.0.bistable": False})
    assert bench.values["INPD1"] == 0
    assert bench.machine.timers.next_due is None
    bench.sense({"INPD1": 1})
    assert bench.values["INPD1"] == 1
    bench.set(BISTABLE)
    assert bench.values["INPD1"] == 0


def test_change_of_the_pull_up_is_no_press() -> None:
    bench = Measuring(BISTABLE)
    bench.set({"digital_inputs.0.pull_up": False})
    assert bench.values["INPD1"] == 0


def test_contact_closed_before_the_start_is_no_press() -> None:
    bench = Measuring(BISTABLE, sensed_before_start={"INPD1": 0})
    assert bench.values["INPD1"] == 0
    press(bench)
    assert bench.values["INPD1"] == 0
    press(bench)
    assert bench.values["INPD1"] == 1


def test_impulse_time_is_measured_between_the_falling_edges_of_a_pair() -> None:
    bench = Measuring({"impulse_time": (True, True)})
    press(bench, "INPD3")
    bench.wait(2.5)
    assert bench.inputs.impulse_s(1) is None
    bench.version_grows()
    bench.sense({"INPD4": 0})
    assert bench.inputs.impulse_s(1) == 2.5
    assert bench.inputs.impulse_s(0) is None
    assert bench.version_grows()


def test_impulse_time_starts_with_the_latest_edge_of_the_first_input() -> None:
    bench = Measuring({"impulse_time": (True, False)})
    press(bench, "INPD1")
    bench.wait(5)
    press(bench, "INPD1")
    bench.wait(1)
    press(bench, "INPD2")
    assert bench.inputs.impulse_s(0) == 1.0


def test_second_edge_without_a_first_measures_nothing() -> None:
    bench = Measuring({"impulse_time": (True, False)})
    press(bench, "INPD2")
    assert bench.inputs.impulse_s(0) is None
    press(bench, "INPD1")
    bench.wait(1)
    press(bench, "INPD2")
    bench.wait(7)
    press(bench, "INPD2")
    assert bench.inputs.impulse_s(0) == 1.0


def test_impulse_time_is_measured_only_while_its_flag_is_on() -> None:
    bench = Measuring()
    press(bench, "INPD1")
    bench.set({"impulse_time": (True, False)})
    press(bench, "INPD2")
    assert bench.inputs.impulse_s(0) is None
    press(bench, "INPD1")
    bench.wait(1)
    press(bench, "INPD2")
    bench.set({"impulse_time": (False, False)})
    assert bench.inputs.impulse_s(0) is None


class BistableModel:
    """What a bistable input does at a series of presses with their times."""

    def __init__(self, bistable_time: int) -> None:
        self.bistable_time = bistable_time
        self.level = 1
        self.set_at: float | None = None

    def sense(self, pin: int | None, now: float) -> None:
        level = 1 if pin is None else pin
        if (self.level, level) == (1, 0):
            self.set_at = None if self.state(now) else now
        self.level = level

    def state(self, now: float) -> int:
        if self.set_at is None:
            return 0
        return int(not self.bistable_time or now < self.set_at + self.bistable_time)


@given(
    st.sampled_from([0, 1, 7]),
    st.lists(st.tuples(st.sampled_from([0, 1, None]), st.sampled_from([0.0, 0.25, 1.0, 6.5]))),
)
def test_bistable_input_is_like_its_model(
    bistable_time: int, story: list[tuple[int | None, float]]
) -> None:
    bench = Measuring({**BISTABLE, "digital_inputs.0.bistable_time": bistable_time})
    model = BistableModel(bistable_time)
    for pin, seconds in story:
        bench.sense({"INPD1": pin})
        model.sense(pin, bench.machine.at.now)
        assert bench.values["INPD1"] == model.state(bench.machine.at.now)
        bench.wait(seconds)
        assert bench.values["INPD1"] == model.state(bench.machine.at.now)


@for_each("garbage", [float("nan"), 2, -1, "1", [], None])
def test_level_that_is_neither_0_nor_1_is_an_open_input(garbage: object) -> None:
    bench = Measuring()
    bench.sense({"INPD1": 0})
    bench.sense({"INPD1": garbage})
    assert bench.values["INPD1"] == 1
