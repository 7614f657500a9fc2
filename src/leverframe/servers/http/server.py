"""The HTTP/1.1 server: a port, its connections, their caps and time-outs. Nothing of commands.

From the bytes up: `parsing` makes requests of bytes and holds the limits, `connection` answers them
in order, `server_state` has what all connections of a server share, and `listener` accepts them.
"""

import ssl
from collections.abc import Callable
from functools import partial

from leverframe.servers.descriptors import DescriptorBudget
from leverframe.servers.http.connection import Connection
from leverframe.servers.http.limits import HttpLimits
from leverframe.servers.http.listener import HttpListener, listening_sockets
from leverframe.servers.http.messages import Handler, Reply, problem_reply
from leverframe.servers.http.parsing import RETRY, BadRequest
from leverframe.servers.http.server_state import DEFAULT_LIMITS, ServerState, admit_every_body

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
        #: Those who came to a TLS port without TLS.
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
        """Listen, by TLS with a `context`; `plain` then answers clients that come without TLS."""
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
        """Refuse connections and reset those that are open, as a unit does that is off."""
        if self._listener is not None:
            self._listener.pause()
            for connection in (*self.state.connections, *self._plain.connections):
                connection.reset()

    def resume(self) -> None:
        if self._listener is not None:
            self._listener.resume()

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
