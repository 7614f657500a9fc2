"""A socket for all addresses of 127.0.0.0/8 together, which no other machine can reach."""

import socket

from leverframe.servers.accounts.cross_site import is_loopback

#: The loopback interface, as Linux names it.
LOOPBACK = b"lo"


def is_loopback4(host: str) -> bool:
    return is_loopback(host) and ":" not in host


def bind_to_loopback(kind: socket.SocketKind, host: str, port: int) -> socket.socket | None:
    """Bind to the loopback interface; return None on another host, or if that fails.

    It needs Linux, whose kernels before 5.7 let only root bind to an interface.
    """
    if not (is_loopback4(host) and hasattr(socket, "SO_BINDTODEVICE")):
        return None
    bound = socket.socket(socket.AF_INET, kind)
    try:
        if kind == socket.SOCK_STREAM:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, LOOPBACK)
        bound.setblocking(False)
        bound.bind(("", port))
    except PermissionError:
        bound.close()
        return None
    except OSError:
        bound.close()
        raise
    return bound
