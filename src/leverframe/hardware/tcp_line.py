"""A Modbus TCP device, or a gateway with several slaves behind it, asked one at a time.

The connection is kept while answers come. Where none comes it is closed, so that a late answer is
not mistaken for another, and reopened for the next request.
"""

import asyncio
import errno
import os
from collections.abc import Callable
from contextlib import suppress

from leverframe.outgoing.targets import ForbiddenTarget, OutgoingChannel
from leverframe.wire.modbus import Read, Write
from leverframe.wire.modbus_modules import SerialParameters
from leverframe.wire.modbus_rtu import Answer, NoAnswer
from leverframe.wire.modbus_tcp import TRANSACTIONS, TcpAnswerReader, host_and_port

CONNECT_S = 2.0
#: How long an answer may take; a gateway waits for a slave itself before it says that none came.
ANSWER_S = 1.5
#: What the network alone needs, about; slaves behind one gateway are compared by it.
NETWORK_S = 0.01
_READ_AT_ONCE = 1024


class TcpLine:
    def __init__(self, way_out: OutgoingChannel, address: str) -> None:
        self._way_out = way_out
        self.path = address
        self.on_lost: Callable[[], None] | None = None
        self._transaction = 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, line: SerialParameters, slave: int, request: Read | Write
    ) -> Answer | NoAnswer:
        """Ask a slave. Raises OSError if there is no connection."""
        if self.was_ended:
            # Many devices end a connection that was idle; that is no trouble.
            await self.close()
        reader, writer = self._streams or await self._connect()
        self._transaction = (self._transaction + 1) % TRANSACTIONS
        expected = TcpAnswerReader(self._transaction, slave, request)
        writer.write(expected.request)
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await _read_answer(reader, expected)
        except TimeoutError:
            answer = NoAnswer()
        if isinstance(answer, NoAnswer):
            await self.close()
        return answer

    @property
    def was_ended(self) -> bool:
        """Return whether the other side has ended the connection."""
        if self._streams is None:
            return False
        return self._streams[0].at_eof() or self._streams[0].exception() is not None

    def needs_s(self, line: SerialParameters, request: Read | Write) -> float:
        return NETWORK_S

    async def close(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].transport.abort()
            with suppress(OSError):
                await streams[1].wait_closed()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = host_and_port(self.path)
        try:
            async with asyncio.timeout(CONNECT_S):
                connected = await self._way_out.connect(host, port)
            self._streams = await asyncio.open_connection(sock=connected)
        except ForbiddenTarget as error:
            reason = str(error).rstrip(".")
            raise ConnectionError(f"no connection: {reason}") from None
        except OSError as error:
            raise ConnectionError(
                f"no connection ({_reason(error)}); check the address, the network and that Modbus"
                " TCP is switched on there"
            ) from None
        return self._streams


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    # What the event loop says instead repeats the address; names that do not resolve have no
    # number of the system.
    if error.errno is not None and error.errno in errno.errorcode:
        return os.strerror(error.errno)
    return str(error.strerror or error)


async def _read_answer(
    reader: asyncio.StreamReader, expected: TcpAnswerReader
) -> Answer | NoAnswer:
    while True:
        data = await reader.read(_READ_AT_ONCE)
        if not data:
            raise ConnectionError("the connection was closed by the other side")
        answer = expected.feed(data)
        if answer is not None:
            return answer
