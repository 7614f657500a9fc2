"""Outgoing connections: checks of targets, and recognition of own connections."""

import asyncio
import errno
import socket
import weakref
from enum import Enum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from msgspec import Struct

from leverframe.core.errors import ErrorForPeople

# Connections of this process to itself: how they are opened, and recognised when they arrive.
#
# A controller that may reach its own machine can also reach the ports of its own process. There,
# its connection would come from loopback and look like a connection of the machine's owner.
# Therefore the socket of every connection to this machine is bound to a port before it connects,
# and recorded here. If a connection arrives from such a port, its peer is `OWN_PEER`. This value
# is not an address, so it has no rights that are granted to addresses: not as a Modbus writer, not
# as a trusted network, and not as this machine.

#: The peer of a connection that comes from a controller of this process.
OWN_PEER = "this process"

#: Reserved addresses that no machine has; a machine that can bind to one of them can bind to any
#: address.
_NOBODYS = {socket.AF_INET: "240.0.0.1", socket.AF_INET6: "100::1"}
#: Errors because resources for a socket are missing, so that an address cannot be checked.
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class OwnConnections:
    """The sockets of this process that are connected to this machine, by their ports."""

    def __init__(self) -> None:
        #: The key is whether the socket uses IPv6, and its port.
        self._sockets: dict[tuple[bool, int], weakref.ref[socket.socket]] = {}

    def claim(self, own: socket.socket, target: IPv4Address | IPv6Address) -> None:
        """Bind a socket to a port that no other process can use, and record it."""
        self._sockets = {key: known for key, known in self._sockets.items() if _is_open(known)}
        own.bind(("", 0))
        key = isinstance(target, IPv6Address), own.getsockname()[1]
        self._sockets[key] = weakref.ref(own)

    def have(self, address: str, port: int) -> bool:
        """Return whether a connection from an address and port comes from one of these sockets."""
        peer = _plain(address)
        known = self._sockets.get((isinstance(peer, IPv6Address), port))
        if known is None or not _is_open(known):
            return False
        try:
            return is_own_address(peer)
        except OSError:
            return True  # if in doubt, grant no rights


#: One object per process, because ports also belong to the process.
OWN_CONNECTIONS = OwnConnections()


def peer_of(transport: asyncio.BaseTransport) -> str:
    """Return the address of the client; `OWN_PEER` for a controller of this process."""
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
    """Return whether an address reaches this machine, through loopback or the network.

    Raise OSError if no socket can be opened to find out.
    """
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    if not _can_bind(family, str(address)):
        return False
    # With net.ipv4.ip_nonlocal_bind, a socket can bind to any address; then the route decides.
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
    """Return the source address that datagrams to an address would have."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # On a datagram socket, this only selects a route; nothing is sent.
            probe.connect((str(address), 9))
            return _plain(probe.getsockname()[0])
    except OSError:
        return None


def _plain(text: str) -> IPv4Address | IPv6Address:
    """Parse an address; an IPv4 address may be written as IPv6."""
    address = ip_address(text)
    return getattr(address, "ipv4_mapped", None) or address


def _is_open(known: weakref.ref[socket.socket]) -> bool:
    own = known()
    return own is not None and own.fileno() >= 0


# The check of all targets to which a controller sends or connects.
#
# A target in the settings must not be a service that only the controller's own machine can reach:
# its loopback services, its link-local neighbours, or a cloud's metadata service. The local network
# is permitted, because most targets are there. Names are resolved here, and the connection is
# opened to the same address that was checked, so that a name cannot change its meaning in between.
#
# The permitted extent of a channel depends on who shares the machine. In a node, the owners of
# controllers do not own the machine, and other owners have ports on its loopback, so no channel may
# reach it. A controller that has its machine to itself may use a broker, mail relay or Modbus
# gateway on the same machine, as the guides describe; HTTP requests, which any local service would
# understand, must be permitted explicitly.

#: Metadata services of clouds whose addresses are not link-local.
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
    """The targets that a channel may reach."""

    #: Other machines.
    NETWORK = "network"
    #: Other machines, this machine and its link-local neighbours.
    MACHINE = "machine"
    ANYWHERE = "anywhere"


#: Every channel with a target from the settings, and its extent for a controller that has its
#: machine to itself.
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
    """The controller may not reach a target; the message says why, and what permits it."""


class OutgoingChannel(Struct, frozen=True):
    """A kind of outgoing connection, with its extent."""

    extent: Extent

    def check(self, host: str, address: str) -> None:
        """Raise `ForbiddenTarget` if the address of a host may not be reached."""
        what = forbidden(ip_address(address.partition("%")[0]), self.extent)
        if what is not None:
            raise ForbiddenTarget(
                f"{host} is {what} ({address}), which controllers reach only if the program is"
                " started with --allow-local-targets."
            )

    async def resolve(
        self, host: str, port: int, kind: socket.SocketKind = socket.SOCK_STREAM
    ) -> list[str]:
        """Resolve a host to addresses in the order to try; raise `ForbiddenTarget`."""
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=kind)
        except UnicodeError:
            # The name has an empty part or is too long.
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


#: Reaches only other machines.
STRICT = OutgoingChannel(Extent.NETWORK)


class Targets(Struct, frozen=True):
    """The targets that the controllers of a process may reach."""

    #: True if the operator permits all targets.
    allow_local: bool = False
    #: True if the owners of the controllers do not own the machine.
    in_node: bool = False

    def channel(self, name: str) -> OutgoingChannel:
        """Return the channel with a name from `CHANNELS`."""
        extent = CHANNELS[name]
        if self.allow_local:
            extent = Extent.ANYWHERE
        elif self.in_node:
            extent = Extent.NETWORK
        return OutgoingChannel(extent)


def forbidden(address: Address, extent: Extent = Extent.NETWORK) -> str | None:
    """Return why an address is outside an extent; None if it is inside."""
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
    """Return the IPv4 address that an IPv6 address contains, if it contains one."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
