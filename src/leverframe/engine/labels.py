"""The printed names of everything that has a value, in the order they are shown.

A label (`INPA1`) names a reading or a state everywhere inside the program. The code numbers of the
commands, which differ by command and version, exist only in `commands/table/codes.py`.
"""

from collections.abc import Iterable
from itertools import groupby

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
