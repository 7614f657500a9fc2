"""UDP sockets that listen, and datagrams with the local address that each was sent to."""

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from time import perf_counter

#: Linux's number; the socket module of Python 3.11 does not have it.
IP_PKTINFO = 8
#: Index of the interface, the local address that the datagram is for, the address it was sent to.
PACKET_INFO = struct.Struct("=I4s4s")
#: Other work has its turn after this number, or this time.
_MAX_READ_TOGETHER = 64
_READ_S = 0.005


def bind_udp(host: str, port: int) -> socket.socket:
    """Bind a UDP socket; raise OSError if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_DGRAM)
    try:
        listening.setblocking(False)
        listening.bind((host, port))
    except BaseException:
        listening.close()
        raise
    return listening


def request_packet_info(listening: socket.socket) -> None:
    """Ask the kernel to say with each datagram what it was sent to."""
    listening.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)


def datagrams(
    listening: socket.socket, max_bytes: int
) -> Iterator[tuple[bytes, bytes, tuple[str, int]]]:
    """Take what has arrived: each datagram, the packet info that came with it, and who sent it."""
    until = perf_counter() + _READ_S
    for _ in range(_MAX_READ_TOGETHER):
        if perf_counter() > until:
            return
        try:
            data, notes, _, client = listening.recvmsg(
                max_bytes, socket.CMSG_SPACE(PACKET_INFO.size)
            )
        except OSError:  # nothing more, a reply that did not reach a client, or a closed socket
            return
        for level, kind, note in notes:
            if (level, kind) == (socket.IPPROTO_IP, IP_PKTINFO):
                yield data, note[: PACKET_INFO.size], client


def send_from(
    listening: socket.socket, interface: int, address: str, data: bytes, client: tuple[str, int]
) -> None:
    """Answer from an interface, 0 for any, and an address of this machine."""
    note = PACKET_INFO.pack(interface, socket.inet_aton(address), bytes(4))
    # A client that has left needs no answer.
    with suppress(OSError):
        listening.sendmsg([data], [(socket.IPPROTO_IP, IP_PKTINFO, note)], 0, client)
