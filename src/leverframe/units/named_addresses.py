"""Addresses of units as people name them: one, a range of IPv4 addresses, or a network.

Nothing but what is named is ever asked, so a list has a limit, and a mistake in one name refuses
the whole of it.
"""

import re
from collections.abc import Iterable, Iterator
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError

from leverframe.errors import ErrorForPeople
from leverframe.recording.unit_client import BadAddress, unit_at

MAX_ADDRESSES = 1024
_RANGE = re.compile(r"([0-9.]+)-([0-9.]+)(:[0-9]+)?", re.ASCII)
_NETWORK = re.compile(r"([0-9.]+/[0-9]+)", re.ASCII)


class BadAddressList(ErrorForPeople):
    """Addresses that cannot be asked: which one, and how to write it."""


def addresses_from_names(names: Iterable[str]) -> list[str]:
    """Return the addresses like http://192.168.1.10 that are named, each once, in order."""
    found: dict[str, None] = {}
    for name in names:
        for address in _named(name):
            found[address] = None
            if len(found) > MAX_ADDRESSES:
                raise BadAddressList(
                    f"More than {MAX_ADDRESSES} addresses are named; ask for fewer at a time."
                )
    return list(found)


def _named(name: str) -> Iterator[str]:
    try:
        if found := _RANGE.fullmatch(name):
            yield from _of_range(found[1], found[2], found[3] or "")
        elif found := _NETWORK.fullmatch(name):
            network = IPv4Network(found[1])
            yield from (f"http://{host}" for host in network.hosts())
        else:
            address = name if "://" in name else f"http://{name}"
            unit_at(address)
            yield address.rstrip("/")
    except (AddressValueError, NetmaskValueError, ValueError, BadAddress):
        # Without what may be a password.
        shown = name.rpartition("@")[2][:60]
        raise BadAddressList(
            f"{shown!r} names no unit; write an address like 192.168.1.10 or"
            " http://192.168.1.10:8080, a range like 192.168.1.10-40, or a network like"
            " 192.168.1.0/27."
        ) from None


def _of_range(first: str, last: str, port: str) -> Iterator[str]:
    """Return the addresses from the first to the last, which may be its last number alone."""
    begin = IPv4Address(first)
    if "." not in last:
        last = f"{first.rpartition('.')[0]}.{last}"
    end = IPv4Address(last)
    if end < begin:
        raise ValueError(last)
    # One more than is allowed is enough to tell that it is too much.
    count = min(int(end) - int(begin), MAX_ADDRESSES)
    for number in range(count + 1):
        yield f"http://{begin + number}{port}"
