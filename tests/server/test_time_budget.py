"""The time that strangers may cause: so much a second for each, and for all together."""

import pytest

from leverframe.server.snmp_responder import MAX_SOURCES, TimeBudget
from tests.server.signing_up import HandMoved


@pytest.fixture
def clock() -> HandMoved:
    return HandMoved()


@pytest.fixture
def budget(clock: HandMoved) -> TimeBudget:
    return TimeBudget(clock, part=0.25, all_part=0.5, burst_s=1.0)


def use(budget: TimeBudget, clock: HandMoved, source: str, *, seconds: float) -> float:
    """Use all that is allowed for some seconds; gives how much that was."""
    used, end = 0.0, clock.now + seconds
    while clock.now < end:
        if budget.allows(source):
            budget.charge(source, 0.01)
            used += 0.01
        clock.now += 0.01
    return used


def test_source_gets_a_burst_and_then_its_part_of_the_time(
    budget: TimeBudget, clock: HandMoved
) -> None:
    assert use(budget, clock, "a", seconds=100) == pytest.approx(26, abs=0.5)


def test_all_together_get_their_part(budget: TimeBudget, clock: HandMoved) -> None:
    used, end = 0.0, clock.now + 100
    while clock.now < end:
        for number in range(10):
            if budget.allows(str(number)):
                budget.charge(str(number), 0.01)
                used += 0.01
        clock.now += 0.01
    assert used == pytest.approx(51, abs=1)


def test_one_source_does_not_use_up_the_time_of_another(
    budget: TimeBudget, clock: HandMoved
) -> None:
    use(budget, clock, "greedy", seconds=20)
    assert budget.allows("another")
    assert use(budget, clock, "another", seconds=4) >= 1.0


def test_made_up_sources_are_forgotten(budget: TimeBudget) -> None:
    for number in range(10 * MAX_SOURCES):
        budget.charge(str(number), 0.0)
    assert len(budget._paid_until) == MAX_SOURCES
