"""The inner port of a node, to which other nodes forward the connections of its clients.

The port is only for nodes of this fleet. A peer that cannot prove that it is one of them is
refused, and learns nothing. Forwarded clients count by their own address, as if they had connected
to the door itself.
"""

import asyncio
import logging
import secrets
from functools import partial
from typing import cast

from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.fleet.cluster.directory import Directory, DoorFigures
from leverframe.fleet.cluster.forwarding import CONNECTION, Forwarding, ForwardingConnection
from leverframe.fleet.cluster.handshake import (
    CHALLENGE_BYTES,
    Handshake,
    HandshakeFailed,
    Hello,
    Verdict,
    length_of,
)
from leverframe.fleet.cluster.node_calls import Answering, IncomingCall, NodeCaller
from leverframe.fleet.door import Door, DoorConnection
from leverframe.fleet.entrance import MISDIRECTED, Entrance
from leverframe.server.fair_shares import Lease
from leverframe.server.http.messages import Request
from leverframe.server.http.server import HttpListener, listening_sockets
from leverframe.server.http.server_state import ServerState

#: Its name in `/metrics` and in the log.
SERVER = "inner"
#: How long the handshake of another node may take.
HANDSHAKE_WITHIN_S = 3.0


class InnerPort:
    def __init__(
        self, door: Door, directory: Directory, handshake: Handshake, hold_s: float
    ) -> None:
        self.door = door
        self.directory = directory
        self.handshake = handshake
        self.hold_s = hold_s
        #: Carries out the calls of other nodes; None until the node has started.
        self.answer: Answering | None = None
        self.warn = LogThrottle(logging.getLogger(__name__)).warning
        self.arriving: set[IncomingTunnel] = set()
        self._listener: HttpListener | None = None

    async def listen(self, host: str, port: int) -> None:
        self._listener = HttpListener(
            await listening_sockets(host, port),
            self.door.state.limits,
            self.door.descriptors,
            b"",
            partial(IncomingTunnel, self),
            None,
            partial(IncomingTunnel, self),
        )

    @property
    def port(self) -> int:
        assert self._listener is not None
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Stop accepting connections; forwarded connections belong to the door."""
        if self._listener is not None:
            await self._listener.close()
            self._listener = None
        for connection in tuple(self.arriving):
            connection.abort()


class IncomingTunnel(asyncio.Protocol):
    """A connection from another node, until its handshake is complete."""

    _transport: asyncio.Transport

    def __init__(self, port: InnerPort, lease: Lease) -> None:
        self._port = port
        self._lease = lease
        self._challenge = secrets.token_bytes(CHALLENGE_BYTES)
        self._header = b""
        self._looking: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._port.arriving.add(self)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(HANDSHAKE_WITHIN_S, self._transport.abort)
        self._transport.write(self._challenge)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        self._lease.end()
        if self._looking is not None:
            self._looking.cancel()

    def _leave(self) -> None:
        self._port.arriving.discard(self)
        if self._timer is not None:
            self._timer.cancel()

    def abort(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._header += data
        try:
            length = length_of(self._header)
            if length is None or len(self._header) < length:
                return
            if len(self._header) > length or self._looking is not None:
                raise HandshakeFailed("it sends more data than a node does")
            hello = self._port.handshake.read(self._challenge, self._header)
        except HandshakeFailed as error:
            source = self._transport.get_extra_info("peername")[0]
            self._port.warn(
                source, SERVER, "rejected a connection from %s to the inner port: %s",
                source, error,
            )  # fmt: skip
            self._transport.abort()
            return
        assert self._timer is not None
        self._timer.cancel()
        self._looking = asyncio.get_running_loop().create_task(self._look_for(hello))

    async def _look_for(self, hello: Hello) -> None:
        """Wait for a controller that is being started here, then send the verdict."""
        if not hello.name:
            self._take_call(hello)
            return
        name, door, directory = hello.name, self._port.door, self._port.directory
        if directory.is_mine(name):
            await directory.wait_until(lambda: door.answers_for(name), name, self._port.hold_s)
        self._looking = None
        if not door.answers_for(name):
            self._refuse(hello, Verdict.NOT_HERE)
            return
        self._lease.end()
        descriptor = self._transport.get_extra_info("socket").fileno()
        lease = door.descriptors.lease(SERVER, hello.client.host, descriptor)
        if lease is None:
            self._refuse(hello, Verdict.CROWDED)
            return
        self._leave()
        self._say(hello, Verdict.ACCEPTED)
        connection = InnerConnection(hello.client.host, directory.figures, door, door.state, lease)
        self._transport.set_protocol(connection)
        connection.connection_made(self._transport)

    def _take_call(self, hello: Hello) -> None:
        """Accept a call to the node itself."""
        self._looking = None
        if self._port.answer is None:
            self._refuse(hello, Verdict.NOT_HERE)
            return
        self._leave()
        self._say(hello, Verdict.ACCEPTED)
        call = IncomingCall(hello.stamps, self._port.answer, self._lease)
        self._transport.set_protocol(call)
        call.connection_made(self._transport)

    def _refuse(self, hello: Hello, verdict: Verdict) -> None:
        self._say(hello, verdict)
        self._transport.close()

    def _say(self, hello: Hello, verdict: Verdict) -> None:
        self._transport.write(self._port.handshake.verdict(verdict, hello))


class InnerConnection(DoorConnection):
    """A client's connection that another node has forwarded.

    The connection is not forwarded again: a request for a third node is answered with 421.
    """

    def __init__(
        self, client: str, figures: DoorFigures, door: Door, state: ServerState, lease: Lease
    ) -> None:
        super().__init__(door, state, door.node, lease)
        self._client = client
        self._figures = figures

    def _peer_of(self, transport: asyncio.Transport) -> str:
        return self._client

    def _meant(self, request: Request) -> Entrance:
        meant = super()._meant(request)
        if meant is self._door.unknown and self._door.name_elsewhere(request) is not None:
            self._parser.end()
            self._figures.misdirected += 1
            return MISDIRECTED
        return meant


class FleetDoor:
    """Connects a door with the doors of the other nodes; created before the door listens."""

    def __init__(
        self, door: Door, directory: Directory, fleet_key: bytes, hold_s: float = CONNECTION.hold_s
    ) -> None:
        handshake = Handshake(fleet_key, directory.node)
        self.directory = directory
        self.inner = InnerPort(door, directory, handshake, hold_s)
        self.forwarding = Forwarding(door, directory, handshake, hold_s)
        self.caller = NodeCaller(directory, handshake)
        door.connections_as = partial(ForwardingConnection, self.forwarding)
        door.directory = directory
