"""Workers of a test run have the longest tests first, and are busy to the end."""

from itertools import cycle
from pathlib import Path

import pytest

from tools.turns import LONGEST, Turns

FIRST, LAST = LONGEST[0], LONGEST[-1]
OTHERS = [f"tests/core/engine/test_x.py::test_{number}" for number in range(8)]
LONG = [f"{place}/test_y.py::test_y[{number}]" for place in (LAST, FIRST) for number in range(2)]
GIVEN = [*OTHERS, *LONG]


def next_name(turns: Turns, worker: int) -> str:
    place = turns.next_of(worker)
    assert place is not None
    return GIVEN[place]


def test_longest_places_exist() -> None:
    assert [place for place in LONGEST if not Path(place).exists()] == []


def test_one_worker_begins_with_the_longest_and_another_with_what_takes_a_core() -> None:
    turns = Turns(GIVEN, 2)
    assert [next_name(turns, 0) for _ in range(4)] == [*LONG[2:], *LONG[:2]]
    assert [next_name(turns, 1) for _ in range(4)] == OTHERS[:4]


def test_worker_without_tests_takes_half_of_those_that_another_has_left() -> None:
    turns = Turns(OTHERS, 3)
    assert next_name(turns, 0) == OTHERS[0]
    assert [next_name(turns, 1), next_name(turns, 1)] == OTHERS[4:6]
    assert next_name(turns, 2) == OTHERS[2]


def test_unfinished_tests_of_a_worker_are_run_by_its_successor() -> None:
    turns = Turns(OTHERS, 2)
    given = [turns.next_of(0) for _ in range(3)]
    turns.give_back(0, [place for place in given[1:] if place is not None])
    assert [next_name(turns, 0) for _ in range(3)] == OTHERS[1:4]


@pytest.mark.parametrize("workers", range(1, 9))
@pytest.mark.parametrize("names", [[], OTHERS[:1], LONG, GIVEN], ids=len)
def test_none_is_lost_and_none_is_there_twice(workers: int, names: list[str]) -> None:
    turns = Turns(names, workers)
    given: list[int] = []
    for worker in cycle(range(workers)):
        place = turns.next_of(worker)
        if place is None:
            break
        given.append(place)
    assert sorted(given) == list(range(len(names)))
    assert [turns.next_of(worker) for worker in range(workers)] == [None] * workers
