"""The time of the next attempt: pauses that grow after failures, and a limit of the rate.

The randomness is handed in, so that a run can be repeated; it keeps a thousand controllers from
knocking at a server that has just come back all in the same second.
"""

import asyncio
from random import Random, SystemRandom

#: The pause after the first failure.
FIRST_PAUSE_S = 1.0
#: Has no state, so one is enough for all.
CHANCE = SystemRandom()


def pause_after(failures: int, first_s: float, longest_s: float, chance: Random) -> float:
    """Return the seconds to wait after so many failures: doubled each time, less up to a half."""
    # With more doublings every pause is the longest one, and floats would overflow at last.
    doublings = min(failures - 1, 60)
    return min(first_s * 2.0**doublings, longest_s) * chance.uniform(0.5, 1.0)


class AttemptPace:
    """A bucket that fills by `per_s` up to `burst`; every attempt takes one out of it."""

    __slots__ = ("_burst", "_filled_at", "_full", "_per_s")

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._full = float(burst)
        self._filled_at: float | None = None

    async def turn(self) -> None:
        """Return when an attempt may be made."""
        pause_s = self.take(asyncio.get_running_loop().time())
        if pause_s > 0:
            await asyncio.sleep(pause_s)

    def take(self, now: float) -> float:
        """Take one attempt and return how long to wait for it."""
        if self._filled_at is not None:
            self._full = min(self._burst, self._full + (now - self._filled_at) * self._per_s)
        self._filled_at = now
        self._full -= 1.0
        return max(0.0, -self._full / self._per_s)
