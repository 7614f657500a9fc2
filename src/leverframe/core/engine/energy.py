"""POWER1-POWER6 and the counters ENERGY1-ENERGY6.

Power comes from an analog input for the current, multiplied by a voltage; from the pulses of a
meter at a digital input; or from a module's reading (m1-m4). How the unit in the settings affects
the displayed number depends on this source. The counter always counts kWh or cubic metres. An
absent or negative power does not change the counter. A counter decreases only if it is set or
reset.

Counters are updated once a second while power is positive, and need no computing time otherwise.
With `energy_remember`, counters and powers are stored once a minute while they change, and survive
a restart. A restored power is shown until it is measured again, for at most a minute. It counts
nothing, because the consumption in the meantime is unknown.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from math import isfinite

from leverframe.core.engine.calls import Persist
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.timers import Key
from leverframe.core.labels import (
    ANALOG_INPUTS,
    DECIMALS,
    DIGITAL_INPUTS,
    ENERGIES,
    POWERS,
    round_result,
)
from leverframe.core.settings import Power, Settings

# The two calculations behind a power reading: the counter, and the power from a meter's pulses.
#
# They use only times and numbers. `_Meter` and `Energy` determine sources, units and labels.

HOUR_S = 3600.0
#: Power below half of the last digit that status files show counts as 0.
MIN_POWER = 0.0005
#: No power is computed from pulses at a shorter interval, which count as simultaneous.
SHORTEST_INTERVAL_S = 0.001
#: While a pulse is overdue, the power is computed again after one second or after a hundredth of
#: the waiting time, whichever is longer.
LOOK_EVERY_S, LOOK_EVERY_PART = 1.0, 0.01


class Counter:
    """An energy that increases at a rate or by pulses, and decreases only when it is set.

    It is computed from the time when the rate was last set, not summed from small steps, so the
    number of reads does not affect it.
    """

    __slots__ = ("_base", "_pulses", "_pulses_per_unit", "_since", "rate_per_h")

    def __init__(self) -> None:
        self.rate_per_h = 0.0
        self._base = 0.0
        self._since = 0.0
        self._pulses = 0
        self._pulses_per_unit = 1

    def value(self, now: float) -> float:
        lasted_s = now - self._since
        by_time = self.rate_per_h * lasted_s / HOUR_S if lasted_s > 0.0 else 0.0
        return self._base + self._pulses / self._pulses_per_unit + by_time

    def set(self, value: float, now: float) -> None:
        self._base = value
        self._since = now
        self._pulses = 0

    def set_rate(self, rate_per_h: float, now: float) -> float:
        """Count this many units per hour from now on, and return the value.

        A negative rate counts as 0.
        """
        value = self.value(now)
        if rate_per_h < 0.0:
            rate_per_h = 0.0
        if rate_per_h != self.rate_per_h:
            self.set(value, now)
            self.rate_per_h = rate_per_h
        return value

    def add_pulse(self, pulses_per_unit: int, now: float) -> None:
        if pulses_per_unit != self._pulses_per_unit:
            self.set(self.value(now), now)
            self._pulses_per_unit = pulses_per_unit
        self._pulses += 1


class PulseRate:
    """Power from the interval between a meter's pulses; it falls while the next is overdue."""

    __slots__ = ("_interval_s", "_last", "_waits_since")

    def __init__(self) -> None:
        self._last: float | None = None
        self._interval_s: float | None = None
        #: The time since which the next pulse is awaited: the last pulse, or the call of `resume`.
        self._waits_since: float | None = None

    def resume(self, per_hour: float, pulses_per_unit: int, now: float) -> None:
        """Resume with a power measured earlier; the next two pulses measure it again."""
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
        """Return the time at which to compute the power again if no pulse arrives."""
        spacing_s = self._spacing_s(now) or 0.0
        wait_s = spacing_s + max(LOOK_EVERY_S, spacing_s * LOOK_EVERY_PART)
        return (now if self._waits_since is None else self._waits_since) + wait_s

    def _spacing_s(self, now: float) -> float | None:
        """Return the longer of the last interval and the time since the last pulse, or None."""
        if self._waits_since is None or self._interval_s is None:
            return None
        return max(self._interval_s, now - self._waits_since)


#: Power unit / energy unit, in the order of their codes. An arrow converts a module's reading.
KW, W, LITRES_PER_MIN, M3_PER_H, KW_TO_W, W_TO_KW = UNITS = (
    "kW/kWh",
    "W/kWh",
    "l/min/m3",
    "m3/h/m3",
    "kW->W/kWh",
    "W->kW/kWh",
)
FIXED_VOLTAGES = {"225V": 225.0, "230V": 230.0, "235V": 235.0}

SHOW_EVERY_S = 1.0
KEEP_EVERY_S = 60.0
_SHOW: Key = ("energy", "show")
_KEEP: Key = ("energy", "keep")
_OVERDUE = "overdue"
#: How long a restored power is shown if its source stays absent.
RESTORED_S = 60.0
_RESTORED = "restored"

#: Factors other than 1, by unit: from the measured number to the displayed number, and to the
#: amount that is counted per hour.
_ANALOG_SHOWN = {W: 1000.0}
_ANALOG_COUNTED = {LITRES_PER_MIN: 0.06}
_MODULE_SHOWN = {KW_TO_W: 1000.0, W_TO_KW: 0.001}
_MODULE_COUNTED = {W: 0.001, LITRES_PER_MIN: 0.06, W_TO_KW: 0.001}


def factors(setting: Power) -> tuple[float, float]:
    """Return two factors of the measured number: the first for display, the second for counting."""
    if setting.current in DIGITAL_INPUTS:
        return 1.0, 0.0
    analog = setting.current in ANALOG_INPUTS
    shown = _ANALOG_SHOWN if analog else _MODULE_SHOWN
    counted = _ANALOG_COUNTED if analog else _MODULE_COUNTED
    return shown.get(setting.unit, 1.0), counted.get(setting.unit, 1.0)


def sources_of_power(setting: Power) -> tuple[str, ...]:
    """List the labels from which a power is computed; empty for a meter with pulses."""
    if setting.current in DIGITAL_INPUTS:
        return ()
    if setting.current in ANALOG_INPUTS and setting.voltage not in FIXED_VOLTAGES:
        return (setting.current, setting.voltage)
    return (setting.current,)


class _Meter:
    """One power reading with its counter."""

    __slots__ = (
        "by_pulses",
        "counted_factor",
        "counter",
        "counting",
        "energy",
        "kept",
        "kept_power",
        "kilowatts",
        "power",
        "pulse_rate",
        "restored_power",
        "setting",
        "shown_factor",
    )

    def __init__(self) -> None:
        self.counter = Counter()
        self.counting = True
        #: The last published value of the counter.
        self.energy = 0.0
        #: The stored value, which the counter has after a restart.
        self.kept = 0.0
        #: The published and the stored power; None if absent.
        self.power: float | None = None
        self.kept_power: float | None = None
        #: Published until the source has a reading again.
        self.restored_power: float | None = None
        self.follow(Power())

    def follow(self, setting: Power) -> None:
        """Apply a setting, and discard the pulse rate measured so far."""
        self.setting = setting
        self.restored_power = None
        self.pulse_rate = PulseRate()
        self.by_pulses = setting.current in DIGITAL_INPUTS
        #: True if the power is computed from volts and amperes.
        self.kilowatts = setting.current in ANALOG_INPUTS
        self.shown_factor, self.counted_factor = factors(setting)

    def resume(self, power: float, now: float) -> None:
        """Show the power of an earlier run until it is measured again."""
        self.power = self.kept_power = power
        if not self.by_pulses:
            self.restored_power = power
        elif power > 0.0 and self.setting.pulses > 0:
            self.pulse_rate.resume(power, self.setting.pulses, now)


class Energy:
    __slots__ = ("_followers", "_machine", "_meters", "_pulse_followers")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._meters = [_Meter() for _ in machine.settings.power]
        #: Meters by the label from which their power is computed, and by the label of their pulses.
        self._followers: dict[str, list[int]] = {}
        self._pulse_followers: dict[str, list[int]] = {}

    def start(self) -> None:
        machine = self._machine
        if not machine.settings.energy_remember:
            self._drop_kept()
        for index, meter in enumerate(self._meters):
            if machine.settings.energy_remember:
                kept = machine.persisted.get(f"energy.{index}")
                meter.kept = float(kept) if kept is not None and isfinite(kept) else 0.0
                meter.counting = machine.persisted.get(f"counting.{index}") is not False
            meter.counter.set(meter.kept, machine.at.now)
            meter.follow(machine.settings.power[index])
            if machine.settings.energy_remember:
                self._resume_power(index, meter)
        self._bind()
        for index in range(len(self._meters)):
            self._measure(index)

    def _resume_power(self, index: int, meter: _Meter) -> None:
        machine = self._machine
        kept = machine.persisted.get(f"power.{index}")
        if kept is not None and isfinite(kept):
            meter.resume(float(kept), machine.at.now)
            if meter.restored_power is not None:
                machine.timers.set(("energy", _RESTORED, index), machine.at.now + RESTORED_S)

    def adopt(self, old: Settings) -> None:
        new = self._machine.settings
        if new.power is not old.power:
            self._adopt_meters(old.power, new.power)
        if new.energy_remember and not old.energy_remember:
            self._keep_everything()
        elif old.energy_remember and not new.energy_remember:
            self._machine.timers.cancel(_KEEP)
            self._drop_kept()

    def listens_to(self) -> Iterable[str]:
        """Return the labels that `derive` uses."""
        return self._followers

    def derive(self, changed: AbstractSet[str]) -> None:
        """Update the meters whose readings have changed."""
        if self._followers.keys().isdisjoint(changed):
            return
        followers = self._followers
        for index in sorted({index for label in changed for index in followers.get(label, ())}):
            self._measure(index)

    def pulse(self, label: str) -> None:
        """Count a pulse: a digital input fell from 1 to 0."""
        now = self._machine.at.now
        for index in self._pulse_followers.get(label, ()):
            meter = self._meters[index]
            meter.pulse_rate.mark(now)
            if meter.counting and meter.setting.pulses > 0:
                meter.counter.add_pulse(meter.setting.pulses, now)
            self._measure(index)

    def on_timer(self, key: Key) -> None:
        if key == _SHOW:
            self._show_growing()
        elif key == _KEEP:
            self._keep_changed()
        else:
            index = int(key[2])
            if key[1] == _RESTORED:
                self._meters[index].restored_power = None
            self._measure(index)

    def set_energy(self, index: int, value: float, cause: Cause) -> None:
        if not isfinite(value):
            raise ValueError(f"{ENERGIES[index]} cannot be set to {value}: use a finite number.")
        label = ENERGIES[index]
        old = self._machine.values[label]
        self._meters[index].counter.set(value, self._machine.at.now)
        self._show_now(index)
        self._machine.log(cause, Fact("energy_set", label, old, value, {"value": value}))
        if self._machine.settings.energy_remember:
            self._keep_changed()

    def is_counting(self, index: int) -> bool:
        return self._meters[index].counting

    def count(self, index: int, on: bool, cause: Cause) -> None:
        """Switch counting on or off; the power is shown in either case."""
        meter = self._meters[index]
        if meter.counting == on:
            return
        meter.counting = on
        self._measure(index)
        what = "energy_counts" if on else "energy_stops"
        self._machine.log(cause, Fact(what, ENERGIES[index]))
        if self._machine.settings.energy_remember:
            self._machine.emit(Persist(f"counting.{index}", on))

    def forget(self) -> None:
        """Reset all meters: counters to 0, counting on, pulse rates discarded."""
        for index, meter in enumerate(self._meters):
            meter.counter.set(0.0, self._machine.at.now)
            meter.counting = True
            meter.follow(meter.setting)
            self._measure(index)
        if self._machine.settings.energy_remember:
            self._keep_everything()

    def save(self) -> None:
        """Store all values that are not stored yet, before a clean stop."""
        for index in range(len(self._meters)):
            self._show_now(index)
        if self._machine.settings.energy_remember:
            self._keep_changed()

    def _adopt_meters(self, old: tuple[Power, ...], new: tuple[Power, ...]) -> None:
        differing = [index for index, setting in enumerate(new) if setting is not old[index]]
        for index in differing:
            before, after = old[index], new[index]
            meter = self._meters[index]
            rate = meter.pulse_rate
            meter.follow(after)
            if before.current == after.current:
                meter.pulse_rate = rate
            self._machine.timers.cancel(("energy", _OVERDUE, index))
        self._bind()
        for index in differing:
            self._measure(index)

    def _bind(self) -> None:
        self._followers = {}
        self._pulse_followers = {}
        for index, meter in enumerate(self._meters):
            for label in sources_of_power(meter.setting):
                self._followers.setdefault(label, []).append(index)
            if meter.by_pulses:
                self._pulse_followers.setdefault(meter.setting.current, []).append(index)

    def _measure(self, index: int) -> None:
        """Publish the current power, and set the counter's rate accordingly."""
        now = self._machine.at.now
        meter = self._meters[index]
        number = self._number(meter)
        shown, rate = None, 0.0
        if number is not None:
            shown = round_result(number * meter.shown_factor)
            rate = number * meter.counted_factor if meter.counting else 0.0
            meter.restored_power = None
        else:
            shown = meter.restored_power
        meter.power = shown
        if self._machine.put(POWERS[index], shown) and shown != meter.kept_power:
            self._time_keep()
        ran = meter.counter.rate_per_h > 0.0
        self._show(index, meter.counter.set_rate(rate, now))
        if ran != (rate > 0.0):
            self._time_show()
        if meter.by_pulses and number:
            self._machine.timers.set(("energy", _OVERDUE, index), meter.pulse_rate.next_look(now))

    def _number(self, meter: _Meter) -> float | None:
        """Return the power before its factors apply: kW, units per hour, or a module's reading."""
        setting = meter.setting
        if meter.by_pulses:
            if setting.pulses <= 0:
                return None
            return meter.pulse_rate.per_hour(setting.pulses, self._machine.at.now)
        current = self._machine.values.get(setting.current)
        if not meter.kilowatts or current is None:
            return current
        voltage = FIXED_VOLTAGES.get(setting.voltage) or self._machine.values.get(setting.voltage)
        return None if voltage is None else current * voltage / 1000.0

    def _time_show(self) -> None:
        timers = self._machine.timers
        if all(meter.counter.rate_per_h <= 0.0 for meter in self._meters):
            timers.cancel(_SHOW)
        elif timers.when(_SHOW) is None:
            timers.set(_SHOW, self._machine.at.now + SHOW_EVERY_S)

    def _show_growing(self) -> None:
        for index, meter in enumerate(self._meters):
            if meter.counter.rate_per_h > 0.0:
                self._show_now(index)
        self._machine.timers.set(_SHOW, self._machine.at.now + SHOW_EVERY_S)

    def _show_now(self, index: int) -> None:
        self._show(index, self._meters[index].counter.value(self._machine.at.now))

    def _show(self, index: int, value: float) -> None:
        machine = self._machine
        meter = self._meters[index]
        meter.energy = round(value, DECIMALS)
        if machine.put(ENERGIES[index], meter.energy) and meter.energy != meter.kept:
            self._time_keep()

    def _time_keep(self) -> None:
        machine = self._machine
        if machine.settings.energy_remember and machine.timers.when(_KEEP) is None:
            machine.timers.set(_KEEP, machine.at.now + KEEP_EVERY_S)

    def _keep_changed(self) -> None:
        self._machine.timers.cancel(_KEEP)
        for index, meter in enumerate(self._meters):
            if meter.energy != meter.kept:
                self._keep(index, meter)
            if meter.power != meter.kept_power:
                self._keep_power(index, meter)

    def _keep_everything(self) -> None:
        self._machine.timers.cancel(_KEEP)
        for index, meter in enumerate(self._meters):
            self._keep(index, meter)
            self._machine.emit(Persist(f"counting.{index}", meter.counting))
            self._keep_power(index, meter)

    def _keep(self, index: int, meter: _Meter) -> None:
        meter.kept = meter.energy
        self._machine.emit(Persist(f"energy.{index}", meter.energy))

    def _keep_power(self, index: int, meter: _Meter) -> None:
        meter.kept_power = meter.power
        self._machine.emit(Persist(f"power.{index}", meter.power))

    def _drop_kept(self) -> None:
        """Delete the stored values, including those of meters that only other versions have."""
        for meter in self._meters:
            meter.kept_power = None
        for index in range(len(ENERGIES)):
            for name in (f"energy.{index}", f"counting.{index}", f"power.{index}"):
                if self._machine.persisted.get(name) is not None:
                    self._machine.emit(Persist(name, None))
