"""Ports that the controllers of a node share; the local address distinguishes the controllers.

Modbus TCP and SNMP requests contain no host name. So each protocol has one socket for the whole
node, and every controller with its own address listens there as if it alone had the port. A socket
is opened for the first controller that needs it, and closed when the last one leaves.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import cast

from leverframe.devices.wire.modbus import DEVICE_BUSY, NotModbus, TcpFrames, exception_answer
from leverframe.interface.table.refusals import Conflict
from leverframe.server.cross_site import is_loopback
from leverframe.server.fair_shares import DescriptorBudget, Lease
from leverframe.server.modbus_tcp import FIRST_FRAME_S, SERVER
from leverframe.server.shared_ports import (
    PACKET_INFO,
    DatagramEndpoint,
    DatagramPlace,
    ListeningPlace,
    Receive,
    datagrams,
    request_packet_info,
    send_from,
)

# A single socket for all addresses of 127.0.0.0/8, which no other machine can reach.

#: The loopback interface, as Linux names it.
LOOPBACK = b"lo"


def is_loopback4(host: str) -> bool:
    return is_loopback(host) and ":" not in host


def bind_to_loopback(kind: socket.SocketKind, host: str, port: int) -> socket.socket | None:
    """Bind a socket to the loopback interface; return None for another host, or if that fails.

    This requires Linux; before version 5.7, only root may bind to an interface.
    """
    if not (is_loopback4(host) and hasattr(socket, "SO_BINDTODEVICE")):
        return None
    bound = socket.socket(socket.AF_INET, kind)
    try:
        if kind == socket.SOCK_STREAM:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, LOOPBACK)
        bound.setblocking(False)
        bound.bind(("", port))
    except PermissionError:
        bound.close()
        return None
    except OSError:
        bound.close()
        raise
    return bound


Factory = Callable[[], asyncio.Protocol]

_MAX_BYTES = 65535
_GIVE_ONE = (
    "This controller has no address of its own, which this port requires. Set one with"
    " `leverframe fleet place NAME --address ADDRESS`, or with address in the fleet file."
)


def _bind(kind: socket.SocketKind, host: str, port: int) -> socket.socket:
    """Return a socket for all local addresses; for a loopback host, for 127.0.0.0/8 only."""
    found = bind_to_loopback(kind, host, port)
    if found is not None:
        return found
    opened = socket.socket(socket.AF_INET, kind)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(kind == socket.SOCK_STREAM))
        opened.setblocking(False)
        opened.bind((host, port))
    except OSError:
        opened.close()
        raise
    return opened


# --- TCP ------------------------------------------------------------------------------------------


class SharedTcpPort:
    """A TCP port that passes each connection to the server that has its address."""

    def __init__(
        self,
        host: str,
        port: int,
        descriptors: DescriptorBudget,
        is_expected: Callable[[str], bool],
    ) -> None:
        self._host = host
        self._wanted_port = port
        self.descriptors = descriptors
        #: Returns whether a controller with an address has not started yet.
        self.is_expected = is_expected
        #: Connections to controllers that have not started yet.
        self.busy: set[BusyConnection] = set()
        self._factories: dict[str, Factory] = {}
        self._listener: asyncio.Server | None = None
        self._opening = asyncio.Lock()

    def place(self, address: str | None) -> ListeningPlace:
        if address is None:
            return PlaceWithoutAddress()
        return PlaceByAddress(self, address, f"Port {self._wanted_port} of {address}")

    def port_of(self, address: str) -> int | None:
        if self._listener is None or address not in self._factories:
            return None
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    def try_it(self) -> None:
        if self._listener is None:
            _bind(socket.SOCK_STREAM, self._host, self._wanted_port).close()

    async def enter(self, address: str, factory: Factory) -> None:
        async with self._opening:
            if self._listener is None:
                listening = _bind(socket.SOCK_STREAM, self._host, self._wanted_port)
                loop = asyncio.get_running_loop()
                self._listener = await loop.create_server(
                    lambda: ArrivingConnection(self.protocol_at), sock=listening
                )
            self._factories[address] = factory

    def protocol_at(self, address: str) -> asyncio.Protocol | None:
        """Create a protocol of the server at an address; None if no server is or will be there."""
        factory = self.server_at(address)
        if factory is not None:
            return factory()
        return BusyConnection(address, self) if self.is_expected(address) else None

    def server_at(self, address: str) -> Factory | None:
        return self._factories.get(address)

    async def leave(self, address: str) -> None:
        async with self._opening:
            self._factories.pop(address, None)
            if not self._factories and self._listener is not None:
                listener, self._listener = self._listener, None
                listener.close()
                for connection in tuple(self.busy):
                    connection.drop()
                await listener.wait_closed()


class ArrivingConnection(asyncio.Protocol):
    """A connection whose controller is not known yet."""

    def __init__(self, protocol_at: Callable[[str], asyncio.Protocol | None]) -> None:
        self._protocol_at = protocol_at

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        arrived = cast(asyncio.Transport, transport)
        name = arrived.get_extra_info("sockname")
        protocol = self._protocol_at(name[0]) if name else None
        if protocol is None:
            arrived.abort()
            return
        arrived.set_protocol(protocol)
        protocol.connection_made(arrived)


class BusyConnection(asyncio.Protocol):
    """A connection to a controller that has not started yet; requests are answered with "busy".

    A client that gets no answer assumes that its unit is dead. After "busy" it repeats the request
    on the same connection, which is handed over as soon as the controller runs. The port opens when
    the first controller with Modbus TCP has started. Whether another controller uses the port is
    known only when that controller has started.
    """

    def __init__(
        self,
        address: str,
        ports: "SharedTcpPort",
    ) -> None:
        self._address = address
        self._port = ports
        self._frames = TcpFrames()
        self._transport: asyncio.Transport | None = None
        self._lease: Lease | None = None
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        peer = str(name[0]) if name else ""
        descriptor = transport.get_extra_info("socket").fileno()
        self._lease = self._port.descriptors.lease(SERVER, peer, descriptor)
        if self._lease is None:
            self.drop()
            return
        self._port.busy.add(self)
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._let_go()

    def data_received(self, data: bytes) -> None:
        server = self._port.server_at(self._address)
        if server is not None and not self._frames.is_within_a_frame:
            self._hand_over(server(), data)
        elif server is None and not self._port.is_expected(self._address):
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
        """Wait for the next request no longer than a server waits for the first one."""
        if self._limit is not None:
            self._limit.cancel()
        self._limit = asyncio.get_running_loop().call_later(FIRST_FRAME_S, self.drop)

    def _hand_over(self, server: asyncio.Protocol, data: bytes) -> None:
        """Hand the received bytes to the controller's server, which runs now."""
        assert self._transport is not None
        transport = self._transport
        self._let_go()
        transport.set_protocol(server)
        server.connection_made(transport)
        if not transport.is_closing():
            server.data_received(data)

    def _let_go(self) -> None:
        self._transport = None
        self._port.busy.discard(self)
        if self._limit is not None:
            self._limit.cancel()
        if self._lease is not None:
            self._lease.end()


class PlaceByAddress:
    """The place of a server on a shared port."""

    def __init__(self, shared: SharedTcpPort, address: str, words: str) -> None:
        self.words = words
        self._shared = shared
        self._address = address

    @property
    def port(self) -> int | None:
        return self._shared.port_of(self._address)

    async def look_up(self) -> None:
        """Do nothing: the address is known."""

    def try_it(self) -> None:
        self._shared.try_it()

    async def open(self, factory: Factory) -> None:
        await self._shared.enter(self._address, factory)

    def close(self) -> Awaitable[None]:
        return asyncio.ensure_future(self._shared.leave(self._address))


class PlaceWithoutAddress:
    """The place of a server that has no address of its own."""

    words = "The port"
    port = None

    async def look_up(self) -> None:
        """Do nothing: there is no address."""

    def try_it(self) -> None:
        raise Conflict(_GIVE_ONE)

    async def open(self, factory: Factory) -> None:
        raise Conflict(_GIVE_ONE)

    def close(self) -> Awaitable[None]:
        return asyncio.sleep(0)


# --- UDP ------------------------------------------------------------------------------------------


class SharedUdpPort:
    """A UDP port that passes each datagram to the agent at its address, and answers from there."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._wanted_port = port
        self._receivers: dict[str, Receive | None] = {}
        self._socket: socket.socket | None = None

    def place(self, address: str | None) -> DatagramPlace:
        if address is None:
            return DatagramPlaceWithoutAddress()
        return DatagramPlaceByAddress(self, address, f"Port {self._wanted_port} of {address}")

    @property
    def port(self) -> int:
        assert self._socket is not None
        port: int = self._socket.getsockname()[1]
        return port

    def try_it(self) -> None:
        if self._socket is None:
            _bind(socket.SOCK_DGRAM, self._host, self._wanted_port).close()

    def enter(self, address: str) -> None:
        if self._socket is None:
            opened = _bind(socket.SOCK_DGRAM, self._host, self._wanted_port)
            request_packet_info(opened)
            self._socket = opened
            asyncio.get_running_loop().add_reader(opened, self._read)
        self._receivers[address] = None

    def serve(self, address: str, receive: Receive) -> None:
        self._receivers[address] = receive

    def leave(self, address: str) -> None:
        self._receivers.pop(address, None)
        if not self._receivers and self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _read(self) -> None:
        assert self._socket is not None
        for data, note, client in datagrams(self._socket, _MAX_BYTES):
            _, _, sent_to = PACKET_INFO.unpack(note)
            receive = self._receivers.get(socket.inet_ntoa(sent_to))
            if receive is not None:
                receive(data, client)

    def send(self, address: str, data: bytes, client: tuple[str, int]) -> None:
        if self._socket is not None:
            send_from(self._socket, 0, address, data, client)


class DatagramPlaceByAddress:
    """The place of an agent on a shared port."""

    def __init__(self, shared: SharedUdpPort, address: str, words: str) -> None:
        self.words = words
        self._shared = shared
        self._address = address

    def try_it(self) -> None:
        self._shared.try_it()

    def open(self) -> DatagramEndpoint:
        self._shared.enter(self._address)
        return EndpointByAddress(self._shared, self._address)


class DatagramPlaceWithoutAddress:
    """The place of an agent that has no address of its own."""

    words = "The port"

    def try_it(self) -> None:
        raise Conflict(_GIVE_ONE)

    def open(self) -> DatagramEndpoint:
        raise Conflict(_GIVE_ONE)


class EndpointByAddress:
    """One address of a shared port, in the form that the SNMP library accepts."""

    def __init__(self, shared: SharedUdpPort, address: str) -> None:
        self._shared = shared
        self._address = address

    @property
    def port(self) -> int:
        return self._shared.port

    def serve(self, receive: Receive) -> None:
        self._shared.serve(self._address, receive)

    def sendto(self, data: bytes, client: tuple[str, int]) -> None:
        self._shared.send(self._address, data, (client[0], client[1]))

    def close(self) -> None:
        self._shared.leave(self._address)
