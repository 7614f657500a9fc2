"""A supply that no holder can exhaust.

A fixed share would be too small for a single holder, or too large for many. So a holder may have a
given multiple of what is still free: one alone gets most of the supply, and every further one makes
the shares smaller. The last eighth is for those who have next to nothing yet, so that it takes many
greedy holders, not a few, to leave nothing for one more.
"""

from collections import Counter
from ipaddress import IPv6Address, ip_address

#: The last part of the supply, and what each may have of it.
LAST_PART = 8
LITTLE_PART = 128


class FairShares:
    def __init__(self, limit: int, per_free: float) -> None:
        self.limit = limit
        self.used = 0
        self._per_free = per_free
        self._last = limit // LAST_PART
        self._little = max(1, limit // LITTLE_PART)
        self._held: Counter[str] = Counter()

    def count_of(self, holder: str) -> int:
        return self._held[holder]

    def has_room(self, holder: str, amount: int = 1) -> bool:
        # As if it came in single pieces: the last one still has to be within the share.
        before, free = self._held[holder] + amount - 1, self.limit - self.used - amount + 1
        share = self._per_free * free
        if free <= self._last:
            share = min(share, self._little)
        return free > 0 and before < share

    def take(self, holder: str, amount: int = 1) -> bool:
        """Take from the supply; False, and nothing is taken, where that is more than the share."""
        if not self.has_room(holder, amount):
            return False
        self.used += amount
        self._held[holder] += amount
        return True

    def give_back(self, holder: str, amount: int = 1) -> None:
        self.used -= amount
        self._held[holder] -= amount
        if not self._held[holder]:
            del self._held[holder]


def source_of(peer: str) -> str:
    """Return the address, or the /64 of an IPv6 address: its owner has at least that network."""
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if isinstance(address, IPv6Address):
        return address.exploded[:19] if address.ipv4_mapped is None else str(address.ipv4_mapped)
    return peer
