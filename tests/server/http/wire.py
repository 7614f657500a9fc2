"""A connection on a transport without a socket.

A test decides when the client reads, when it has left, and how much arrives at a time.
"""

import asyncio
from typing import cast

from leverframe.server.fair_shares import DescriptorBudget
from leverframe.server.http.connection import Connection
from leverframe.server.http.limits import HttpLimits
from leverframe.server.http.messages import Handler
from leverframe.server.http.server_state import ServerState, admit_every_body

from .handlers import path_as_text


class Wire:
    """A transport that keeps what is written."""

    def __init__(self, *, tls: bool = False) -> None:
        self.written: list[bytes] = []
        self.reads = True
        self.ended = False
        self.closed = False
        self.tls = tls

    def get_extra_info(self, name: str) -> object:
        return {"peername": ("127.0.0.1", 1), "sslcontext": self.tls or None}[name]

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        assert not self.ended
        assert not self.closed
        self.written.append(data)

    def can_write_eof(self) -> bool:
        return not self.tls

    def write_eof(self) -> None:
        self.ended = True

    def pause_reading(self) -> None:
        assert self.reads
        self.reads = False

    def resume_reading(self) -> None:
        assert not self.reads
        self.reads = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close


def connect(
    handler: Handler = path_as_text,
    limits: HttpLimits | None = None,
    *,
    tls: bool = False,
    admission: Handler = admit_every_body,
) -> tuple[Connection, Wire]:
    server = ServerState(handler, limits or HttpLimits(), admission=admission)
    return connect_to(server, tls=tls)


def connect_to(server: ServerState, *, tls: bool = False) -> tuple[Connection, Wire]:
    lease = DescriptorBudget().lease("http", "127.0.0.1", 3)
    assert lease is not None
    connection, wire = Connection(server, lease), Wire(tls=tls)
    connection.connection_made(cast(asyncio.Transport, wire))
    return connection, wire
