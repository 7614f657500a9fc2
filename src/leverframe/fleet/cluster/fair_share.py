"""How many controllers each living node should have: by its capacity, whole ones, all of them."""

from collections.abc import Mapping


def fair_shares(count: int, capacities: Mapping[str, int]) -> dict[str, int]:
    """Share out so many controllers; every node finds the same shares from the same rows."""
    total = sum(capacities.values())
    if total == 0:
        return dict.fromkeys(capacities, 0)
    shares = {name: count * capacity // total for name, capacity in capacities.items()}
    left = count - sum(shares.values())
    # Who lost most by rounding down gets one of the rest; names decide between equals.
    by_loss = sorted(capacities, key=lambda name: (-(count * capacities[name] % total), name))
    for name in by_loss[:left]:
        shares[name] += 1
    return shares
