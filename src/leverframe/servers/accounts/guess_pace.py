"""The pace at which one source learns whether credentials are among those already proven.

Proven credentials are taken while others guess at the same address, else anybody behind a proxy
would stop everybody. Who guesses there could use that: a hit is answered, a miss is not. So misses
beyond a hundred a second make all credentials of that source wait before they are looked at. Who
asks with proven ones waits a little longer then, and is still answered.
"""

from collections import OrderedDict
from collections.abc import Callable

from leverframe.servers.accounts.throttle import MAX_COUNTERS
from leverframe.servers.source_address import source_of

MISS_S = 0.01
#: Misses at once that nobody waits for, in the time that they stand for.
FREE_S = 1.0
LONGEST_WAIT_S = 2.0


class GuessPace:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        #: By source, when the time that its misses stand for is over; and the latest of them.
        self._over_at: OrderedDict[str, float] = OrderedDict()
        self._latest = 0.0

    def wait_s(self, peer: str) -> float:
        """Return how long credentials of this source have to wait until they are looked at."""
        begin = self._now() + FREE_S
        if self._latest <= begin:
            return 0.0
        wait_s = self._over_at.get(source_of(peer), 0.0) - begin
        return min(max(0.0, wait_s), LONGEST_WAIT_S)

    def count_miss(self, peer: str) -> None:
        source = source_of(peer)
        over_at = max(self._now(), self._over_at.get(source, 0.0)) + MISS_S
        self._over_at[source] = over_at
        self._over_at.move_to_end(source)
        self._latest = max(self._latest, over_at)
        if len(self._over_at) > MAX_COUNTERS:
            self._over_at.popitem(last=False)
