"""AM2320: humidity and temperature in one answer of eight bytes, closed by a Modbus CRC.

The sensor sleeps between two readings. A first call wakes it and gets no answer; then it takes the
request and, a little later, the answer can be fetched.
"""

from typing import NamedTuple

from leverframe.wire.modbus_rtu import crc16

ADDRESS = 0x5C
#: Function 3, from register 0, four bytes.
REQUEST = bytes((0x03, 0x00, 0x04))
ANSWER_BYTES = 8
WAKE_UP_S = 0.001
ANSWER_AFTER_S = 0.002

_SIGN = 0x8000


class Am2320Measurement(NamedTuple):
    celsius: float
    percent: float


def decode_answer(answer: bytes) -> Am2320Measurement | None:
    """Decode an answer; None for one that is damaged or of another kind."""
    if len(answer) != ANSWER_BYTES or answer[:2] != b"\x03\x04":
        return None
    if crc16(answer[:6]) != int.from_bytes(answer[6:], "little"):
        return None
    humidity = int.from_bytes(answer[2:4], "big")
    temperature = int.from_bytes(answer[4:6], "big")
    # The highest bit is the sign, the others are the amount.
    amount = (temperature & ~_SIGN) / 10
    return Am2320Measurement(-amount if temperature & _SIGN else amount, humidity / 10)
