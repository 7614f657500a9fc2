"""A UDP socket that listens, for servers that open and close their port while the program runs."""

import socket


def bound_udp(host: str, port: int) -> socket.socket:
    """Bind a UDP socket, which queues datagrams at once; raise OSError if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_DGRAM)
    try:
        listening.setblocking(False)
        listening.bind((host, port))
    except BaseException:
        listening.close()
        raise
    return listening
