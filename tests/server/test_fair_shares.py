"""Shares of a supply: one alone gets much, many get less, and who has nothing gets something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.server.fair_shares import FairShares


def take_all(shares: FairShares, holder: str) -> int:
    taken = 0
    while shares.take(holder):
        taken += 1
    return taken


@pytest.mark.parametrize(("per_free", "alone"), [(2.0, 200), (1.0, 150), (0.5, 100)])
def test_one_alone_gets_its_part_and_no_more(per_free: float, alone: int) -> None:
    shares = FairShares(300, per_free)
    assert take_all(shares, "a") == alone
    assert shares.count_of("a") == shares.used == alone


@given(st.integers(1, 18), st.sampled_from([0.5, 1.0, 2.0]))
def test_newcomer_gets_a_share_after_many_that_take_all_they_can(
    takers: int, per_free: float
) -> None:
    shares = FairShares(2048, per_free)
    for number in range(takers):
        take_all(shares, str(number))
    assert shares.take("newcomer")
    assert shares.used <= shares.limit


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 150)), max_size=60))
def test_amount_is_taken_as_if_in_single_pieces_or_not_at_all(
    orders: list[tuple[str, int]],
) -> None:
    together, one_by_one = FairShares(400, 1.0), FairShares(400, 1.0)
    for holder, amount in orders:
        taken = 0
        while taken < amount and one_by_one.take(holder):
            taken += 1
        assert together.take(holder, amount) is (taken == amount)
        if taken < amount:
            one_by_one.give_back(holder, taken)
        assert together.used == one_by_one.used == sum(map(together.count_of, "abc"))


def test_returned_share_is_available_again_and_not_remembered() -> None:
    shares = FairShares(10, 1.0)
    for holder in map(str, range(1000)):
        assert shares.take(holder, 3)
        shares.give_back(holder, 3)
    assert not shares.take("x", 11)
    assert shares.used == 0
    assert not shares._held
