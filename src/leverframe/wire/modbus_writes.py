"""What writes a value to a coil or to holding registers, and what reads it back."""

from leverframe.engine.effects import WriteModbus
from leverframe.wire.modbus import (
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
from leverframe.wire.modbus_numbers import data_of, number_in


def is_coil(effect: WriteModbus) -> bool:
    return effect.type == "coil"


def encode_written(effect: WriteModbus) -> bytes:
    """Return what a read gives afterwards; raise `ValueError` where the type cannot hold it."""
    if is_coil(effect):
        return bytes((1 if effect.value else 0,))
    return data_of(effect.value, effect.type, effect.endian)


def writes_of(effect: WriteModbus) -> tuple[Write, ...]:
    """Return the requests that do it, the usual one first: some devices know only the other."""
    data, at = encode_written(effect), effect.register
    if is_coil(effect):
        return Write(WRITE_COIL, at, (data[0],)), Write(WRITE_COILS, at, (data[0],))
    several = Write(WRITE_REGISTERS, at, registers_from(data))
    if len(several.values) > 1:
        return (several,)
    return Write(WRITE_REGISTER, at, several.values), several


def read_of(effect: WriteModbus) -> Read:
    """Return the request that reads back."""
    if is_coil(effect):
        return Read(READ_COILS, effect.register, 1)
    return Read(READ_HOLDING_REGISTERS, effect.register, len(encode_written(effect)) // 2)


def value_in(effect: WriteModbus, data: bytes) -> float | None:
    """Decode what was read back."""
    if is_coil(effect):
        return float(data[0] & 1)
    return number_in(data, effect.type, effect.endian, 1)


def is_written(effect: WriteModbus, data: bytes) -> bool:
    if is_coil(effect):
        return value_in(effect, data) == float(bool(effect.value))
    return data == encode_written(effect)
