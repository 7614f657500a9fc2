"""Where the moments come from: the machine's clock, or one that a test moves.

A clock gives `Moment`s and can be set; it is the only place that reads the time. The virtual one
stands still until it is moved, so that a year passes as fast as the engine can live it.
"""

import time
from typing import Protocol

from leverframe.engine.moment import Moment


class Clock(Protocol):
    def read(self) -> Moment: ...

    def set_wall(self, wall: float) -> None:
        """Make the wall time this many seconds since 1970 UTC; `now` does not step."""


class SystemClock:
    """The machine's clock, with an offset of the controller's own once somebody has set it."""

    def __init__(self) -> None:
        self._offset_s = 0.0

    def read(self) -> Moment:
        return Moment(time.monotonic(), time.time() + self._offset_s)

    def set_wall(self, wall: float) -> None:
        self._offset_s = wall - time.time()


class VirtualClock:
    """Stands still until it is moved. Begins at a fixed date, so that runs can be repeated."""

    #: Monday, 5 January 2026, 00:00 UTC.
    START = 1767571200.0

    def __init__(self, wall: float = START) -> None:
        self._now = 0.0
        self._offset_s = wall

    def read(self) -> Moment:
        return Moment(self._now, self._now + self._offset_s)

    def set_wall(self, wall: float) -> None:
        self._offset_s = wall - self._now

    def move_to(self, now: float) -> None:
        """Forward only; a moment that has passed does not come back."""
        self._now = max(self._now, now)
