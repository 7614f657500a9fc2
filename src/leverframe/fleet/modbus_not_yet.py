"""Modbus TCP for controllers that a node has yet to start: the answer is "busy", ask again.

A client that gets no answer takes its unit for dead; one that is told that the unit is busy asks
again later, by the same connection, which is the controller's as soon as that is there. The port is
open from the first controller on that has started with Modbus TCP: which of the others have it
switched on is known only when they are there.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from leverframe.servers.descriptors import DescriptorBudget, Lease
from leverframe.servers.modbus.tcp import FIRST_FRAME_S, SERVER
from leverframe.wire.modbus import DEVICE_BUSY, NotModbus, TcpFrames, exception_answer


class StartingModbus:
    """Who answers for controllers that are yet to start."""

    def __init__(self, descriptors: DescriptorBudget, is_expected: Callable[[str], bool]) -> None:
        self.descriptors = descriptors
        #: Tells whether one is yet to start that has an address.
        self.is_expected = is_expected
        self.connections: set[BusyConnection] = set()

    def drop(self) -> None:
        for connection in tuple(self.connections):
            connection.drop()


class BusyConnection(asyncio.Protocol):
    """A connection to a controller that is yet to start, until it is there."""

    def __init__(
        self,
        starting: StartingModbus,
        address: str,
        server_there: Callable[[str], Callable[[], asyncio.Protocol] | None],
    ) -> None:
        self._starting = starting
        self._address = address
        self._server_there = server_there
        self._frames = TcpFrames()
        self._transport: asyncio.Transport | None = None
        self._lease: Lease | None = None
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        peer = str(name[0]) if name else ""
        descriptor = transport.get_extra_info("socket").fileno()
        self._lease = self._starting.descriptors.lease(SERVER, peer, descriptor)
        if self._lease is None:
            self.drop()
            return
        self._starting.connections.add(self)
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._let_go()

    def data_received(self, data: bytes) -> None:
        server = self._server_there(self._address)
        if server is not None and not self._frames.is_within_a_frame:
            self._hand_over(server(), data)
        elif server is None and not self._starting.is_expected(self._address):
            self.drop()
        else:
            self._frames.feed(data)
            self._answer()

    def pause_writing(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _answer(self) -> None:
        assert self._transport is not None
        try:
            while (request := self._frames.next()) is not None:
                busy = exception_answer(request.pdu[0], DEVICE_BUSY)
                self._transport.write(request.answer(busy))
                self._wait_for_request()
        except NotModbus:
            self.drop()

    def _wait_for_request(self) -> None:
        """Wait for the next request as long as a server does for the first one."""
        if self._limit is not None:
            self._limit.cancel()
        self._limit = asyncio.get_running_loop().call_later(FIRST_FRAME_S, self.drop)

    def _hand_over(self, server: asyncio.Protocol, data: bytes) -> None:
        """Hand what has come to the server of the controller, which is there by now."""
        assert self._transport is not None
        transport = self._transport
        self._let_go()
        transport.set_protocol(server)
        server.connection_made(transport)
        if not transport.is_closing():
            server.data_received(data)

    def _let_go(self) -> None:
        self._transport = None
        self._starting.connections.discard(self)
        if self._limit is not None:
            self._limit.cancel()
        if self._lease is not None:
            self._lease.end()
