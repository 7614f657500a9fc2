"""Turns on a bus, in virtual time: fair, patient with late answers, cheap with the silent."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.devices.bus_worker import (
    CREDIT_S,
    LATE_S,
    LOST_SHARE,
    PERIOD_S,
    PollPlan,
    Spent,
    Work,
)
from tests.cases import for_each
from tests.effort import examples

TIMEOUT_S = 0.6


class Bus:
    """Simulates a plan; a slave is the time it needs for an answer, None if it is silent.

    Some slaves answer with an exception. The line needs a part of each answer's time for the bytes.
    """

    def __init__(
        self,
        works: dict[int, Work],
        answer_s: dict[int, float | None],
        *,
        line_s: float = 0.015,
        refusing: tuple[int, ...] = (),
    ) -> None:
        self.plan = PollPlan(works, 0.0)
        self.answer_s = answer_s
        self.line_s = line_s
        self.refusing = refusing
        self.now = 0.0
        self.note_request: list[tuple[float, int, int]] = []
        self.answers: Counter[int] = Counter()
        self.lost_s: Counter[int] = Counter()

    def step(self) -> None:
        turn = self.plan.next(self.now)
        assert turn is not None
        assert turn.at >= self.now
        self.now = turn.at
        self.plan.note_request(turn, self.now)
        self.note_request.append((self.now, turn.slave, turn.request))
        needs = self.answer_s[turn.slave]
        if needs is None:
            self.now += TIMEOUT_S
            self.lost_s[turn.slave] += TIMEOUT_S
            self.plan.was_silent(turn.slave, TIMEOUT_S, self.now)
        else:
            self.now += needs
            spent = Spent(needs, self.line_s)
            if turn.slave in self.refusing:
                self.lost_s[turn.slave] += needs
                self.plan.was_refused(turn, spent, self.now)
            else:
                self.answers[turn.slave] += 1
                self.plan.note_answer(turn, spent, self.now)

    def live(self, seconds: float) -> "Bus":
        end = self.now + seconds
        while self.now < end:
            self.step()
        return self


def test_empty_bus_has_no_turn() -> None:
    assert PollPlan({}, 5.0).next(5.0) is None
    assert PollPlan({1: Work(0)}, 5.0).next(5.0) is None


def test_slaves_take_turns_by_the_request() -> None:
    bus = Bus({1: Work(3), 2: Work(2)}, {1: 0.25, 2: 0.25})
    for _ in range(5):
        bus.step()
    assert [(slave, request) for _, slave, request in bus.note_request] == [
        *((1, 0), (2, 0), (1, 1), (2, 1), (1, 2)),
    ]


def test_fast_bus_is_read_once_in_the_period() -> None:
    bus = Bus({1: Work(4)}, {1: 0.01}).live(100.0)
    assert bus.answers[1] == pytest.approx(4 * 100 / PERIOD_S, abs=4)


def test_pause_of_a_slave_does_not_hold_up_the_others() -> None:
    bus = Bus({1: Work(10, 5.0), 2: Work(1)}, {1: 0.05, 2: 0.05}).live(100.0)
    moments = [at for at, slave, _ in bus.note_request if slave == 1]
    assert all(b - a >= 5.0 for a, b in zip(moments, moments[1:], strict=False))
    assert bus.answers[2] >= 95


@pytest.mark.thorough
@for_each("answer_s", [0.02, 0.1, 0.3])
@for_each("requests", [1, 14])
def test_one_silent_slave_of_three_leaves_the_others_nine_tenths(
    answer_s: float, requests: int
) -> None:
    works = {slave: Work(requests) for slave in (1, 2, 3)}
    together = Bus(works, dict.fromkeys(works, answer_s)).live(200.0)
    silent = Bus(works, {1: answer_s, 2: None, 3: answer_s}).live(200.0)
    without = Bus({1: works[1], 3: works[3]}, {1: answer_s, 3: answer_s}).live(200.0)
    for slave in (1, 3):
        assert silent.answers[slave] >= 0.9 * together.answers[slave]
        assert silent.answers[slave] >= 0.9 * without.answers[slave]


#: What a request keeps the line busy with, and what slaves take for it: as if at 9600 bit/s.
LINE_S, QUICK_S = 0.03, 0.05
LIVED_S = 75.0


def rates(
    answer_s: dict[int, float | None], requests: int, refusing: tuple[int, ...] = ()
) -> Counter[int]:
    works = {slave: Work(requests) for slave in answer_s}
    return Bus(works, answer_s, line_s=LINE_S, refusing=refusing).live(LIVED_S).answers


@for_each("slow_s", [0.2, 0.45])
@for_each("requests", [1, 5, 9, 30])
def test_one_slow_slave_of_three_leaves_the_others_nine_tenths(
    slow_s: float, requests: int
) -> None:
    alone = rates({1: QUICK_S, 3: QUICK_S}, requests)
    beside = rates({1: QUICK_S, 2: slow_s + QUICK_S, 3: QUICK_S}, requests)
    for slave in (1, 3):
        assert beside[slave] >= 0.9 * alone[slave]


@for_each("others_s", [0.03, 0.05, 0.1, 0.13])
def test_other_slaves_may_take_their_time(others_s: float) -> None:
    alone = rates({1: others_s, 3: others_s}, 14)
    beside = rates({1: others_s, 2: others_s + 0.2, 3: others_s}, 14)
    for slave in (1, 3):
        assert beside[slave] >= 0.9 * alone[slave]


@for_each("refuses_s", [QUICK_S, 0.2, 0.45])
@for_each("requests", [1, 9, 30])
def test_one_refusing_slave_of_three_leaves_the_others_nine_tenths(
    refuses_s: float, requests: int
) -> None:
    alone = rates({1: QUICK_S, 3: QUICK_S}, requests)
    beside = rates({1: QUICK_S, 2: refuses_s, 3: QUICK_S}, requests, refusing=(2,))
    for slave in (1, 3):
        assert beside[slave] >= 0.9 * alone[slave]


def test_late_answer_now_and_then_does_not_make_a_slave_slow() -> None:
    works = {slave: Work(14) for slave in (1, 2)}
    bus = Bus(works, {1: 1.0, 2: QUICK_S}, line_s=LINE_S)
    for number in range(3000):
        bus.answer_s[1] = 0.5 if number % 50 == 0 else QUICK_S
        bus.step()
    assert bus.answers[1] >= 0.7 * bus.answers[2]


def test_slow_slave_gets_what_the_others_leave_and_a_little_for_sure() -> None:
    assert rates({1: 0.25, 2: QUICK_S}, 1)[1] == pytest.approx(LIVED_S, abs=2)
    busy = Bus({1: Work(5), 2: Work(30), 3: Work(30)}, {1: 0.45, 2: 0.05, 3: 0.05}).live(600.0)
    assert busy.answers[1] * 0.45 >= 0.04 * busy.now


@examples(60)
@given(
    st.floats(0.02, 0.45),
    st.lists(st.integers(1, 30), min_size=2, max_size=3),
)
def test_slaves_that_are_alike_share_the_time_alike(answer_s: float, counts: list[int]) -> None:
    works = {slave: Work(requests) for slave, requests in enumerate(counts)}
    bus = Bus(works, dict.fromkeys(works, answer_s)).live(100.0)
    fair = bus.now / len(works) / answer_s
    for slave, work in works.items():
        wanted = work.requests * bus.now / PERIOD_S
        assert bus.answers[slave] >= 0.95 * min(wanted, fair) - work.requests - 1


def test_refused_register_barely_delays_other_readings_of_the_slave() -> None:
    bus = Bus({1: Work(5)}, {1: 0.15}, line_s=0.1)
    asked: Counter[int] = Counter()
    for _ in range(2000):
        turn = bus.plan.next(bus.now)
        assert turn is not None
        bus.now = turn.at
        bus.plan.note_request(turn, bus.now)
        bus.now += 0.15
        asked[turn.request] += 1
        note = bus.plan.was_refused if turn.request in (1, 3) else bus.plan.note_answer
        note(turn, Spent(0.15, 0.1), bus.now)
    assert all(asked[good] >= 0.95 * bus.now / PERIOD_S for good in (0, 2, 4))
    assert 0.15 * (asked[1] + asked[3]) <= LOST_SHARE * bus.now + 1.0


def test_requests_in_the_place_of_one_have_their_turns() -> None:
    bus = Bus({1: Work(2)}, {1: 0.05})
    bus.step()
    turn = bus.plan.next(bus.now)
    assert turn is not None
    bus.plan.note_request(turn, bus.now)
    bus.plan.was_refused(turn, Spent(0.05, 0.02), bus.now)
    bus.plan.split(turn, 3, bus.now)
    bus.note_request.clear()
    for _ in range(4):
        bus.step()
    assert [request for _, _, request in bus.note_request] == [1, 2, 3, 0]


def test_slave_without_requests_can_be_silent_to_others_requests() -> None:
    plan = PollPlan({1: Work(0), 2: Work(1)}, 0.0)
    plan.was_silent(1, 0.5, 1.0)
    plan.was_silent(2, 0.5, 1.0)
    assert (plan.late_until(1), plan.late_until(2)) == (float("-inf"), 1.0 + LATE_S)


def test_silent_slave_is_still_asked() -> None:
    bus = Bus({1: Work(1), 2: Work(1)}, {1: None, 2: 0.1}).live(600.0)
    moments = [at for at, slave, _ in bus.note_request if slave == 1]
    assert max(b - a for a, b in zip(moments, moments[1:], strict=False)) < 20.0


def test_one_lost_answer_costs_a_slave_only_the_wait_for_late_answers() -> None:
    bus = Bus({1: Work(1)}, {1: None})
    bus.step()
    bus.answer_s[1] = 0.1
    bus.step()
    (first, *_), (second, *_) = bus.note_request
    assert second - first == pytest.approx(TIMEOUT_S + LATE_S)


def test_silent_slave_is_left_alone_until_late_answers_have_passed() -> None:
    bus = Bus({1: Work(5), 2: Work(5)}, {1: None, 2: 0.1}).live(300.0)
    moments = [at for at, slave, _ in bus.note_request if slave == 1]
    assert all(b - a >= TIMEOUT_S + LATE_S for a, b in zip(moments, moments[1:], strict=False))


def test_next_request_has_its_turn_after_a_silence() -> None:
    # A device may be silent about one register only.
    bus = Bus({1: Work(3)}, {1: None}).live(60.0)
    assert [request for _, _, request in bus.note_request][:4] == [0, 1, 2, 0]


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
        assert bus.lost_s[1] <= LOST_SHARE * bus.now + CREDIT_S + 2 * TIMEOUT_S
