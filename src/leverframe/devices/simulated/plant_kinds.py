"""The kinds of plants: a heated room, a tank with a pump, a load, a meter.

Between two changes of its inputs, a plant follows an exact formula: a single step of a year leads
to the same state as a million small steps. A plant sets a deadline for its next call: the next
sample while its reading changes, the moment at which a switch trips, or a pulse. A plant at rest
has no deadline.

A plant never reacts immediately, because a rule that reacts to its own output could then loop
forever without any time passing. A switched output takes effect after `REACTION_S`, and a level
switch has a hysteresis.
"""

from collections.abc import Iterable, Mapping
from math import exp, floor
from typing import Protocol

from leverframe.core.labels import READINGS

# Plants: how the outputs of the simulated board affect its inputs.
#
# They close the control loop from an output to a reading, so that the regulator, rules and
# protections can be tested. This module contains the interface of a plant, and all plants of a
# board together.

Values = Mapping[str, float]


class Plant(Protocol):
    #: The outputs and readings on which it depends.
    inputs: tuple[str, ...]
    #: The readings that it supplies.
    feeds: tuple[str, ...]

    def begin(self, now: float, values: Values) -> dict[str, float]:
        """Start the plant with these inputs and return its first readings."""

    def put(self, label: str, value: float, now: float) -> None:
        """Change an input, which held its former value until now."""

    def next_deadline(self) -> float | None: ...

    def tick(self, now: float) -> dict[str, float]:
        """Return the current readings; called at the deadline or earlier."""


class Plants:
    """All plants of a board: they receive values of pins and readings, and return readings."""

    __slots__ = ("next_due", "wired")

    def __init__(self) -> None:
        self.wired: list[Plant] = []
        #: The monotonic second of the next `tick`; None if no plant has a deadline.
        self.next_due: float | None = None

    @property
    def fed(self) -> set[str]:
        """Return the readings that plants supply."""
        return {label for plant in self.wired for label in plant.feeds}

    @property
    def followed(self) -> set[str]:
        """Return the readings on which plants depend."""
        return {label for plant in self.wired for label in plant.inputs if label in READINGS}

    def wire(self, plant: Plant, now: float, values: Values) -> dict[str, float]:
        """Add a plant; it replaces the plants that supplied its readings before."""
        fed = set(plant.feeds)
        self.wired = [other for other in self.wired if not fed.intersection(other.feeds)]
        self.wired.append(plant)
        readings = plant.begin(now, values)
        self._plan()
        return readings

    def replace(self, plants: Iterable[Plant]) -> None:
        """Replace the wired plants by these, which are already running."""
        self.wired = list(plants)
        self._plan()

    def clear(self) -> None:
        self.wired.clear()
        self.next_due = None

    def look(self, label: str, now: float) -> dict[str, float]:
        """Return the current readings of the plant that supplies a label, whether due or not."""
        readings: dict[str, float] = {}
        for plant in self.wired:
            if label in plant.feeds:
                readings |= plant.tick(now)
        self._plan()
        return readings

    def put(self, label: str, value: float, now: float) -> None:
        followers = [plant for plant in self.wired if label in plant.inputs]
        for plant in followers:
            plant.put(label, value, now)
        if followers:
            self._plan()

    def tick(self, now: float) -> dict[str, float]:
        readings: dict[str, float] = {}
        if self.next_due is not None and self.next_due <= now:
            for plant in self.wired:
                due = plant.next_deadline()
                if due is not None and due <= now:
                    readings |= plant.tick(now)
            self._plan()
        return readings

    def _plan(self) -> None:
        dues = [plant.next_deadline() for plant in self.wired]
        self.next_due = min((due for due in dues if due is not None), default=None)


#: The delay until a sensor reacts to a switched output.
REACTION_S = 0.1
#: The hysteresis of a level switch, as a share of the tank's height.
SWITCH_BAND = 0.01
#: How long a meter's contact stays closed, in seconds; at most half the time between two pulses.
PULSE_S = 0.05
#: Decimal places of readings; a temperature is at rest when it is within a tenth of the last place
#: of its final value.
DECIMALS = 2
RESTING = 0.001
JOULES_PER_KWH = 3.6e6


def approach(start: float, end: float, time_constant_s: float, elapsed_s: float) -> float:
    """Return the value of a quantity that approaches `end` exponentially."""
    return end + (start - end) * exp(-elapsed_s / time_constant_s)


def level_after(level: float, rate_per_s: float, height: float, elapsed_s: float) -> float:
    """Return a level that rises or falls at a constant rate between empty and full."""
    return min(max(level + rate_per_s * elapsed_s, 0.0), height)


def seconds_until(mark: float, level: float, rate_per_s: float) -> float:
    """Return when a moving level reaches a mark; 0 if it has passed the mark."""
    return max(0.0, (mark - level) / rate_per_s)


class Room:
    """A heated room and its thermometer.

    Without heating, its temperature approaches the temperature outside; with full heating, `power`
    degrees more. It covers 63 % of the difference within the time constant. The outside temperature
    is a number or the label of a reading; while that reading is absent, it is 20 degrees.
    """

    def __init__(
        self,
        heater: str,
        reading: str,
        outside: float | str,
        power: float,
        time_constant: float,
        start: float | None,
        sample: float,
    ) -> None:
        self._heater = heater
        self._reading = reading
        self._power = power
        self._time_constant_s = time_constant
        self._sample_s = sample
        self._start = start
        self._outside_label = outside if isinstance(outside, str) else None
        self._outside = 20.0 if isinstance(outside, str) else outside
        self.inputs: tuple[str, ...] = (
            (heater, self._outside_label) if self._outside_label else (heater,)
        )
        self.feeds: tuple[str, ...] = (reading,)
        self._heat = 0.0
        self._temperature = self._since = 0.0
        self._due: float | None = None

    def begin(self, now: float, values: Values) -> dict[str, float]:
        self._heat = values[self._heater]
        if self._outside_label is not None:
            self._outside = values.get(self._outside_label, self._outside)
        self._temperature = self._outside if self._start is None else self._start
        self._since = now
        return self._sample(now)

    def put(self, label: str, value: float, now: float) -> None:
        self._live(now)
        if label == self._heater:
            self._heat = value
        else:
            self._outside = value
        if self._due is None and not self._rests():
            self._due = now + self._sample_s

    def next_deadline(self) -> float | None:
        return self._due

    def tick(self, now: float) -> dict[str, float]:
        self._live(now)
        return self._sample(now)

    def _end(self) -> float:
        return self._outside + self._power * self._heat

    def _live(self, now: float) -> None:
        elapsed_s = now - self._since
        self._temperature = approach(
            self._temperature, self._end(), self._time_constant_s, elapsed_s
        )
        self._since = now

    def _rests(self) -> bool:
        return abs(self._temperature - self._end()) < RESTING

    def _sample(self, now: float) -> dict[str, float]:
        rests = self._rests()
        self._due = None if rests else now + self._sample_s
        return {self._reading: round(self._end() if rests else self._temperature, DECIMALS)}


class Tank:
    """A tank with a pump, a steady drain, and a level sensor, a level switch, or both.

    Levels are in millimetres, rates in millimetres per second. If both rates are negative, the tank
    is a sump that fills steadily and is pumped empty. DISTANCE is measured from the top down to the
    surface; an analog input gets `volts` when the tank is full. The switch pulls its input to 0
    when the level reaches `switch_at`.
    """

    def __init__(
        self,
        pump: str,
        reading: str | None,
        switch: str | None,
        height: float,
        fill: float,
        drain: float,
        start: float,
        switch_at: float | None,
        volts: float,
        sample: float,
    ) -> None:
        self._pump = pump
        self._reading = reading
        self._switch = switch
        self._height = height
        self._fill = fill
        self._drain = drain
        self._closes_at = height if switch_at is None else switch_at
        self._opens_at = max(self._closes_at - SWITCH_BAND * height, 0.0)
        self._volts = volts
        self._sample_s = sample
        self.inputs: tuple[str, ...] = (pump,)
        self.feeds = tuple(label for label in (reading, switch) if label)
        self._pumping = 0.0
        self._level = start
        self._closed = False
        self._since = 0.0
        self._sample_due: float | None = None
        self._trip_due: float | None = None

    def begin(self, now: float, values: Values) -> dict[str, float]:
        self._pumping = values[self._pump]
        self._since = now
        self._closed = self._level >= self._closes_at
        return self._look(now)

    def put(self, label: str, value: float, now: float) -> None:
        self._live(now)
        self._pumping = value
        if self._sample_due is None and self._moves():
            self._sample_due = now + self._sample_s
        self._plan_trip(now)

    def next_deadline(self) -> float | None:
        return _earlier(self._sample_due, self._trip_due)

    def tick(self, now: float) -> dict[str, float]:
        self._live(now)
        if self._trip_due is not None and self._trip_due <= now:
            # At the deadline, the level equals the mark except for rounding, so do not compare
            # them.
            self._closed = not self._closed
        return self._look(now)

    def _rate(self) -> float:
        return self._fill * self._pumping - self._drain

    def _live(self, now: float) -> None:
        self._level = level_after(self._level, self._rate(), self._height, now - self._since)
        self._since = now

    def _moves(self) -> bool:
        rate = self._rate()
        return self._reading is not None and (
            self._level < self._height if rate > 0.0 else rate < 0.0 < self._level
        )

    def _plan_trip(self, now: float) -> None:
        self._trip_due = None
        rate = self._rate()
        if self._switch is not None and rate != 0.0 and self._closed is (rate < 0.0):
            mark = self._opens_at if self._closed else self._closes_at
            self._trip_due = now + seconds_until(mark, self._level, rate)

    def _look(self, now: float) -> dict[str, float]:
        self._sample_due = now + self._sample_s if self._moves() else None
        self._plan_trip(now)
        shown: dict[str, float] = {}
        if self._reading == "DISTANCE":
            shown[self._reading] = round(self._height - self._level, DECIMALS)
        elif self._reading is not None:
            shown[self._reading] = round(self._volts * self._level / self._height, 4)
        if self._switch is not None:
            shown[self._switch] = 0 if self._closed else 1
        return shown


class Load:
    """A load that draws current while it is on, and a sensor or module that measures it.

    The reading is a voltage at an analog input, or any value that a module reports. It is `off`
    without power, `on` at full power, and proportional in between for a PWM output.
    """

    def __init__(self, switch: str, reading: str, on: float, off: float) -> None:
        self._reading = reading
        self._on = on
        self._off = off
        self.inputs: tuple[str, ...] = (switch,)
        self.feeds: tuple[str, ...] = (reading,)
        self._power = 0.0
        self._due: float | None = None

    def begin(self, now: float, values: Values) -> dict[str, float]:
        self._power = values[self.inputs[0]]
        return self.tick(now)

    def put(self, label: str, value: float, now: float) -> None:
        self._power = value
        if self._due is None:
            self._due = now + REACTION_S

    def next_deadline(self) -> float | None:
        return self._due

    def tick(self, now: float) -> dict[str, float]:
        self._due = None
        return {self._reading: round(self._off + (self._on - self._off) * self._power, 4)}


class Meter:
    """A load with a meter that closes its contact a fixed number of times per kilowatt hour.

    The contact pulls its input to 0. Pulses before a late call are lost, as for a controller that
    polls too late; the remaining energy counts towards the next pulse.
    """

    def __init__(
        self, switch: str, reading: str, watts: float, pulses: float, standby: float
    ) -> None:
        self._reading = reading
        self._watts = watts
        self._standby = standby
        self._pulses_per_joule = pulses / JOULES_PER_KWH
        self.inputs: tuple[str, ...] = (switch,)
        self.feeds: tuple[str, ...] = (reading,)
        self._power = 0.0
        #: The part of the next pulse's energy that has been consumed.
        self._part = 0.0
        self._since = 0.0
        self._opens_at: float | None = None
        self._pulse_at: float | None = None

    def begin(self, now: float, values: Values) -> dict[str, float]:
        self._power = values[self.inputs[0]]
        self._since = now
        self._plan(now)
        return {self._reading: 1}

    def put(self, label: str, value: float, now: float) -> None:
        self._live(now)
        self._power = value
        self._plan(now)

    def next_deadline(self) -> float | None:
        return _earlier(self._opens_at, self._pulse_at)

    def tick(self, now: float) -> dict[str, float]:
        self._live(now)
        closes = self._pulse_at is not None and self._pulse_at <= now
        if closes:
            # At the moment of the deadline, a pulse is complete except for rounding.
            self._part = max(0.0, self._part - max(1, floor(self._part)))
            self._opens_at = now + min(PULSE_S, 0.5 / self._rate())
        elif self._opens_at is not None and self._opens_at <= now:
            self._opens_at = None
        self._plan(now)
        return {self._reading: 1 if self._opens_at is None else 0}

    def _rate(self) -> float:
        """Return the number of pulses per second."""
        watts = self._standby + (self._watts - self._standby) * self._power
        return watts * self._pulses_per_joule

    def _live(self, now: float) -> None:
        self._part += self._rate() * (now - self._since)
        self._since = now

    def _plan(self, now: float) -> None:
        rate = self._rate()
        self._pulse_at = now + max(0.0, 1.0 - self._part) / rate if rate > 0.0 else None


def _earlier(first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return second if first is None else first
    return min(first, second)
