"""The inputs: what the board senses, converted to readings and states.

Raw readings are kept as they came, so that a change of settings converts them again. Analog inputs
go through their sensor's formula, 1-Wire values get their offset, P1 is reduced to sea level, the
dew point follows from T1 and H1, and digital inputs have a file of their own. Unknown labels are
ignored.
"""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from math import log
from typing import Any

from leverframe.engine.analog_sensors import analog_value
from leverframe.engine.digital_inputs import DigitalInputs
from leverframe.engine.labels import ANALOG_INPUTS, DIGITAL_INPUTS, LIGHTING, ONEWIRE
from leverframe.engine.machine import Machine
from leverframe.engine.onewire import OneWire
from leverframe.engine.readings import LIGHTING_LIMITS, LIMITS, round_result, valid_reading, within
from leverframe.engine.settings import Settings
from leverframe.engine.timers import Key

# --- formulas of the weather readings -------------------------------------------------------------

# P1 is the pressure that weather maps show, so it needs the altitude and the temperature.

#: Magnus over water.
MAGNUS_A, MAGNUS_B_C = 17.62, 243.12

ZERO_CELSIUS_K = 273.15
#: The standard atmosphere: kelvins per metre, and the exponent that follows from it.
LAPSE_K_PER_M = 0.0065
BAROMETRIC_EXPONENT = 5.257
#: Used where no thermometer is connected.
STANDARD_C = 15.0


def dew_point(celsius: float | None, humidity_pct: float | None) -> float | None:
    if celsius is None or humidity_pct is None or humidity_pct <= 0.0:
        return None
    # Not the logarithm of the quotient, which underflows to 0 for the very smallest numbers.
    gamma = log(humidity_pct) - log(100.0) + MAGNUS_A * celsius / (MAGNUS_B_C + celsius)
    return round_result(MAGNUS_B_C * gamma / (MAGNUS_A - gamma))


def sea_level_pressure(hpa: float, altitude_m: int, celsius: float | None) -> float | None:
    """Reduce the pressure at a station by the international barometric formula."""
    station_k = ZERO_CELSIUS_K + (STANDARD_C if celsius is None else celsius)
    sea_level_k = station_k + LAPSE_K_PER_M * altitude_m
    if sea_level_k <= 0.0:
        return None  # deeper than the formula goes
    return round_result(hpa * (sea_level_k / station_k) ** BAROMETRIC_EXPONENT)


# --- the inputs -----------------------------------------------------------------------------------


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
        self._raw: dict[str, float | None] = dict.fromkeys(LIMITS.keys() - set(ONEWIRE))
        #: The sensor that answers on the I2C bus.
        self.i2c_found: str | None = None
        #: The text scanned last.
        self.barcode: str | None = None
        #: What the lighting module reports, as far as a board has one.
        self.lighting: dict[str, float | None] = dict.fromkeys(LIGHTING)
        #: All readings of the Modbus modules by slot (1-3), as far as a bus is read.
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
        """Take what the board measured; None is absent, or an open digital input."""
        for label, value in readings.items():
            take = _TAKERS.get(label)
            if take is None:
                self._onewire.take_id(label, value)
            else:
                take(self, label, value)

    def listens_to(self) -> Iterable[str]:
        """Name the labels that `derive` looks at."""
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
        """Return the sensed values, before any setting was applied."""
        if label in self._raw:
            return self._raw[label]
        return self._onewire.raw(label) if label in ONEWIRE else self._digital.pin(label)

    @property
    def bound_onewire(self) -> tuple[str, ...]:
        """The labels whose settings name a sensor."""
        return self._onewire.bound

    def impulse_s(self, pair: int) -> float | None:
        """Return the seconds between the last edges of a pair: INPD1+INPD2 (0), INPD3+INPD4 (1)."""
        return self._digital.impulse_s(pair)

    def next_onewire_id(self) -> str:
        return self._onewire.next_id()

    def _take_number(self, label: str, value: Any) -> None:
        raw = valid_reading(label, value)
        if raw != self._raw[label]:
            self._raw[label] = raw
            self._show(label)

    def _take_onewire(self, label: str, value: Any) -> None:
        self._onewire.take_label(label, value)

    def _take_onewire_bus(self, _: str, ids: Any) -> None:
        self._onewire.take_bus(ids)

    def _take_digital(self, label: str, value: Any) -> None:
        self._digital.take(label, value)

    def _take_text(self, label: str, value: Any) -> None:
        text, attribute = value if isinstance(value, str) else None, _TEXTS[label]
        if text != getattr(self, attribute):
            setattr(self, attribute, text)
            self._machine.version += 1

    def _take_lighting(self, label: str, value: Any) -> None:
        reading = within(LIGHTING_LIMITS, value)
        if reading != self.lighting[label]:
            self.lighting[label] = reading
            self._machine.version += 1

    def _take_module(self, label: str, values: tuple[float | None, ...]) -> None:
        slot = _SLOTS[label]
        if values != self.module_readings.get(slot):
            self.module_readings[slot] = values
            self._machine.version += 1

    def _show(self, label: str) -> None:
        value = self._raw[label]
        if value is not None and (convert := _CONVERTERS.get(label)) is not None:
            value = convert(self, value)
        self._machine.put(label, value)

    def analog(self, index: int, volts: float) -> float | None:
        """Convert the voltage of an analog input by its setting."""
        return analog_value(self._machine.settings.analog_inputs[index], volts)

    def _humidity(self, humidity_pct: float) -> float:
        return min(max(humidity_pct, 0.0), 100.0)

    def _sea_level_pressure(self, hpa: float) -> float | None:
        altitude_m = self._machine.settings.weather.altitude
        return sea_level_pressure(hpa, altitude_m, self._machine.values["T1"])


def _analog(index: int) -> Callable[[Inputs, float], float | None]:
    return lambda inputs, volts: inputs.analog(index, volts)


#: One table for all controllers: labels whose reading differs from what was sensed.
_CONVERTERS: dict[str, Callable[[Inputs, float], float | None]] = {
    **{label: _analog(index) for index, label in enumerate(ANALOG_INPUTS)},
    "H1": Inputs._humidity,
    "P1": Inputs._sea_level_pressure,
}
_TEXTS = {"i2c": "i2c_found", "barcode": "barcode"}
_SLOTS = {f"slot{slot}": slot for slot in (1, 2, 3)}
#: What takes which reading; another label may be the ID of a sensor.
_TAKERS: dict[str, Callable[[Inputs, str, Any], None]] = {
    **dict.fromkeys(LIMITS.keys() - set(ONEWIRE), Inputs._take_number),
    **dict.fromkeys(ONEWIRE, Inputs._take_onewire),
    **dict.fromkeys(DIGITAL_INPUTS, Inputs._take_digital),
    **dict.fromkeys(LIGHTING, Inputs._take_lighting),
    "onewire": Inputs._take_onewire_bus,
    **dict.fromkeys(_TEXTS, Inputs._take_text),
    **dict.fromkeys(_SLOTS, Inputs._take_module),
}
