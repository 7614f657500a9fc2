"""The time of a controller: woken by the event loop, or moved on a virtual clock."""

import asyncio
from collections.abc import Callable, Iterator
from math import inf

from leverframe.core.engine.timers import Moment
from leverframe.core.runtime.clock import Clock
from leverframe.core.runtime.event_loop import bulk_turns

#: The pause after a fault: the failed deadline may still be due, and would fail again immediately.
REST_S = 1.0
#: A deadline that is later than the target of a move by no more than this is due at the target:
#: sums of fractions of a second, and seconds since 1970, are not more precise.
INSTANT_S = 1e-6
#: The maximum virtual time to skip in one step, which then takes only a few milliseconds.
SKIPPED_S = 3600.0


class Scheduler:
    """Calls `tick` at each `next_deadline`."""

    __slots__ = (
        "_clock",
        "_is_moved",
        "_next_deadline",
        "_not_before",
        "_planning",
        "_skip_quiet",
        "_tick",
        "_wake",
        "_wake_at",
    )

    def __init__(
        self,
        clock: Clock,
        next_deadline: Callable[[], float | None],
        tick: Callable[[Moment], None],
        skip_quiet: Callable[[float], float | None],
    ) -> None:
        self._clock = clock
        self._next_deadline = next_deadline
        self._tick = tick
        #: Skips deadlines that change nothing, up to a moment of virtual time; returns the next.
        self._skip_quiet = skip_quiet
        self._is_moved = clock.is_virtual
        self._wake: asyncio.TimerHandle | None = None
        self._wake_at: float | None = None
        self._planning: asyncio.Handle | None = None
        self._not_before = -inf

    def plan(self) -> None:
        """Plan a call by the event loop at the next deadline; a virtual clock is moved instead.

        Many events may happen in one round of the loop; the deadline is determined after them.
        """
        if self._planning is None and not self._is_moved:
            self._planning = asyncio.get_running_loop().call_soon(self._plan)

    def _plan(self) -> None:
        self._planning = None
        self.plan_now()

    def plan_now(self) -> None:
        """Plan immediately, not at the end of the round as `plan` does."""
        if self._is_moved:
            return
        deadline = self._next_deadline()
        if deadline == self._wake_at:
            return
        self._sleep_on()
        self._wake_at = deadline
        if deadline is not None:
            delay = max(0.0, max(deadline, self._not_before) - self._clock.now())
            self._wake = asyncio.get_running_loop().call_later(delay, self._on_wake)

    def stop(self) -> None:
        self._sleep_on()
        if self._planning is not None:
            self._planning.cancel()
            self._planning = None

    def _sleep_on(self) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake = self._wake_at = None

    def _on_wake(self) -> None:
        self._wake = self._wake_at = None
        try:
            self._tick(self._clock.read())
        except Exception:
            self._not_before = self._clock.now() + REST_S
            raise
        finally:
            self.plan()

    async def advance(self, seconds: float | None) -> None:
        """Move virtual time by seconds, or to the next deadline if None; serve passed deadlines.

        If the call is cancelled, time stays at the last deadline that was served.
        """
        now = self._clock.read().now
        target = self._next_deadline() if seconds is None else now + seconds
        if target is not None:
            turns = bulk_turns()
            for _ in self.live_until(target):
                if turns.is_over():
                    await turns.wait()

    async def advance_until(self, holds: Callable[[], bool], within_s: float) -> bool:
        """Move virtual time until a condition holds, at most `within_s`; return whether it holds.

        The condition is checked at the beginning, after every deadline served, and at the end.
        """
        if holds():
            return True
        turns = bulk_turns()
        for _ in self.live_until(self._clock.read().now + within_s):
            if holds():
                return True
            if turns.is_over():
                await turns.wait()
        return holds()

    def live_until(self, target: float) -> Iterator[None]:
        """Move virtual time to a moment; yield after every deadline served on the way.

        Deadlines that change nothing may be skipped without a yield. Deadlines an instant after the
        target are served, too: ten steps of 0.1 s add up to less than a second.
        """
        clock, end = self._clock, target + INSTANT_S
        while True:
            # Skipping saves an eighth of the time that a day of a busy controller takes, because
            # its regulator is mostly at a limit.
            deadline = self._skip_quiet(min(end, clock.now() + SKIPPED_S))
            if deadline is None or deadline > end:
                break
            clock.move_to(deadline)
            self._tick(clock.read())
            yield
        clock.move_to(target)
