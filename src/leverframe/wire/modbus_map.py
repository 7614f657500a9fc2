"""The Modbus addresses of the controller, and the meaning of the numbers there.

Addresses never change once published: something new goes behind the last of its kind. Every reading
is there twice, as a float for those who can take one and as a scaled whole number for the rest.
"""

from math import nan
from struct import Struct

from leverframe.engine.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    ENERGIES,
    EVENT_VARIABLES,
    MAPPED,
    ONEWIRE,
    OUTPUTS,
    PARTICULATES,
    POWERS,
    PWMS,
)

#: Functions 1, 5 and 15, from address 0 on.
COILS = (*OUTPUTS, *PWMS, *EVENT_VARIABLES)
#: Function 2, from address 0 on.
DISCRETE_INPUTS = DIGITAL_INPUTS
#: Functions 3, 6 and 16, from address 0 on: the set duty of these in percent.
DUTIES = PWMS
MAX_DUTY = 100

#: Function 4. Label -> the factor by which the whole number is greater than the reading.
SCALES: dict[str, int] = {
    "VCC": 100,
    "TEMP": 100,
    **dict.fromkeys(ANALOG_INPUTS, 100),
    "T1": 10,
    "H1": 10,
    "P1": 10,
    "DEWPOINT": 10,
    **dict.fromkeys(ONEWIRE, 10),
    **dict.fromkeys(DIFFERENTIALS, 10),
    "CO2": 1,
    **dict.fromkeys(PARTICULATES, 10),
    "DISTANCE": 1,
    **dict.fromkeys(POWERS, 100),
    **dict.fromkeys(ENERGIES, 1),
    **dict.fromkeys(MAPPED, 10),
}
#: Where the floats begin, two registers each, high word first; and the whole numbers.
FLOATS_AT, WHOLES_AT = 0, 1000

ABSENT_WHOLE = -32768
GREATEST_WHOLE = 32767

_FLOAT = Struct(">f")
_WHOLE = Struct(">h")


def float_registers(value: float | None) -> bytes:
    """Encode a reading as two registers; absent, or too great for a float, is no number."""
    try:
        return _FLOAT.pack(nan if value is None else value)
    except OverflowError:
        return _FLOAT.pack(nan)


def whole_register(value: float | None, scale: int) -> bytes:
    """Encode a reading as one register; too great is the greatest number, absent the least."""
    if value is None:
        return _WHOLE.pack(ABSENT_WHOLE)
    return _WHOLE.pack(round(max(-GREATEST_WHOLE, min(GREATEST_WHOLE, value * scale))))
