"""A twin in a browser tab: requests come in and replies go out as values, without sockets.

Pyodide runs it in a web worker; a service worker passes it the requests of the pages
(`docs/static/try/`). Neither of them shows a page the bytes of a connection, so a fault that
damages a reply has the effect that it has in any browser: the reply breaks off, or never comes.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any, NamedTuple, Protocol, Self

from leverframe.core.durations import wall_of
from leverframe.core.profile import Profile, existing, newest_software
from leverframe.core.runtime.clock import VirtualClock
from leverframe.devices.simulated.fault_catalogue import SPARED_PATHS
from leverframe.host.assembly import ControllerHost, build
from leverframe.host.configuration import Config
from leverframe.host.services import Sending
from leverframe.server.http.messages import (
    Ending,
    RawReply,
    Reply,
    Request,
    SentAnswer,
    SentReply,
    problem_reply,
)
from leverframe.storage.store import MemoryStore

logger = logging.getLogger(__name__)

#: The client's address in the journal.
THIS_TAB = "127.0.0.1"
_STATUS = re.compile(r"HTTP/1\.1 (\d{3}) ")


class TabClient(Protocol):
    """The receiver of one reply, in the web worker."""

    def begin(self, status: int, headers: list[str]) -> None:
        """Receive the head of the reply; `headers` has names and values in turn."""

    def send(self, piece: bytes) -> None: ...

    def finish(self) -> None: ...

    def lose(self) -> None:
        """Lose the connection before the reply is complete."""


class Head(NamedTuple):
    status: int
    headers: list[str]
    #: The announced length of the body, if there is one.
    length: int | None


class ConnectionLost(Exception):
    """The client gets no complete reply."""


class TabTwin:
    """A controller in virtual time, without a port; its messages stay in the outbox."""

    def __init__(self, host: ControllerHost) -> None:
        self._host = host
        #: Replaced while faults act on requests (`HandlerPlace`).
        self.handler: Callable[[Request], SentAnswer] = host.handlers()[0]
        self._is_closed = False
        #: The replies in progress, by the number of their request.
        self._replies: dict[int, asyncio.Task[None]] = {}
        host.show_faults(self)

    @classmethod
    async def start(
        cls,
        hw: str | None = None,
        sw: str | None = None,
        start: str | None = None,
        timezone: str = "UTC",
    ) -> Self:
        """Start a twin of a version; by default the newest software of the hardware."""
        hw = hw or Profile().hw
        zone = Config(timezone=timezone).zone()
        host = await build(
            existing(hw, sw or newest_software(hw)),
            MemoryStore(),
            VirtualClock(VirtualClock.START if start is None else wall_of(start, zone)),
            zone,
            sending=Sending(capture=True),
        )
        return cls(host)

    async def close(self) -> None:
        for reply in tuple(self._replies.values()):
            reply.cancel()
        await self._host.stop()

    @property
    def state(self) -> Self:
        """Return the holder of the handler, as servers with connections do."""
        return self

    def pause(self) -> None:
        """Close the port, because a fault does."""
        self._is_closed = True

    def resume(self) -> None:
        """Open the port again."""
        self._is_closed = False

    def answer(
        self,
        number: int,
        method: str,
        target: str,
        headers: list[str],
        body: bytes,
        client: TabClient,
    ) -> None:
        """Answer a request; its `number` is for `cancel`."""
        path, mark, query = target.partition("?")
        named = dict(zip(headers[::2], headers[1::2], strict=True))
        request = Request(method, path, query if mark else None, named, body, THIS_TAB)
        work = asyncio.get_running_loop().create_task(self._serve(request, client))
        self._replies[number] = work
        work.add_done_callback(lambda _: self._replies.pop(number, None))

    def cancel(self, number: int) -> None:
        """End a reply whose client has left."""
        if number in self._replies:
            self._replies[number].cancel()

    async def _serve(self, request: Request, client: TabClient) -> None:
        try:
            await _send(request, await self._reply_to(request), client)
        except ConnectionLost:
            client.lose()
        except Exception:
            logger.exception("The reply to %r failed.", request)
            client.lose()
        else:
            client.finish()

    async def _reply_to(self, request: Request) -> SentReply:
        # Otherwise a fault that closes the port could not be ended.
        if self._is_closed and not request.path.startswith(SPARED_PATHS):
            raise ConnectionLost
        try:
            answer = self.handler(request)
            return await answer if isinstance(answer, Coroutine) else answer
        except ModuleNotFoundError as error:
            return problem_reply(
                501, f"This needs the Python package {error.name}, which this browser tab lacks."
            )


async def _send(request: Request, reply: SentReply, client: TabClient) -> None:
    if isinstance(reply, Reply):
        data = reply.encode(head_only=request.method == "HEAD")
        reply = RawReply(reply.status, _in_one_piece(data), Ending.CONTINUE)
    if isinstance(reply, RawReply):
        await _send_raw(request, reply, client)
        return
    head = _parse_head(reply.encode_head(chunked=False, close=False))
    client.begin(head.status, head.headers)
    await _pass_on(reply.chunks, client.send)


async def _send_raw(request: Request, reply: RawReply, client: TabClient) -> None:
    """Read the bytes of a reply as a browser does."""
    received, missing = b"", None

    def receive(piece: bytes) -> None:
        nonlocal received, missing
        if missing is None:
            received += piece
            head, mark, piece = received.partition(b"\r\n\r\n")
            if not mark:
                return
            status, headers, length = _parse_head(head)
            missing = 0 if request.method == "HEAD" else length or 0
            client.begin(status, headers)
        # A browser ignores bytes after the announced length.
        client.send(piece[:missing])
        missing -= min(len(piece), missing)

    await _pass_on(reply.pieces, receive)
    if missing == 0:
        return
    if reply.end is Ending.HANG:
        await asyncio.Event().wait()
    raise ConnectionLost


def _parse_head(data: bytes) -> Head:
    first, *lines = data.decode("latin-1").strip().split("\r\n")
    found = _STATUS.match(first)
    if found is None:
        raise ConnectionLost
    headers = [part for line in lines for part in line.split(": ", 1)]
    named = {name.lower(): value for name, value in zip(headers[::2], headers[1::2], strict=True)}
    length = named.get("content-length")
    return Head(int(found[1]), headers, None if length is None else int(length))


async def _pass_on(pieces: AsyncIterator[bytes], receive: Callable[[bytes], None]) -> None:
    try:
        async for piece in pieces:
            receive(piece)
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


async def _in_one_piece(data: bytes) -> AsyncGenerator[bytes, Any]:
    yield data
