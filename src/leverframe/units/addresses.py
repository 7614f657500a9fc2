"""Addresses of units: MAC addresses and their check, and network addresses as users write them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError

from leverframe.core.errors import ErrorForPeople
from leverframe.testing.recordings.unit_client import BadAddress, UnitError, unit_at

_MAC = re.compile(r"[0-9A-F]{2}(?:[:-][0-9A-F]{2}){5}", re.ASCII)


class AnotherUnit(UnitError):
    """The device at an address is not the expected unit; the message is one sentence."""


def normal_mac(text: str) -> str | None:
    """Return a MAC address in capitals with colons; None for any other text."""
    written = text.strip().upper()
    return written.replace("-", ":") if _MAC.fullmatch(written) else None


def find_shared_macs(units: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the MAC addresses that several units show, each with the names of those units."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for name, mac in units:
        if mac and name not in names[mac]:
            names[mac].append(name)
    return {mac: sharing for mac, sharing in names.items() if len(sharing) > 1}


def refuse_another_unit(address: str, found: str, expected: str) -> None:
    """Raise `AnotherUnit` if a unit shows another MAC address than expected, or none."""
    mac = normal_mac(found)
    if not expected or mac == expected:
        return
    if mac is None:
        raise AnotherUnit(
            f"The device at {address} shows no MAC address; the expected unit has {expected}."
        )
    raise AnotherUnit(
        f"Another unit answers at {address}: its MAC address is {mac}, not {expected}."
    )


# Addresses of units as users write them: single addresses, ranges, or networks.
#
# Only named addresses are ever queried, so a list has a limit, and one mistake rejects the whole
# list.

MAX_ADDRESSES = 1024
_RANGE = re.compile(r"([0-9.]+)-([0-9.]+)(:[0-9]+)?", re.ASCII)
_LAST_NUMBER = re.compile(r"http://((?:[0-9]+\.){3})([0-9]+)(:[0-9]+)?", re.ASCII)
#: The number of ranges that a line shows; the rest is counted.
MAX_SHOWN = 10
_NETWORK = re.compile(r"([0-9.]+/[0-9]+)", re.ASCII)


#: A host of only digits and dots is never a name.
_NUMBERS = re.compile(r"[0-9.]+", re.ASCII)


class BadAddressList(ErrorForPeople):
    """An unusable address, with advice on how to write it."""


def addresses_from_names(names: Iterable[str]) -> list[str]:
    """Return the named addresses like http://192.168.1.10, each once, in order."""
    found: dict[str, None] = {}
    for name in names:
        for address in _expand_name(name):
            found[address] = None
            if len(found) > MAX_ADDRESSES:
                raise BadAddressList(
                    f"More than {MAX_ADDRESSES:,} addresses were named; search fewer addresses at"
                    " a time."
                )
    return list(found)


def single_addresses(names: Iterable[str]) -> list[str]:
    """Return the single addresses, without ranges and networks."""
    single = [name for name in names if not (_RANGE.fullmatch(name) or _NETWORK.fullmatch(name))]
    return addresses_from_names(single)


def shorten_addresses(addresses: Iterable[str]) -> str:
    """Write addresses in one line; consecutive ones as a range, like 192.168.1.12-17."""
    rows: list[tuple[str, list[int], str]] = []
    for address in addresses:
        found = _LAST_NUMBER.fullmatch(address)
        if found is None:
            rows.append((address, [], ""))
            continue
        head, number, port = found[1], int(found[2]), found[3] or ""
        if rows and rows[-1][0] == head and rows[-1][2] == port and rows[-1][1][-1] == number - 1:
            rows[-1][1].append(number)
        else:
            rows.append((head, [number], port))
    shown = [
        f"{head}{numbers[0]}-{numbers[-1]}{port}"
        if len(numbers) > 1
        else f"{head}{numbers[0] if numbers else ''}{port}"
        for head, numbers, port in rows[:MAX_SHOWN]
    ]
    more = [f"{len(rows) - MAX_SHOWN} more"] if len(rows) > MAX_SHOWN else []
    return ", ".join([*shown, *more])


def _expand_name(name: str) -> Iterator[str]:
    try:
        if found := _RANGE.fullmatch(name):
            yield from _of_range(found[1], found[2], found[3] or "")
        elif found := _NETWORK.fullmatch(name):
            network = IPv4Network(found[1])
            yield from (f"http://{host}" for host in network.hosts())
        else:
            address = name if "://" in name else f"http://{name}"
            host = unit_at(address).host
            if _NUMBERS.fullmatch(host):
                IPv4Address(host)
            yield address.rstrip("/")
    except (AddressValueError, NetmaskValueError, ValueError, BadAddress):
        # Show the name without the part that may be a password.
        shown = name.rpartition("@")[2][:60]
        raise BadAddressList(
            f"{shown!r} is not an address; write 192.168.1.10 or http://192.168.1.10:8080, a"
            " range like 192.168.1.10-40, or a network like 192.168.1.0/27."
        ) from None


def _of_range(first: str, last: str, port: str) -> Iterator[str]:
    """Yield the addresses of a range; `last` may be only the last number of an address."""
    begin = IPv4Address(first)
    if "." not in last:
        last = f"{first.rpartition('.')[0]}.{last}"
    end = IPv4Address(last)
    if end < begin:
        raise ValueError(last)
    # One more than allowed is enough to detect the excess.
    count = min(int(end) - int(begin), MAX_ADDRESSES)
    for number in range(count + 1):
        yield f"http://{begin + number}{port}"
