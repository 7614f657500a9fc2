"""A unit made of files: what a real one would answer, at a port of its own."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

HOST = "127.0.0.1"


def as_file(path: str, keys: Mapping[str, Any]) -> bytes:
    if path.endswith(".json"):
        return msgspec.json.encode(keys)
    elements = "".join(f"<{name}>{text}</{name}>\n" for name, text in keys.items())
    return f"<response>\n{elements}</response>\n".encode()


class UnitServer:
    """Answers as a small stack does: one connection for each request, no length of the body."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.asked: list[str] = []
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ")[1].decode()
        self.asked.append(path)
        body = self.files.get(path)
        kind = "application/json" if (body or b"").startswith(b"{") else "text/xml"
        status = "404 Not Found" if body is None else "200 OK"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n\r\n".encode() + (body or b""))
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serve_files(files: Mapping[str, Mapping[str, Any] | bytes]) -> AsyncIterator[UnitServer]:
    unit = UnitServer(
        {
            path: content if isinstance(content, bytes) else as_file(path, content)
            for path, content in files.items()
        }
    )
    server = await asyncio.start_server(unit.answer, HOST, 0)
    unit.url = f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield unit
