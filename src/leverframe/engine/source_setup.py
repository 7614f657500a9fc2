"""The set-up of a source by the settings: what it is computed from, whether anything measures it,
and its range of values.

All are for advice to users. A measured value takes precedence over the settings: a board may have a
sensor of its own where no setting names one.
"""

from collections.abc import Callable
from math import inf

from leverframe.engine.analog_sensors import (
    LOOP_FAULT_HIGH_MA,
    LOOP_FAULT_LOW_MA,
    PT_RANGE_C,
    analog_value,
)
from leverframe.engine.energy import sources_of_power
from leverframe.engine.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL,
    ENERGIES,
    MAPPED,
    ONEWIRE,
    PARTICULATES,
    POWERS,
)
from leverframe.engine.readings import LIMITS
from leverframe.engine.settings import NO_ONEWIRE_ID, AnalogInput, Settings, module_mapping

Range = tuple[float, float]

ANYTHING: Range = (-inf, inf)
NOT_BELOW_ZERO: Range = (0.0, inf)
_SENSOR_RANGES = {
    "PT1000": PT_RANGE_C,
    "4..20mA": (LOOP_FAULT_LOW_MA, LOOP_FAULT_HIGH_MA),
}
_PM_MODULES = ("PM sensor SDS011", "PM sensor SPS30")
_CO2_MODULES = ("CO2 sensor MH-Z16/19", "GMQ125")


def range_of(label: str, settings: Settings) -> Range:
    """Return the smallest and the largest value that a source can have."""
    if label == "MQTT" and not settings.mqtt.enabled:
        return (0.0, 0.0)
    if label in DIGITAL:
        return (0.0, 1.0)
    if label in ANALOG_INPUTS:
        return _analog_range(label, settings.analog_inputs[ANALOG_INPUTS.index(label)])
    if label in ONEWIRE:
        offset = settings.onewire[ONEWIRE.index(label)].offset
        low, high = LIMITS[label]
        return (low + offset, high + offset)
    if label == "H1":
        return (0.0, 100.0)
    if label == "P1" and settings.weather.altitude:
        return ANYTHING
    if label in ENERGIES:
        return NOT_BELOW_ZERO
    return LIMITS.get(label, ANYTHING)


def _analog_range(label: str, setting: AnalogInput) -> Range:
    if setting.sensor in _SENSOR_RANGES:
        return _SENSOR_RANGES[setting.sensor]
    ends = [analog_value(setting, volts) for volts in LIMITS[label]]
    known = [end for end in ends if end is not None]
    return (min(known), max(known)) if known else ANYTHING


def sources_of(label: str, settings: Settings) -> tuple[str, ...]:
    """List the labels that a reading is computed from; none for one that is measured."""
    if label in POWERS:
        return sources_of_power(settings.power[POWERS.index(label)])
    if label in DIFFERENTIALS:
        setting = settings.differentials[DIFFERENTIALS.index(label)]
        return (setting.first, setting.second)
    return ("T1", "H1") if label == "DEWPOINT" else ()


def is_set_up(label: str, settings: Settings) -> bool:
    """Return True if the settings name something that measures this source."""
    check = _CHECKS.get(label)
    return check is None or check(settings)


def _analog(index: int) -> Callable[[Settings], bool]:
    return lambda settings: settings.analog_inputs[index].sensor != "off"


def _onewire(index: int) -> Callable[[Settings], bool]:
    return lambda settings: settings.onewire[index].id != NO_ONEWIRE_ID


def _is_mapped(index: int) -> Callable[[Settings], bool]:
    """Return the check of a mapped reading; slots 4-6 are 1-Wire thermometers without a module."""

    def check(settings: Settings) -> bool:
        slot = module_mapping(settings)[index].slot
        slots = settings.modbus_slots
        return slot > len(slots) or (slot > 0 and slots[slot - 1].module != "OFF")

    return check


def _has_meter(index: int) -> Callable[[Settings], bool]:
    def check(settings: Settings) -> bool:
        return index < len(settings.power) and is_set_up(settings.power[index].current, settings)

    return check


def _differential(index: int) -> Callable[[Settings], bool]:
    return lambda settings: _operands_are_set_up(index, settings, frozenset())


def _operands_are_set_up(index: int, settings: Settings, above: frozenset[int]) -> bool:
    """Return True if both operands of a differential are set up.

    `above` are the differentials that use this one: one that uses itself has no value.
    """
    if index in above or index >= len(settings.differentials):
        return False
    setting = settings.differentials[index]
    return all(
        _operands_are_set_up(DIFFERENTIALS.index(label), settings, above | {index})
        if label in DIFFERENTIALS
        else is_set_up(label, settings)
        for label in (setting.first, setting.second)
    )


def _has_weather_sensor(settings: Settings) -> bool:
    return settings.i2c.primary != "NONE"


def _has_particulate_sensor(settings: Settings) -> bool:
    return settings.i2c.sps30 or settings.serial.module in _PM_MODULES


_CHECKS: dict[str, Callable[[Settings], bool]] = {
    **{label: _analog(index) for index, label in enumerate(ANALOG_INPUTS)},
    **{label: _onewire(index) for index, label in enumerate(ONEWIRE)},
    **{label: _is_mapped(index) for index, label in enumerate(MAPPED)},
    **{label: _has_meter(index) for index, label in enumerate(POWERS)},
    **{label: _has_meter(index) for index, label in enumerate(ENERGIES)},
    **{label: _differential(index) for index, label in enumerate(DIFFERENTIALS)},
    **dict.fromkeys(("T1", "H1", "P1", "DEWPOINT"), _has_weather_sensor),
    **dict.fromkeys(PARTICULATES, _has_particulate_sensor),
    "CO2": lambda settings: settings.serial.module in _CO2_MODULES,
    "DISTANCE": lambda settings: settings.serial.module == "ultrasonic distance sensor",
}
