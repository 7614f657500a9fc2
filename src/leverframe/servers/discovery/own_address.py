"""The one address that a controller listens on, and the interface that has it."""

import socket

from msgspec import Struct

from leverframe.servers.discovery.shared_port import Asked


class OwnAddress(Struct, frozen=True):
    address: str
    interface: int

    def is_meant_by(self, asked: Asked) -> bool:
        """Return whether a datagram asks this address, or the whole network that it is in."""
        if asked.by_broadcast:
            return asked.interface == self.interface
        return asked.address == self.address


def find_own_address(host: str) -> OwnAddress | None:
    """Look for the address among the machine's; it may take a moment, and None is none of IPv4."""
    import ifaddr

    try:
        address = socket.gethostbyname(host)
    except OSError:
        return None
    for adapter in ifaddr.get_adapters():
        if adapter.index is not None and any(ip.ip == address for ip in adapter.ips):
            return OwnAddress(address, adapter.index)
    return None
