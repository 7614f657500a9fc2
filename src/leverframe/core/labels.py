"""The printed names of everything that has a value, and which readings are valid."""

from collections.abc import Iterable
from itertools import groupby
from math import isfinite
from typing import Any

# The printed names of everything that has a value, in the order they are shown.
#
# A label (`INPA1`) names a reading or a state everywhere inside the program. The code numbers of
# the commands, which differ by command and version, exist only in `interface/table/codes.py`.

OUTPUTS = tuple(f"OUT{n}" for n in range(6))
PWMS = tuple(f"PWM{n}" for n in range(4))
EVENT_VARIABLES = tuple(f"EVENT{n}" for n in range(1, 9))
ANALOG_INPUTS = tuple(f"INPA{n}" for n in range(1, 7))
DIGITAL_INPUTS = tuple(f"INPD{n}" for n in range(1, 5))
ONEWIRE = tuple(f"DS{n}" for n in range(1, 9))
DIFFERENTIALS = tuple(f"DIFF{n}" for n in range(1, 7))
POWERS = tuple(f"POWER{n}" for n in range(1, 7))
ENERGIES = tuple(f"ENERGY{n}" for n in range(1, 7))
PARTICULATES = ("PM1.0", "PM2.5", "PM4.0", "PM10.0")
MAPPED = tuple(f"m{n}" for n in range(1, 31))
#: Readings of the lighting module. Only status files show them, so they are no part of `LABELS`.
LIGHTING = tuple(f"d{n}" for n in range(9))

#: Readings that are numbers, or absent.
READINGS = (
    "VCC",
    "TEMP",
    *ANALOG_INPUTS,
    "T1",
    "H1",
    "P1",
    "DEWPOINT",
    *ONEWIRE,
    *DIFFERENTIALS,
    "CO2",
    *PARTICULATES,
    "DISTANCE",
    *POWERS,
    *ENERGIES,
    *MAPPED,
)
#: States that are 0 or 1 (a digital input that cannot be read is absent).
STATES = (*DIGITAL_INPUTS, *EVENT_VARIABLES, *OUTPUTS, *PWMS, "MQTT")
LABELS = (*READINGS, *STATES)

DIGITAL = frozenset(STATES)


def shorten_labels(labels: Iterable[str]) -> list[str]:
    """Shorten a list for people: labels that are only counted are one entry, `DS1 to DS8`."""
    joined = []
    for _, group in groupby(labels, key=lambda label: label.rstrip("0123456789")):
        counted = list(group)
        joined.append(counted[0] if len(counted) == 1 else f"{counted[0]} to {counted[-1]}")
    return joined


# The validity of readings: the limits of what is sensed, the rounding of what is computed.
#
# A board, a bus or a formula can deliver anything. A number outside the limits of its label, one
# that is not finite and a thing that is no number at all are faults, and a fault is absent
# (None). The limits are those of the parts that can be connected, or generous where the parts
# differ: they keep nonsense out and are no alarm thresholds.

#: What semiconductor thermometers measure at most (DS18B20; the I2C sensors stay within it).
THERMOMETER_C = (-55.0, 125.0)
#: A module's reading may be any number that fits into four bytes.
FLOAT32 = 3.4028235e38

#: The smallest and the largest valid value, in the unit that the board delivers.
LIMITS: dict[str, tuple[float, float]] = {
    "VCC": (0.0, 100.0),
    "TEMP": THERMOMETER_C,
    **dict.fromkeys(ANALOG_INPUTS, (-60.0, 60.0)),
    "T1": THERMOMETER_C,
    # Sensors overshoot the ends a little; such values are shown as 0 or 100.
    "H1": (-10.0, 110.0),
    # The range of the BME280.
    "P1": (300.0, 1100.0),
    **dict.fromkeys(ONEWIRE, THERMOMETER_C),
    # The MH-Z16 measures up to ten percent by volume.
    "CO2": (0.0, 100_000.0),
    # Specified to 1000 µg/m3; in smoke the sensors report more.
    **dict.fromkeys(PARTICULATES, (0.0, 10_000.0)),
    "DISTANCE": (0.0, 20_000.0),
    **dict.fromkeys(MAPPED, (-FLOAT32, FLOAT32)),
}

#: What the lighting module reports is not documented: the limits are what fits into the files.
LIGHTING_LIMITS = (-1_000_000.0, 1_000_000.0)

_NUMBERS = (float, int)
#: Finer than any sensor, coarse enough that 0.3 - 0.1 is 0.2 to a rule that compares.
DECIMALS = 9


def within(limits: tuple[float, float], value: Any) -> float | None:
    """Return a number that is within its limits as a float, and None for anything else."""
    low, high = limits
    # The exact type also keeps out bool; NaN fails the comparison. Adding 0.0 turns minus zero,
    # which would look odd, into zero.
    return float(value) + 0.0 if type(value) in _NUMBERS and low <= value <= high else None


def level(value: Any) -> int | None:
    """Return the level at a digital pin; None, an open pin, for anything but 0 and 1."""
    if value == 1:
        return 1
    return 0 if value == 0 else None


def round_result(value: float) -> float | None:
    """Round the result of a formula, never to minus zero; None if it is not finite."""
    return round(value, DECIMALS) + 0.0 if isfinite(value) else None
