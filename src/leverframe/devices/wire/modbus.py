"""Modbus requests and answers as bytes, and the addresses of the controller as a slave."""

import struct
from math import nan
from typing import ClassVar

from msgspec import Struct

from leverframe.core.labels import (
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

# Modbus requests and answers as bytes, and the frames of Modbus TCP as a server sees them.
#
# Functions: 1-4 read, 5, 6, 15 and 16 write. `request_from` accepts only a complete request without
# extra bytes; for anything else it raises the exception that the protocol defines for that error.
# This module does not know which addresses exist.

READ_COILS, READ_DISCRETE_INPUTS, READ_HOLDING_REGISTERS, READ_INPUT_REGISTERS = 1, 2, 3, 4
WRITE_COIL, WRITE_REGISTER, WRITE_COILS, WRITE_REGISTERS = 5, 6, 15, 16

BIT_READS = frozenset({READ_COILS, READ_DISCRETE_INPUTS})
REGISTER_READS = frozenset({READ_HOLDING_REGISTERS, READ_INPUT_REGISTERS})

ILLEGAL_FUNCTION, ILLEGAL_ADDRESS, ILLEGAL_VALUE = 1, 2, 3
DEVICE_FAILURE, DEVICE_NEEDS_TIME, DEVICE_BUSY = 4, 5, 6
#: The protocol's names for its codes.
EXCEPTION_WORDS = {
    ILLEGAL_FUNCTION: "illegal function",
    ILLEGAL_ADDRESS: "illegal data address",
    ILLEGAL_VALUE: "illegal data value",
    DEVICE_FAILURE: "server device failure",
    DEVICE_NEEDS_TIME: "acknowledge",
    DEVICE_BUSY: "server device busy",
    7: "negative acknowledge",
    8: "memory parity error",
    10: "gateway path unavailable",
    11: "gateway target device failed to respond",
}
#: The bit of the function code that marks an answer as an exception.
EXCEPTION_BIT = 0x80

MAX_BITS_READ, MAX_REGISTERS_READ = 2000, 125
MAX_BITS_WRITTEN, MAX_REGISTERS_WRITTEN = 1968, 123
ADDRESSES = 0x10000

_WORDS = struct.Struct(">HH")
_MANY = struct.Struct(">HHB")
_TCP_HEAD = struct.Struct(">HHHB")
#: The unit byte, which the length field of a TCP frame counts in addition to the request.
_UNIT_BYTES = 1
_SHORTEST, _LONGEST = 2, 254
_COIL_STATES = {0x0000: 0, 0xFF00: 1}


class ModbusException(Exception):
    """The request is rejected with an exception code of the protocol."""

    def __init__(self, code: int) -> None:
        super().__init__(f"Modbus exception {code}")
        self.code = code


def exception_words(code: int) -> str:
    return EXCEPTION_WORDS.get(code, "a code that the protocol does not define")


class Read(Struct, frozen=True):
    function: int
    address: int
    count: int

    def pdu(self) -> bytes:
        return bytes((self.function,)) + _WORDS.pack(self.address, self.count)

    @property
    def answer_bytes(self) -> int:
        """Return the number of data bytes in the answer."""
        return (self.count + 7) // 8 if self.function in BIT_READS else 2 * self.count

    def answer_head(self) -> bytes:
        """Return the first bytes of an answer that contains the data."""
        return bytes((self.function, self.answer_bytes))


class Write(Struct, frozen=True):
    """New values from an address on: bits for functions 5 and 15, else registers."""

    function: int
    address: int
    values: tuple[int, ...]
    #: A confirmation has no further data.
    answer_bytes: ClassVar[int] = 0

    def pdu(self) -> bytes:
        if self.function in (WRITE_COIL, WRITE_REGISTER):
            return self.confirmation()
        data = (
            pack_bits(list(self.values))
            if self.function == WRITE_COILS
            else struct.pack(f">{len(self.values)}H", *self.values)
        )
        return self.confirmation() + bytes((len(data),)) + data

    def answer_head(self) -> bytes:
        return self.confirmation()

    def confirmation(self) -> bytes:
        """Encode the answer to a write: it repeats the value, or the address and the count."""
        if self.function == WRITE_COIL:
            second = 0xFF00 if self.values[0] else 0
        elif self.function == WRITE_REGISTER:
            second = self.values[0]
        else:
            second = len(self.values)
        return bytes((self.function,)) + _WORDS.pack(self.address, second)


def request_from(pdu: bytes) -> Read | Write:
    function = pdu[0]
    if function in BIT_READS:
        return _read(pdu, MAX_BITS_READ)
    if function in REGISTER_READS:
        return _read(pdu, MAX_REGISTERS_READ)
    if function in (WRITE_COIL, WRITE_REGISTER):
        return _write_one(pdu)
    if function in (WRITE_COILS, WRITE_REGISTERS):
        return _write_many(pdu)
    raise ModbusException(ILLEGAL_FUNCTION)


def _read(pdu: bytes, most: int) -> Read:
    address, count = _two_words(pdu)
    if not 1 <= count <= most:
        raise ModbusException(ILLEGAL_VALUE)
    _check_span(address, count)
    return Read(pdu[0], address, count)


def _write_one(pdu: bytes) -> Write:
    address, value = _two_words(pdu)
    if pdu[0] == WRITE_COIL:
        if value not in _COIL_STATES:
            raise ModbusException(ILLEGAL_VALUE)
        value = _COIL_STATES[value]
    return Write(pdu[0], address, (value,))


def _write_many(pdu: bytes) -> Write:
    if len(pdu) < 1 + _MANY.size:
        raise ModbusException(ILLEGAL_VALUE)
    address, count, size = _MANY.unpack_from(pdu, 1)
    data = pdu[1 + _MANY.size :]
    of_bits = pdu[0] == WRITE_COILS
    most = MAX_BITS_WRITTEN if of_bits else MAX_REGISTERS_WRITTEN
    needed = (count + 7) // 8 if of_bits else 2 * count
    if not 1 <= count <= most or not size == len(data) == needed:
        raise ModbusException(ILLEGAL_VALUE)
    _check_span(address, count)
    values = bits_from(data, count) if of_bits else registers_from(data)
    return Write(pdu[0], address, values)


def _two_words(pdu: bytes) -> tuple[int, int]:
    if len(pdu) != 1 + _WORDS.size:
        raise ModbusException(ILLEGAL_VALUE)
    first, second = _WORDS.unpack_from(pdu, 1)
    return first, second


def _check_span(address: int, count: int) -> None:
    if address + count > ADDRESSES:
        raise ModbusException(ILLEGAL_ADDRESS)


def data_answer(function: int, data: bytes) -> bytes:
    """Encode the answer to a read."""
    return bytes((function, len(data))) + data


def exception_answer(function: int, code: int) -> bytes:
    return bytes((function | EXCEPTION_BIT, code))


def bits_from(data: bytes, count: int) -> tuple[int, ...]:
    """Decode bits; the first of eight is the lowest of its byte."""
    return tuple(data[index // 8] >> index % 8 & 1 for index in range(count))


def pack_bits(bits: list[int]) -> bytes:
    number = 0
    for index, bit in enumerate(bits):
        number |= bit << index
    return number.to_bytes((len(bits) + 7) // 8, "little")


def registers_from(data: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))


class TcpRequest(Struct, frozen=True):
    transaction: int
    unit: int
    pdu: bytes

    def answer(self, pdu: bytes) -> bytes:
        head = _TCP_HEAD.pack(self.transaction, 0, len(pdu) + _UNIT_BYTES, self.unit)
        return head + pdu


class NotModbus(Exception):
    """Bytes that are not a frame and do not contain one."""


class TcpFrames:
    """Splits a stream, which arrives in pieces of any size, into requests."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> None:
        self._pending += data

    @property
    def is_within_a_frame(self) -> bool:
        return bool(self._pending)

    def next(self) -> TcpRequest | None:
        """Return the next complete request; None if more bytes are needed."""
        pending = self._pending
        if len(pending) < _TCP_HEAD.size:
            return None
        transaction, protocol, length, unit = _TCP_HEAD.unpack_from(pending)
        if protocol != 0 or not _SHORTEST <= length <= _LONGEST:
            raise NotModbus
        end = _TCP_HEAD.size - _UNIT_BYTES + length
        if len(pending) < end:
            return None
        pdu = bytes(pending[_TCP_HEAD.size : end])
        del pending[:end]
        return TcpRequest(transaction, unit, pdu)


# The Modbus addresses of the controller, and the meaning of the numbers there.
#
# Addresses never change once published: a new address follows the last one of its kind. Every
# reading exists three times: as a float for clients that support floats, and as a scaled integer of
# 16 and of 32 bits for the others. In 32 bits, energies and the counters of meters keep all their
# digits.

#: Functions 1, 5 and 15, from address 0 on: the switchable states, then the counters that writing 1
#: resets (read as 0).
SWITCHED = (*OUTPUTS, *PWMS, *EVENT_VARIABLES)
RESET = ENERGIES
COILS = (*SWITCHED, *RESET)
#: Function 2, from address 0 on.
DISCRETE_INPUTS = DIGITAL_INPUTS
#: Functions 3, 6 and 16, from address 0 on: the duty set for these outputs, in percent.
DUTIES = PWMS
MAX_DUTY = 100
#: After the duties, the target of the PID regulator: one register with the target times 10, then
#: two registers with the target as a float.
TARGET_AT = len(DUTIES)
TARGET_FLOAT_AT = TARGET_AT + 1
TARGET_SCALE = 10
HOLDING_REGISTERS = TARGET_FLOAT_AT + 2

#: Function 4. By label: the factor between the reading and its integer.
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
#: The first address of the floats (two registers each, high word first), of the 16-bit integers,
#: and of the 32-bit integers (two registers each, high word first).
FLOATS_AT, WHOLES_AT, LONGS_AT = 0, 1000, 2000
#: The factor between every reading and its 32-bit integer.
LONG_SCALE = 1000

ABSENT_WHOLE, GREATEST_WHOLE = -0x8000, 0x7FFF
ABSENT_LONG, GREATEST_LONG = -0x80000000, 0x7FFFFFFF

_FLOAT = struct.Struct(">f")
_WHOLE = struct.Struct(">h")
_LONG = struct.Struct(">i")


def float_registers(value: float | None) -> bytes:
    """Encode a reading as two registers; an absent or too large reading becomes NaN."""
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
    """Encode a reading as one register; if too large, as the maximum; if absent, as the minimum."""
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
