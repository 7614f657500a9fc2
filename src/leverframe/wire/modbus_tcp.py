"""Modbus TCP as a master sees it: a request with its number, and its answer in what arrives."""

from leverframe.wire.modbus import EXCEPTION_BIT, NotModbus, Read, TcpFrames, TcpRequest, Write
from leverframe.wire.modbus_rtu import Answer, Data, ExceptionReply, NoAnswer

#: The numbers of requests start again after this one.
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
    """A finder of the answer to one request; answers to earlier ones are ignored."""

    def __init__(self, transaction: int, unit: int, request: Read | Write) -> None:
        self._transaction = transaction
        self._unit = unit
        self._asked = request
        self._frames = TcpFrames()
        self.request = TcpRequest(transaction, unit, b"").answer(request.pdu())

    def feed(self, data: bytes) -> Answer | NoAnswer | None:
        """Take bytes and return the answer, once it is complete; damage if it makes no sense."""
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
