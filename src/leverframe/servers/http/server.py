"""The HTTP/1.1 server: a port, its connections, their caps and time-outs. Nothing of commands.

From the bytes up: `parsing` makes requests of bytes and holds the limits, `connection` answers them
in order, this file has what all connections of a server share, and `listener` accepts them. Nothing
is timed per request: one sweep a second looks at all connections, and there is no sweep while there
are none, so an idle listener costs nothing.
"""

import asyncio
import ssl
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from leverframe.servers.descriptors import DescriptorBudget
from leverframe.servers.http.connection import Connection
from leverframe.servers.http.limits import HttpLimits
from leverframe.servers.http.listener import HttpListener, listening_sockets
from leverframe.servers.http.messages import CONTINUE, Handler, Reply, Request, problem_reply
from leverframe.servers.http.parsing import RETRY, BadRequest, BodyBudget

__all__ = ["HttpServer", "HttpLimits"]

SWEEP_S = 1.0
DEFAULT_LIMITS = HttpLimits()
TOO_MANY = BadRequest(
    503, "Too many connections are open. Close some, or try again in a few seconds.", RETRY
)


def admit_every_body(_request: Request) -> Reply:
    return CONTINUE


class ServerState:
    """The state that the connections of one server share: handler, clock, counters, themselves."""

    def __init__(
        self,
        handler: Handler,
        limits: HttpLimits = DEFAULT_LIMITS,
        problem: Callable[[int, str], Reply] = problem_reply,
        admission: Handler = admit_every_body,
    ) -> None:
        self.handler = handler
        #: Asked before a body is read, with its head: `CONTINUE`, or the reply instead of reading.
        self.admission = admission
        self.limits = limits
        self.problem = problem
        #: Seconds, no finer than the sweep: good enough for time-outs, and free.
        self.now = 0.0
        self.bodies = BodyBudget(limits)
        #: How many answers were given, by status.
        self.answers: Counter[int] = Counter()
        #: How late the last sweep was, and the latest one.
        self.lag_s = 0.0
        self.longest_lag_s = 0.0
        #: None while nobody is connected.
        self.next_sweep: asyncio.TimerHandle | None = None
        self.is_stopping = False
        self.connections: set[Connection] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._unsent: list[Connection] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, connection: Connection) -> None:
        if not self.connections:
            self._empty.clear()
            self._sweep_every_second()
        self.connections.add(connection)

    def forget(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self._empty.set()
            if self.next_sweep:
                self.next_sweep.cancel()
                self.next_sweep = None

    def flush_later(self, connection: Connection) -> None:
        """Send what the connection holds when all requests of this round were answered."""
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._flush)
        self._unsent.append(connection)

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        for connection in unsent:
            connection.flush()

    def run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run an answer to its end even if its client leaves: it may be half done already."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def refusal(self, bad: BadRequest) -> Reply:
        problem = self.problem(bad.status, bad.detail)
        return msgspec.structs.replace(problem, headers=problem.headers + bad.headers)

    def fault(self) -> Reply:
        return self.problem(
            500, "The request failed by a fault in this program; its log says more."
        )

    def _sweep_every_second(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self.next_sweep:
            self.lag_s = max(0.0, now - self.next_sweep.when())
            self.longest_lag_s = max(self.longest_lag_s, self.lag_s)
        self.sweep(now)
        self.next_sweep = loop.call_later(SWEEP_S, self._sweep_every_second)

    def sweep(self, now: float) -> None:
        """Drop every connection that is past one of its time-outs."""
        self.now = now
        for connection in tuple(self.connections):
            if connection.is_overdue(now):
                connection.abort()

    async def stop(self, grace_s: float) -> None:
        """Close idle connections, and the others when they have their answer."""
        self.is_stopping = True
        for connection in tuple(self.connections):
            connection.stop()
        try:
            async with asyncio.timeout(grace_s):
                while self._tasks:
                    await asyncio.wait(self._tasks)
                await self._empty.wait()
        except TimeoutError:
            for task in self._tasks:
                if not task.cancelling():
                    task.cancel()
            for connection in tuple(self.connections):
                connection.abort()
            await self._empty.wait()
            if self._tasks:
                await asyncio.wait(self._tasks)


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
        self.state = ServerState(handler, limits, problem, admission)
        self.descriptors = descriptors or DescriptorBudget()
        #: Those who came to a TLS port without TLS.
        self._plain = self.state
        self._listener: HttpListener | None = None

    async def start(
        self,
        host: str,
        port: int,
        context: ssl.SSLContext | None = None,
        plain: Handler | None = None,
    ) -> None:
        """Listen, by TLS with a `context`; `plain` then answers clients that come without TLS."""
        limits = self.state.limits
        self.state.is_stopping = False
        plain = plain or self.state.handler
        self._plain = ServerState(plain, limits, admission=plain)
        sockets = await listening_sockets(host, port)
        secure, others = partial(Connection, self.state), partial(Connection, self._plain)
        refusal = self.state.refusal(TOO_MANY).encode(close=True)
        self._listener = HttpListener(
            sockets, limits, self.descriptors, refusal, secure, context, others
        )

    @property
    def port(self) -> int:
        if self._listener is None:
            raise RuntimeError("The server has no port before its start and after its stop.")
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    @property
    def connection_count(self) -> int:
        return len(self.state.connections)

    async def stop(self, grace_s: float = 5.0) -> None:
        """Accept no more; close idle connections, and the others when they have their answer.

        Not for a handler to await: it would wait for itself.
        """
        if self._listener is None:
            return
        await self._listener.close()
        await self._plain.stop(grace_s=0)
        await self.state.stop(grace_s)
        self._listener = None
