"""The unit of every reading, as people write it; those of inputs and meters follow the settings."""

from leverframe.engine.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    ENERGIES,
    MAPPED,
    ONEWIRE,
    PARTICULATES,
    POWERS,
)
from leverframe.engine.pwm import DUTIES
from leverframe.engine.settings import Settings, module_mapping
from leverframe.wire.modbus_modules import module_in_slot

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
#: The mapping's slots 4-6 are further 1-Wire thermometers.
_FIRST_ONEWIRE_SLOT = 4


def unit_of(label: str, settings: Settings) -> str:
    """Empty for what has no unit, or one that nobody knows."""
    if label in _FIXED:
        return _FIXED[label]
    if label in ANALOG_INPUTS:
        sensor = settings.analog_inputs[ANALOG_INPUTS.index(label)].sensor
        return _SENSOR_UNITS.get(sensor, "A")
    if label in POWERS:
        return _of_meter(POWERS.index(label), settings)[0]
    if label in ENERGIES:
        return _of_meter(ENERGIES.index(label), settings)[1]
    if label in DIFFERENTIALS:
        return _of_differential(DIFFERENTIALS.index(label), settings)
    return _of_module(MAPPED.index(label), settings) if label in MAPPED else ""


def _of_meter(index: int, settings: Settings) -> tuple[str, str]:
    """Of power and of energy; older versions have fewer meters."""
    return _METER_UNITS[settings.power[index].unit] if index < len(settings.power) else ("", "")


def _of_differential(index: int, settings: Settings) -> str:
    """Sums and differences of one unit have that unit; older versions have fewer of them."""
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
    if not 0 < mapping.slot <= len(settings.modbus_slots):
        return ""
    module = module_in_slot(settings, mapping.slot)
    readings = module.readings if module else ()
    return next((one.unit for one in readings if one.number == mapping.reading), "")
