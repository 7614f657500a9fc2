"""The checker of the faults itself: which order of changes it takes, and which not."""

import pytest

from tests.fleet.faults.clients import GivenUp
from tests.fleet.faults.judging import UNDER_WAY_S, overtaken
from tests.fleet.faults.processes import Hang
from tests.fleet.faults.witness import StoredNumber

#: Asked at 10 by the door 80, which hung until 30, and given up at 12.
GIVEN_UP = {2: GivenUp(80, 10.0, 12.0)}
HANGS = {80: [Hang(9.0, 30.0)]}


def stored(*numbers: int, last_at: float) -> list[StoredNumber]:
    return [StoredNumber(number, last_at) for number in numbers]


@pytest.mark.parametrize(
    ("numbers", "at", "hangs", "allowed"),
    [
        ((1, 3, 2), 30.5, HANGS, {2}),
        ((1, 3, 2), 30 + UNDER_WAY_S + 1, HANGS, set()),
        # Its door did not hang, or at another time.
        ((1, 3, 2), 12.5, {}, {2}),
        ((1, 3, 2), 30.5, {}, set()),
        ((1, 3, 2), 30.5, {80: [Hang(13.0, 30.0)]}, set()),
        ((1, 3, 2), 30.5, {81: [Hang(9.0, 30.0)]}, set()),
        # Somebody has answered it.
        ((1, 4, 3), 30.5, HANGS, set()),
        # It came in time, though nobody answered.
        ((1, 2, 3), 30.5, HANGS, set()),
    ],
)
def test_only_what_nobody_answered_comes_late_and_only_while_it_is_under_way(
    numbers: tuple[int, ...], at: float, hangs: dict[int, list[Hang]], allowed: set[int]
) -> None:
    assert overtaken(stored(*numbers, last_at=at), GIVEN_UP, hangs) == allowed
