"""The limit of wrong passwords: guessing is slow, and guessing never locks the owner out.

Failures are counted per account and source address. The first few cost nothing, since users
mistype; then each wait is twice as long as the one before it, and ten in five minutes are all there
are. A source cannot go round that by trying many accounts. Many sources together have a hundred
tries an hour at one account; beyond those, only a source that has not failed there yet gets one
try: the owner, who knows the password.

A try counts as failed from its beginning until it is known to be right, so that a hundred at the
same moment are not a hundred tries. Unknown names are treated like existing ones. A refused try
leaves no counter behind; otherwise made-up names would displace real counters.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from math import ceil

from leverframe.commands.table.accounts import MAX_LETTERS
from leverframe.servers.fair_shares import source_of
from leverframe.servers.problems import TooManyTries

PAIR_FAILURES = 10
SOURCE_FAILURES = 30
WINDOW_S = 300.0
ACCOUNT_FAILURES = 100
HOUR_S = 3600.0
FREE_FAILURES = 3
LONGEST_DELAY_S = 60.0
#: Counters kept of each kind; the ones not touched for the longest time go first.
MAX_COUNTERS = 4096

MISS_S = 0.01
#: Misses in a burst that cause no wait, as the time that they stand for.
FREE_S = 1.0
LONGEST_PACE_WAIT_S = 2.0

Counters = OrderedDict[str, deque[float]]


class Throttle:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._pairs: Counters = OrderedDict()
        self._sources: Counters = OrderedDict()
        self._accounts: Counters = OrderedDict()
        self._all = (self._pairs, self._sources, self._accounts)

    def begin(self, account: str, peer: str) -> None:
        """Count a try as failed for the time being; refuse it where there were too many."""
        now, source = self._now(), source_of(peer)
        names = _names(account, source)
        pair, of_source, of_account = (
            _recent(counters, name, now) for counters, name in zip(self._all, names, strict=True)
        )
        ready_at = max(
            _end_of_delay(pair, now),
            _end_of_window(pair, PAIR_FAILURES, WINDOW_S),
            _end_of_window(of_source, SOURCE_FAILURES, WINDOW_S),
            _end_of_window(of_account, ACCOUNT_FAILURES, HOUR_S) if pair else 0.0,
        )
        if ready_at > now:
            raise TooManyTries(ceil(ready_at - now))
        for counters, name in zip(self._all, names, strict=True):
            _count(counters, name, now)

    def was_right(self, account: str, peer: str) -> None:
        """Forget the failed tries of this source with this account: the password was right."""
        of_pair, *others = _names(account, source_of(peer))
        pair = self._pairs.pop(of_pair, deque())
        for counters, name in zip(self._all[1:], others, strict=True):
            counter = counters.get(name, deque())
            for moment in pair:
                if moment in counter:
                    counter.remove(moment)
            if not counter:
                counters.pop(name, None)


class GuessPace:
    """The pace at which one source learns whether credentials are among those already proven.

    Proven credentials are accepted during guessing from the same address; otherwise one client
    behind a proxy would lock out all of them. An attacker there could exploit that: a hit is
    answered, a miss is not. So misses beyond a hundred a second make all credentials of that source
    wait before they are looked at. Clients with proven credentials then wait a little longer, and
    are still answered.
    """

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
        return min(max(0.0, wait_s), LONGEST_PACE_WAIT_S)

    def count_miss(self, peer: str) -> None:
        source = source_of(peer)
        over_at = max(self._now(), self._over_at.get(source, 0.0)) + MISS_S
        self._over_at[source] = over_at
        self._over_at.move_to_end(source)
        self._latest = max(self._latest, over_at)
        if len(self._over_at) > MAX_COUNTERS:
            self._over_at.popitem(last=False)


def _names(account: str, source: str) -> tuple[str, str, str]:
    """Return the names under which tries of a pair, a source and an account are counted."""
    # Longer names do not exist, and need no counters of their own.
    account = account[: MAX_LETTERS + 1]
    return f"{source} {account}", source, account


def _recent(counters: Counters, name: str, now: float) -> deque[float]:
    """Return the counter of a name without the tries that are too old to count."""
    counter = counters.get(name, deque())
    while counter and counter[0] <= now - HOUR_S:
        counter.popleft()
    return counter


def _count(counters: Counters, name: str, now: float) -> None:
    counters.setdefault(name, deque(maxlen=ACCOUNT_FAILURES)).append(now)
    counters.move_to_end(name)
    if len(counters) > MAX_COUNTERS:
        counters.popitem(last=False)


def _end_of_delay(pair: deque[float], now: float) -> float:
    failures = sum(moment > now - WINDOW_S for moment in pair)
    if failures < FREE_FAILURES:
        return 0.0
    return pair[-1] + min(LONGEST_DELAY_S, 2.0 ** (failures - FREE_FAILURES))


def _end_of_window(counter: deque[float], most: int, window_s: float) -> float:
    """Return when the counter has room again, as moments leave its window."""
    return counter[-most] + window_s if len(counter) >= most else 0.0
