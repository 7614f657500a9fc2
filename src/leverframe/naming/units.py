"""The unit of every reading, as it is written; units of inputs and meters follow the settings."""

from leverframe.engine.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    ENERGIES,
    MAPPED,
    ONEWIRE,
    PARTICULATES,
    POWERS,
)
from leverframe.engine.pwm import DUTIES
from leverframe.engine.settings import Settings, module_mapping
from leverframe.wire.modbus_modules import find_reading

CELSIUS = "°C"
_FIXED = {
    "VCC": "V",
    "TEMP": CELSIUS,
    "T1": CELSIUS,
    "H1": "%",
    "P1": "hPa",
    "DEWPOINT": CELSIUS,
    **dict.fromkeys(ONEWIRE, CELSIUS),
    "CO2": "ppm",
    **dict.fromkeys(PARTICULATES, "µg/m³"),
    "DISTANCE": "mm",
    **dict.fromkeys(DUTIES, "%"),
}
#: Sensors of analog inputs that do not measure a current.
_SENSOR_UNITS = {
    "off": "",
    "vin=3.3V/5V": "V",
    "vin=33V/55V": "V",
    "TR-12V": "V",
    "AC meter": "V",
    "HV DC meter": "V",
    "PT1000": CELSIUS,
    "4..20mA": "mA",
}
#: Power unit and energy unit of each setting of a meter.
_METER_UNITS = {
    "kW/kWh": ("kW", "kWh"),
    "W/kWh": ("W", "kWh"),
    "l/min/m3": ("L/min", "m³"),
    "m3/h/m3": ("m³/h", "m³"),
    "kW->W/kWh": ("W", "kWh"),
    "W->kW/kWh": ("kW", "kWh"),
}
#: An energy unit in an hour.
_PER_HOUR = {"kWh": "kW", "m³": "m³/h"}
#: The mapping's slots 4-6 are further 1-Wire thermometers.
_FIRST_ONEWIRE_SLOT = 4


def unit_of(label: str, settings: Settings) -> str:
    """Return the unit of a label, or an empty text where it has none or an unknown one."""
    if label in _FIXED:
        return _FIXED[label]
    if label in ANALOG_INPUTS:
        sensor = settings.analog_inputs[ANALOG_INPUTS.index(label)].sensor
        return _SENSOR_UNITS.get(sensor, "A")
    if label in POWERS:
        return _of_power(POWERS.index(label), settings)
    if label in ENERGIES:
        return _of_energy(ENERGIES.index(label), settings)
    if label in DIFFERENTIALS:
        return _of_differential(DIFFERENTIALS.index(label), settings)
    return _of_module(MAPPED.index(label), settings) if label in MAPPED else ""


def _of_power(index: int, settings: Settings) -> str:
    """Return the unit of a meter; older versions have fewer meters.

    Only what a module sends is shown as the unit says; what is measured here has units of its own
    (see `engine/energy.py`).
    """
    if index >= len(settings.power):
        return ""
    meter = settings.power[index]
    power, energy = _METER_UNITS[meter.unit]
    if meter.current in DIGITAL_INPUTS:
        return _PER_HOUR[energy]
    if meter.current in ANALOG_INPUTS:
        return "W" if meter.unit == "W/kWh" else "kW"
    return power


def _of_energy(index: int, settings: Settings) -> str:
    return _METER_UNITS[settings.power[index].unit][1] if index < len(settings.power) else ""


def _of_differential(index: int, settings: Settings) -> str:
    """Return the unit of a sum or difference of one unit; older versions have fewer of them."""
    if index >= len(settings.differentials):
        return ""
    setting = settings.differentials[index]
    if setting.operator not in "+-" or {setting.first, setting.second} & set(DIFFERENTIALS):
        return ""
    first, second = (unit_of(label, settings) for label in (setting.first, setting.second))
    return first if first == second else ""


def _of_module(index: int, settings: Settings) -> str:
    mapping = module_mapping(settings)[index]
    if mapping.slot >= _FIRST_ONEWIRE_SLOT:
        return CELSIUS
    reading = find_reading(settings, mapping)
    return reading.unit if reading else ""
