"""One HTTP connection: what is answered when, and how it ends.

A complete request is answered at once, or waits while an earlier one is being answered or while
the client does not read what it got. A handler that answers directly costs no task and no timer;
one that returns an awaitable is waited for, also when the client has left. A refusal is answered
in its turn, as a problem reply, and ends the connection. Nothing is timed here: the server asks
once a second which connections are overdue.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import partial
from math import inf
from typing import Protocol

from leverframe.servers.http.limits import HttpLimits
from leverframe.servers.http.messages import AnyReply, Handler, Reply, Request, StreamReply
from leverframe.servers.http.reader import (
    BODY,
    CLOSE,
    CLOSE_OLD,
    HEAD,
    KEEP,
    RETRY,
    Refused,
    RequestReader,
    ServerState,
    Turn,
)

logger = logging.getLogger(__name__)


class Server(Protocol):
    """What a connection needs of the server it belongs to."""

    handler: Handler
    limits: HttpLimits
    tally: ServerState

    def admit(self, connection: "Connection") -> bool: ...

    def forget(self, connection: "Connection") -> None: ...

    def watch(
        self, answer: Awaitable[AnyReply], finished: Callable[[asyncio.Future[AnyReply]], None]
    ) -> None: ...

    def follow(self, stream: asyncio.Task[None]) -> None: ...

    def problem(self, status: int, detail: str) -> Reply: ...

    def refusal(self, refused: Refused) -> Reply: ...

    def fault(self) -> Reply: ...


class Connection(RequestReader, asyncio.Protocol):
    """One client. What is read goes to `take` and `refuse`; the rest is about answering."""

    __slots__ = (
        *("_server", "_handler", "_transport", "_gone", "_last", "_waiting", "_busy", "_stream"),
        *("_stalled", "_drained", "_drain_by", "_close_by", "_idle_since"),
    )
    _transport: asyncio.Transport

    def __init__(self, server: Server) -> None:
        super().__init__(server.limits, server.tally)
        self._server = server
        self._handler = server.handler
        self._gone = False  # there is no connection any more
        self._last = False  # closed as soon as nothing is left to answer
        #: Requests in the order they came; a reply among them is a refusal, and the last.
        self._waiting: deque[Turn | Reply] = deque()
        self._busy = False  # a handler or a stream is at work
        self._stream: asyncio.Task[None] | None = None
        self._stalled = False  # the client does not read what was sent
        self._drained: asyncio.Future[None] | None = None
        self._drain_by = inf
        self._close_by = inf
        self._idle_since = 0.0

    # Coming and going

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._transport.set_write_buffer_limits(high=self._limits.write_high_water)
        address = transport.get_extra_info("peername")
        self.peer = address[0] if address else ""
        if not self._server.admit(self):
            self._turn_away()
        self.since = self._tally.now

    def _turn_away(self) -> None:
        detail = "Too many connections are open. Close some, or try again in a few seconds."
        self._send(self._server.refusal(Refused(503, detail, RETRY)), False, CLOSE)

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = self.ignore_input = True
        self._forget_waiting()
        self.drop_body()
        self._stop_stream()
        self._server.forget(self)

    def eof_received(self) -> bool:
        """A client may finish sending and still wait for answers, though not for a stream."""
        self.ignore_input = self._last = True
        answers_due = self._stream is None and bool(self._busy or self._waiting)
        return answers_due and self._transport.get_extra_info("sslcontext") is None

    def finish(self) -> None:
        """Complete the answer that is being made, then close."""
        self.ignore_input = self._last = True
        self._forget_waiting()
        self._stop_stream()
        if not self._busy:
            self._close()

    def _forget_waiting(self) -> None:
        for turn in self._waiting:
            if not isinstance(turn, Reply):
                self.release(turn[0])
        self._waiting.clear()

    def abort(self) -> None:
        self._transport.abort()

    def is_overdue(self, now: float) -> bool:
        limits = self._limits
        if now >= self._drain_by or now >= self._close_by:
            return True
        if self._busy or self._stalled or self._close_by < inf:
            return False
        if self.phase == HEAD:
            return now >= self.since + limits.header_timeout_s
        if self.phase == BODY:
            time_for_all = limits.body_timeout_s + self.body_bytes / limits.slowest_bytes_s
            return now >= self.since + time_for_all
        return now >= self._idle_since + limits.idle_timeout_s

    def _close(self) -> None:
        self.ignore_input = True
        self._close_by = self._time_to_drain()
        self._transport.close()

    def _time_to_drain(self) -> float:
        unsent = self._transport.get_write_buffer_size()
        seconds = self._limits.write_timeout_s + unsent / self._limits.slowest_bytes_s
        return self._tally.now + seconds

    # Answering

    def take(self, request: Request, head_only: bool, ending: int) -> None:
        if self._busy or self._stalled or self._transport.is_closing():
            self._wait(request, head_only, ending)
            return
        try:
            reply = self._handler(request)
            if isinstance(reply, Reply) and not (head_only or ending):
                self._idle_since = self._tally.now
                self._tally.count(reply.status)
                self._transport.write(reply.wire or reply.encode())
                if request.body:
                    self.release(request)
                return
        except Exception:
            logger.exception("The handler failed for %r.", request)
            reply = self._server.fault()
        if isinstance(reply, Awaitable):
            self._busy = True
            self._server.watch(reply, partial(self._answered, request, head_only, ending))
        else:
            self.release(request)
            self._deliver(reply, head_only, ending)

    def _wait(self, request: Request, head_only: bool, ending: int) -> None:
        self._waiting.append((request, head_only, ending))
        if len(self._waiting) >= self._limits.waiting_requests and not self.holding:
            self.holding = True
            self._transport.pause_reading()

    def yield_to_loop(self) -> None:
        self._transport.pause_reading()
        asyncio.get_running_loop().call_soon(self._advance)

    def refuse(self, refused: Refused) -> None:
        self._waiting.append(self._server.refusal(refused))
        self._advance()

    def invite_body(self) -> None:
        if not (self._busy or self._waiting or self.ignore_input):
            self.wants_continue = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _answered(
        self, request: Request, head_only: bool, ending: int, future: asyncio.Future[AnyReply]
    ) -> None:
        """What the handler promised is there, or will never be."""
        self.release(request)
        if future.cancelled():
            reply: AnyReply = self._server.problem(503, "The request was given up at a stop.")
        elif error := future.exception():
            logger.error("The handler failed for %r.", request, exc_info=error)
            reply = self._server.fault()
        else:
            reply = future.result()
        if self._gone:
            return
        self._busy = False
        if self._last and not self._waiting:
            ending = ending or CLOSE
        self._deliver(reply, head_only, ending)
        self._advance()

    def _deliver(self, reply: AnyReply, head_only: bool, ending: int) -> None:
        if isinstance(reply, StreamReply):
            self._busy = True
            self._stream = asyncio.ensure_future(self._run_stream(reply, head_only, ending))
            self._server.follow(self._stream)
        elif isinstance(reply, Reply):
            self._send(reply, head_only, ending)
        else:
            logger.error("The handler returned %r, which is no reply.", type(reply))
            self._send(self._server.fault(), head_only, ending)

    def _send(self, reply: Reply, head_only: bool, ending: int) -> None:
        self._idle_since = self._tally.now
        try:
            if head_only or ending:
                data = reply.encode_special(head_only=head_only, close=ending != KEEP)
            else:
                data = reply.wire or reply.encode()
        except ValueError:
            logger.exception("A reply has a head that cannot be sent.")
            data, ending = self._server.fault().encode_special(close=True), CLOSE
        self._tally.count(reply.status)
        self._transport.write(data)
        if ending:
            self._close()

    def _send_refusal(self, reply: Reply) -> None:
        """Send the last reply and read on for a moment: a client that is cut off while it still
        sends would lose the reply together with the connection."""
        self._tally.count(reply.status)
        self._transport.write(reply.encode_special(close=True))
        if self._transport.can_write_eof():
            self._transport.write_eof()
            self._close_by = self._tally.now + self._limits.linger_s
        else:
            self._close()

    def _advance(self) -> None:
        """Answer what waits, and read on when nothing does."""
        while self._waiting and not (self._busy or self._stalled or self._transport.is_closing()):
            turn = self._waiting.popleft()
            if isinstance(turn, Reply):
                self._send_refusal(turn)
            else:
                self.take(*turn)
        if self._waiting or self._busy or self._stalled or self._transport.is_closing():
            return
        if self._last:
            self._close()
        elif self.holding:
            self._transport.resume_reading()
            self.read_held()
        elif self.wants_continue:
            self.invite_body()

    def pause_writing(self) -> None:
        self._stalled = True
        self._drain_by = self._time_to_drain()

    def resume_writing(self) -> None:
        self._stalled = False
        self._drain_by = inf
        if self._drained and not self._drained.done():
            self._drained.set_result(None)
        self._advance()

    # Streams

    async def _run_stream(self, reply: StreamReply, head_only: bool, ending: int) -> None:
        chunked = ending != CLOSE_OLD
        in_order = False
        self._tally.count(reply.status)
        try:
            self._transport.write(reply.encode_head(chunked=chunked, close=ending != KEEP))
            await self._pump(reply.chunks, chunked, head_only)
            in_order = True
        except asyncio.CancelledError:
            in_order = self._last  # a stop ends the stream as if it had come to its end
        except Exception:
            logger.exception("A stream failed.")
        self._stream = None
        self._busy = False
        self._idle_since = self._tally.now
        if not in_order:
            self.abort()
        elif not self._gone:
            if chunked and not head_only:
                self._transport.write(b"0\r\n\r\n")
            if ending:
                self._close()
            self._advance()

    async def _pump(self, chunks: AsyncIterator[bytes], chunked: bool, head_only: bool) -> None:
        try:
            while not head_only:
                chunk = await anext(chunks)
                if chunk:
                    framed = b"%x\r\n%b\r\n" % (len(chunk), chunk)
                    self._transport.write(framed if chunked else chunk)
                if self._stalled:
                    self._drained = asyncio.get_running_loop().create_future()
                    await self._drained
        except StopAsyncIteration:
            pass
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()

    def _stop_stream(self) -> None:
        # Not before it has begun: what never began could not close its chunks either.
        if self._stream:
            asyncio.get_running_loop().call_soon(self._stream.cancel)
