"""The thread of many histories: each in its order, and first those that a caller waits for."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.storage.history.shared import MAX_IN_A_ROW, Turns
from tests.effort import examples
from tests.patience import PATIENCE_S


class BusyTurns(Turns):
    """A thread that does nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__("turns")
        self._go = threading.Event()
        self.done: list[str] = []
        self.line("busy").awaited.submit(self._go.wait, 10)

    def note(
        self, controller: str, what: str, *, is_awaited: bool = False, tenant: str = ""
    ) -> None:
        line = self.line(controller, lambda: tenant)
        (line.awaited if is_awaited else line.unawaited).submit(self.done.append, what)

    def all_done(self) -> list[str]:
        self._go.set()
        # A round after those of all jobs, whichever they did.
        self._thread.submit(lambda: None).result(PATIENCE_S)
        return self.done


@pytest.fixture
def turns() -> Iterator[BusyTurns]:
    turns = BusyTurns()
    yield turns
    turns.all_done()
    turns.end()


def test_jobs_without_a_waiting_caller_run_in_the_order_of_controllers(turns: BusyTurns) -> None:
    for controller, what in (("a", "a1"), ("b", "b1"), ("a", "a2")):
        turns.note(controller, what)
    assert turns.all_done() == ["a1", "a2", "b1"]


def test_question_comes_before_others_with_all_that_came_before_it(turns: BusyTurns) -> None:
    for controller in "abc":
        turns.note(controller, f"{controller}1")
    turns.note("c", "c asked", is_awaited=True)
    turns.note("b", "b asked", is_awaited=True)
    turns.note("c", "c2")
    turns.note("c", "c asked again", is_awaited=True)
    turns.note("c", "c3")
    done = ["c1", "c asked", "b1", "b asked", "c2", "c asked again", "a1", "c3"]
    assert turns.all_done() == done


def test_error_belongs_to_its_job_and_cancelled_callers_are_skipped(turns: BusyTurns) -> None:
    failing = turns.line("a").unawaited.submit(int, "no number")
    given_up = turns.line("b").unawaited.submit(turns.done.append, "given up")
    assert given_up.cancel()
    turns.note("b", "b1")
    assert turns.all_done() == ["b1"]
    with pytest.raises(ValueError, match="no number"):
        failing.result(PATIENCE_S)


def test_questions_of_one_controller_alternate_with_those_of_others(turns: BusyTurns) -> None:
    for number in range(3):
        turns.note("a", f"a{number}", is_awaited=True)
    turns.note("b", "b0", is_awaited=True)
    turns.note("c", "c0", is_awaited=True)
    assert turns.all_done() == ["a0", "b0", "c0", "a1", "a2"]


def test_questions_of_one_tenant_alternate_with_those_of_others(turns: BusyTurns) -> None:
    for number in range(4):
        turns.note(f"a{number}", f"a{number}", is_awaited=True, tenant="a")
    turns.note("b", "b0", is_awaited=True, tenant="b")
    turns.note("b", "b1", is_awaited=True, tenant="b")
    assert turns.all_done() == ["a0", "b0", "a1", "b1", "a2", "a3"]


def test_flood_of_questions_holds_up_no_recording(turns: BusyTurns) -> None:
    turns.note("a", "recorded")
    for number in range(3 * MAX_IN_A_ROW):
        turns.note("b", f"b{number}", is_awaited=True)
    assert turns.all_done().index("recorded") <= MAX_IN_A_ROW


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.sampled_from("tu"))))
@examples(100)
def test_every_job_is_done_and_those_of_a_controller_in_their_order(
    jobs: list[tuple[str, bool, str]],
) -> None:
    turns = BusyTurns()
    try:
        for number, (controller, is_awaited, tenant) in enumerate(jobs):
            name = f"{controller}{number:03}"
            turns.note(controller, name, is_awaited=is_awaited, tenant=tenant)
        done = turns.all_done()
    finally:
        turns.end()
    expected = [f"{controller}{number:03}" for number, (controller, *_) in enumerate(jobs)]
    for controller in "abcd":
        of_one = [name for name in expected if name.startswith(controller)]
        assert [name for name in done if name.startswith(controller)] == of_one
