"""The inputs: measurements of the board, converted to readings and states.

Raw readings are stored, so that they can be converted again after a change of settings. Analog
inputs use the formula of their sensor, an offset is added to 1-Wire values, P1 is reduced to sea
level, and the dew point is computed from T1 and H1. Digital inputs are in `digital_inputs.py`.
Unknown labels are ignored.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from math import log
from operator import add, mul, sub, truediv
from typing import Any

from leverframe.core.engine.digital_inputs import DigitalInputs
from leverframe.core.engine.machine import Machine, Value
from leverframe.core.engine.sources import analog_value
from leverframe.core.engine.timers import Key
from leverframe.core.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    LIGHTING,
    LIGHTING_LIMITS,
    LIMITS,
    ONEWIRE,
    THERMOMETER_C,
    round_result,
    within,
)
from leverframe.core.settings import NO_ONEWIRE_ID, Differential, Settings

# DS1-DS8: thermometers on the 1-Wire bus.
#
# A board reports a sensor under its ID, and the sensor belongs to the position whose settings name
# that ID. A board may also report a value under the position's label; such a value takes precedence
# over a value by ID until it becomes absent.

_ID = re.compile(r"[0-9A-F]{2}(:[0-9A-F]{2}){7}")
_INDEX = {label: index for index, label in enumerate(ONEWIRE)}


#: What a DS18B20 shows that has not measured since its power came back, and by how much a
#: temperature must have changed to be taken for that.
POWER_ON_C, LEAP_C = 85.0, 10.0


class OneWire:
    __slots__ = (
        "_bus",
        "_by_id",
        "_by_label",
        "_machine",
        "_places",
        "_step",
        "bound",
        "powered_up",
    )

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._by_label: dict[str, float | None] = dict.fromkeys(ONEWIRE)
        self._by_id: dict[str, float] = {}
        self._bus: tuple[str, ...] = ()
        #: The number of calls of `next_id` since the IDs on the bus last changed.
        self._step = 0
        self._places: dict[str, list[int]] = {}
        #: The labels whose settings name a sensor.
        self.bound: tuple[str, ...] = ()
        #: The labels that show the power-on value of a DS18B20 since they had a quite different
        #: value or none.
        self.powered_up: set[str] = set()
        self._bind()

    def adopt(self, old: Settings) -> None:
        new = self._machine.settings.onewire
        if new is old.onewire:
            return
        self._bind()
        for index, (before, after) in enumerate(zip(old.onewire, new, strict=True)):
            if before is not after:
                if before.id != after.id:
                    self._machine.forget_presence(ONEWIRE[index])
                self._show(index)

    def take(self, name: str, value: Any) -> None:
        """Process a reading by label or ID; ignore anything else."""
        index = _INDEX.get(name)
        if index is None:
            self._take_id(name.upper(), value)
            return
        raw = within(THERMOMETER_C, value)
        if raw != self._by_label[name]:
            self._by_label[name] = raw
            self._show(index)

    def _take_id(self, sensor_id: str, value: Any) -> None:
        if not _ID.fullmatch(sensor_id):
            return
        raw = within(THERMOMETER_C, value)
        if raw == self._by_id.get(sensor_id):
            return
        if raw is None:
            del self._by_id[sensor_id]
        else:
            self._by_id[sensor_id] = raw
        self._show_places(sensor_id)

    def take_bus(self, ids: Any) -> None:
        """Process the IDs of sensors on the bus; the readings of missing sensors become absent."""
        found = ids if isinstance(ids, tuple | list) else ()
        bus = tuple(item.upper() for item in found if isinstance(item, str))
        if bus == self._bus:
            return
        gone = set(self._bus) - set(bus)
        self._bus = bus
        self._step = 0
        for sensor_id in gone & self._by_id.keys():
            del self._by_id[sensor_id]
            self._show_places(sensor_id)

    def list_found(self) -> dict[str, float | None]:
        """Return the sensors on the bus by ID, assigned or not, with their uncorrected readings."""
        return {sensor_id: self._by_id.get(sensor_id) for sensor_id in self._bus}

    def next_id(self) -> str:
        """Put the next ID of the bus into `dsid`; after the last ID, put `NO_ONEWIRE_ID` once."""
        round_trip = (*self._bus, NO_ONEWIRE_ID)
        shown = round_trip[self._step % len(round_trip)]
        self._step += 1
        if shown != self._machine.dsid:
            self._machine.dsid = shown
            self._machine.mark("dsid")
        return shown

    def raw(self, label: str) -> float | None:
        by_label = self._by_label[label]
        if by_label is not None:
            return by_label
        return self._by_id.get(self._machine.settings.onewire[_INDEX[label]].id)

    def _bind(self) -> None:
        settings = self._machine.settings.onewire
        bound = [index for index, one in enumerate(settings) if one.id != NO_ONEWIRE_ID]
        self.bound = tuple(ONEWIRE[index] for index in bound)
        self._places = {}
        for index in bound:
            self._places.setdefault(settings[index].id, []).append(index)

    def _show_places(self, sensor_id: str) -> None:
        for index in self._places.get(sensor_id, ()):
            self._show(index)

    def _show(self, index: int) -> None:
        label, setting = ONEWIRE[index], self._machine.settings.onewire[index]
        raw = self._by_label[label]
        if raw is None:
            raw = self._by_id.get(setting.id)
        former = self._machine.values[label]
        if former is None and raw is not None and label in self.bound:
            self._machine.keep_presence(label)
        if raw != POWER_ON_C:
            self.powered_up.discard(label)
        elif former is None or abs(former - raw) > LEAP_C:
            self.powered_up.add(label)
        self._machine.put(label, None if raw is None else round_result(raw + setting.offset))


# DIFF1-DIFF6: two readings joined by an operator.
#
# A differential may use other differentials, in any order. A differential that uses itself,
# directly or indirectly, has no value, and neither has any differential that depends on it. The
# reading is absent if an operand is absent, the divisor is zero, or the result is not finite.

OPERATORS: dict[str, Callable[[float, float], float]] = {
    "-": sub,
    "+": add,
    "*": mul,
    "/": truediv,
}


class Differentials:
    __slots__ = ("_affected", "_machine", "_order")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        #: Indices in order of evaluation, without differentials in a loop or dependent on a loop.
        self._order: list[int] = []
        #: By reading: the differentials that depend on it, in order of evaluation. No key is a
        #: differential.
        self._affected: dict[str, list[int]] = {}

    def start(self) -> None:
        self._bind()
        self._compute(self._order)

    def adopt(self, old: Settings) -> None:
        if self._machine.settings.differentials is not old.differentials:
            self.start()

    def on_timer(self, key: Key) -> None:
        """Do nothing: differentials set no deadlines."""

    def listens_to(self) -> Iterable[str]:
        """Return the labels that `derive` uses."""
        return self._affected

    def derive(self, changed: AbstractSet[str]) -> None:
        """Compute the differentials whose readings have changed."""
        if self._affected.keys().isdisjoint(changed):
            return
        labels = self._affected.keys() & changed
        if len(labels) == 1:
            self._compute(self._affected[labels.pop()])
        elif labels:
            indices = {index for label in labels for index in self._affected[label]}
            self._compute(index for index in self._order if index in indices)

    def _bind(self) -> None:
        settings = self._machine.settings.differentials
        own = dict(zip(DIFFERENTIALS, range(len(settings)), strict=False))
        used = [{setting.first, setting.second} for setting in settings]
        #: By index: the readings that a differential uses, directly or through other differentials.
        rests_on: dict[int, set[str]] = {}
        waiting = list(range(len(settings)))
        while ready := [
            index
            for index in waiting
            if all(own[label] in rests_on for label in used[index] & own.keys())
        ]:
            for index in ready:
                inherited = (rests_on[own[label]] for label in used[index] & own.keys())
                rests_on[index] = (used[index] - own.keys()).union(*inherited)
            waiting = [index for index in waiting if index not in rests_on]
        for index in waiting:
            self._machine.put(DIFFERENTIALS[index], None)
        self._order = list(rests_on)
        self._affected = {
            label: [index for index in self._order if label in rests_on[index]]
            for label in set().union(*rests_on.values())
        }

    def _compute(self, indices: Iterable[int]) -> None:
        machine = self._machine
        settings, values = machine.settings.differentials, machine.values
        for index in indices:
            setting = settings[index]
            machine.put(DIFFERENTIALS[index], _difference(setting, values))


def _difference(setting: Differential, values: Mapping[str, Value]) -> float | None:
    first, second = values.get(setting.first), values.get(setting.second)
    if first is None or second is None or (second == 0 and setting.operator == "/"):
        return None
    return round_result(OPERATORS[setting.operator](first, second))


# --- formulas of the weather readings -------------------------------------------------------------

# P1 is the pressure at sea level, as on weather maps; it depends on altitude and temperature.

#: The Magnus formula over water.
MAGNUS_A, MAGNUS_B_C = 17.62, 243.12

ZERO_CELSIUS_K = 273.15
#: The standard atmosphere: the temperature lapse rate, and the exponent that results from it.
LAPSE_K_PER_M = 0.0065
BAROMETRIC_EXPONENT = 5.257
#: Used if no thermometer is connected.
STANDARD_C = 15.0


def dew_point(celsius: float | None, humidity_pct: float | None) -> float | None:
    if celsius is None or humidity_pct is None or humidity_pct <= 0.0:
        return None
    # A difference of logarithms, because the quotient underflows to 0 for extremely small numbers.
    gamma = log(humidity_pct) - log(100.0) + MAGNUS_A * celsius / (MAGNUS_B_C + celsius)
    return round_result(MAGNUS_B_C * gamma / (MAGNUS_A - gamma))


def sea_level_pressure(hpa: float, altitude_m: int, celsius: float | None) -> float | None:
    """Reduce the pressure at a station by the international barometric formula."""
    station_k = ZERO_CELSIUS_K + (STANDARD_C if celsius is None else celsius)
    sea_level_k = station_k + LAPSE_K_PER_M * altitude_m
    if sea_level_k <= 0.0:
        return None  # below the range of the formula
    return round_result(hpa * (sea_level_k / station_k) ** BAROMETRIC_EXPONENT)


# --- the inputs -----------------------------------------------------------------------------------

#: Labels whose raw numbers are stored here; `OneWire` stores those of 1-Wire sensors.
NUMBERS = frozenset(LIMITS.keys() - set(ONEWIRE))


class Inputs:
    __slots__ = (
        "_digital",
        "_machine",
        "_onewire",
        "_raw",
        "barcode",
        "i2c_found",
        "lighting",
        "module_readings",
    )

    def __init__(self, machine: Machine, on_falling_edge: Callable[[str], None]) -> None:
        self._machine = machine
        self._digital = DigitalInputs(machine, on_falling_edge)
        self._onewire = OneWire(machine)
        #: Raw readings. Most labels never have one; omitting them saves 2.2 KB per controller.
        self._raw: dict[str, float | None] = {}
        #: The sensor that answers on the I2C bus.
        self.i2c_found: str | None = None
        #: The last scanned barcode.
        self.barcode: str | None = None
        #: Values of the lighting module, if the board has one.
        self.lighting: dict[str, float | None] = dict.fromkeys(LIGHTING)
        #: All readings of the Modbus modules, by slot (1-3); empty if no bus is polled.
        self.module_readings: dict[int, tuple[float | None, ...]] = {}

    def start(self) -> None:
        self._digital.start()

    def adopt(self, old: Settings) -> None:
        new = self._machine.settings
        if new.analog_inputs is not old.analog_inputs:
            pairs = zip(ANALOG_INPUTS, old.analog_inputs, new.analog_inputs, strict=True)
            for label, before, after in pairs:
                if before is not after:
                    self._show(label)
        if new.weather.altitude != old.weather.altitude:
            self._show("P1")
        self._onewire.adopt(old)
        self._digital.adopt(old)

    def on_timer(self, key: Key) -> None:
        self._digital.on_timer(key)

    def sense(self, readings: Mapping[str, Any]) -> None:
        """Process readings of the board; None means absent, or that a digital input is open."""
        for label, value in readings.items():
            take = _TAKERS.get(label)
            if take is None:
                self._onewire.take(label, value)
            else:
                take(self, label, value)

    def listens_to(self) -> Iterable[str]:
        """Return the labels that `derive` uses."""
        return ("T1", "H1")

    def derive(self, changed: AbstractSet[str]) -> None:
        """Update the readings that are computed from other weather readings."""
        if "T1" in changed:
            self._show("P1")
        elif "H1" not in changed:
            return
        values = self._machine.values
        self._machine.put("DEWPOINT", dew_point(values["T1"], values["H1"]))

    def raw(self, label: str) -> float | int | None:
        """Return the raw value, before any setting is applied."""
        if label in NUMBERS:
            return self._raw.get(label)
        return self._onewire.raw(label) if label in ONEWIRE else self._digital.pin(label)

    @property
    def bound_onewire(self) -> tuple[str, ...]:
        """The labels whose settings name a sensor."""
        return self._onewire.bound

    @property
    def powered_up(self) -> set[str]:
        """The labels that show the power-on value of a DS18B20."""
        return self._onewire.powered_up

    def impulse_s(self, pair: int) -> float | None:
        """Return the impulse time in seconds of a pair: INPD1+INPD2 (0) or INPD3+INPD4 (1)."""
        return self._digital.impulse_s(pair)

    def list_onewire(self) -> dict[str, float | None]:
        return self._onewire.list_found()

    def next_onewire_id(self) -> str:
        return self._onewire.next_id()

    def _take_number(self, label: str, value: Any) -> None:
        raw = within(LIMITS[label], value)
        if raw != self._raw.get(label):
            self._raw[label] = raw
            if not self._show(label):
                # Status files also show the voltage at the pin.
                self._machine.mark(label)

    def _take_onewire_bus(self, _: str, ids: Any) -> None:
        self._onewire.take_bus(ids)

    def _take_digital(self, label: str, value: Any) -> None:
        self._digital.take(label, value)

    def _take_text(self, label: str, value: Any) -> None:
        text, attribute = value if isinstance(value, str) else None, _TEXTS[label]
        if text != getattr(self, attribute):
            setattr(self, attribute, text)
            self._machine.mark(label)

    def _take_lighting(self, label: str, value: Any) -> None:
        reading = within(LIGHTING_LIMITS, value)
        if reading != self.lighting[label]:
            self.lighting[label] = reading
            self._machine.mark(label)

    def _take_module(self, label: str, values: tuple[float | None, ...]) -> None:
        slot = _SLOTS[label]
        if values != self.module_readings.get(slot):
            self.module_readings[slot] = values
            self._machine.mark(label)

    def _show(self, label: str) -> bool:
        value = self._raw.get(label)
        if value is not None and (convert := _CONVERTERS.get(label)) is not None:
            value = convert(self, value)
        return self._machine.put(label, value)

    def _humidity(self, humidity_pct: float) -> float:
        return min(max(humidity_pct, 0.0), 100.0)

    def _sea_level_pressure(self, hpa: float) -> float | None:
        altitude_m = self._machine.settings.weather.altitude
        return sea_level_pressure(hpa, altitude_m, self._machine.values["T1"])


def _analog(index: int) -> Callable[[Inputs, float], float | None]:
    """Return the conversion of an analog input's voltage according to its setting."""
    return lambda inputs, volts: analog_value(inputs._machine.settings.analog_inputs[index], volts)


#: By label: conversions of raw values, for readings that need one; shared by all controllers.
_CONVERTERS: dict[str, Callable[[Inputs, float], float | None]] = {
    **{label: _analog(index) for index, label in enumerate(ANALOG_INPUTS)},
    "H1": Inputs._humidity,
    "P1": Inputs._sea_level_pressure,
}
_TEXTS = {"i2c": "i2c_found", "barcode": "barcode"}
_SLOTS = {f"slot{slot}": slot for slot in (1, 2, 3)}
#: The method that processes each reading, by label. Any other name is the label or the ID of a
#: sensor on the 1-Wire bus.
_TAKERS: dict[str, Callable[[Inputs, str, Any], None]] = {
    **dict.fromkeys(NUMBERS, Inputs._take_number),
    **dict.fromkeys(DIGITAL_INPUTS, Inputs._take_digital),
    **dict.fromkeys(LIGHTING, Inputs._take_lighting),
    "onewire": Inputs._take_onewire_bus,
    **dict.fromkeys(_TEXTS, Inputs._take_text),
    **dict.fromkeys(_SLOTS, Inputs._take_module),
}
