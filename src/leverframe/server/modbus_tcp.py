"""The Modbus TCP server: its connections and their limits; a setting switches it on and off.

A connection's requests are answered in order, one at a time, when it is the controller's turn among
the controllers of the process. Bytes that are not Modbus end the connection, because no later frame
can be found. A frame that is not completed in time ends it too, and so does long silence; before
the first request, a shorter silence is enough. While a client does not read its replies, nothing is
read from it. Each address has a share of the connections, so that connections remain for other
addresses.
"""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any, cast

from leverframe.core.runtime.event_loop import LoopTurns, turns_alone
from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.core.runtime.outgoing import peer_of
from leverframe.core.settings import Settings
from leverframe.devices.readings import Troubles
from leverframe.devices.simulated import fault_catalogue
from leverframe.devices.wire.modbus import (
    DEVICE_FAILURE,
    NotModbus,
    TcpFrames,
    TcpRequest,
    exception_answer,
)
from leverframe.host.controller import Controller
from leverframe.host.controller.faults import ActiveFault, Faults
from leverframe.interface.table.refusals import Conflict
from leverframe.server.fair_shares import SHARE, DescriptorBudget, FairShares, Lease, source_of
from leverframe.server.faults import corrupt_bytes, cut_bytes, reset_connection
from leverframe.server.modbus_registers import ModbusRegisters
from leverframe.server.shared_ports import ListeningPlace

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 32
#: One address gets at most a third of the connections, the next one a third of the rest.
PER_FREE = 0.5
#: Time from the connection to the first complete request.
FIRST_FRAME_S = 10.0
#: Time in which a frame that has begun must be complete.
FRAME_S = 10.0
IDLE_S = 600.0
SWEEP_S = 2.0
NAME = "Modbus TCP server"
#: The name that `/metrics` uses.
SERVER = "modbus"
#: Transaction, protocol, length and unit, in front of the PDU.
HEADER_BYTES = 7
#: Faults applied to a correct answer in transit; the others replace the answer.
ON_THE_WAY = (fault_catalogue.CUT, fault_catalogue.DELAY, fault_catalogue.CORRUPT)

Network = IPv4Network | IPv6Network


class ModbusTcpServer:
    """The server, which listens while the controller's settings enable it."""

    __slots__ = (
        "_all_faults",
        "_connections",
        "_descriptors",
        "_place",
        "_registers",
        "_shares",
        "_sweep",
        "_switching",
        "_troubles",
        "_turns",
        "_wanted",
        "_warn",
        "_writers",
        "faults",
        "is_off",
    )

    def __init__(
        self,
        controller: Controller,
        place: ListeningPlace,
        writers: Sequence[Network],
        descriptors: DescriptorBudget,
        turns: LoopTurns | None = None,
    ) -> None:
        self._turns = turns or turns_alone()
        self._troubles = Troubles(controller.troubles)
        self._registers = ModbusRegisters(controller)
        self._place = place
        self._writers = tuple(writers)
        self._descriptors = descriptors
        self._shares = FairShares(MAX_CONNECTIONS, PER_FREE)
        self._warn = LogThrottle(log).warning
        self._connections: set[_Connection] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._wanted = False
        self._switching: asyncio.Task[None] | None = None
        #: The active faults; None while there are none.
        self.faults: Faults | None = None
        self._all_faults = controller.faults
        self.is_off = False
        if controller.faults is not None:
            controller.faults.join(self)

    @property
    def port(self) -> int | None:
        """The port while it is open."""
        return self._place.port

    def check(self, new: Settings) -> None:
        """Refuse to enable the server if its port cannot be used."""
        if self._place.port is not None or not new.modbus_tcp.enabled:
            return
        try:
            self._place.try_it()
        except OSError as error:
            raise Conflict(
                f"The Modbus TCP server stays off. {self._cannot_use(error)}. Free the port, or "
                "set another modbus_port in the configuration.",
                allowed="a free port",
            ) from error

    def _cannot_use(self, error: OSError) -> str:
        return f"{self._place.words} cannot be used: {error.strerror or error}"

    async def follow(self, settings: Settings) -> None:
        """Open or close the port as the settings require; record an unusable port as a problem."""
        await self._place.look_up()
        self._wanted = settings.modbus_tcp.enabled
        await self._switch()

    def adopt(self, old: Settings, new: Settings) -> asyncio.Task[None] | None:
        """Follow new settings; the returned task ends when the port is open, or closed.

        Any change of the settings retries a port that could not be opened.
        """
        is_as_wanted = self._wanted == (self._place.port is not None)
        if new.modbus_tcp is old.modbus_tcp and is_as_wanted:
            return None
        self._wanted = new.modbus_tcp.enabled
        if self._switching is None or self._switching.done():
            self._switching = asyncio.get_running_loop().create_task(self._switch())
        return self._switching

    async def move_to(self, place: ListeningPlace) -> None:
        """Listen at another place, or not at all; end the connections at the previous place."""
        # Settings that change in the meantime take effect, because the move ends with a switch.
        self._switching = asyncio.get_running_loop().create_task(self._move(self._switching, place))
        await self._switching

    async def _move(self, before: asyncio.Task[None] | None, place: ListeningPlace) -> None:
        if before is not None:
            await asyncio.wait([before])
        await self._stop()
        self._place = place
        await self._place.look_up()
        await self._switch()

    async def close(self) -> None:
        self._wanted = False
        if self._switching is not None:
            # A failure of this task was reported to the request that changed the settings.
            await asyncio.wait([self._switching])
        await self._switch()

    async def _switch(self) -> None:
        while self._wanted != (self._place.port is not None):
            if not self._wanted:
                await self._stop()
            elif not await self._start():
                return
        # Also clear the problem of a port that could not be opened and is no longer wanted.
        self._troubles.note(NAME, None)

    async def _start(self) -> bool:
        try:
            await self._place.open(partial(_Connection, self))
        except Conflict as refusal:
            self._troubles.note(NAME, refusal.detail)
            return False
        except OSError as error:
            self._troubles.note(
                NAME,
                f"{self._cannot_use(error)}. Free the port and send modbuson=1 again, or set "
                "another modbus_port in the configuration.",
            )
            return False
        return True

    async def _stop(self) -> None:
        closed = self._place.close()
        for connection in tuple(self._connections):
            connection.drop()
        await closed

    # --- faults -----------------------------------------------------------------------------------

    def follow_faults(self, is_faulty: bool, is_closed: bool) -> None:
        self.faults = self._all_faults if is_faulty else None
        self.is_off = is_closed
        if is_closed:
            for connection in tuple(self._connections):
                connection.drop()

    # --- what connections report ------------------------------------------------------------------

    def admit(self, connection: "_Connection", descriptor: int) -> Lease | None:
        """Count a new connection; return None if the total or its address's share is exhausted."""
        source = source_of(connection.peer)
        if not self._shares.take(source):
            self._descriptors.refused[SERVER, SHARE] += 1
            self._warn(
                source, "share", "%s: refused a connection from %s: it has %d of %d",
                NAME, source, self._shares.count_of(source), self._shares.limit,
            )  # fmt: skip
            return None
        lease = self._descriptors.lease(SERVER, connection.peer, descriptor)
        if lease is None:
            self._shares.give_back(source)
            return None
        self._connections.add(connection)
        if self._sweep is None:
            self._plan_sweep()
        return lease

    def forget(self, connection: "_Connection") -> None:
        self._connections.discard(connection)
        self._shares.give_back(source_of(connection.peer))
        if not self._connections and self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    def may_write(self, peer: str) -> bool:
        """Return whether a peer may write.

        A peer that is not an address, such as `OWN_PEER`, may not.
        """
        try:
            # An IPv6 address may include the name of the interface.
            address = ip_address(peer.partition("%")[0])
        except ValueError:
            return False
        if address.version == 6 and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self._writers)

    def answer(self, pdu: bytes, connection: "_Connection") -> bytes | Coroutine[Any, Any, bytes]:
        return self._turns.answer((pdu, connection), self._answer_in_turn)

    def _answer_in_turn(
        self, work: "tuple[bytes, _Connection]"
    ) -> bytes | Coroutine[Any, Any, bytes]:
        pdu, connection = work
        return self._registers.answer(pdu, connection.peer, may_write=connection.may_write)

    def sweep(self, now: float) -> None:
        """Drop every connection that is past one of its limits."""
        for connection in tuple(self._connections):
            if connection.is_overdue(now):
                connection.drop()

    def _plan_sweep(self) -> None:
        self._sweep = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep_again)

    def _sweep_again(self) -> None:
        self._plan_sweep()
        self.sweep(asyncio.get_running_loop().time())


class _Connection(asyncio.Protocol):
    def __init__(self, server: ModbusTcpServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._frames = TcpFrames()
        self._transport: asyncio.Transport | None = None
        self._is_reading = True
        self._heard_at = self._loop.time()
        self._lease: Lease | None = None
        self._has_asked = False
        #: When the incomplete frame began.
        self._frame_began_at: float | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._may_send = True
        self.peer = ""
        self.may_write = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.peer = peer_of(transport)
        self.may_write = self._server.may_write(self.peer)
        self._lease = self._server.admit(self, transport.get_extra_info("socket").fileno())
        if self._lease is None or self._server.is_off:
            self.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._lease is not None:
            self._lease.end()
            self._server.forget(self)

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        self._frames.feed(data)
        self._serve()

    def pause_writing(self) -> None:
        self._may_send = False
        self._listen_or_not()

    def resume_writing(self) -> None:
        self._may_send = True
        self._serve()

    def drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def is_overdue(self, now: float) -> bool:
        began = self._frame_began_at
        silence_s = IDLE_S if self._has_asked else FIRST_FRAME_S
        return now - self._heard_at > silence_s or (began is not None and now - began > FRAME_S)

    def _serve(self) -> None:
        """Answer complete requests until an answer must be awaited."""
        try:
            while self._is_free and (request := self._frames.next()) is not None:
                self._frame_began_at = None
                self._has_asked = True
                self._take(request)
        except NotModbus:
            self.drop()
        if not self._is_free or not self._frames.is_within_a_frame:
            self._frame_began_at = None
        elif self._frame_began_at is None:
            self._frame_began_at = self._heard_at
        self._listen_or_not()

    @property
    def _is_free(self) -> bool:
        return self._waiting is None and self._may_send and self._transport is not None

    def _listen_or_not(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._is_free and not self._is_reading:
            self._is_reading = True
            self._transport.resume_reading()
        elif self._is_reading and not self._is_free:
            self._is_reading = False
            self._transport.pause_reading()

    def _take(self, request: TcpRequest) -> None:
        faults = self._server.faults
        active = None if faults is None else faults.of_modbus(request.pdu[0])
        if active is not None and active["what"] not in ON_THE_WAY:
            self._answer_wrongly(request, active)
            return
        answer = self._server.answer(request.pdu, self)
        if active is not None and active["what"] == fault_catalogue.DELAY:
            answer = _delay(answer, active["delay"])
        if isinstance(answer, bytes):
            self._send(request, answer, active)
        else:
            self._waiting = self._loop.create_task(self._send_later(request, answer, active))

    def _answer_wrongly(self, request: TcpRequest, active: ActiveFault) -> None:
        """Apply a fault that replaces the answer."""
        if self._transport is None:
            return
        answer = exception_answer(request.pdu[0], int(active["code"]))
        match active["what"]:
            case fault_catalogue.EXCEPTION:
                self._send(request, answer)
            case fault_catalogue.NONSENSE:
                self._transport.write(active.random.randbytes(12))
            case fault_catalogue.WRONG_ID:
                frame = request.answer(answer)
                self._transport.write(bytes([frame[0] ^ 0xFF]) + frame[1:])
            case fault_catalogue.RESET:
                reset_connection(self._transport)

    async def _send_later(
        self,
        request: TcpRequest,
        answer: Coroutine[Any, Any, bytes],
        active: ActiveFault | None,
    ) -> None:
        try:
            pdu = await answer
        except Exception:
            log.exception("%s: a write failed", NAME)
            pdu = exception_answer(request.pdu[0], DEVICE_FAILURE)
        self._waiting = None
        self._send(request, pdu, active)
        self._serve()

    def _send(self, request: TcpRequest, pdu: bytes, active: ActiveFault | None = None) -> None:
        if self._transport is None:
            return
        frame = request.answer(pdu)
        what = None if active is None else active["what"]
        if active is not None and what == fault_catalogue.CORRUPT:
            # Only bytes after the header are corrupted: with a wrong length the client would only
            # wait.
            frame = corrupt_bytes(active, frame, spared=HEADER_BYTES)
        if active is not None and what == fault_catalogue.CUT:
            self._transport.write(cut_bytes(active, frame))
            self._transport.close()
        else:
            self._transport.write(frame)


async def _delay(answer: bytes | Coroutine[Any, Any, bytes], seconds: float) -> bytes:
    """Return an answer late; the request itself is carried out without a delay."""
    pdu = answer if isinstance(answer, bytes) else await answer
    await asyncio.sleep(seconds)
    return pdu
