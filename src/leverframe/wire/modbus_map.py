"""The Modbus addresses of the controller, and the meaning of the numbers there.

Addresses never change once published: something new goes behind the last of its kind. Every reading
is there three times: as a float for those who can take one, and as a scaled whole number of 16 and
of 32 bits for the rest. In 32 bits energies and the counters of meters have all their digits.
"""

import struct
from math import nan

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

#: Functions 1, 5 and 15, from address 0 on: what is switched; then what a 1 resets, which reads 0.
SWITCHED = (*OUTPUTS, *PWMS, *EVENT_VARIABLES)
RESET = ENERGIES
COILS = (*SWITCHED, *RESET)
#: Function 2, from address 0 on.
DISCRETE_INPUTS = DIGITAL_INPUTS
#: Functions 3, 6 and 16, from address 0 on: the set duty of these in percent.
DUTIES = PWMS
MAX_DUTY = 100
#: Behind them the target of the PID regulator: times 10, and as a float of two registers.
TARGET_AT = len(DUTIES)
TARGET_FLOAT_AT = TARGET_AT + 1
TARGET_SCALE = 10
HOLDING_REGISTERS = TARGET_FLOAT_AT + 2

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
#: Where the floats begin, two registers each, high word first; the whole numbers; and those of 32
#: bits, two registers each, high word first.
FLOATS_AT, WHOLES_AT, LONGS_AT = 0, 1000, 2000
#: The factor by which every whole number of 32 bits is greater than the reading.
LONG_SCALE = 1000

ABSENT_WHOLE, GREATEST_WHOLE = -0x8000, 0x7FFF
ABSENT_LONG, GREATEST_LONG = -0x80000000, 0x7FFFFFFF

_FLOAT = struct.Struct(">f")
_WHOLE = struct.Struct(">h")
_LONG = struct.Struct(">i")


def float_registers(value: float | None) -> bytes:
    """Encode a reading as two registers; absent, or too great for a float, is no number."""
    try:
        return _FLOAT.pack(nan if value is None else value)
    except OverflowError:
        return _FLOAT.pack(nan)


def float_from(high: int, low: int) -> float:
    """Decode two registers."""
    value: float
    (value,) = _FLOAT.unpack(high.to_bytes(2, "big") + low.to_bytes(2, "big"))
    return value


def whole_register(value: float | None, scale: int) -> bytes:
    """Encode a reading as one register; too great is the greatest number, absent the least."""
    if value is None:
        return _WHOLE.pack(ABSENT_WHOLE)
    return _WHOLE.pack(_limit(value * scale, GREATEST_WHOLE))


def whole_from(register: int) -> int:
    """Decode a register that holds a signed number."""
    value: int
    (value,) = _WHOLE.unpack(register.to_bytes(2, "big"))
    return value


def long_registers(value: float | None) -> bytes:
    """Encode a reading as two registers, as `whole_register` does."""
    if value is None:
        return _LONG.pack(ABSENT_LONG)
    return _LONG.pack(_limit(value * LONG_SCALE, GREATEST_LONG))


def _limit(value: float, greatest: int) -> int:
    return round(max(-greatest, min(greatest, value)))
