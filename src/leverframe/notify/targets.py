"""The targets of requests: names are resolved here, only checked addresses are connected to.

Whoever may set an address must not reach, through the controller, what only the controller's own
machine can reach: its loopback services, its link-local neighbours, a cloud's metadata service.
The local network is what the addresses are for and stays open. The connection is made to the very
address that was checked, so a name cannot change its meaning in between.
"""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from leverframe.notify.channel import CannotSend

#: Metadata services of clouds that are not link-local.
METADATA = frozenset(
    ip_address(text)
    for text in (
        *("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)
_NAT64 = ip_network("64:ff9b::/96")

Address = IPv4Address | IPv6Address


async def checked_addresses(host: str, port: int, *, allow_local: bool) -> list[str]:
    """Resolve a host to addresses in the order to try; raises `CannotSend` if one is forbidden."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not allow_local:
        for text in addresses:
            what = forbidden(ip_address(text.partition("%")[0]))
            if what is not None:
                raise CannotSend(
                    f"{host} is {what} ({text}), which is not requested unless the program is "
                    f"started with --allow-local-targets.",
                    final=True,
                )
    return addresses


def forbidden(address: Address) -> str | None:
    """Describe an address that may be used only where that is allowed; None for others."""
    address = _embedded(address)
    if address in METADATA:
        return "a metadata service"
    if address.is_loopback or address.is_unspecified:
        return "an address of this machine"
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast or address == IPv4Address("255.255.255.255"):
        return "no address of a single server"
    return None


def _embedded(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
