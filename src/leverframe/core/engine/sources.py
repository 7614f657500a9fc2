"""The sources of rules, their ranges, and the conversion of analog sensors."""

from collections.abc import Callable
from math import inf, sqrt

from leverframe.core.engine.energy import sources_of_power
from leverframe.core.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL,
    ENERGIES,
    LIMITS,
    MAPPED,
    ONEWIRE,
    PARTICULATES,
    POWERS,
    round_result,
)
from leverframe.core.settings import NO_ONEWIRE_ID, AnalogInput, Settings, module_mapping

# Conversion of the voltage at an analog input to a reading, for each selectable sensor.
#
# The measured millivolts are first adjusted, V = multiplier * Vin + calibration; then the function
# of the sensor converts V to amperes, volts, °C or milliamperes. The functions follow the data
# sheets of the parts. If a part needs a resistor or a divider before the input, the value assumed
# here is a named constant with its reason; an installation with another value corrects it with the
# multiplier. For alternating currents and voltages Vin is the effective (RMS) value.

Function = Callable[[float], float | None]

PLAIN_VOLTAGE = "vin=3.3V/5V"

#: 3.3 V sensors are fed from the supply that is also the converter's reference, so that their
#: ratiometric outputs need no correction; 5 V sensors have a 5 V supply.
SUPPLY_MV = 3300.0
SUPPLY_5V_MV = 5000.0

#: The names of the ranges promise 33 V and 3.3 V.
HIGH_RANGE_DIVIDER = 10.0

#: 1:2000 transducer. 33 ohms is the largest measuring resistor that its data sheet allows at 150 A,
#: the end of its range, where the input voltage is 2.475 V.
LA100P_TURNS = 2000.0
LA100P_BURDEN_OHM = 33.0

#: 100 A to 50 mA. 22 ohms keep the peaks at 100 A (1.56 V) within half of the 3.3 V supply.
SCT013_000_TURNS = 2000.0
SCT013_000_BURDEN_OHM = 22.0
#: 30 A to 1 V, with an internal burden resistor.
SCT013_030_A_PER_V = 30.0

#: A mains transformer to 12 V and a divider of 100 and 10 kiloohms: 230 V give 1.09 V, whose
#: peaks stay within half of the 3.3 V supply.
TR12V_RATIO = 230.0 / 12.0
TR12V_DIVIDER = 11.0

#: The PT1000 and a resistor of 3.3 kiloohms divide 3.3 V. The current is below 1 mA, so the sensor
#: hardly heats up; the voltage changes by about 2 mV per degree.
PT1000_SERIES_OHM = 3300.0
#: IEC 60751.
PT1000_OHM = 1000.0
PT_A, PT_B, PT_C = 3.9083e-3, -5.775e-7, -4.183e-12
PT_RANGE_C = (-200.0, 850.0)

#: 20 mA produce 3 V.
LOOP_SHUNT_OHM = 150.0
#: NAMUR NE 43: a current up to 3.6 mA, or from 21 mA on, means a fault or a broken loop.
LOOP_FAULT_LOW_MA, LOOP_FAULT_HIGH_MA = 3.6, 21.0

#: Voltage meter modules with an output proportional to the voltage: 3.3 V mean 330 V or 990 V.
AC_METER_V_PER_V = 100.0
HV_DC_METER_V_PER_V = 300.0


def _proportional(unit_per_volt: float) -> Function:
    return lambda mv: mv * unit_per_volt / 1000.0


def _hall_sensor(supply_mv: float, mv_per_ampere: float) -> Function:
    """Return the conversion of a bidirectional current sensor: 0 A is half of its supply."""
    zero_mv = supply_mv / 2.0
    return lambda mv: (mv - zero_mv) / mv_per_ampere


def _shunt(ohm: float) -> Function:
    return _proportional(1.0 / ohm)


def _platinum_ratio(celsius: float) -> float:
    """Compute the resistance relative to that at 0 °C (Callendar and Van Dusen)."""
    below_zero = PT_C * (celsius - 100.0) * celsius**3 if celsius < 0 else 0.0
    return 1.0 + PT_A * celsius + PT_B * celsius**2 + below_zero


_MIN_RATIO, _MAX_RATIO = map(_platinum_ratio, PT_RANGE_C)


def _platinum_celsius(ratio: float) -> float:
    celsius = (-PT_A + sqrt(PT_A**2 - 4.0 * PT_B * (1.0 - ratio))) / (2.0 * PT_B)
    if ratio < 1.0:
        # Below zero the polynomial is of fourth degree. The solution of the quadratic formula is at
        # most 2.5 degrees off; three steps of Newton's method reduce the error to a millionth.
        for _ in range(3):
            slope = PT_A + 2.0 * PT_B * celsius + PT_C * (4.0 * celsius**3 - 300.0 * celsius**2)
            celsius -= (_platinum_ratio(celsius) - ratio) / slope
    return celsius


def _pt1000(mv: float) -> float | None:
    if not 0.0 < mv < SUPPLY_MV:
        return None  # a short circuit or a broken wire
    ratio = PT1000_SERIES_OHM * mv / (SUPPLY_MV - mv) / PT1000_OHM
    return _platinum_celsius(ratio) if _MIN_RATIO <= ratio <= _MAX_RATIO else None


def _current_loop(mv: float) -> float | None:
    milliamperes = mv / LOOP_SHUNT_OHM
    return milliamperes if LOOP_FAULT_LOW_MA < milliamperes < LOOP_FAULT_HIGH_MA else None


#: Conversion functions by name; "off" has none.
SENSORS: dict[str, Function] = {
    PLAIN_VOLTAGE: _proportional(1.0),
    "vin=33V/55V": _proportional(HIGH_RANGE_DIVIDER),
    "ACS711EX_15": _hall_sensor(SUPPLY_MV, 90.0),
    "ACS711EX_30": _hall_sensor(SUPPLY_MV, 45.0),
    "ACS709_75": _hall_sensor(SUPPLY_MV, 18.5),
    "R=0.1": _shunt(0.1),
    "R=0.05": _shunt(0.05),
    "R=0.01": _shunt(0.01),
    "LA100-P": _proportional(LA100P_TURNS / LA100P_BURDEN_OHM),
    "SCT-013-000": _proportional(SCT013_000_TURNS / SCT013_000_BURDEN_OHM),
    "SCT-013-030": _proportional(SCT013_030_A_PER_V),
    "TR-12V": _proportional(TR12V_RATIO * TR12V_DIVIDER),
    "PT1000": _pt1000,
    "4..20mA": _current_loop,
    "AC meter": _proportional(AC_METER_V_PER_V),
    "ACS711LC-12.5A": _hall_sensor(SUPPLY_MV, 110.0),
    "ACS711LC-25A": _hall_sensor(SUPPLY_MV, 55.0),
    "ACS712-20A": _hall_sensor(SUPPLY_5V_MV, 100.0),
    "WCS1800": _hall_sensor(SUPPLY_5V_MV, 66.0),
    "HV DC meter": _proportional(HV_DC_METER_V_PER_V),
}


def convert(sensor: str, millivolts: float, gain: int = 1) -> float | None:
    """Convert adjusted millivolts to a sensor's reading; None if it is off or at fault."""
    function = SENSORS.get(sensor)
    if function is None:
        return None
    value = function(millivolts)
    if value is None:
        return None
    return round_result(value / gain if sensor == PLAIN_VOLTAGE else value)


def analog_value(setting: AnalogInput, volts: float) -> float | None:
    """Compute the reading of an input with these settings from its voltage."""
    millivolts = setting.multiplier * volts * 1000.0 + setting.calibration
    return convert(setting.sensor, millivolts, setting.gain)


# Sources according to the settings: their inputs, whether anything measures them, and their ranges.
#
# This is used only for advice to users. A source that has a value counts as measured whatever the
# settings say, because a board may have a sensor that no setting names.

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
    """List the labels from which a reading is computed; empty for a measured reading."""
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
    """Return a check of a mapped reading; slots 4-6 are 1-Wire thermometers without a module."""

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

    `above` are the differentials that use this one; a differential that uses itself has no value.
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
