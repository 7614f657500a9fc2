"""A bare client: one request to an address, with the `Host` that a test wants."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from tests.patience import PATIENCE_S

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Answered(NamedTuple):
    status: int
    head: str
    body: str


@asynccontextmanager
async def connection_to(address: str, port: int) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection(address, port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def ask(
    streams: Streams,
    target: str,
    host: str,
    method: str = "GET",
    body: bytes = b"",
    account: str | None = None,
    **headers: str,
) -> Answered:
    reader, writer = streams
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if account is not None:
        lines.append(f"Authorization: Basic {b64encode(account.encode()).decode()}")
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    async with asyncio.timeout(PATIENCE_S):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line.partition(":")[2])
            for line in head.splitlines()
            if line.lower().startswith("content-length:")
        )
        text = (await reader.readexactly(length)).decode()
    return Answered(int(head.split()[1]), head, text)


async def ask_once(address: str, port: int, target: str, host: str, **more: str) -> Answered:
    async with connection_to(address, port) as streams:
        return await ask(streams, target, host, **more)  # type: ignore[arg-type]
