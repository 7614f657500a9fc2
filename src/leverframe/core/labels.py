"""The printed names of all readings and states, and the limits of valid readings."""

from collections.abc import Iterable
from itertools import groupby
from math import isfinite
from typing import Any

# The printed names of all readings and states, in the order in which they are shown.
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
#: Readings of the lighting module, which are not in `LABELS` because only status files show them.
LIGHTING = tuple(f"d{n}" for n in range(9))

#: Readings: a number, or absent.
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
    """Shorten a list for users: consecutive numbers become one entry, `DS1 to DS8`."""
    joined = []
    for _, group in groupby(labels, key=lambda label: label.rstrip("0123456789")):
        counted = list(group)
        joined.append(counted[0] if len(counted) == 1 else f"{counted[0]} to {counted[-1]}")
    return joined


# The validity of readings: limits of measured values, and rounding of computed values.
#
# A board, a bus or a formula can deliver any value. A value outside the limits of its label, an
# infinite number, NaN, or a value that is not a number makes the reading absent (None). The limits
# are wide enough for all parts that can be connected. They reject nonsense and are not alarm
# thresholds.

#: The range of semiconductor thermometers (DS18B20; the I2C sensors have smaller ranges).
THERMOMETER_C = (-55.0, 125.0)
#: A module's reading may be any number that fits into four bytes.
FLOAT32 = 3.4028235e38

#: The smallest and the largest valid value of each label, in the unit of the board.
LIMITS: dict[str, tuple[float, float]] = {
    "VCC": (0.0, 100.0),
    "TEMP": THERMOMETER_C,
    **dict.fromkeys(ANALOG_INPUTS, (-60.0, 60.0)),
    "T1": THERMOMETER_C,
    # Sensors exceed the range a little at its ends; such values are shown as 0 or 100.
    "H1": (-10.0, 110.0),
    # The range of the BME280.
    "P1": (300.0, 1100.0),
    **dict.fromkeys(ONEWIRE, THERMOMETER_C),
    # The MH-Z16 measures up to 10 percent by volume.
    "CO2": (0.0, 100_000.0),
    # The sensors are specified up to 1000 µg/m3, but in smoke they report more.
    **dict.fromkeys(PARTICULATES, (0.0, 10_000.0)),
    "DISTANCE": (0.0, 20_000.0),
    **dict.fromkeys(MAPPED, (-FLOAT32, FLOAT32)),
}

#: The readings of the lighting module are not documented: the limits are the largest numbers that
#: fit into the files.
LIGHTING_LIMITS = (-1_000_000.0, 1_000_000.0)

_NUMBERS = (float, int)
#: Finer than any sensor, but coarse enough that 0.3 - 0.1 equals 0.2 in a rule.
DECIMALS = 9


def within(limits: tuple[float, float], value: Any) -> float | None:
    """Return a number within its limits as a float, and None for anything else."""
    low, high = limits
    # Comparing the exact type excludes bool; NaN fails the comparison. Adding 0.0 converts minus
    # zero, which would look odd, to zero.
    return float(value) + 0.0 if type(value) in _NUMBERS and low <= value <= high else None


def level(value: Any) -> int | None:
    """Return the level at a digital pin; None, an open pin, for anything but 0 and 1."""
    if value == 1:
        return 1
    return 0 if value == 0 else None


def round_result(value: float) -> float | None:
    """Round the result of a formula, never to minus zero; None if it is not finite."""
    return round(value, DECIMALS) + 0.0 if isfinite(value) else None
