"""The targets of everything that a controller sends or connects to, checked in one place.

An address in the settings must not reach what only the controller's own machine can reach: its
loopback services, its link-local neighbours, a cloud's metadata service. The local network is what
the addresses are for and stays open. Names are resolved here, and the connection is opened to the
very address that was checked, so a name cannot change its meaning in between.

How far a channel reaches depends on who shares the machine. In a node the owners of controllers do
not own the machine, and its loopback has the ports of other owners: no channel reaches it. A
controller alone on its machine may use the broker, mail relay or Modbus gateway beside it, as the
guides describe; HTTP requests, which any local service would understand, need to be allowed.
"""

import asyncio
import socket
from enum import Enum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from msgspec import Struct

from leverframe.errors import ErrorForPeople
from leverframe.outgoing.own_connections import connect_socket, is_own_address

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
