"""Whose address a request has that came through reverse proxies.

`X-Forwarded-For` is a list to which each proxy adds the address of its client; a client can write
anything into it. So it is read from its end, as long as the entries are addresses of proxies that
the configuration names: the first other one is the client.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address


class NamedProxies:
    """The proxies that the configuration names."""

    def __init__(self, networks: Iterable[IPv4Network | IPv6Network] = ()) -> None:
        self._networks = tuple(networks)

    def contain(self, peer: str) -> bool:
        """Return whether a client is one of them."""
        address = _address(peer) if self._networks else None
        return address is not None and self._contain_address(address)

    def client_of(self, peer: str, forwarded_for: str) -> str:
        """Return the address of the client for which one of them asks."""
        client = peer
        for entry in reversed(forwarded_for.split(",")):
            address = _address(_without_port(entry.strip()))
            if address is None:
                break
            client = str(address)
            if not self._contain_address(address):
                break
        return client

    def _contain_address(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._networks)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _without_port(entry: str) -> str:
    """Return the address of an entry; with a port, an IPv6 address stands in brackets."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry
