"""Where an SNMP agent listens: a UDP port of its own, or one that several share by address."""

import socket
from collections.abc import Callable
from typing import Protocol

from leverframe.servers.udp_socket import bind_udp

#: Takes a datagram and the address that it came from.
Receive = Callable[[bytes, tuple[str, int]], None]


class DatagramEndpoint(Protocol):
    """One address of a port that is shared: datagrams to it, and answers from it."""

    @property
    def port(self) -> int: ...

    def serve(self, receive: Receive) -> None:
        """Hand over what arrives from now on."""

    def sendto(self, data: bytes, client: tuple[str, int]) -> None: ...

    def close(self) -> None: ...


class DatagramPlace(Protocol):
    #: As people call it.
    words: str

    def try_it(self) -> None:
        """Raise the `OSError` that opening would raise."""

    def open(self) -> socket.socket | DatagramEndpoint:
        """Open the port; raise OSError where that cannot be."""


class OwnDatagramPlace:
    """A port for one agent alone."""

    def __init__(self, host: str, port: int) -> None:
        self.words = f"Port {port} of {host}"
        self._host = host
        self._port = port

    def try_it(self) -> None:
        self.open().close()

    def open(self) -> socket.socket:
        return bind_udp(self._host, self._port)
