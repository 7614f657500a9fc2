"""One label reduced to intervals: lowest, mean by time, highest and last value, and how many.

A value holds until the next one. It therefore counts in the mean with the time it held, also in the
interval that it began before. Intervals in which nothing came make no row: the last value of the
row before says what they were.
"""

from math import inf, isnan

from leverframe.storage.history.columns import ABSENT, Row


class Reduction:
    """The interval that is open, and what holds."""

    __slots__ = ("_area", "_at", "_count", "_high", "_low", "_present_s", "_start", "held", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        self.held = ABSENT
        self._at = -inf
        self._start: float | None = None
        self._low = inf
        self._high = -inf
        self._area = 0.0
        self._present_s = 0.0
        self._count = 0

    def take_up(self, held: float, at: float) -> None:
        """Go on from a value that has been holding."""
        self.held, self._at = held, at

    def put(self, at: float, value: float) -> Row | None:
        """A new value; the row of the interval that it ends, if it ends one."""
        row = None
        if at < self._at:
            # The clock was set back: what holds is known from here on, not from before.
            row = self._closed() if self._start is not None else None
            self._at = at
        elif self._start is not None and at >= self._start + self.width:
            row = self.close(at)
        if self._start is None:
            self._start = at // self.width * self.width
            self._at = max(self._at, self._start)
        self._hold_until(at)
        self.held = value
        self._count += 1
        if not isnan(value):
            self._low = min(self._low, value)
            self._high = max(self._high, value)
        return row

    def close(self, now: float) -> Row | None:
        """The row of the open interval if it is over by now."""
        if self._start is None or now < self._start + self.width:
            return None
        self._hold_until(self._start + self.width)
        return self._closed()

    def peek(self, now: float) -> Row | None:
        """What the row of the open interval would be if it ended now."""
        if self._start is None:
            return None
        copy = Reduction(self.width)
        for name in self.__slots__:
            setattr(copy, name, getattr(self, name))
        copy._hold_until(min(now, self._start + self.width))
        return copy._closed()

    def _hold_until(self, until: float) -> None:
        seconds = until - self._at
        if seconds <= 0:
            return
        self._at = until
        if isnan(self.held):
            return
        self._area += self.held * seconds
        self._present_s += seconds
        self._low = min(self._low, self.held)
        self._high = max(self._high, self.held)

    def _closed(self) -> Row:
        assert self._start is not None
        low, high = self._low, self._high
        if low > high:
            low = mean = high = ABSENT
        else:
            mean = self._area / self._present_s if self._present_s else (low + high) / 2
            # Adding up must not carry it out of what was measured.
            mean = min(max(mean, low), high)
        row = (self._start, low, mean, high, self.held, self._present_s, float(self._count))
        self._start = None
        self._low, self._high = inf, -inf
        self._area = self._present_s = 0.0
        self._count = 0
        return row
