"""Connections of this process to itself: how they are opened, and recognised where they arrive.

A controller that may reach its own machine also reaches the ports of the process that it runs in.
There its connection would look like one of the machine's owner: it comes from loopback. So the
socket of every connection to this machine gets its port before it connects, and is kept here; where
a connection arrives from such a port, its peer is `OWN_PEER`. That is no address, so nothing that
is granted to addresses is granted to it: not by a list of Modbus writers, nor as a trusted network,
nor as this machine.
"""

import asyncio
import errno
import socket
import weakref
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

#: The peer of a connection that comes from a controller of this process.
OWN_PEER = "this process"

#: Reserved addresses, which no machine has: who can bind to one can bind to any.
_NOBODYS = {socket.AF_INET: "240.0.0.1", socket.AF_INET6: "100::1"}
#: Without room for a socket nothing is known of an address.
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class OwnConnections:
    """The sockets of this process that are connected to this machine, by their ports."""

    def __init__(self) -> None:
        #: By whether they speak IPv6, and the port.
        self._sockets: dict[tuple[bool, int], weakref.ref[socket.socket]] = {}

    def claim(self, own: socket.socket, target: IPv4Address | IPv6Address) -> None:
        """Give a socket its port, which no other process gets, and keep it in mind."""
        self._sockets = {key: known for key, known in self._sockets.items() if _is_open(known)}
        own.bind(("", 0))
        key = isinstance(target, IPv6Address), own.getsockname()[1]
        self._sockets[key] = weakref.ref(own)

    def have(self, address: str, port: int) -> bool:
        """Return whether a connection from an address and port is one of them."""
        peer = _plain(address)
        known = self._sockets.get((isinstance(peer, IPv6Address), port))
        if known is None or not _is_open(known):
            return False
        try:
            return is_own_address(peer)
        except OSError:
            return True  # without knowing better, it gets no rights


#: One for the process, as its ports are.
OWN_CONNECTIONS = OwnConnections()


def peer_of(transport: asyncio.BaseTransport) -> str:
    """Return the address of who connected; `OWN_PEER` for a controller of this process."""
    name: Any = transport.get_extra_info("peername")
    if not name:
        return ""
    return OWN_PEER if OWN_CONNECTIONS.have(name[0], name[1]) else str(name[0])


async def connect_socket(address: str, port: int) -> socket.socket:
    """Connect to an address, so that this process recognises a connection to itself."""
    family, kind, protocol, _, place = socket.getaddrinfo(
        address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
    )[0]
    connecting = socket.socket(family, kind, protocol)
    try:
        connecting.setblocking(False)
        target = _plain(address)
        if is_own_address(target):
            OWN_CONNECTIONS.claim(connecting, target)
        await asyncio.get_running_loop().sock_connect(connecting, place)
    except BaseException:
        connecting.close()
        raise
    return connecting


def is_own_address(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address leads to this machine, by loopback or the network.

    Raises OSError where no socket can be opened to find out.
    """
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    if not _can_bind(family, str(address)):
        return False
    # With net.ipv4.ip_nonlocal_bind any address can be bound to; then the route shows it.
    return not _can_bind(family, _NOBODYS[family]) or _source_for(family, address) == address


def _can_bind(family: socket.AddressFamily, address: str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise
        return False
    return True


def _source_for(
    family: socket.AddressFamily, address: IPv4Address | IPv6Address
) -> IPv4Address | IPv6Address | None:
    """Return the address from which datagrams to another one would be sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # Nothing is sent by this.
            probe.connect((str(address), 9))
            return _plain(probe.getsockname()[0])
    except OSError:
        return None


def _plain(text: str) -> IPv4Address | IPv6Address:
    """Read an address, also an IPv4 address that is written as IPv6."""
    address = ip_address(text)
    return getattr(address, "ipv4_mapped", None) or address


def _is_open(known: weakref.ref[socket.socket]) -> bool:
    own = known()
    return own is not None and own.fileno() >= 0
