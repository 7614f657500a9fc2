"""What counts as one source: an address, or the network that its owner has at least."""

from ipaddress import IPv6Address, ip_address


def source_of(peer: str) -> str:
    """Return the address, or the /64 of an IPv6 address: its owner has at least that network."""
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if isinstance(address, IPv6Address):
        return address.exploded[:19] if address.ipv4_mapped is None else str(address.ipv4_mapped)
    return peer
