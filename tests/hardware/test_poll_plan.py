"""Turns on a bus, on virtual time: fair, patient with late answers, cheap with the silent."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.hardware.poll_plan import CREDIT_S, LATE_S, PERIOD_S, SILENT_SHARE, PollPlan, Work
from tests.effort import examples

TIMEOUT_S = 0.6


class Bus:
    """Lives through a plan; a slave is what it needs for an answer, None if it is silent."""

    def __init__(self, works: dict[int, Work], answer_s: dict[int, float | None]) -> None:
        self.plan = PollPlan(works, 0.0)
        self.answer_s = answer_s
        self.now = 0.0
        self.asked: list[tuple[float, int, int]] = []
        self.answers: Counter[int] = Counter()
        self.lost_s: Counter[int] = Counter()

    def step(self) -> None:
        turn = self.plan.next(self.now)
        assert turn is not None
        assert turn.at >= self.now
        self.now = turn.at
        self.plan.asked(turn.slave, self.now)
        self.asked.append((self.now, turn.slave, turn.request))
        needs = self.answer_s[turn.slave]
        if needs is None:
            self.now += TIMEOUT_S
            self.lost_s[turn.slave] += TIMEOUT_S
            self.plan.was_silent(turn.slave, TIMEOUT_S, self.now)
        else:
            self.now += needs
            self.answers[turn.slave] += 1
            self.plan.answered(turn.slave, self.now)

    def live(self, seconds: float) -> "Bus":
        end = self.now + seconds
        while self.now < end:
            self.step()
        return self


def test_an_empty_bus_has_no_turn() -> None:
    assert PollPlan({}, 5.0).next(5.0) is None
    assert PollPlan({1: Work(0)}, 5.0).next(5.0) is None


def test_slaves_take_turns_by_the_request() -> None:
    bus = Bus({1: Work(3), 2: Work(2)}, {1: 0.25, 2: 0.25})
    for _ in range(5):
        bus.step()
    assert [(slave, request) for _, slave, request in bus.asked] == [
        *((1, 0), (2, 0), (1, 1), (2, 1), (1, 2)),
    ]


def test_a_fast_bus_is_read_once_in_the_period() -> None:
    bus = Bus({1: Work(4)}, {1: 0.01}).live(100.0)
    assert bus.answers[1] == pytest.approx(4 * 100 / PERIOD_S, abs=4)


def test_the_pause_of_a_slave_does_not_hold_up_the_others() -> None:
    bus = Bus({1: Work(10, 5.0), 2: Work(1)}, {1: 0.05, 2: 0.05}).live(100.0)
    moments = [at for at, slave, _ in bus.asked if slave == 1]
    assert all(b - a >= 5.0 for a, b in zip(moments, moments[1:], strict=False))
    assert bus.answers[2] >= 95


@pytest.mark.parametrize("answer_s", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("requests", [1, 5, 14])
def test_one_silent_slave_of_three_leaves_the_others_nine_tenths(
    answer_s: float, requests: int
) -> None:
    works = {slave: Work(requests) for slave in (1, 2, 3)}
    together = Bus(works, dict.fromkeys(works, answer_s)).live(600.0)
    silent = Bus(works, {1: answer_s, 2: None, 3: answer_s}).live(600.0)
    without = Bus({1: works[1], 3: works[3]}, {1: answer_s, 3: answer_s}).live(600.0)
    for slave in (1, 3):
        assert silent.answers[slave] >= 0.9 * together.answers[slave]
        assert silent.answers[slave] >= 0.9 * without.answers[slave]


def test_a_silent_slave_is_still_asked() -> None:
    bus = Bus({1: Work(1), 2: Work(1)}, {1: None, 2: 0.1}).live(600.0)
    moments = [at for at, slave, _ in bus.asked if slave == 1]
    assert max(b - a for a, b in zip(moments, moments[1:], strict=False)) < 20.0


def test_one_lost_answer_costs_a_slave_only_the_wait_for_late_answers() -> None:
    bus = Bus({1: Work(1)}, {1: None})
    bus.step()
    bus.answer_s[1] = 0.1
    bus.step()
    (first, *_), (second, *_) = bus.asked
    assert second - first == pytest.approx(TIMEOUT_S + LATE_S)


def test_a_silent_slave_is_left_alone_until_late_answers_have_passed() -> None:
    bus = Bus({1: Work(5), 2: Work(5)}, {1: None, 2: 0.1}).live(300.0)
    moments = [at for at, slave, _ in bus.asked if slave == 1]
    assert all(b - a >= TIMEOUT_S + LATE_S for a, b in zip(moments, moments[1:], strict=False))


def test_after_a_silence_the_next_request_has_its_turn() -> None:
    # A device may be silent about one register only.
    bus = Bus({1: Work(3)}, {1: None}).live(60.0)
    assert [request for _, _, request in bus.asked][:4] == [0, 1, 2, 0]


@examples(60)
@given(
    st.lists(st.sampled_from((None, 0.01, 0.2)), min_size=20, max_size=60),
    st.integers(1, 6),
)
def test_no_pattern_of_silence_costs_more_than_its_share(
    pattern: list[float | None], requests: int
) -> None:
    bus = Bus({1: Work(requests), 2: Work(2)}, {1: None, 2: 0.05})
    for outcome in pattern * 5:
        bus.answer_s[1] = outcome
        bus.step()
        assert bus.lost_s[1] <= SILENT_SHARE * bus.now + CREDIT_S + 2 * TIMEOUT_S
