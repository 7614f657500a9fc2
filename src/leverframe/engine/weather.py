"""Formulas of the weather readings: dew point, and pressure at sea level.

The sensor measures temperature, humidity and the pressure at the station. The dew point follows
from the first two; P1 is the pressure that weather maps show, so it needs the altitude from the
settings and the temperature.
"""

from math import log

from leverframe.engine.readings import computed

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
    return computed(MAGNUS_B_C * gamma / (MAGNUS_A - gamma))


def sea_level_pressure(hpa: float, altitude_m: int, celsius: float | None) -> float | None:
    """Reduce the pressure at a station by the international barometric formula."""
    station_k = ZERO_CELSIUS_K + (STANDARD_C if celsius is None else celsius)
    sea_level_k = station_k + LAPSE_K_PER_M * altitude_m
    if sea_level_k <= 0.0:
        return None  # deeper than the formula goes
    return computed(hpa * (sea_level_k / station_k) ** BAROMETRIC_EXPONENT)
