"""The other end of a connection, for the tests of the HTTP server: exact bytes out, replies in.

A client library would hide what is tested: it would not send half a header, nor two requests
together. Every wait has an end, so that a server that hangs fails a test instead of stopping it.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from leverframe.server.fair_shares import DescriptorBudget
from leverframe.server.http.messages import Handler
from leverframe.server.http.server import HttpLimits, HttpServer, admit_every_body
from tests.patience import PATIENCE_S


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def ask(self, data: bytes) -> Answer:
        self.send(data)
        return await self.answer()

    async def answer(self, *, to_head: bool = False) -> Answer:
        async with asyncio.timeout(PATIENCE_S):
            head = await self.reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            status = int(lines[0].split()[1])
            headers = {
                name.lower(): value for name, value in (line.split(": ") for line in lines[1:-2])
            }
            if to_head:
                body = b""
            elif headers.get("transfer-encoding") == "chunked":
                body = b"".join([chunk async for chunk in self.chunks()])
            else:
                body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return Answer(status, headers, body)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The chunks of a stream after its head, to its orderly end."""
        async with asyncio.timeout(PATIENCE_S):
            while size := int(await self.reader.readline(), 16):
                chunk = await self.reader.readexactly(size + 2)
                yield chunk[:-2]
            assert await self.reader.readexactly(2) == b"\r\n"

    async def rest(self) -> bytes:
        """Everything until the server closes."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()

    async def is_dropped(self) -> bool:
        """Waits for the end of the connection; True if nothing came before it."""
        try:
            return await self.rest() == b""
        except ConnectionResetError:
            return True

    def vanish(self) -> None:
        """End the connection without manners, as a client does that loses its power."""
        without_delay = struct.pack("ii", 1, 0)
        connection = self.writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, without_delay)
        self.writer.transport.abort()

    async def close(self) -> None:
        self.writer.close()
        # The server may have been faster, with or without manners.
        await asyncio.wait([asyncio.ensure_future(self.writer.wait_closed())])


class Serving:
    """A running server and the clients that were opened to it."""

    def __init__(self, server: HttpServer) -> None:
        self.server = server
        self.clients: list[Client] = []

    async def connect(
        self, *, trust: ssl.SSLContext | None = None, source: str = "127.0.0.1"
    ) -> Client:
        streams = await asyncio.open_connection(
            "127.0.0.1", self.server.port, ssl=trust, local_addr=(source, 0), limit=2**24
        )
        client = Client(*streams)
        self.clients.append(client)
        return client

    async def settle(self) -> None:
        """Returns when the server has seen all that was sent before: it takes things in order."""
        for _ in range(2):
            client = await self.connect()
            client.send(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            await client.rest()
            await client.close()

    async def pass_time(self, seconds: float) -> None:
        """Look at the connections as if so much time had gone by."""
        await self.settle()
        self.server.state.sweep(self.server.state.now + seconds)
        await self.settle()


@asynccontextmanager
async def serving(
    handler: Handler,
    limits: HttpLimits | None = None,
    tls: ssl.SSLContext | None = None,
    descriptors: DescriptorBudget | None = None,
    admission: Handler = admit_every_body,
) -> AsyncIterator[Serving]:
    server = HttpServer(
        handler, limits or HttpLimits(), admission=admission, descriptors=descriptors
    )
    await server.start("127.0.0.1", 0, tls)
    running = Serving(server)
    try:
        yield running
    finally:
        for client in running.clients:
            await client.close()
        await server.stop(grace_s=PATIENCE_S)


GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
