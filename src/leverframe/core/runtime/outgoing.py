"""Outgoing connections: the check of their targets, and recognising connections of the process to
itself.
"""

import asyncio
import errno
import socket
import weakref
from enum import Enum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from msgspec import Struct

from leverframe.core.errors import ErrorForPeople

# Connections of this process to itself: how they are opened, and recognised where they arrive.
#
# A controller that may reach its own machine also reaches the ports of the process that it runs
# in. There its connection would look like one of the machine's owner: it comes from loopback. So
# the socket of every connection to this machine gets its port before it connects, and is kept
# here; where a connection arrives from such a port, its peer is `OWN_PEER`. That is no address,
# so nothing that is granted to addresses is granted to it: not by a list of Modbus writers, nor
# as a trusted network, nor as this machine.

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
        """Bind a socket to a port that no other process gets, and remember the port."""
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
    """Return the address of the peer; `OWN_PEER` for a controller of this process."""
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

    Raises OSError if no socket can be opened to find out.
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


# The targets of everything that a controller sends or connects to, checked in one place.
#
# An address in the settings must not reach what only the controller's own machine can reach: its
# loopback services, its link-local neighbours, a cloud's metadata service. The local network is
# what the addresses are for and stays open. Names are resolved here, and the connection is opened
# to the very address that was checked, so a name cannot change its meaning in between.
#
# How far a channel reaches depends on who shares the machine. In a node the owners of controllers
# do not own the machine, and its loopback has the ports of other owners: no channel reaches it. A
# controller alone on its machine may use the broker, mail relay or Modbus gateway beside it, as
# the guides describe; HTTP requests, which any local service would understand, need to be
# allowed.

#: Metadata services of clouds that are not link-local.
METADATA = frozenset(
    ip_address(text)
    for text in (
        *("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)
METADATA_LINK_LOCAL = IPv4Address("169.254.169.254")
_NAT64 = ip_network("64:ff9b::/96")
_NO_NAME = "this is not a valid host name"

Address = IPv4Address | IPv6Address


class Extent(Enum):
    """How far a channel reaches."""

    #: Other machines, one at a time.
    NETWORK = "network"
    #: Also this machine and its link-local neighbours.
    MACHINE = "machine"
    ANYWHERE = "anywhere"


#: Every way out that settings can aim, with its extent for a controller alone on its machine.
CHANNELS = {
    "http": Extent.NETWORK,
    "release": Extent.NETWORK,
    "mqtt": Extent.MACHINE,
    "email": Extent.MACHINE,
    "trap": Extent.MACHINE,
    "modbus": Extent.MACHINE,
    "ping": Extent.MACHINE,
}


class ForbiddenTarget(ErrorForPeople):
    """A target that the controller may not reach: which, why, and what allows it."""


class OutgoingChannel(Struct, frozen=True):
    """A way out and its extent."""

    extent: Extent

    def check(self, host: str, address: str) -> None:
        """Raise `ForbiddenTarget` if a host has an address that may not be reached."""
        what = forbidden(ip_address(address.partition("%")[0]), self.extent)
        if what is not None:
            raise ForbiddenTarget(
                f"{host} is {what} ({address}), which controllers reach only if the program is"
                " started with --allow-local-targets."
            )

    async def resolve(
        self, host: str, port: int, kind: socket.SocketKind = socket.SOCK_STREAM
    ) -> list[str]:
        """Resolve a host to addresses in the order to try; none of them is forbidden."""
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=kind)
        except UnicodeError:
            # Of a name with an empty part, or one that is too long.
            raise socket.gaierror(socket.EAI_NONAME, _NO_NAME) from None
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        for address in addresses:
            self.check(host, address)
        return addresses

    async def connect(self, host: str, port: int) -> socket.socket:
        """Connect to the first address of a host that accepts the connection."""
        problem = OSError("no address")
        for address in await self.resolve(host, port):
            try:
                return await connect_socket(address, port)
            except OSError as error:
                problem = error
        raise problem


#: Other machines alone.
STRICT = OutgoingChannel(Extent.NETWORK)


class Targets(Struct, frozen=True):
    """What the controllers of a process may reach."""

    #: The operator allows everything.
    allow_local: bool = False
    #: The owners of the controllers do not own the machine.
    in_node: bool = False

    def channel(self, name: str) -> OutgoingChannel:
        """Return the channel of a name in `CHANNELS`."""
        extent = CHANNELS[name]
        if self.allow_local:
            extent = Extent.ANYWHERE
        elif self.in_node:
            extent = Extent.NETWORK
        return OutgoingChannel(extent)


def forbidden(address: Address, extent: Extent = Extent.NETWORK) -> str | None:
    """Describe an address beyond an extent; None for one within it."""
    if extent is Extent.ANYWHERE:
        return None
    address = _ipv4_within(address)
    if address in METADATA or address == METADATA_LINK_LOCAL:
        return "a metadata service"
    if address.is_multicast or address == IPv4Address("255.255.255.255"):
        return "not the address of a single server"
    if extent is Extent.MACHINE:
        return None
    if address.is_link_local:
        return "a link-local address"
    if is_own_address(address):
        return "an address of this machine"
    return None


def _ipv4_within(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
