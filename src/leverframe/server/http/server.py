"""The HTTP/1.1 server: a port, its connections, their limits and time-outs; it knows no commands.

From the bytes up: `parser` parses requests and applies the limits, `connection` answers them in
order, `server_state` has what all connections of a server share, and `HttpListener` accepts them.
"""

import asyncio
import logging
import socket
import ssl
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from leverframe.server.fair_shares import DescriptorBudget, Lease
from leverframe.server.http.connection import Connection
from leverframe.server.http.limits import HttpLimits
from leverframe.server.http.messages import Handler, Reply, problem_reply
from leverframe.server.http.parser import RETRY, BadRequest
from leverframe.server.http.server_state import DEFAULT_LIMITS, ServerState, admit_every_body

# A listening port: accepts connections, and distinguishes TLS from plain HTTP.
#
# It does not use an `asyncio.Server`, which fails half-way if it is closed while a connection is
# being accepted; this listener waits for such connections. With TLS, the first byte of a connection
# shows whether it is a handshake; it is peeked at, not consumed. Until the handshake is done, a
# connection costs one socket, already counts as a connection, and has limited time.

logger = logging.getLogger(__name__)

#: The first byte of every TLS connection.
HANDSHAKE = b"\x16"
BACKLOG = 256
#: The name that `/metrics` and the log use.
NAME = "http"
#: Accepting one at a time costs 70 us more for each of 64 clients that connect together.
MAX_ACCEPTED_TOGETHER = 64
#: How long to leave new connections waiting if the process can open no more sockets.
PAUSE_S = 1.0

Factory = Callable[[Lease], asyncio.BaseProtocol]


class HttpListener:
    """Listening sockets; `protocol` gets accepted clients, with TLS if there is a `context`.

    A client without TLS at a TLS port is passed to `plain`. A client beyond the limit gets the
    `refusal`.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        limits: HttpLimits,
        descriptors: DescriptorBudget,
        refusal: bytes,
        protocol: Factory,
        context: ssl.SSLContext | None,
        plain: Factory,
    ) -> None:
        self.sockets = tuple(sockets)
        self._limits = limits
        self._descriptors = descriptors
        self._refusal = refusal
        self._protocol = protocol
        self._context = context
        self._plain = plain
        self._loop = asyncio.get_running_loop()
        #: Connections that have not sent anything yet, and the timers that end them.
        self._silent: dict[socket.socket, tuple[Lease, asyncio.TimerHandle]] = {}
        self._accepting: set[asyncio.Task[None]] = set()
        self._handshakes: set[asyncio.Task[None]] = set()
        for listening in self.sockets:
            self._loop.add_reader(listening, self._accept, listening)

    async def close(self) -> None:
        """Stop accepting; return when every pending client is connected or gone."""
        for listening in self.sockets:
            self._loop.remove_reader(listening)
            listening.close()
        for client in tuple(self._silent):
            self._drop(client)
        for handshake in self._handshakes:
            handshake.cancel()
        if running := self._accepting | self._handshakes:
            await asyncio.wait(running)

    def pause(self) -> None:
        """Refuse connections but keep the port: it is bound, but not listening."""
        addresses = [listening.getsockname() for listening in self.sockets]
        families = [listening.family for listening in self.sockets]
        for listening in self.sockets:
            self._loop.remove_reader(listening)
            listening.close()
        for client in tuple(self._silent):
            self._drop(client)
        self.sockets = tuple(map(_bind, families, addresses))

    def resume(self) -> None:
        """Listen again."""
        for listening in self.sockets:
            listening.listen(BACKLOG)
            self._loop.add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(MAX_ACCEPTED_TOGETHER):
            try:
                client, address = listening.accept()
            except ConnectionAbortedError:
                continue
            except BlockingIOError:
                return
            except OSError as error:
                logger.error("Accepting no connections for %d s: %s.", PAUSE_S, error.strerror)
                self._loop.remove_reader(listening)
                self._loop.call_later(PAUSE_S, self._listen_again, listening)
                return
            client.setblocking(False)
            lease = self._descriptors.lease(NAME, address[0], client.fileno())
            if lease is None:
                self._turn_away(client)
            elif self._context is None:
                self._run(self._connect(client, lease, self._protocol), lease, self._accepting)
            else:
                self._await_first_byte(client, lease)

    def _turn_away(self, client: socket.socket) -> None:
        if self._context is None:
            with suppress(OSError):  # the client has left
                client.send(self._refusal)
        client.close()

    def _listen_again(self, listening: socket.socket) -> None:
        if listening.fileno() >= 0:
            self._loop.add_reader(listening, self._accept, listening)

    def _run(
        self, work: Coroutine[Any, Any, None], lease: Lease, running: set[asyncio.Task[None]]
    ) -> None:
        def end(task: asyncio.Task[None]) -> None:
            running.discard(task)
            if task.cancelled():
                lease.end()

        task = self._loop.create_task(work)
        running.add(task)
        task.add_done_callback(end)

    async def _connect(
        self,
        client: socket.socket,
        lease: Lease,
        protocol: Factory,
        context: ssl.SSLContext | None = None,
    ) -> None:
        timeout = self._limits.header_timeout_s if context else None
        # On a failure here, the client does not trust the certificate, or has left.
        try:
            await self._loop.connect_accepted_socket(
                partial(protocol, lease), client, ssl=context, ssl_handshake_timeout=timeout
            )
        except OSError:
            lease.end()

    # TLS

    def _await_first_byte(self, client: socket.socket, lease: Lease) -> None:
        timer = self._loop.call_later(self._limits.header_timeout_s, self._drop, client)
        self._silent[client] = lease, timer
        self._loop.add_reader(client, self._sort, client)

    def _drop(self, client: socket.socket) -> None:
        self._stop_waiting(client).end()
        client.close()

    def _stop_waiting(self, client: socket.socket) -> Lease:
        lease, timer = self._silent.pop(client)
        timer.cancel()
        self._loop.remove_reader(client)
        return lease

    def _sort(self, client: socket.socket) -> None:
        """Pass a client to TLS or plain HTTP by its first byte; drop it if it has left."""
        try:
            first = client.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            first = b""
        if not first:
            self._drop(client)
            return
        lease = self._stop_waiting(client)
        if first == HANDSHAKE and not lease.begin_tls():
            lease.end()
            client.close()
        elif first == HANDSHAKE:
            handshake = self._connect(client, lease, self._protocol, self._context)
            self._run(handshake, lease, self._handshakes)
        else:
            self._run(self._connect(client, lease, self._plain), lease, self._accepting)


async def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Open a listening socket for every address of the host."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            sockets.append(_bind(family, address))
            sockets[-1].listen(BACKLOG)
    except OSError:
        for listening in sockets:
            listening.close()
        raise
    return sockets


def _bind(family: int, address: Any) -> socket.socket:
    """Return a socket bound to this address that does not listen yet."""
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # Windows would share the port with another program
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.setblocking(False)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


__all__ = ["HttpServer", "HttpLimits"]

TOO_MANY = BadRequest(
    503, "Too many connections are open. Close some, or retry in a few seconds.", RETRY
)


class HttpServer:
    """A listening port and its connections."""

    def __init__(
        self,
        handler: Handler,
        limits: HttpLimits = DEFAULT_LIMITS,
        problem: Callable[[int, str], Reply] = problem_reply,
        admission: Handler = admit_every_body,
        descriptors: DescriptorBudget | None = None,
    ) -> None:
        self._handler = handler
        self.state = ServerState(handler, limits, problem, admission)
        self.descriptors = descriptors or DescriptorBudget()
        #: Connections without TLS at a TLS port.
        self._plain = self.state
        self._listener: HttpListener | None = None
        self._port = 0

    async def start(
        self,
        host: str,
        port: int,
        context: ssl.SSLContext | None = None,
        plain: Handler | None = None,
    ) -> None:
        """Listen, with TLS if there is a `context`; `plain` then answers clients without TLS."""
        limits = self.state.limits
        self.state.is_stopping = False
        plain = plain or self._handler
        self._plain = ServerState(plain, limits, admission=plain)
        sockets = await listening_sockets(host, port)
        self._port = sockets[0].getsockname()[1]
        secure, others = partial(Connection, self.state), partial(Connection, self._plain)
        refusal = self.state.refusal(TOO_MANY).encode(close=True)
        self._listener = HttpListener(
            sockets, limits, self.descriptors, refusal, secure, context, others
        )

    @property
    def port(self) -> int:
        if self._listener is None:
            raise RuntimeError("The server has no port before its start and after its stop.")
        return self._port

    @property
    def connection_count(self) -> int:
        return len(self.state.connections)

    def pause(self) -> None:
        """Refuse connections and reset open ones, like a unit that is switched off."""
        if self._listener is not None:
            self._listener.pause()
            for connection in (*self.state.connections, *self._plain.connections):
                connection.reset()

    def resume(self) -> None:
        if self._listener is not None:
            self._listener.resume()

    async def stop(self, grace_s: float = 5.0) -> None:
        """Stop accepting; close idle connections, and the others after their answer.

        A handler must not await this: it would wait for itself.
        """
        if self._listener is None:
            return
        await self._listener.close()
        await self._plain.stop(grace_s=0)
        await self.state.stop(grace_s)
        self._listener = None
