"""A small HTTP server that answers as configured: fails, stalls, asks for a login, recovers."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from .post_office import Bell


@dataclass
class Taken:
    """A request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]


Answer = Callable[[Taken], tuple[int, dict[str, str]] | None]


@dataclass
class HttpPeer:
    bell: Bell
    port: int = 0
    taken: list[Taken] = field(default_factory=list)
    #: Status and headers; None never answers.
    answer: Answer = lambda request: (200, {})

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.taken]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                line, *lines = head.strip().split("\r\n")
                headers = {
                    name.lower(): value for name, value in (one.split(": ", 1) for one in lines)
                }
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                self.taken.append(Taken(line, headers, body))
                self.bell.ring()
                answer = self.answer(self.taken[-1])
                if answer is None:
                    await asyncio.get_running_loop().create_future()
                    return
                status, more = answer
                fields = "".join(f"{name}: {value}\r\n" for name, value in more.items())
                writer.write(f"HTTP/1.1 {status} x\r\nContent-Length: 0\r\n{fields}\r\n".encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def http_peer(bell: Bell, tls: ssl.SSLContext | None = None) -> AsyncIterator[HttpPeer]:
    peer = HttpPeer(bell)
    tasks: set[asyncio.Task[None]] = set()

    def on_connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(peer.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(on_connect, "127.0.0.1", 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    try:
        yield peer
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
