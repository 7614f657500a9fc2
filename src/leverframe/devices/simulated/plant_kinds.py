"""The plants that there are: a room that is heated, a tank that is pumped full, a load, a meter.

Between two changes of its inputs a plant follows a formula in closed form; its state is as exact
after one step of a year as after a million small ones. It asks for time by deadlines: for samples
while the reading moves, for the moment at which a switch trips, for a pulse. A plant at rest asks
for none.

A plant never answers within the instant that acts on it, or a rule that reacts to its own output
could hold time still: what is switched shows after `REACTION_S`, and a level switch has a band.
"""

from collections.abc import Iterable, Mapping
from math import exp, floor
from typing import Protocol

from leverframe.core.labels import READINGS

# Plants: what the outputs of the simulated board act on, and how its inputs come to know.
#
# They close the loop from an output back to a reading, so that the regulator, rules and
# protections can be tried out. Here is what any plant does, and all plants of a board together.

Values = Mapping[str, float]


class Plant(Protocol):
    #: Pins of outputs and readings that it follows.
    inputs: tuple[str, ...]
    #: Readings that it gives.
    feeds: tuple[str, ...]

    def begin(self, now: float, values: Values) -> dict[str, float]:
        """Start the plant with these inputs and return its first readings."""

    def put(self, label: str, value: float, now: float) -> None:
        """Change an input, which held its former value until now."""

    def next_deadline(self) -> float | None: ...

    def tick(self, now: float) -> dict[str, float]:
        """Return what the sensors show now; called when the deadline has come, or earlier."""


class Plants:
    """All plants of one board; the values of pins and readings go in, readings come out."""

    __slots__ = ("next_due", "wired")

    def __init__(self) -> None:
        self.wired: list[Plant] = []
        #: The monotonic second at which to call `tick`; None where no plant wants to be called.
        self.next_due: float | None = None

    @property
    def fed(self) -> set[str]:
        """Return the readings that plants give."""
        return {label for plant in self.wired for label in plant.feeds}

    @property
    def followed(self) -> set[str]:
        """Return the readings that plants follow."""
        return {label for plant in self.wired for label in plant.inputs if label in READINGS}

    def wire(self, plant: Plant, now: float, values: Values) -> dict[str, float]:
        """Add a plant; it takes its readings over from those that fed them before."""
        fed = set(plant.feeds)
        self.wired = [other for other in self.wired if not fed.intersection(other.feeds)]
        self.wired.append(plant)
        readings = plant.begin(now, values)
        self._plan()
        return readings

    def replace(self, plants: Iterable[Plant]) -> None:
        """Replace the wired plants by these, which have begun already."""
        self.wired = list(plants)
        self._plan()

    def clear(self) -> None:
        self.wired.clear()
        self.next_due = None

    def look(self, label: str, now: float) -> dict[str, float]:
        """Return what the plant of a reading shows at this moment, due or not."""
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


#: How long a sensor takes to notice that something was switched.
REACTION_S = 0.1
#: A level switch opens this share of the tank's height below where it closes.
SWITCH_BAND = 0.01
#: How long a meter's contact stays closed, and no longer than half the time between two pulses.
PULSE_S = 0.05
#: Readings have this many decimals; a temperature nearer to its end than a tenth of that rests.
DECIMALS = 2
RESTING = 0.001
JOULES_PER_KWH = 3.6e6


def approach(start: float, end: float, time_constant_s: float, elapsed_s: float) -> float:
    """Return where something is that exponentially nears `end`."""
    return end + (start - end) * exp(-elapsed_s / time_constant_s)


def level_after(level: float, rate_per_s: float, height: float, elapsed_s: float) -> float:
    """Return a level that rises or falls evenly and stays between empty and full."""
    return min(max(level + rate_per_s * elapsed_s, 0.0), height)


def seconds_until(mark: float, level: float, rate_per_s: float) -> float:
    """Return when a level that moves towards a mark reaches it; now if it is past it."""
    return max(0.0, (mark - level) / rate_per_s)


class Room:
    """A heated room and its thermometer.

    Without heating its temperature nears the one outside, with full heating that one plus `power`
    degrees; within the time constant it does 63 % of the way. Outside is a number or the label of
    a reading, 20 degrees as long as that is absent.
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

    Levels are millimetres, rates millimetres per second; with both rates negative it is a sump that
    fills without a pump and is pumped empty. DISTANCE is measured from the top down to the surface,
    an analog input gets `volts` when the tank is full. The switch pulls its input to 0 when the
    level reaches `switch_at`.
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
            # The level is at the mark but for rounding: the deadline knows, a comparison may not.
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
    """Something that draws current when it is switched on, and a sensor or module that measures it.

    The reading is volts at an analog input, or whatever a module reports: `off` without and `on`
    with full power, in between for a PWM output.
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
    """A load with a meter that closes its contact once for a part of a kilowatt hour.

    The contact pulls its input to 0. Pulses that were missed because of a late call are lost, as
    they are to a controller that did not look; what was consumed counts for the next.
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
        #: How much of the next pulse has been consumed.
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
            # At its own moment a pulse is complete but for rounding.
            self._part = max(0.0, self._part - max(1, floor(self._part)))
            self._opens_at = now + min(PULSE_S, 0.5 / self._rate())
        elif self._opens_at is not None and self._opens_at <= now:
            self._opens_at = None
        self._plan(now)
        return {self._reading: 1 if self._opens_at is None else 0}

    def _rate(self) -> float:
        """Return the pulses per second."""
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
