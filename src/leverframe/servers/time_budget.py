"""Time of the event loop that strangers may cause: so much a second each, and all together.

Who has used up its time is not heard until some has passed. A burst is allowed; what a piece of
work has taken is known only afterwards, so that the last piece may go beyond the budget.
"""

from collections import OrderedDict
from collections.abc import Callable

#: Sources that are remembered; the ones not heard for the longest time go first.
MAX_SOURCES = 256


class TimeBudget:
    def __init__(
        self, now: Callable[[], float], *, part: float, all_part: float, burst_s: float
    ) -> None:
        """Allow each source this part of the time, all of them another, and bursts."""
        self._now = now
        self._part, self._all_part, self._burst_s = part, all_part, burst_s
        #: Until when what was used is worked off, as if it took the allowed part of the time.
        self._paid_until: OrderedDict[str, float] = OrderedDict()
        self._all_paid_until = 0.0

    def allows(self, source: str) -> bool:
        now = self._now()
        paid_until = self._paid_until.get(source, now)
        return (
            paid_until - now <= self._burst_s / self._part
            and self._all_paid_until - now <= self._burst_s / self._all_part
        )

    def charge(self, source: str, seconds: float) -> None:
        now = self._now()
        paid_until = max(now, self._paid_until.get(source, now))
        self._paid_until[source] = paid_until + seconds / self._part
        self._paid_until.move_to_end(source)
        if len(self._paid_until) > MAX_SOURCES:
            self._paid_until.popitem(last=False)
        self._all_paid_until = max(now, self._all_paid_until) + seconds / self._all_part
