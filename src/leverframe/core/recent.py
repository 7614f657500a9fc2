"""Events of the last hour, counted in bars of equal length that show how busy a controller is."""

from collections.abc import Iterable

#: The number of bars, and the seconds of each bar.
BARS = 30
BAR_S = 120.0


def count_recent(moments: Iterable[float], now: float) -> list[int]:
    """Count moments by bar, oldest bar first; `moments` must begin with the newest."""
    bars, newest = [0] * BARS, int(now // BAR_S)
    for wall in moments:
        age = max(0, newest - int(wall // BAR_S))
        if age >= BARS:
            break
        bars[BARS - 1 - age] += 1
    return bars
