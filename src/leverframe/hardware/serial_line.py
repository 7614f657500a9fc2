"""A serial port with several slaves on it, asked one at a time.

Before a request the line must have been silent for a moment, which also ends whatever a late slave
is saying; what arrives while nothing is asked is dropped. Each slave may speak at its own bitrate,
so the port is reopened where two neighbours differ.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from leverframe.wire.modbus import Read, Write
from leverframe.wire.modbus_modules import SerialParameters
from leverframe.wire.modbus_rtu import (
    Answer,
    AnswerReader,
    NoAnswer,
    answer_frame_bytes,
    build_frame,
)

#: How long a slave may think before it answers.
ANSWER_S = 0.5
#: A line that never falls silent is asked in spite of it.
MAX_QUIET_WAIT_S = 0.25
#: Start bit, eight data bits, parity or a second stop bit, stop bit.
_BITS_PER_BYTE = 11
_GAP_BYTES = 3.5
#: Above 19200 bit/s the protocol fixes the gap.
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
        """Ask a slave. Raises OSError if the port cannot be used."""
        await self._speak_as(line)
        await self._quiet(line)
        reader = AnswerReader(slave, request)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._reader, self._answer = reader, answer
        try:
            self._transport.write(reader.request)
            async with asyncio.timeout(ANSWER_S + _bytes_s(line, request)):
                return await answer
        except TimeoutError:
            # A loop that was held up finds the answer and the end of its time together.
            return answer.result() if _has_come(answer) else reader.no_answer()
        except OSError as error:
            # A write may notice before the connection is said to be lost.
            self._lost = error
            raise
        finally:
            self._reader = self._answer = None

    def needs_s(self, line: SerialParameters, request: Read | Write) -> float:
        """Return how long request and answer take if the slave answers immediately."""
        return _gap_s(line) + _bytes_s(line, request)

    async def close(self) -> None:
        """Release the port; others can open it when this returns."""
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
        # A port opens in a thread, which continues when its caller has given up.
        self._opening = asyncio.create_task(self._open(line))
        await asyncio.shield(self._opening)

    async def _open(self, line: SerialParameters) -> None:
        # Imported here: most controllers have no serial bus, and it takes a tenth of a second.
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
        """Wait until the line was quiet for the gap between two frames."""
        loop = asyncio.get_running_loop()
        gap_s = _gap_s(line)
        give_up_at = loop.time() + MAX_QUIET_WAIT_S
        # At least one wait: it also delivers what the system has buffered so far.
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
