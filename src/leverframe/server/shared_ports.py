"""Ports of one controller, and ports that several share by address: UDP, SNMP and Modbus TCP."""

import asyncio
import secrets
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, Protocol

from msgspec import Struct

# The SNMP agent.

#: Its name in problems and the log.
SNMP_AGENT = "SNMP agent"


# Check whether an address is free to listen on, without listening.


def try_address(family: int, kind: int, protocol: int, address: Any) -> None:
    """Raise the `OSError` that listening there would raise."""
    with socket.socket(family, kind, protocol) as tried:
        if sys.platform != "win32":  # Windows would share the port with another program
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # The event loop does the same: IPv4 addresses are bound separately.
            tried.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        tried.bind(address)


# UDP sockets that listen, and datagrams with the local address that each was sent to.

#: The value on Linux; the socket module of Python 3.11 does not define it.
IP_PKTINFO = 8
#: Interface index, local address for the datagram, address that it was sent to.
PACKET_INFO = struct.Struct("=I4s4s")
#: After this number of datagrams, or this time, other work has its turn.
_MAX_READ_TOGETHER = 64
_READ_S = 0.005


def bind_udp(host: str, port: int) -> socket.socket:
    """Bind a UDP socket; raise OSError if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_DGRAM)
    try:
        listening.setblocking(False)
        listening.bind((host, port))
    except BaseException:
        listening.close()
        raise
    return listening


def request_packet_info(listening: socket.socket) -> None:
    """Make the kernel report the address that each datagram was sent to."""
    listening.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)


def datagrams(
    listening: socket.socket, max_bytes: int
) -> Iterator[tuple[bytes, bytes, tuple[str, int]]]:
    """Yield the datagrams that have arrived, each with its packet info and its sender."""
    until = perf_counter() + _READ_S
    for _ in range(_MAX_READ_TOGETHER):
        if perf_counter() > until:
            return
        try:
            data, notes, _, client = listening.recvmsg(
                max_bytes, socket.CMSG_SPACE(PACKET_INFO.size)
            )
        except OSError:  # nothing more, a reply that did not reach its client, or a closed socket
            return
        for level, kind, note in notes:
            if (level, kind) == (socket.IPPROTO_IP, IP_PKTINFO):
                yield data, note[: PACKET_INFO.size], client


def send_from(
    listening: socket.socket, interface: int, address: str, data: bytes, client: tuple[str, int]
) -> None:
    """Send from an interface (0 for any) and an address of this machine."""
    note = PACKET_INFO.pack(interface, socket.inet_aton(address), bytes(4))
    # A client that has left needs no answer.
    with suppress(OSError):
        listening.sendmsg([data], [(socket.IPPROTO_IP, IP_PKTINFO, note)], 0, client)


# A UDP port that all controllers of a machine share; it knows which address each datagram was sent
# to.
#
# The kernel delivers a broadcast to every socket of the port, and a datagram for a single address
# to only one of them. That socket forwards it to its neighbours by a broadcast on loopback, so that
# each socket receives everything.

#: Marks a datagram from a neighbour: token, client (address, port), and where it was sent to.
_PASSED_ON = struct.Struct("=16s8s4sH12s")
_MARK = b"leverframe-asked"
NEIGHBOURS = "127.255.255.255"
#: Only a socket that is bound to no single address receives broadcasts.
ANY_ADDRESS = "0.0.0.0"  # noqa: S104
#: Longer than every valid datagram.
_MAX_BYTES = 256


class Asked(Struct, frozen=True):
    """The client that sent a datagram, and the interface and address it was sent to."""

    client: tuple[str, int]
    interface: int
    #: The machine's own address, even if the datagram was a broadcast.
    address: str
    by_broadcast: bool


Take = Callable[[bytes, Asked], None]


class SharedPort:
    """A socket of the shared port; it calls `take` once for each datagram."""

    def __init__(
        self,
        port: int,
        is_known: Callable[[bytes], bool],
        take: Take,
        interface: bytes | None = None,
    ) -> None:
        """Open the port, on one interface or on all; raise OSError if it cannot be shared.

        Only datagrams that `is_known` accepts are forwarded to neighbours.
        """
        self._is_known = is_known
        self._take = take
        self._token = secrets.token_bytes(8)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            request_packet_info(self._socket)
            if interface is not None:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface)
            self._socket.bind((ANY_ADDRESS, port))
        except BaseException:
            self._socket.close()
            raise
        self.number = port

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def read(self) -> None:
        """Read the datagrams that have arrived; if there are many, pause for other work."""
        for data, note, client in datagrams(self._socket, _MAX_BYTES):
            self._sort(data, _read_note(client, note))

    def answer(self, data: bytes, datagram: Asked) -> None:
        """Answer from the interface and address that the datagram was sent to."""
        send_from(self._socket, datagram.interface, datagram.address, data, datagram.client)

    def _sort(self, data: bytes, datagram: Asked) -> None:
        if data.startswith(_MARK):
            self._take_passed_on(data, datagram)
        elif self._is_known(data):
            if not datagram.by_broadcast:
                self._pass_on(data, datagram)
            self._take(data, datagram)

    def _pass_on(self, data: bytes, datagram: Asked) -> None:
        host, port = datagram.client
        own = socket.inet_aton(datagram.address)
        where = PACKET_INFO.pack(datagram.interface, own, own)
        head = _PASSED_ON.pack(_MARK, self._token, socket.inet_aton(host), port, where)
        # Without a loopback interface there are no neighbours.
        with suppress(OSError):
            self._socket.sendto(head + data, (NEIGHBOURS, self.number))

    def _take_passed_on(self, message: bytes, how: Asked) -> None:
        """Handle a datagram from a neighbour; no other host can send from loopback."""
        if not how.client[0].startswith("127.") or len(message) < _PASSED_ON.size:
            return
        _, token, host, port, where = _PASSED_ON.unpack_from(message)
        data = message[_PASSED_ON.size :]
        if token != self._token and self._is_known(data):
            self._take(data, _read_note((socket.inet_ntoa(host), port), where))


def _read_note(client: tuple[str, int], note: bytes) -> Asked:
    interface, own, sent_to = PACKET_INFO.unpack(note)
    return Asked(client, interface, socket.inet_ntoa(own), by_broadcast=own != sent_to)


# The port of an SNMP agent: its own, or one that several agents share by address.

#: Called with a datagram and its sender's address.
Receive = Callable[[bytes, tuple[str, int]], None]


class DatagramEndpoint(Protocol):
    """An address on a shared port: receives its datagrams, and answers from it."""

    @property
    def port(self) -> int: ...

    def serve(self, receive: Receive) -> None:
        """Pass every datagram to `receive` from now on."""

    def sendto(self, data: bytes, client: tuple[str, int]) -> None: ...

    def close(self) -> None: ...


class DatagramPlace(Protocol):
    #: Its name in messages.
    words: str

    def try_it(self) -> None:
        """Raise the `OSError` that opening would raise."""

    def open(self) -> socket.socket | DatagramEndpoint:
        """Open the port; raise OSError if that is impossible."""


class OwnDatagramPlace:
    """A port for a single agent."""

    def __init__(self, host: str, port: int) -> None:
        self.words = f"Port {port} of {host}"
        self._host = host
        self._port = port

    def try_it(self) -> None:
        self.open().close()

    def open(self) -> socket.socket:
        return bind_udp(self._host, self._port)


# The port of a Modbus TCP server: its own, or one that several servers share by address.


class ListeningPlace(Protocol):
    """Where a server listens: a port of its own, or one that it shares by its address."""

    #: Its name in messages.
    words: str

    @property
    def port(self) -> int | None:
        """The port while it is open."""

    async def look_up(self) -> None:
        """Resolve the host, which may take a moment, before the port is tried or opened."""

    def try_it(self) -> None:
        """Raise the `OSError` that opening would raise."""

    async def open(self, factory: Callable[[], asyncio.Protocol]) -> None:
        """Listen; raise OSError if that is impossible, Conflict if there is no address for it."""

    def close(self) -> Awaitable[None]:
        """Stop accepting immediately; the returned task ends when the port is free."""


class OwnPlace:
    """A port for a single server."""

    def __init__(self, host: str, port: int) -> None:
        self.words = f"Port {port} of {host}"
        self._host = host
        self._wanted_port = port
        self._addresses: Sequence[tuple[Any, ...]] = ()
        self._listener: asyncio.Server | None = None

    @property
    def port(self) -> int | None:
        if self._listener is None:
            return None
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def look_up(self) -> None:
        # A host without an address causes an error when the port is opened.
        with suppress(OSError):
            self._addresses = await asyncio.get_running_loop().getaddrinfo(
                self._host, self._wanted_port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )

    def try_it(self) -> None:
        for family, kind, protocol, _, address in self._addresses:
            try_address(family, kind, protocol, address)

    async def open(self, factory: Callable[[], asyncio.Protocol]) -> None:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(factory, self._host, self._wanted_port)

    def close(self) -> Awaitable[None]:
        listener, self._listener = self._listener, None
        if listener is None:
            return asyncio.sleep(0)
        listener.close()
        return listener.wait_closed()
