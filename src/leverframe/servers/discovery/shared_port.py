"""A UDP port that all controllers of a machine share, with the address that each datagram asked.

The kernel gives a broadcast to every socket of the port, and a datagram for one address to one of
them. The receiver of the latter forwards it to its neighbours by a broadcast on loopback, so that
each receives everything.
"""

import secrets
import socket
import struct
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from leverframe.servers.udp_socket import PACKET_INFO, datagrams, request_packet_info, send_from

#: Marks what a neighbour passes on: its token, who asks (address, port), and where.
_PASSED_ON = struct.Struct("=16s8s4sH12s")
_MARK = b"leverframe-asked"
NEIGHBOURS = "127.255.255.255"
#: Broadcasts only arrive at a socket that is bound to no single address.
ANY_ADDRESS = "0.0.0.0"  # noqa: S104
#: Longer than every datagram that means anything here.
_MAX_BYTES = 256


class Asked(Struct, frozen=True):
    """Who sent a datagram, and to which of the machine's interfaces and addresses."""

    client: tuple[str, int]
    interface: int
    #: The machine's own address, also where the datagram went to all in the network.
    address: str
    by_broadcast: bool


Take = Callable[[bytes, Asked], None]


class SharedPort:
    """One socket of the port; `take` gets each datagram once."""

    def __init__(
        self,
        port: int,
        is_known: Callable[[bytes], bool],
        take: Take,
        interface: bytes | None = None,
    ) -> None:
        """Open the port, of one interface where it is named; raise OSError if it cannot be shared.

        Only what `is_known` is passed on to neighbours.
        """
        self._is_known = is_known
        self._take = take
        self._token = secrets.token_bytes(8)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            request_packet_info(self._socket)
            if interface is not None:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface)
            self._socket.bind((ANY_ADDRESS, port))
        except BaseException:
            self._socket.close()
            raise
        self.number = port

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def read(self) -> None:
        """Take what has arrived, with pauses for others where that is a lot."""
        for data, note, client in datagrams(self._socket, _MAX_BYTES):
            self._sort(data, _read_note(client, note))

    def answer(self, data: bytes, datagram: Asked) -> None:
        """Answer from the interface and the address that were asked."""
        send_from(self._socket, datagram.interface, datagram.address, data, datagram.client)

    def _sort(self, data: bytes, datagram: Asked) -> None:
        if data.startswith(_MARK):
            self._take_passed_on(data, datagram)
        elif self._is_known(data):
            if not datagram.by_broadcast:
                self._pass_on(data, datagram)
            self._take(data, datagram)

    def _pass_on(self, data: bytes, datagram: Asked) -> None:
        host, port = datagram.client
        own = socket.inet_aton(datagram.address)
        where = PACKET_INFO.pack(datagram.interface, own, own)
        head = _PASSED_ON.pack(_MARK, self._token, socket.inet_aton(host), port, where)
        # Without a loopback interface there are no neighbours.
        with suppress(OSError):
            self._socket.sendto(head + data, (NEIGHBOURS, self.number))

    def _take_passed_on(self, message: bytes, how: Asked) -> None:
        """Take a datagram from a neighbour; no other host can send from loopback."""
        if not how.client[0].startswith("127.") or len(message) < _PASSED_ON.size:
            return
        _, token, host, port, where = _PASSED_ON.unpack_from(message)
        data = message[_PASSED_ON.size :]
        if token != self._token and self._is_known(data):
            self._take(data, _read_note((socket.inet_ntoa(host), port), where))


def _read_note(client: tuple[str, int], note: bytes) -> Asked:
    interface, own, sent_to = PACKET_INFO.unpack(note)
    return Asked(client, interface, socket.inet_ntoa(own), by_broadcast=own != sent_to)
