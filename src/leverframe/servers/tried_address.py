"""Whether an address could be listened on, tried without listening."""

import socket
import sys
from typing import Any


def try_address(family: int, kind: int, protocol: int, address: Any) -> None:
    """Raise the `OSError` that listening there would raise."""
    with socket.socket(family, kind, protocol) as tried:
        if sys.platform != "win32":  # would share the port with another program
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # As the event loop does: an IPv4 address is another one.
            tried.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        tried.bind(address)
