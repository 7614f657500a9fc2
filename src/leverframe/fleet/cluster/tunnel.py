"""The tunnel between a client and the node that has its controller.

The owner parses HTTP, so it decides whether a connection is idle, too slow or done, and ends it.
This module handles only what the owner cannot see: a client that does not read, an owner that
vanishes silently, and an owner that has lost the controller and does not end its connections.
"""

import asyncio
import socket
from collections.abc import Callable
from math import inf
from typing import cast

from leverframe.fleet.cluster.directory import Directory, Place
from leverframe.fleet.cluster.handshake import (
    CHALLENGE_BYTES,
    VERDICT_BYTES,
    Client,
    Handshake,
    Stamps,
    Verdict,
)
from leverframe.server.fair_shares import DescriptorBudget, Lease
from leverframe.server.http.connection import reset_at_close
from leverframe.server.http.server_state import ServerState

#: How long the old owner of a controller may take to end its connections.
LET_GO_S = 5.0
#: The name of connections to other nodes in `/metrics` and in the log.
SERVER = "join"

#: An owner that vanishes silently is noticed after this number of seconds.
_GONE_S = 15
_KEEP_ALIVE = (
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 5),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 5),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 2),
    (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", _GONE_S * 1000),
)


class OwnerCall(asyncio.Protocol):
    """A connection to another node, until that node has answered whether it has the controller."""

    transport: asyncio.Transport

    def __init__(self, place: Place, name: str) -> None:
        self.place = place
        #: The name of the controller; empty for a call to the node itself.
        self.name = name
        self.lease: Lease | None = None
        #: Whether the other node has left already.
        self.is_lost = False
        self._said = asyncio.StreamReader()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        connected = transport.get_extra_info("socket")
        for level, name, value in _KEEP_ALIVE:
            if hasattr(socket, name):  # systems other than Linux lack some of them
                connected.setsockopt(level, getattr(socket, name), value)

    def is_within(self, descriptors: DescriptorBudget, client: str) -> bool:
        """Count this as another connection of the client; return False if it exceeds the limit."""
        descriptor = self.transport.get_extra_info("socket").fileno()
        self.lease = descriptors.lease(SERVER, client, descriptor)
        return self.lease is not None

    async def receive(self, count: int) -> bytes:
        """Wait for a number of bytes."""
        try:
            return await self._said.readexactly(count)
        except asyncio.IncompleteReadError:
            raise ConnectionResetError("it closes the connection") from None

    async def shake_hands(
        self, handshake: Handshake, client: Client, name: str
    ) -> tuple[Verdict, Stamps]:
        """Shake hands for a client; return the verdict, and the proofs of all later messages.

        Without a controller name the call is to the node itself.
        """
        challenge = await self.receive(CHALLENGE_BYTES)
        header = handshake.header(challenge, client, name, self.place.node)
        self.transport.write(header)
        return handshake.read_verdict(await self.receive(VERDICT_BYTES), header)

    def data_received(self, data: bytes) -> None:
        self._said.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        if self.lease is not None:
            self.lease.end()
        self._said.feed_eof()

    def abort(self) -> None:
        if hasattr(self, "transport"):
            self.transport.abort()


class Tunnel:
    """The joined connections of a client and an owner; the server counts them as one connection."""

    def __init__(
        self,
        server: ServerState,
        client: asyncio.Transport,
        call: OwnerCall,
        directory: Directory,
    ) -> None:
        #: Called when both ends are gone.
        self.on_end: list[Callable[[], None]] = []
        self._server = server
        self._client = client
        self._owner = call.transport
        self._call = call
        self._directory = directory
        self._open_ends = 2
        #: Whether an end has been shut down: it receives nothing more.
        self._client_is_shut = False
        self._owner_is_shut = False
        #: Deadline for the client to read what was sent.
        self._drain_by = inf
        #: Since when the owner no longer has the controller.
        self._moved_at = inf

    def begin(self, received: bytes, *, client_is_behind: bool) -> None:
        """Send the owner what the client has sent so far, and connect the two."""
        self._client.set_protocol(ClientEnd(self))
        if self._call.is_lost:
            self.note_lost(None)
            return
        self._owner.set_protocol(OwnerEnd(self))
        self._owner.set_write_buffer_limits(high=self._server.limits.write_high_water)
        if self._call.lease is not None:
            self.on_end.append(self._call.lease.end)
        if client_is_behind:
            self.pause_owner()
        self._owner.write(received)
        self.resume_client()
        if self._server.is_stopping:
            self.stop()

    # Events of the two ends

    def from_client(self, data: bytes) -> None:
        if not self._owner_is_shut:
            self._owner.write(data)

    def from_owner(self, data: bytes) -> None:
        self._client.write(data)

    def pause_owner(self) -> None:
        self._drain_by = self._time_to_drain()
        if not self._owner.is_closing():
            self._owner.pause_reading()

    def resume_owner(self) -> None:
        if not self._client_is_shut:
            self._drain_by = inf
        if not self._owner.is_closing():
            self._owner.resume_reading()

    def pause_client(self) -> None:
        if not self._client.is_closing():
            self._client.pause_reading()

    def resume_client(self) -> None:
        if not self._client.is_closing():
            self._client.resume_reading()

    def client_is_done(self) -> bool:
        """Forward the end of data to the owner; return True if the client may still be answered."""
        if self._client_is_shut or self._client.get_extra_info("sslcontext") is not None:
            self._close()
            return False
        self._notify_owner()
        return True

    def owner_is_done(self) -> bool:
        """Forward the end of data to the client; return True if the owner may still read."""
        self._drain_by = self._time_to_drain()
        if self._owner_is_shut or not self._client.can_write_eof():
            self._close()
            return False
        self._client_is_shut = True
        if not self._client.is_closing():
            self._client.write_eof()
        return True

    def _notify_owner(self) -> None:
        if not (self._owner_is_shut or self._owner.is_closing()):
            self._owner_is_shut = True
            self._owner.write_eof()

    def note_lost(self, exc: Exception | None) -> None:
        """Record that an end is gone; the other end is closed in the same way."""
        self._open_ends -= 1
        if not self._open_ends:
            for end in self.on_end:
                end()
            self._server.forget(self)
        elif exc is None:
            self._close()
        else:
            self.reset()

    def _close(self) -> None:
        self._drain_by = self._time_to_drain()
        self._client.close()
        self._owner.close()

    def _time_to_drain(self) -> float:
        limits = self._server.limits
        unsent = self._client.get_write_buffer_size()
        return self._server.now + limits.write_timeout_s + unsent / limits.slowest_bytes_s

    # Requirements of the server on a connection

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def is_overdue(self, now: float) -> bool:
        if not self._directory.lives(self._call.place):
            # The owner hangs, or cannot be reached; its clients are served elsewhere.
            return True
        if self._directory.place_of(self._call.name) == self._call.place:
            self._moved_at = inf
        elif self._moved_at == inf:
            self._moved_at = now
        return now >= self._drain_by or now >= self._moved_at + LET_GO_S

    def stop(self) -> None:
        """Let the owner complete its current response, and then end the connection."""
        self._notify_owner()

    def abort(self) -> None:
        self._client.abort()
        self._owner.abort()

    def reset(self) -> None:
        reset_at_close(self._client)
        self.abort()


class ClientEnd(asyncio.Protocol):
    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel

    def data_received(self, data: bytes) -> None:
        self._tunnel.from_client(data)

    def pause_writing(self) -> None:
        self._tunnel.pause_owner()

    def resume_writing(self) -> None:
        self._tunnel.resume_owner()

    def eof_received(self) -> bool:
        return self._tunnel.client_is_done()

    def connection_lost(self, exc: Exception | None) -> None:
        self._tunnel.note_lost(exc)


class OwnerEnd(asyncio.Protocol):
    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel

    def data_received(self, data: bytes) -> None:
        self._tunnel.from_owner(data)

    def pause_writing(self) -> None:
        self._tunnel.pause_client()

    def resume_writing(self) -> None:
        self._tunnel.resume_client()

    def eof_received(self) -> bool:
        return self._tunnel.owner_is_done()

    def connection_lost(self, exc: Exception | None) -> None:
        self._tunnel.note_lost(exc)
