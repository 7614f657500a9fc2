"""The clocks: the machine's clock, or one that a test advances.

A clock returns `Moment`s and can be set; no other code reads the time. The virtual clock stands
still until it is advanced, so a year takes only as long as its simulation.
"""

import time
from collections.abc import Callable
from typing import Protocol

from leverframe.core.engine.timers import Moment

#: A difference of at most this between two checks is drift; if it is larger, the clock was changed.
NO_STEP_S = 0.5


class Clock(Protocol):
    """A source of moments."""

    #: Whether time stands still until `move_to` advances it; otherwise it runs in real time.
    is_virtual: bool
    #: Number of seconds by which its wall time is ahead of the machine's.
    ahead_s: float

    def read(self) -> Moment:
        """Return the monotonic and the wall time of one moment."""

    def now(self) -> float:
        """Return only the monotonic time."""

    def wall(self) -> float:
        """Return only the wall time."""

    def set_wall(self, wall: float) -> None:
        """Set the wall time, in seconds since 1970 UTC; the monotonic time does not change."""

    def was_stepped(self) -> bool:
        """Return whether another program has set the wall time since the previous call."""

    def move_to(self, now: float) -> None:
        """Advance virtual time to this moment if the moment is in the future."""

    def go_back(self, moment: Moment) -> None:
        """Set the virtual clock back to the moment of a snapshot."""


class SystemClock:
    """The machine's clock, plus an offset if the clock of the controller was set."""

    is_virtual = False

    __slots__ = ("_distance_s", "_sources", "ahead_s", "now")

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._sources = monotonic, wall
        #: The same as `Clock.now`, but faster: no other function is called.
        self.now = monotonic
        self.ahead_s = 0.0
        self._distance_s = wall() - monotonic()

    @classmethod
    def from_now(cls, now: float) -> "SystemClock":
        """Return a clock that resumes from the monotonic time of another clock."""
        shift_s = now - time.monotonic()
        return cls(lambda: time.monotonic() + shift_s)

    def read(self) -> Moment:
        monotonic, wall = self._sources
        return Moment(monotonic(), wall() + self.ahead_s)

    def wall(self) -> float:
        _, wall = self._sources
        return wall() + self.ahead_s

    def set_wall(self, wall: float) -> None:
        _, of_machine = self._sources
        self.ahead_s = wall - of_machine()

    def was_stepped(self) -> bool:
        """Return whether the machine's clock was set since the previous call."""
        monotonic, wall = self._sources
        distance_s = wall() - monotonic()
        step_s = distance_s - self._distance_s
        self._distance_s = distance_s
        return abs(step_s) > NO_STEP_S

    def move_to(self, now: float) -> None:
        raise RuntimeError("This clock runs in real time; only a virtual clock can be moved.")

    def go_back(self, moment: Moment) -> None:
        raise RuntimeError("This clock cannot go back; only a virtual clock can.")


class VirtualClock:
    """A clock that stands still until it is advanced; its fixed start makes runs repeatable."""

    is_virtual = True
    ahead_s = 0.0

    #: Monday, 5 January 2026, 00:00 UTC.
    START = 1767571200.0

    __slots__ = ("_now", "_offset_s")

    def __init__(self, wall: float = START) -> None:
        self._now = 0.0
        self._offset_s = wall

    def read(self) -> Moment:
        return Moment(self._now, self._now + self._offset_s)

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._now + self._offset_s

    def set_wall(self, wall: float) -> None:
        self._offset_s = wall - self._now

    def was_stepped(self) -> bool:
        return False

    def move_to(self, now: float) -> None:
        if now > self._now:
            self._now = now

    def go_back(self, moment: Moment) -> None:
        self._now, self._offset_s = moment.now, moment.wall - moment.now
