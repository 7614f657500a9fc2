"""Modbus for a master: frames on a serial line, and requests with their answers over TCP."""

from msgspec import Struct

from leverframe.devices.wire.modbus import (
    EXCEPTION_BIT,
    NotModbus,
    Read,
    TcpFrames,
    TcpRequest,
    Write,
)

# Modbus on a serial line for a master: frames with a checksum, and finding an answer.
#
# A line delivers noise, echoes of requests, answers of other slaves and late answers.
# `AnswerReader` knows the request and accepts the first frame that can answer it: right slave,
# right function, right length, right checksum, at any position. It ignores everything else.

#: More than twice the longest frame; a limit is needed because noise may never end.
MAX_PENDING = 1024
_CHECKSUM_BYTES = 2
#: The CRC of an undamaged frame including its checksum.
_WHOLE_FRAME = 0
_EXCEPTION_FRAME_BYTES = 5
_SLAVE_BYTES = 1


def _table() -> tuple[int, ...]:
    """Return the remainder of every byte: the exclusive or of the remainders of its bits."""
    table, of_bit = [0], 0xA001
    for _ in range(8):
        table = [mixed for known in table for mixed in (known, known ^ of_bit)]
        of_bit = of_bit >> 1 ^ (0xA001 if of_bit & 1 else 0)
    return tuple(table)


_CRC_TABLE = _table()


def crc16(data: bytes) -> int:
    """Compute the checksum of Modbus RTU."""
    remainder = 0xFFFF
    for byte in data:
        remainder = remainder >> 8 ^ _CRC_TABLE[(remainder ^ byte) & 0xFF]
    return remainder


def build_frame(slave: int, pdu: bytes) -> bytes:
    frame = bytes((slave,)) + pdu
    return frame + crc16(frame).to_bytes(_CHECKSUM_BYTES, "little")


def answer_frame_bytes(request: Read | Write) -> int:
    return _SLAVE_BYTES + len(request.answer_head()) + request.answer_bytes + _CHECKSUM_BYTES


class Data(Struct, frozen=True):
    """The slave's registers or bits; empty after a successful write."""

    data: bytes


class ExceptionReply(Struct, frozen=True):
    """The slave answered with an exception."""

    code: int


class NoAnswer(Struct, frozen=True):
    """No valid answer arrived."""

    #: Bytes arrived, but with a wrong checksum or incomplete.
    is_damaged: bool = False


Answer = Data | ExceptionReply


class AnswerReader:
    """A reader that finds the answer to one request in the bytes of a line."""

    def __init__(self, slave: int, request: Read | Write) -> None:
        self.request = build_frame(slave, request.pdu())
        self._data_head = bytes((slave,)) + request.answer_head()
        self._data_frame_bytes = answer_frame_bytes(request)
        self._exception_head = bytes((slave, request.function | EXCEPTION_BIT))
        #: The answer to a write of one value equals the request, so an echo is indistinguishable.
        self._has_echo = self.request[:-_CHECKSUM_BYTES] != self._data_head
        self._pending = bytearray()

    def feed(self, data: bytes) -> Answer | None:
        """Process bytes and return the answer when it is complete."""
        pending = self._pending
        pending += data
        del pending[:-MAX_PENDING]
        self._drop_echo()
        frame = self._find_frame(self._data_head, self._data_frame_bytes)
        if frame is not None:
            return Data(frame[len(self._data_head) : -_CHECKSUM_BYTES])
        frame = self._find_frame(self._exception_head, _EXCEPTION_FRAME_BYTES)
        return ExceptionReply(frame[2]) if frame is not None else None

    def no_answer(self) -> NoAnswer:
        """Describe a missing answer; complete frames of other slaves do not count as damaged."""
        pending = bytes(self._pending)
        return NoAnswer(is_damaged=bool(pending) and crc16(pending) != _WHOLE_FRAME)

    def _drop_echo(self) -> None:
        """Drop the adapter's echo of the request, unless it can be the answer."""
        start = self._pending.find(self.request)
        if self._has_echo and start >= 0:
            del self._pending[: start + len(self.request)]

    def _find_frame(self, head: bytes, length: int) -> bytes | None:
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


# Modbus TCP for a master: requests with transaction numbers, and finding their answers.

#: The number of transaction numbers; after the last one they start again.
TRANSACTIONS = 0x10000
DEFAULT_PORT = 502
_EXCEPTION_BYTES = 2


def host_and_port(address: str) -> tuple[str, int]:
    """Split `host`, `host:port` or `[address]:port`."""
    host, colon, port = address.rpartition(":")
    if not colon or address.endswith("]"):
        host, port = address, str(DEFAULT_PORT)
    return host.strip("[]"), int(port)


class TcpAnswerReader:
    """A reader that finds the answer to one request, and ignores answers to earlier ones."""

    def __init__(self, transaction: int, unit: int, request: Read | Write) -> None:
        self._transaction = transaction
        self._unit = unit
        self._asked = request
        self._frames = TcpFrames()
        self.request = TcpRequest(transaction, unit, b"").answer(request.pdu())

    def feed(self, data: bytes) -> Answer | NoAnswer | None:
        """Process bytes; return the answer when it is complete, or `NoAnswer` if it is invalid."""
        self._frames.feed(data)
        try:
            while (frame := self._frames.next()) is not None:
                if (frame.transaction, frame.unit) == (self._transaction, self._unit):
                    return self._meaning(frame.pdu)
        except NotModbus:
            return NoAnswer(is_damaged=True)
        return None

    def _meaning(self, pdu: bytes) -> Answer | NoAnswer:
        head = self._asked.answer_head()
        if pdu.startswith(head) and len(pdu) == len(head) + self._asked.answer_bytes:
            return Data(pdu[len(head) :])
        if len(pdu) == _EXCEPTION_BYTES and pdu[0] == self._asked.function | EXCEPTION_BIT:
            return ExceptionReply(pdu[1])
        return NoAnswer(is_damaged=True)
