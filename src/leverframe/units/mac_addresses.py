"""MAC addresses of units: normal form, duplicates, and the check for the expected address."""

import re
from collections import defaultdict
from collections.abc import Iterable

from leverframe.recording.unit_client import UnitError

_MAC = re.compile(r"[0-9A-F]{2}(?:[:-][0-9A-F]{2}){5}", re.ASCII)


class AnotherUnit(UnitError):
    """The device at an address is not the expected unit: one sentence."""


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
