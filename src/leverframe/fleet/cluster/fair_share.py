"""The fair share of controllers of each living node, by capacity, in whole numbers."""

from collections.abc import Mapping


def fair_shares(count: int, capacities: Mapping[str, int]) -> dict[str, int]:
    """Share out a number of controllers; every node computes the same shares from the same rows."""
    total = sum(capacities.values())
    if total == 0:
        return dict.fromkeys(capacities, 0)
    shares = {name: count * capacity // total for name, capacity in capacities.items()}
    left = count - sum(shares.values())
    # The nodes that lost most by rounding down get the remainder; names decide between equals.
    by_loss = sorted(capacities, key=lambda name: (-(count * capacities[name] % total), name))
    for name in by_loss[:left]:
        shares[name] += 1
    return shares
