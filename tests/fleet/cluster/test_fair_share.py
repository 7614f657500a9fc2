"""Shares are whole, complete, in proportion, and the same at every node."""

from hypothesis import given
from hypothesis import strategies as st

from leverframe.fleet.cluster.membership import fair_shares

CAPACITIES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 100), min_size=1)


def test_equal_nodes_share_equally() -> None:
    assert fair_shares(7, {"a": 1, "b": 1, "c": 1}) == {"a": 3, "b": 2, "c": 2}


def test_drained_node_gets_no_share() -> None:
    assert fair_shares(10, {"a": 1, "b": 0}) == {"a": 10, "b": 0}


@given(st.integers(0, 10_000), CAPACITIES)
def test_shares_are_whole_and_in_proportion(count: int, capacities: dict[str, int]) -> None:
    shares, total = fair_shares(count, capacities), sum(capacities.values())
    assert shares.keys() == capacities.keys()
    assert sum(shares.values()) == (count if total else 0)
    for name, share in shares.items():
        exact = count * capacities[name] / total if total else 0
        assert abs(share - exact) < 1
    assert fair_shares(count, dict(reversed(capacities.items()))) == shares
