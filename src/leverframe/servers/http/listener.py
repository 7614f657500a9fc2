"""A listening port: accepts connections, and tells TLS from what comes without it.

It accepts by itself instead of by an `asyncio.Server`, which fails half-way if it is closed while a
connection is being made: this one waits for those when it closes.

With TLS, the first byte of a connection tells whether it speaks it, and is looked at without taking
it. Until then, and until the handshake is done, a connection costs one socket; their number and
their time are limited as those of the connections that follow.
"""

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from leverframe.servers.http.limits import HttpLimits

#: The first byte of every TLS connection.
HANDSHAKE = b"\x16"
BACKLOG = 256
#: How long to leave new connections waiting when the process can have no more sockets.
PAUSE_S = 1.0

Factory = Callable[[], asyncio.Protocol]


class Listener:
    """Listening sockets; `protocol` gets who is accepted, with TLS where there is a `context`.

    Who comes to a TLS port without TLS goes to `plain`.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        protocol: Factory,
        limits: HttpLimits,
        context: ssl.SSLContext | None = None,
        plain: Factory | None = None,
    ) -> None:
        self.sockets = tuple(sockets)
        self._protocol = protocol
        self._limits = limits
        self._context = context
        self._plain = plain or protocol
        self._loop = asyncio.get_running_loop()
        #: Connections that have not said anything yet, and their time.
        self._silent: dict[socket.socket, asyncio.TimerHandle] = {}
        self._per_address: Counter[str] = Counter()
        self._accepting: set[asyncio.Task[None]] = set()
        self._handshakes: set[asyncio.Task[None]] = set()
        for listening in self.sockets:
            self._loop.add_reader(listening, self._accept, listening)

    async def close(self) -> None:
        """Accept no more; return when what was being accepted is a connection, or is gone."""
        for listening in self.sockets:
            self._loop.remove_reader(listening)
            listening.close()
        for client in tuple(self._silent):
            self._drop(client)
        for handshake in self._handshakes:
            handshake.cancel()
        if running := self._accepting | self._handshakes:
            await asyncio.wait(running)

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
        if self._context is None:
            self._run(self._connect(client, self._plain), self._accepting)
        else:
            self._await_first_byte(client, address[0])

    def _listen_again(self, listening: socket.socket) -> None:
        if listening.fileno() >= 0:
            self._loop.add_reader(listening, self._accept, listening)

    def _run(
        self, work: Coroutine[Any, Any, None], running: set[asyncio.Task[None]]
    ) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        running.add(task)
        task.add_done_callback(running.discard)
        return task

    async def _connect(self, client: socket.socket, protocol: Factory) -> None:
        with suppress(OSError):  # it has left already
            await self._loop.connect_accepted_socket(protocol, client)

    # TLS

    def _await_first_byte(self, client: socket.socket, peer: str) -> None:
        waiting = len(self._silent) + len(self._handshakes)
        if (
            waiting >= self._limits.connections
            or self._per_address[peer] >= self._limits.connections_per_address
        ):
            client.close()
            return
        self._per_address[peer] += 1
        self._silent[client] = self._loop.call_later(
            self._limits.header_timeout_s, self._drop, client, peer
        )
        self._loop.add_reader(client, self._sort, client, peer)

    def _drop(self, client: socket.socket, peer: str = "") -> None:
        self._stop_waiting(client)
        self._left(peer)
        client.close()

    def _stop_waiting(self, client: socket.socket) -> None:
        self._silent.pop(client).cancel()
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
        if first == HANDSHAKE:
            task = self._run(self._shake_hands(client), self._handshakes)
        else:
            task = self._run(self._connect(client, self._plain), self._accepting)
        task.add_done_callback(lambda _: self._left(peer))

    async def _shake_hands(self, client: socket.socket) -> None:
        # What fails here is a client that does not trust the certificate, or one that has left.
        with suppress(OSError, ssl.SSLError):
            await self._loop.connect_accepted_socket(
                self._protocol,
                client,
                ssl=self._context,
                ssl_handshake_timeout=self._limits.header_timeout_s,
            )


async def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Open a listening socket for every address of the host."""
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
