"""The two instruments behind a power reading: a counter, and the rate of a meter's pulses.

They handle times and numbers only. What is measured, in which unit and where it is shown is
decided in `energy.py`.
"""

HOUR_S = 3600.0
#: Power below half of the last digit that status files show counts as 0.
MIN_POWER = 0.0005
#: Pulses closer together count as simultaneous and do not measure power.
SHORTEST_INTERVAL_S = 0.001
#: While a pulse is overdue the power is computed once a second, later whenever the wait has grown
#: by a hundredth.
LOOK_EVERY_S, LOOK_EVERY_PART = 1.0, 0.01


class Counter:
    """An energy that grows with time at a rate, and by pulses; it never falls on its own.

    It is computed from the moment the rate was last set, not summed up from small steps, so it
    does not matter how often it is read.
    """

    __slots__ = ("_base", "_pulses", "_pulses_per_unit", "_since", "rate_per_h")

    def __init__(self) -> None:
        self.rate_per_h = 0.0
        self._base = 0.0
        self._since = 0.0
        self._pulses = 0
        self._pulses_per_unit = 1

    def value(self, now: float) -> float:
        by_time = self.rate_per_h * max(now - self._since, 0.0) / HOUR_S
        return self._base + self._pulses / self._pulses_per_unit + by_time

    def set(self, value: float, now: float) -> None:
        self._base = value
        self._since = now
        self._pulses = 0

    def set_rate(self, rate_per_h: float, now: float) -> None:
        """Count this many units per hour from now on; a negative rate counts nothing."""
        rate_per_h = max(rate_per_h, 0.0)
        if rate_per_h != self.rate_per_h:
            self.set(self.value(now), now)
            self.rate_per_h = rate_per_h

    def add_pulse(self, pulses_per_unit: int, now: float) -> None:
        if pulses_per_unit != self._pulses_per_unit:
            self.set(self.value(now), now)
            self._pulses_per_unit = pulses_per_unit
        self._pulses += 1


class PulseRate:
    """Power from the time between a meter's last two pulses, less while the next is overdue."""

    __slots__ = ("_interval_s", "_last", "_waits_since")

    def __init__(self) -> None:
        self._last: float | None = None
        self._interval_s: float | None = None
        #: When the wait for the next pulse began: the last pulse, or the moment of `resume`.
        self._waits_since: float | None = None

    def resume(self, per_hour: float, pulses_per_unit: int, now: float) -> None:
        """Begin with a power that was measured earlier; the next two pulses measure it again."""
        self._interval_s = HOUR_S / (pulses_per_unit * per_hour)
        self._waits_since = now

    def mark(self, now: float) -> None:
        if self._last is None:
            self._last = self._waits_since = now
        elif now - self._last >= SHORTEST_INTERVAL_S:
            self._interval_s = now - self._last
            self._last = self._waits_since = now

    def per_hour(self, pulses_per_unit: int, now: float) -> float:
        spacing_s = self._spacing_s(now)
        if spacing_s is None:
            return 0.0
        power = HOUR_S / (pulses_per_unit * spacing_s)
        return power if power >= MIN_POWER else 0.0

    def next_look(self, now: float) -> float:
        """Return the time at which the power has fallen noticeably if no pulse comes."""
        spacing_s = self._spacing_s(now) or 0.0
        wait_s = spacing_s + max(LOOK_EVERY_S, spacing_s * LOOK_EVERY_PART)
        return (now if self._waits_since is None else self._waits_since) + wait_s

    def _spacing_s(self, now: float) -> float | None:
        """Return the longer of the last interval and the wait for the next pulse, or None."""
        if self._waits_since is None or self._interval_s is None:
            return None
        return max(self._interval_s, now - self._waits_since)
