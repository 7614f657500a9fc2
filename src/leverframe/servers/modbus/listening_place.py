"""Where a Modbus TCP server listens: a port of its own, or one that several share by address."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from leverframe.servers.tried_address import try_address


class ListeningPlace(Protocol):
    """Where a server listens: a port of its own, or one that it shares by its address."""

    #: Its name in messages.
    words: str

    @property
    def port(self) -> int | None:
        """The port while it is open."""

    async def look_up(self) -> None:
        """Find out what may take a moment, before the port is tried or opened."""

    def try_it(self) -> None:
        """Raise the `OSError` that opening would raise."""

    async def open(self, factory: Callable[[], asyncio.Protocol]) -> None:
        """Listen; raise OSError where that cannot be, Conflict where the place is none."""

    def close(self) -> Awaitable[None]:
        """Stop accepting immediately; the returned task ends when the port is free."""


class OwnPlace:
    """A port for one server alone."""

    def __init__(self, host: str, port: int) -> None:
        self.words = f"Port {port} of {host}"
        self._host = host
        self._wanted_port = port
        self._addresses: Sequence[tuple[Any, ...]] = ()
        self._listener: asyncio.Server | None = None

    @property
    def port(self) -> int | None:
        if self._listener is None:
            return None
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def look_up(self) -> None:
        # A host that has no address fails when the port is to be opened.
        with suppress(OSError):
            self._addresses = await asyncio.get_running_loop().getaddrinfo(
                self._host, self._wanted_port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )

    def try_it(self) -> None:
        for family, kind, protocol, _, address in self._addresses:
            try_address(family, kind, protocol, address)

    async def open(self, factory: Callable[[], asyncio.Protocol]) -> None:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(factory, self._host, self._wanted_port)

    def close(self) -> Awaitable[None]:
        listener, self._listener = self._listener, None
        if listener is None:
            return asyncio.sleep(0)
        listener.close()
        return listener.wait_closed()
