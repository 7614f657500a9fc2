"""The checker of the faults itself: which orders of changes it accepts, and which not."""

from pathlib import Path

import pytest

from tests.fleet.faults.clients import CountingClient, GivenUp, Promise
from tests.fleet.faults.judging import UNDER_WAY_S, is_anticipated, overtaken
from tests.fleet.faults.processes import FaultedFleet, Hang
from tests.fleet.faults.witness import StoredNumber
from tests.soak.ledger import Ledger

#: Asked at 10 by the door 80, which hung until 30, and given up at 12.
GIVEN_UP = {2: GivenUp(80, 10.0, 12.0)}
HANGS = {80: [Hang(9.0, 30.0)]}


def store_numbers(*numbers: int, last_at: float) -> list[StoredNumber]:
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
        # It has an answer.
        ((1, 4, 3), 30.5, HANGS, set()),
        # It came in time, though without an answer.
        ((1, 2, 3), 30.5, HANGS, set()),
    ],
)
def test_unanswered_changes_may_arrive_late_while_under_way(
    numbers: tuple[int, ...], at: float, hangs: dict[int, list[Hang]], allowed: set[int]
) -> None:
    assert overtaken(store_numbers(*numbers, last_at=at), GIVEN_UP, hangs) == allowed


@pytest.mark.parametrize(
    ("unanswered", "late_at", "allowed"),
    [
        ({7}, 10.5, True),
        # Its message was stored before the client looked at the reading, or never.
        ({7}, 9.9, False),
        ({7}, 11.1, False),
        ({7}, None, False),
        # It has an answer.
        (set(), 10.5, False),
    ],
)
def test_promised_message_is_missing_only_if_a_late_reading_fired_its_rule(
    unanswered: set[int], late_at: float | None, allowed: bool, tmp_path: Path
) -> None:
    client = CountingClient(FaultedFleet("", tmp_path, 1.0), "c-1", Ledger("test"), 1)
    client.promised[8] = Promise(10.0, 11.0)
    client.unanswered_readings = unanswered
    stored = {} if late_at is None else {("c-1", 7): late_at}
    assert is_anticipated(client, 8, stored) is allowed
