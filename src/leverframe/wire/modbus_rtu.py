"""Modbus on a serial line, as a master sees it: frames with a checksum, and finding an answer.

A line delivers noise, echoes of what was sent, answers of other slaves and answers that come too
late. `AnswerReader` knows what was asked and takes the first thing that can be its answer: right
slave, right function, right length, right checksum, wherever it begins. Everything else is passed
over.
"""

from msgspec import Struct

from leverframe.wire.modbus import EXCEPTION_BIT, Read

#: More than the longest frame twice: noise without end takes no memory.
MAX_PENDING = 1024
_CHECKSUM_BYTES = 2
#: The checksum of a frame together with its checksum.
_WHOLE_FRAME = 0
_EXCEPTION_FRAME_BYTES = 5
#: Slave, function and the count of data bytes.
_HEAD_BYTES = 3


def _table() -> tuple[int, ...]:
    table = []
    for remainder in range(256):
        for _ in range(8):
            remainder = remainder >> 1 ^ (0xA001 if remainder & 1 else 0)
        table.append(remainder)
    return tuple(table)


_CRC_TABLE = _table()


def crc16(data: bytes) -> int:
    """Compute the checksum of Modbus RTU."""
    remainder = 0xFFFF
    for byte in data:
        remainder = remainder >> 8 ^ _CRC_TABLE[(remainder ^ byte) & 0xFF]
    return remainder


def framed(slave: int, pdu: bytes) -> bytes:
    frame = bytes((slave,)) + pdu
    return frame + crc16(frame).to_bytes(_CHECKSUM_BYTES, "little")


def answer_frame_bytes(read: Read) -> int:
    """Return the length of the frame that answers a read."""
    return _HEAD_BYTES + read.answer_bytes + _CHECKSUM_BYTES


class Data(Struct, frozen=True):
    """The slave's registers or bits."""

    data: bytes


class ExceptionReply(Struct, frozen=True):
    """The slave answered with an exception."""

    code: int


class NoAnswer(Struct, frozen=True):
    """Nothing came that can be the answer."""

    #: Something came whose checksum is wrong, or that is cut.
    is_damaged: bool = False


Answer = Data | ExceptionReply


class AnswerReader:
    """A finder of the answer to one request in the bytes of a line."""

    def __init__(self, slave: int, read: Read) -> None:
        self.request = framed(slave, read.pdu())
        self._data_head = bytes((slave, read.function, read.answer_bytes))
        self._data_frame_bytes = answer_frame_bytes(read)
        self._exception_head = bytes((slave, read.function | EXCEPTION_BIT))
        self._pending = bytearray()

    def feed(self, data: bytes) -> Answer | None:
        """Take bytes and return the answer, once it is complete."""
        pending = self._pending
        pending += data
        del pending[:-MAX_PENDING]
        self._drop_echo()
        frame = self._found(self._data_head, self._data_frame_bytes)
        if frame is not None:
            return Data(frame[_HEAD_BYTES:-_CHECKSUM_BYTES])
        frame = self._found(self._exception_head, _EXCEPTION_FRAME_BYTES)
        return ExceptionReply(frame[2]) if frame is not None else None

    def no_answer(self) -> NoAnswer:
        """Tell what was heard instead of an answer; whole frames of others are no damage."""
        pending = bytes(self._pending)
        return NoAnswer(is_damaged=bool(pending) and crc16(pending) != _WHOLE_FRAME)

    def _drop_echo(self) -> None:
        """Drop the echo of adapters that hear themselves; a read request never answers itself."""
        start = self._pending.find(self.request)
        if start >= 0:
            del self._pending[: start + len(self.request)]

    def _found(self, head: bytes, length: int) -> bytes | None:
        pending = self._pending
        start = pending.find(head)
        while start >= 0 and start + length <= len(pending):
            frame = bytes(pending[start : start + length])
            if crc16(frame[:-_CHECKSUM_BYTES]) == int.from_bytes(
                frame[-_CHECKSUM_BYTES:], "little"
            ):
                return frame
            start = pending.find(head, start + 1)
        return None
