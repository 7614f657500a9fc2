"""Lines to Modbus slaves: a serial port, or a TCP device or gateway; one request at a time."""

import asyncio
import errno
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from leverframe.core.runtime.outgoing import ForbiddenTarget, OutgoingChannel
from leverframe.devices.wire.modbus import Read, Write
from leverframe.devices.wire.modbus_frames import (
    TRANSACTIONS,
    Answer,
    AnswerReader,
    NoAnswer,
    TcpAnswerReader,
    answer_frame_bytes,
    build_frame,
    host_and_port,
)
from leverframe.devices.wire.modbus_modules import SerialParameters

# A serial port with several slaves on it, which sends one request at a time.
#
# Before a request, the line must have been silent for a moment, so that a late slave can finish its
# answer. Bytes that arrive while no request is pending are dropped. Each slave can have its own
# bitrate, so the port is reopened between slaves with different line parameters.

#: How many seconds a slave may need before it answers.
SERIAL_ANSWER_S = 0.5
#: After this many seconds, a request is sent even if the line is never silent.
MAX_QUIET_WAIT_S = 0.25
#: Start bit, eight data bits, parity or a second stop bit, stop bit.
_BITS_PER_BYTE = 11
_GAP_BYTES = 3.5
#: Above 19200 bit/s, the protocol defines a fixed gap.
_SHORTEST_GAP_S = 0.00175
_PARITIES = {"none": "N", "even": "E", "odd": "O"}


def _bytes_s(line: SerialParameters, request: Read | Write) -> float:
    """Return how long the line needs for the bytes of request and answer."""
    frame_bytes = len(build_frame(0, request.pdu())) + answer_frame_bytes(request)
    return frame_bytes * _BITS_PER_BYTE / line.bitrate


def _gap_s(line: SerialParameters) -> float:
    return max(_GAP_BYTES * _BITS_PER_BYTE / line.bitrate, _SHORTEST_GAP_S)


def _has_come(answer: asyncio.Future[Answer]) -> bool:
    return answer.done() and not answer.cancelled()


class SerialLine(asyncio.Protocol):
    def __init__(self, path: str) -> None:
        self.path = path
        self.on_lost: Callable[[], None] | None = None
        self._line: SerialParameters | None = None
        self._transport: Any = None
        self._opening: asyncio.Task[None] | None = None
        self._lost: Exception | None = None
        self._heard_at = float("-inf")
        self._reader: AnswerReader | None = None
        self._answer: asyncio.Future[Answer] | None = None

    async def ask(
        self, line: SerialParameters, slave: int, request: Read | Write
    ) -> Answer | NoAnswer:
        """Send a request to a slave and return its answer; raise OSError if the port fails."""
        await self._speak_as(line)
        await self._quiet(line)
        reader = AnswerReader(slave, request)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._reader, self._answer = reader, answer
        try:
            self._transport.write(reader.request)
            async with asyncio.timeout(SERIAL_ANSWER_S + _bytes_s(line, request)):
                return await answer
        except TimeoutError:
            # If the event loop was delayed, the answer and the timeout can arrive together.
            return answer.result() if _has_come(answer) else reader.no_answer()
        except OSError as error:
            # A write can fail before the connection is reported as lost.
            self._lost = error
            raise
        finally:
            self._reader = self._answer = None

    def needs_s(self, line: SerialParameters, request: Read | Write) -> float:
        """Return how long request and answer take if the slave answers immediately."""
        return _gap_s(line) + _bytes_s(line, request)

    async def close(self) -> None:
        """Release the port; when this returns, other programs can open it."""
        opening, self._opening = self._opening, None
        if opening is not None:
            await asyncio.gather(opening, return_exceptions=True)
        transport, self._transport, self._line = self._transport, None, None
        if transport is not None:
            transport.abort()
            await transport.wait_closed()

    # --- the port ---------------------------------------------------------------------------------

    async def _speak_as(self, line: SerialParameters) -> None:
        if self._lost is not None:
            await self.close()
        if self._line == line:
            return
        await self.close()
        # A thread opens the port; it continues even after its caller is cancelled.
        self._opening = asyncio.create_task(self._open(line))
        await asyncio.shield(self._opening)

    async def _open(self, line: SerialParameters) -> None:
        # Imported here, because the import takes 0.1 s, and most controllers have no serial bus.
        import serialx

        self._lost = None
        self._transport, _ = await serialx.create_serial_connection(
            asyncio.get_running_loop(),
            lambda: self,
            self.path,
            line.bitrate,
            parity=serialx.Parity(_PARITIES[line.parity]),
            stopbits=serialx.StopBits(line.stop_bits),
        )
        self._line = line

    async def _quiet(self, line: SerialParameters) -> None:
        """Wait until the line has been quiet for the gap between two frames."""
        loop = asyncio.get_running_loop()
        gap_s = _gap_s(line)
        give_up_at = loop.time() + MAX_QUIET_WAIT_S
        # Wait at least once: this also delivers the bytes that the system has buffered.
        wait_s = gap_s
        while wait_s > 0 and loop.time() < give_up_at:
            await asyncio.sleep(wait_s)
            wait_s = self._heard_at + gap_s - loop.time()

    def data_received(self, data: bytes) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        if self._reader is None or self._answer is None or self._answer.done():
            return
        answer = self._reader.feed(data)
        if answer is not None:
            self._answer.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = exc or OSError("the port was closed")
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(self._lost)
        if self._transport is not None and self.on_lost is not None:
            self.on_lost()


# A Modbus TCP device, or a gateway with several slaves behind it; one request at a time.
#
# The connection stays open while answers arrive. After a missing answer it is closed, so that a
# late answer is not mistaken for the answer to another request; the next request opens it again.

CONNECT_S = 2.0
#: The time limit of an answer; a gateway waits for its slave before it reports a missing answer.
TCP_ANSWER_S = 1.5
#: The approximate delay of the network, which is needed to compare slaves behind a gateway.
NETWORK_S = 0.01
_READ_BYTES = 1024


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
        """Send a request to a slave and return its answer; raise OSError without a connection."""
        if self.was_ended:
            # Many devices close an idle connection, which is not an error.
            await self.close()
        reader, writer = self._streams or await self._connect()
        self._transaction = (self._transaction + 1) % TRANSACTIONS
        expected = TcpAnswerReader(self._transaction, slave, request)
        writer.write(expected.request)
        try:
            async with asyncio.timeout(TCP_ANSWER_S):
                answer = await _read_answer(reader, expected)
        except TimeoutError:
            answer = NoAnswer()
        if isinstance(answer, NoAnswer):
            await self.close()
        return answer

    @property
    def was_ended(self) -> bool:
        """Return whether the other side has closed the connection."""
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
    # The event loop's own message repeats the address. Failed name lookups have no errno.
    if error.errno is not None and error.errno in errno.errorcode:
        return os.strerror(error.errno)
    return str(error.strerror or error)


async def _read_answer(
    reader: asyncio.StreamReader, expected: TcpAnswerReader
) -> Answer | NoAnswer:
    while True:
        data = await reader.read(_READ_BYTES)
        if not data:
            raise ConnectionError("the connection was closed by the other side")
        answer = expected.feed(data)
        if answer is not None:
            return answer
