"""One label reduced to intervals: lowest, mean by time, highest and last value, and how many.

A value holds until the next one. It therefore counts in the mean with the time it held, also in the
interval that it began before. Intervals in which nothing came make no row: the last value of the
row before says what they were.
"""

from collections.abc import Iterable
from math import inf, isnan

from leverframe.storage.history.columns import ABSENT, Point, Row


class Reduction:
    """The interval that is open, and what holds."""

    __slots__ = (
        *("_area", "_at", "_count", "_end", "_high", "_low", "_present_s", "_start"),
        *("held", "width"),
    )

    def __init__(self, width: int) -> None:
        self.width = width
        self.held = ABSENT
        self._at = -inf
        self._start: float | None = None
        #: Where the open interval ends; no moment is before it where none is open.
        self._end = -inf
        self._low = inf
        self._high = -inf
        self._area = 0.0
        self._present_s = 0.0
        self._count = 0

    def take_up(self, held: float, at: float) -> None:
        """Go on from a value that has been holding."""
        self.held, self._at = held, at

    def put(self, points: Iterable[Point]) -> list[Row]:
        """New values, each with its moment; the rows of the intervals that they end.

        Outputs can be switched tens of thousands of times a second, so a value within the open
        interval costs no call.
        """
        rows: list[Row] = []
        for at, value in points:
            if not self._at <= at < self._end:
                rows += self._turn_to(at)
            seconds, held = at - self._at, self.held
            # NaN is not equal to itself.
            if seconds > 0 and held == held:
                self._area += held * seconds
                self._present_s += seconds
                if held < self._low:
                    self._low = held
                if held > self._high:
                    self._high = held
            self._at, self.held = at, value
            self._count += 1
            if value < self._low:
                self._low = value
            if value > self._high:
                self._high = value
        return rows

    def _turn_to(self, at: float) -> list[Row]:
        """Make the interval of a moment the open one; the row of the interval that was, if any."""
        row = None
        if at < self._at:
            # The clock was set back: what holds is known from here on, not from before.
            row = self._closed() if self._start is not None else None
            self._at = at
        elif self._start is not None:
            row = self.close(at)
        if self._start is None:
            self._start = at // self.width * self.width
            self._end = self._start + self.width
            self._at = max(self._at, self._start)
        return [] if row is None else [row]

    def close(self, now: float) -> Row | None:
        """The row of the open interval if it is over by now."""
        if self._start is None or now < self._end:
            return None
        self._hold_until(self._end)
        return self._closed()

    def peek(self, now: float) -> Row | None:
        """What the row of the open interval would be if it ended now."""
        if self._start is None:
            return None
        copy = Reduction(self.width)
        for name in self.__slots__:
            setattr(copy, name, getattr(self, name))
        copy._hold_until(min(now, self._end))
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
        self._start, self._end = None, -inf
        self._low, self._high = inf, -inf
        self._area = self._present_s = 0.0
        self._count = 0
        return row
