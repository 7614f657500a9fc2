"""MAC addresses as units tell them, with colons or dashes, in one way of writing; and doubles."""

import re
from collections import defaultdict
from collections.abc import Iterable

_MAC = re.compile(r"[0-9A-F]{2}(?:[:-][0-9A-F]{2}){5}", re.ASCII)


def normal_mac(text: str) -> str | None:
    """Return a MAC address in capitals with colons; None for any other text."""
    written = text.strip().upper()
    return written.replace("-", ":") if _MAC.fullmatch(written) else None


def shared_macs(units: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the MAC addresses that several units tell, each with the names of those units."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for name, mac in units:
        if mac and name not in names[mac]:
            names[mac].append(name)
    return {mac: sharing for mac, sharing in names.items() if len(sharing) > 1}
