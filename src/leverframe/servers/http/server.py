"""The HTTP/1.1 server: a port, its connections, their caps and time-outs. Nothing of commands.

Three files, from the bytes up: `reader` turns bytes into requests or refusals and holds the
limits, `connection` answers them in order, this one has what all connections share. Nothing
is timed per request: one sweep a second looks at all connections, and there is no sweep while
there are none, so an idle listener costs nothing.
"""

import asyncio
import ssl as tls
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial

from leverframe.servers.http.connection import Connection
from leverframe.servers.http.limits import HttpLimits
from leverframe.servers.http.messages import AnyReply, Handler, Reply, problem_reply
from leverframe.servers.http.reader import Refused, ServerState
from leverframe.servers.http.tls_port import TlsListener, listening_sockets

__all__ = ["HttpServer", "HttpLimits"]

SWEEP_S = 1.0
#: A connection that was accepted is made so many rounds of the event loop later.
ROUNDS_TO_ACCEPT = 3
DEFAULT_LIMITS = HttpLimits()


class HttpServer:
    """A listening port and its connections."""

    def __init__(
        self,
        handler: Handler,
        limits: HttpLimits = DEFAULT_LIMITS,
        problem: Callable[[int, str], Reply] | None = None,
    ) -> None:
        self.handler = handler
        self.limits = limits
        self.problem = problem or problem_reply
        self.tally = ServerState()
        self._listener: asyncio.Server | TlsListener | None = None
        self._stopping = False
        #: None while nobody is connected.
        self.next_sweep: asyncio.TimerHandle | None = None
        self._connections: set[Connection] = set()
        self._per_address: Counter[str] = Counter()
        self._empty = asyncio.Event()
        self._empty.set()
        self._running: set[asyncio.Future[AnyReply]] = set()
        self._streams: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int, *, ssl: tls.SSLContext | None = None) -> None:
        loop = asyncio.get_running_loop()
        self._stopping = False
        self._listener = await loop.create_server(
            partial(Connection, self),
            host,
            port,
            ssl=ssl,
            backlog=256,
            ssl_handshake_timeout=self.limits.header_timeout_s if ssl else None,
        )

    async def start_with_tls(
        self, host: str, port: int, context: tls.SSLContext, plain: Handler
    ) -> None:
        """Listen with TLS; `plain` answers on the same port whoever comes without it."""
        self._stopping = False
        self._listener = TlsListener(
            await listening_sockets(host, port),
            context,
            partial(Connection, self),
            partial(Connection, HttpServer(plain, self.limits)),
            self.limits,
        )

    @property
    def port(self) -> int:
        if self._listener is None:
            raise RuntimeError("The server has no port before its start and after its stop.")
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    async def stop(self, grace_s: float = 5.0) -> None:
        """Take no more; close idle connections, and the others when they have their answer.

        Not for a handler to await: it would wait for itself.
        """
        if self._listener is None:
            return
        self._stopping = True
        await self._stop_listening(self._listener)
        for connection in tuple(self._connections):
            connection.finish()
        try:
            async with asyncio.timeout(grace_s):
                if self._running:
                    await asyncio.wait(self._running)
                await self._empty.wait()
        except TimeoutError:
            self._drop_everything()
            await self._empty.wait()
        if self._streams:
            await asyncio.wait(self._streams)
        self._listener = None

    async def _stop_listening(self, listener: asyncio.Server | TlsListener) -> None:
        """Accept no more, and close when nothing is being accepted: asyncio would fail half-way."""
        loop = asyncio.get_running_loop()
        for listening in listener.sockets:
            loop.remove_reader(listening.fileno())
        for _ in range(ROUNDS_TO_ACCEPT):
            await asyncio.sleep(0)
        listener.close()

    def sweep(self, now: float) -> None:
        """Drop every connection that is past one of its time-outs."""
        self.tally.now = now
        self.tally.known.clear()
        for connection in tuple(self._connections):
            if connection.is_overdue(now):
                connection.abort()

    def _drop_everything(self) -> None:
        for future in self._running:
            future.cancel()
        for connection in tuple(self._connections):
            connection.abort()

    def _sweep_every_second(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self.next_sweep:
            self.tally.lag_s = max(0.0, now - self.next_sweep.when())
            self.tally.longest_lag_s = max(self.tally.longest_lag_s, self.tally.lag_s)
        self.sweep(now)
        self.next_sweep = loop.call_later(SWEEP_S, self._sweep_every_second)

    # What connections tell

    def admit(self, connection: Connection) -> bool:
        """Note a new connection; False if it is one too many."""
        if not self._connections:
            self._empty.clear()
            self._sweep_every_second()
        self._connections.add(connection)
        self._per_address[connection.peer] += 1
        return not (
            self._stopping
            or len(self._connections) > self.limits.connections
            or self._per_address[connection.peer] > self.limits.connections_per_address
        )

    def forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._per_address[connection.peer] -= 1
        if not self._per_address[connection.peer]:
            del self._per_address[connection.peer]
        if not self._connections:
            self._empty.set()
            self.tally.known.clear()
            if self.next_sweep:
                self.next_sweep.cancel()
                self.next_sweep = None

    def watch(
        self, answer: Awaitable[AnyReply], finished: Callable[[asyncio.Future[AnyReply]], None]
    ) -> None:
        """See an answer through, also when its client leaves: it may be half done already."""
        future = asyncio.ensure_future(answer)
        self._running.add(future)
        future.add_done_callback(partial(self._answered, finished))

    def _answered(
        self,
        finished: Callable[[asyncio.Future[AnyReply]], None],
        future: asyncio.Future[AnyReply],
    ) -> None:
        self._running.discard(future)
        finished(future)

    def follow(self, stream: asyncio.Task[None]) -> None:
        """See a stream through: it ends a moment after its connection."""
        self._streams.add(stream)
        stream.add_done_callback(self._streams.discard)

    def refusal(self, refused: Refused) -> Reply:
        problem = self.problem(refused.status, refused.detail)
        headers = problem.headers + refused.headers
        return Reply(problem.status, problem.content_type, problem.body, headers)

    def fault(self) -> Reply:
        return self.problem(
            500, "The request failed by a fault in this program; its log says more."
        )
