"""A listening port: accepts connections, and tells TLS from what comes without it.

It accepts by itself instead of by an `asyncio.Server`, which fails half-way if it is closed while a
connection is being made: this one waits for those when it closes.

With TLS, the first byte of a connection tells whether it speaks it, and is looked at without taking
it. Until then, and until the handshake is done, a connection costs one socket; their number and
their time are limited as those of the connections that follow.
"""

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from leverframe.servers.http.limits import HttpLimits

logger = logging.getLogger(__name__)

#: The first byte of every TLS connection.
HANDSHAKE = b"\x16"
BACKLOG = 256
#: One at a time costs 70 us more for each of 64 clients that come at once.
MAX_ACCEPTED_AT_ONCE = 64
#: How long to leave new connections waiting when the process can have no more sockets.
PAUSE_S = 1.0

Factory = Callable[[], asyncio.Protocol]


class HttpListener:
    """Listening sockets; `protocol` gets accepted clients, with TLS where there is a `context`.

    Who comes to a TLS port without TLS goes to `plain`.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        limits: HttpLimits,
        protocol: Factory,
        context: ssl.SSLContext | None,
        plain: Factory,
    ) -> None:
        self.sockets = tuple(sockets)
        self._limits = limits
        self._protocol = protocol
        self._context = context
        self._plain = plain
        self._loop = asyncio.get_running_loop()
        #: Connections that have not sent anything yet, with their peer and time.
        self._silent: dict[socket.socket, tuple[str, asyncio.TimerHandle]] = {}
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
        for _ in range(MAX_ACCEPTED_AT_ONCE):
            try:
                client, address = listening.accept()
            except ConnectionAbortedError:
                continue
            except BlockingIOError:
                return
            except OSError as error:
                logger.error("No connection can be accepted for %d s: %s.", PAUSE_S, error.strerror)
                self._loop.remove_reader(listening)
                self._loop.call_later(PAUSE_S, self._listen_again, listening)
                return
            client.setblocking(False)
            if self._context is None:
                self._run(self._connect(client, self._protocol), self._accepting)
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

    async def _connect(
        self, client: socket.socket, protocol: Factory, context: ssl.SSLContext | None = None
    ) -> None:
        timeout = self._limits.header_timeout_s if context else None
        # What fails here is a client that does not trust the certificate, or one that has left.
        with suppress(OSError):
            await self._loop.connect_accepted_socket(
                protocol, client, ssl=context, ssl_handshake_timeout=timeout
            )

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
        timer = self._loop.call_later(self._limits.header_timeout_s, self._drop, client)
        self._silent[client] = peer, timer
        self._loop.add_reader(client, self._sort, client)

    def _drop(self, client: socket.socket) -> None:
        self._left(self._stop_waiting(client))
        client.close()

    def _stop_waiting(self, client: socket.socket) -> str:
        peer, timer = self._silent.pop(client)
        timer.cancel()
        self._loop.remove_reader(client)
        return peer

    def _left(self, peer: str) -> None:
        self._per_address[peer] -= 1
        if not self._per_address[peer]:
            del self._per_address[peer]

    def _sort(self, client: socket.socket) -> None:
        """Hand over a client by its first byte: to TLS or plain HTTP; drop it if it has left."""
        try:
            first = client.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            first = b""
        if not first:
            self._drop(client)
            return
        peer = self._stop_waiting(client)
        if first == HANDSHAKE:
            handshake = self._connect(client, self._protocol, self._context)
            task = self._run(handshake, self._handshakes)
        else:
            task = self._run(self._connect(client, self._plain), self._accepting)
        task.add_done_callback(lambda _: self._left(peer))


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
