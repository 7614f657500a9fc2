"""The thread of many histories: each in its order, and those first whom somebody waits for."""

import threading
from collections.abc import Iterator

import pytest

from leverframe.storage.history.turns import Turns
from tests.patience import PATIENCE_S


class BusyTurns(Turns):
    """A thread that does nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__("turns")
        self._go = threading.Event()
        self.done: list[str] = []
        self.of("busy", is_awaited=True).submit(self._go.wait, 10)

    def note(self, controller: str, what: str, *, is_awaited: bool = False) -> None:
        self.of(controller, is_awaited=is_awaited).submit(self.done.append, what)

    def all_done(self) -> list[str]:
        self._go.set()
        last = self.of("last").submit(lambda: None)
        last.result(PATIENCE_S)
        return self.done


@pytest.fixture
def turns() -> Iterator[BusyTurns]:
    turns = BusyTurns()
    yield turns
    turns.all_done()
    turns.end()


def test_what_nobody_waits_for_is_done_in_the_order_of_controllers(turns: BusyTurns) -> None:
    for controller, what in (("a", "a1"), ("b", "b1"), ("a", "a2")):
        turns.note(controller, what)
    assert turns.all_done() == ["a1", "a2", "b1"]


def test_a_question_comes_before_others_with_all_that_came_before_it(turns: BusyTurns) -> None:
    for controller in "abc":
        turns.note(controller, f"{controller}1")
    turns.note("c", "c asked", is_awaited=True)
    turns.note("b", "b asked", is_awaited=True)
    turns.note("c", "c2")
    turns.note("c", "c asked again", is_awaited=True)
    turns.note("c", "c3")
    done = ["c1", "c asked", "b1", "b asked", "c2", "c asked again", "a1", "c3"]
    assert turns.all_done() == done


def test_an_error_is_that_of_the_job_and_who_gives_up_is_passed_over(turns: BusyTurns) -> None:
    failing = turns.of("a").submit(int, "no number")
    given_up = turns.of("b").submit(turns.done.append, "given up")
    assert given_up.cancel()
    turns.note("b", "b1")
    assert turns.all_done() == ["b1"]
    with pytest.raises(ValueError, match="no number"):
        failing.result(PATIENCE_S)
