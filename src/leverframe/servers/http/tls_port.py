"""A port that speaks TLS, and tells clients that come without it where to go.

The first byte of a connection tells which it is, and is looked at without taking it. Until then,
and until the TLS handshake is done, a connection costs one socket; their number and their time are
limited as those of the connections that follow.
"""

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from leverframe.servers.http.limits import HttpLimits

#: The first byte of every TLS connection.
HANDSHAKE = b"\x16"
BACKLOG = 256
#: How long to leave new connections waiting when the process can have no more sockets.
PAUSE_S = 1.0

Factory = Callable[[], asyncio.Protocol]


class TlsListener:
    """Listening sockets that sort what arrives; looks like an `asyncio.Server` where it must."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        context: ssl.SSLContext,
        secure: Factory,
        plain: Factory,
        limits: HttpLimits,
    ) -> None:
        self.sockets = tuple(sockets)
        self._context = context
        self._secure = secure
        self._plain = plain
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[socket.socket, asyncio.TimerHandle] = {}
        self._per_address: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        for listening in self.sockets:
            self._loop.add_reader(listening, self._accept, listening)

    def close(self) -> None:
        for listening in self.sockets:
            self._loop.remove_reader(listening)
            listening.close()
        for client in tuple(self._waiting):
            self._drop(client)
        for task in self._tasks:
            task.cancel()

    def _accept(self, listening: socket.socket) -> None:
        try:
            client, address = listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError:
            self._loop.remove_reader(listening)
            self._loop.call_later(PAUSE_S, self._listen_again, listening)
            return
        client.setblocking(False)
        peer = address[0]
        if (
            len(self._waiting) + len(self._tasks) >= self._limits.connections
            or self._per_address[peer] >= self._limits.connections_per_address
        ):
            client.close()
            return
        self._per_address[peer] += 1
        self._waiting[client] = self._loop.call_later(
            self._limits.header_timeout_s, self._drop, client, peer
        )
        self._loop.add_reader(client, self._sort, client, peer)

    def _listen_again(self, listening: socket.socket) -> None:
        if listening.fileno() >= 0:
            self._loop.add_reader(listening, self._accept, listening)

    def _drop(self, client: socket.socket, peer: str = "") -> None:
        self._stop_waiting(client)
        self._left(peer)
        client.close()

    def _stop_waiting(self, client: socket.socket) -> None:
        self._waiting.pop(client).cancel()
        self._loop.remove_reader(client)

    def _left(self, peer: str) -> None:
        self._per_address[peer] -= 1
        if self._per_address[peer] <= 0:
            del self._per_address[peer]

    def _sort(self, client: socket.socket, peer: str) -> None:
        """The first byte is there, or the client has left."""
        try:
            first = client.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            first = b""
        if not first:
            self._drop(client, peer)
            return
        self._stop_waiting(client)
        task = self._loop.create_task(self._hand_over(client, first == HANDSHAKE))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._left(peer))

    async def _hand_over(self, client: socket.socket, secure: bool) -> None:
        # What fails here is a client without a certificate it trusts, or one that has left.
        with suppress(OSError, ssl.SSLError):
            if secure:
                await self._loop.connect_accepted_socket(
                    self._secure,
                    client,
                    ssl=self._context,
                    ssl_handshake_timeout=self._limits.header_timeout_s,
                )
            else:
                await self._loop.connect_accepted_socket(self._plain, client)


async def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """A listening socket for every address of the host."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            listening = socket.socket(family, kind, protocol)
            sockets.append(listening)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listening.setblocking(False)
            listening.bind(address)
            listening.listen(BACKLOG)
    except OSError:
        for listening in sockets:
            listening.close()
        raise
    return sockets
