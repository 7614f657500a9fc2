"""Numbers from the bytes of a Modbus answer.

Modbus transmits registers of 16 bits, high byte first, but does not define the order of the
registers of larger numbers. Four forms are used, named after the parts to swap to get the usual
order: none, the bytes of every register, the registers, or both.
"""

from math import isfinite
from struct import Struct
from struct import error as StructError

from leverframe.core.engine.calls import WriteModbus
from leverframe.devices.wire.modbus import (
    READ_COILS,
    READ_HOLDING_REGISTERS,
    WRITE_COIL,
    WRITE_COILS,
    WRITE_REGISTER,
    WRITE_REGISTERS,
    Read,
    Write,
    registers_from,
)

_FORMATS = {
    "int16": Struct(">h"),
    "uint16": Struct(">H"),
    "int32": Struct(">i"),
    "uint32": Struct(">I"),
    "float": Struct(">f"),
    "int64": Struct(">q"),
    "float64": Struct(">d"),
}
_FLOATS = ("float", "float64")
#: A four-byte float preserves any six decimal digits; nine digits distinguish all such floats.
MIN_DIGITS, MAX_DIGITS = 6, 9


def register_count(type_name: str) -> int:
    return _FORMATS[type_name].size // 2


def in_usual_order(data: bytes, endian: str) -> bytes:
    """Put the high register and the high byte first; a second call restores the device's order."""
    if "word" in endian:
        data = b"".join(data[at : at + 2] for at in reversed(range(0, len(data), 2)))
    if "byte" in endian:
        data = b"".join(data[at : at + 2][::-1] for at in range(0, len(data), 2))
    return data


def data_of(value: float, type_name: str, endian: str) -> bytes:
    """Encode a number; raise `ValueError` if the type cannot represent it."""
    try:
        number = value if type_name == "float" else round(value)
        return in_usual_order(_FORMATS[type_name].pack(number), endian)
    except (StructError, OverflowError) as error:
        raise ValueError(f"{value:.10g} does not fit into {type_name}") from error


def number_in(data: bytes, type_name: str, endian: str, divisor: int) -> float | None:
    """Decode a reading; None if the device sent a value that is not a number."""
    (number,) = _FORMATS[type_name].unpack(in_usual_order(data, endian))
    if type_name in _FLOATS and not isfinite(number):
        return None
    if type_name == "float":
        number = _shortest(number)
    # Adding 0.0 turns minus zero into zero.
    value: float = number / divisor + 0.0
    return value


def _shortest(number: float) -> float:
    """Return the shortest decimal number that equals this four-byte float: 230.1, 16777215."""
    pack = _FORMATS["float"].pack
    exact = pack(number)
    for digits in range(MIN_DIGITS, MAX_DIGITS):
        shown = float(f"{number:.{digits}g}")
        if pack(shown) == exact:
            return shown
    return float(f"{number:.{MAX_DIGITS}g}")


# The requests that write a value to a coil or to holding registers and read it back.


def is_coil(effect: WriteModbus) -> bool:
    return effect.type == "coil"


def encode_written(effect: WriteModbus) -> bytes:
    """Encode what a read after the write returns; raise `ValueError` if that is impossible."""
    if is_coil(effect):
        return bytes((1 if effect.value else 0,))
    return data_of(effect.value, effect.type, effect.endian)


def writes_of(effect: WriteModbus) -> tuple[Write, ...]:
    """Return the possible requests, the usual one first; some devices support only one."""
    data, at = encode_written(effect), effect.register
    if is_coil(effect):
        return Write(WRITE_COIL, at, (data[0],)), Write(WRITE_COILS, at, (data[0],))
    several = Write(WRITE_REGISTERS, at, registers_from(data))
    if len(several.values) > 1:
        return (several,)
    return Write(WRITE_REGISTER, at, several.values), several


def read_of(effect: WriteModbus) -> Read:
    """Return the request that reads the value back."""
    if is_coil(effect):
        return Read(READ_COILS, effect.register, 1)
    return Read(READ_HOLDING_REGISTERS, effect.register, len(encode_written(effect)) // 2)


def value_in(effect: WriteModbus, data: bytes) -> float | None:
    """Decode the value that was read back."""
    if is_coil(effect):
        return float(data[0] & 1)
    return number_in(data, effect.type, effect.endian, 1)


def is_written(effect: WriteModbus, data: bytes) -> bool:
    if is_coil(effect):
        return value_in(effect, data) == float(bool(effect.value))
    return data == encode_written(effect)
