"""What the HTTP server asks for its answers, in the tests of its connections."""

import asyncio
from collections.abc import AsyncIterator, Awaitable

import msgspec

from leverframe.server.http.messages import AnyReply, Reply, Request, StreamReply


def echo(request: Request) -> Reply:
    """Answers with the request."""
    seen = {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": request.headers,
        "body": request.body.decode("latin-1"),
        "peer": request.peer,
    }
    return Reply(200, "application/json", msgspec.json.encode(seen))


def path_as_text(request: Request) -> Reply:
    return Reply(200, "text/plain", request.path.encode())


class Gate:
    """A handler whose answers to `/slow` wait until the gate is opened."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.opened = asyncio.Event()
        self.left = asyncio.Event()
        self.paths: list[str] = []

    def __call__(self, request: Request) -> AnyReply | Awaitable[AnyReply]:
        self.paths.append(request.path)
        return self.wait(request) if request.path == "/slow" else path_as_text(request)

    async def wait(self, request: Request) -> AnyReply:
        self.entered.set()
        await self.opened.wait()
        self.left.set()
        return path_as_text(request)


class Ticker:
    """A handler that streams numbers, one whenever `tick` is called, until it is closed."""

    def __init__(self) -> None:
        self.numbers: asyncio.Queue[int] = asyncio.Queue()
        self.closed = asyncio.Event()

    def __call__(self, request: Request) -> AnyReply:
        if request.path != "/stream":
            return path_as_text(request)
        return StreamReply(200, "text/event-stream", self.stream())

    async def stream(self) -> AsyncIterator[bytes]:
        try:
            while number := await self.numbers.get():
                yield b"data: %d\n\n" % number
        finally:
            self.closed.set()
