"""One HTTP connection: the order of its answers, and how it ends.

Requests are answered in the order they came, one at a time. A handler that answers synchronously
costs no task and no timer. A coroutine runs as one task, and is completed even if the client has
left, unless it ends with its client (`limits.py`). A bad request is answered in its turn, with a
problem reply, and ends the connection.

A connection is always in one `State`, and `TRANSITIONS` lists everything that may happen to it. Two
flags hold the back-pressure separately: input that is not read from the client, and output that the
client does not read. Connections have no timers: the server checks once a second which of them are
overdue.
"""

import asyncio
import logging
import socket
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from enum import IntEnum, auto
from math import inf
from types import CoroutineType
from typing import Any

from leverframe.core.runtime.outgoing import peer_of
from leverframe.server.fair_shares import Lease, source_of
from leverframe.server.http.limits import KIB, HttpLimits, note_client_left
from leverframe.server.http.messages import (
    CONTINUE,
    Ending,
    RawReply,
    Reply,
    Request,
    SentReply,
    StreamCut,
    StreamReply,
)
from leverframe.server.http.parser import (
    MAX_FEED_BYTES,
    NOTHING,
    BadRequest,
    Reading,
    RequestParser,
)
from leverframe.server.http.server_state import ServerState

logger = logging.getLogger(__name__)


class State(IntEnum):
    """The states of a connection; integers, because they hash five times as fast."""

    IDLE = auto()  # between two requests
    HEAD = auto()  # a head is being read; a new connection is expected to send one immediately
    CHECKING = auto()  # a body was announced, and the server checks whether the client may send it
    BODY = auto()
    ANSWERING = auto()  # the handler is at work
    STREAMING = auto()
    LINGERING = auto()  # refused, still being read: otherwise the sending client loses the reply
    CLOSING = auto()  # the client has not received everything yet
    CLOSED = auto()


class Event(IntEnum):
    BYTES = auto()  # of a new request
    BODY_ANNOUNCED = auto()
    BODY_ADMITTED = auto()
    REQUEST = auto()  # the next request in order is complete
    BAD_REQUEST = auto()  # the next request is refused for its head
    STREAM = auto()  # the answer comes in pieces
    ANSWERED = auto()
    LAST_ANSWERED = auto()
    STOP = auto()  # the server stops
    CLOSE = auto()
    LOST = auto()  # the connection no longer exists


# Names of this module, because reading a member of an enumeration costs 0.1 us on Python 3.11.
IDLE, HEAD, CHECKING, BODY, ANSWERING, STREAMING, LINGERING, CLOSING, CLOSED = State
BYTES, BODY_ANNOUNCED, BODY_ADMITTED, REQUEST, BAD_REQUEST = list(Event)[:5]
STREAM, ANSWERED, LAST_ANSWERED, STOP, CLOSE, LOST = list(Event)[5:]

#: Anything that is not listed cannot happen.
TRANSITIONS: dict[State, dict[Event, State]] = {
    IDLE: {BYTES: HEAD, REQUEST: ANSWERING, BAD_REQUEST: LINGERING, STOP: CLOSING},
    HEAD: {BODY_ANNOUNCED: CHECKING, REQUEST: ANSWERING, BAD_REQUEST: LINGERING, STOP: CLOSING},
    CHECKING: {BODY_ADMITTED: BODY, BAD_REQUEST: LINGERING, STOP: CLOSING},
    BODY: {REQUEST: ANSWERING, BAD_REQUEST: LINGERING, STOP: CLOSING},
    # An answer in progress when the server stops is the last one.
    ANSWERING: {STREAM: STREAMING, ANSWERED: IDLE, LAST_ANSWERED: CLOSING, STOP: ANSWERING},
    STREAMING: {ANSWERED: IDLE, LAST_ANSWERED: CLOSING, STOP: STREAMING},
    LINGERING: {STOP: CLOSING},
    CLOSING: {STOP: CLOSING},
    CLOSED: {},
}
for _state, _following in TRANSITIONS.items():
    if _state is not CLOSED:
        _following |= {CLOSE: CLOSING, LOST: CLOSED}

#: How long a connection may stay in a state; other states have no limit.
TIMEOUTS: dict[State, Callable[[HttpLimits], float]] = {
    IDLE: lambda limits: limits.idle_timeout_s,
    HEAD: lambda limits: limits.header_timeout_s,
    BODY: lambda limits: limits.body_timeout_s,
    LINGERING: lambda limits: limits.linger_s,
}

#: The states in which the next request can be answered.
READY = (IDLE, HEAD, BODY)

#: Replies of one round of the event loop are sent together, up to these limits per client.
MAX_HELD_REPLIES = 4
MAX_HELD_BYTES = 16 * KIB

_NOTHING = memoryview(b"")
#: A socket with this option is reset when it is closed.
_NO_LINGER = struct.pack("ii", 1, 0)


def reset_at_close(transport: asyncio.Transport) -> None:
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)


class Connection(asyncio.BufferedProtocol):
    """The connection of one client."""

    _transport: asyncio.Transport
    _parser: RequestParser

    def __init__(self, server: ServerState, lease: Lease) -> None:
        self.state = HEAD
        self.peer = ""
        #: The client's bytes are not read: enough requests are waiting.
        self.input_paused = False
        #: The client does not read its replies: it gets no more until it does.
        self.output_paused = False
        self._server = server
        self._lease = lease
        self._limits = server.limits
        self._read_buffer = server.read_buffer
        self._since = server.now  # when the state began
        self._drain_by = inf  # when the client must have received everything
        self._body_seen = 0  # bytes of the body at the last check that found progress
        self._body_seen_at = 0.0
        #: Complete requests that are not being answered yet; only the last may be a bad one.
        self._pending: list[Request | BadRequest] = []
        self._unread = _NOTHING  # received but not parsed
        self._held: list[bytes] = []  # replies that leave at the end of this round
        self._stream: asyncio.Task[None] | None = None
        self._answering: asyncio.Task[None] | None = None  # a handler that answers asynchronously
        self._drained: asyncio.Future[None] | None = None
        self._owner = ""  # of the last request
        self._unread_reply_bytes = 0  # counted for this holder
        self._unread_reply_holder = ""

    def _change(self, event: Event) -> None:
        try:
            self.state = TRANSITIONS[self.state][event]
        except KeyError:
            fault = f"{event.name} cannot happen to a connection in {self.state.name}."
            raise RuntimeError(fault) from None
        self._since = self._server.now

    # Opening and closing

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._transport.set_write_buffer_limits(high=self._limits.write_high_water)
        self.peer = self._peer_of(self._transport)
        proxies = self._server.proxies if self._server.proxies.contain(self.peer) else None
        self._parser = RequestParser(self._limits, self._server.bodies, self.peer, proxies)
        self._server.add(self)
        self._since = self._server.now
        if self._server.is_stopping:
            self._close(STOP)

    def _peer_of(self, transport: asyncio.Transport) -> str:
        return peer_of(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._note_client_left()
        self._change(LOST)
        self._end_unread_reply()
        self._let_go()
        self._parser.close()
        self._lease.end()
        self._server.forget(self)

    def eof_received(self) -> bool:
        """Keep the connection open for outstanding answers, though not for a stream."""
        self.answer_pending()
        self._note_client_left()
        self._parser.end()
        answers_due = self.state is ANSWERING or (self.state in READY and bool(self._pending))
        if answers_due and self._transport.get_extra_info("sslcontext") is None:
            return True
        self._close(CLOSE)
        return False

    def _note_client_left(self) -> None:
        if self._answering is not None:
            note_client_left(self._answering)

    def stop(self) -> None:
        """Complete the answer in progress, then close."""
        self.answer_pending()
        self._close(STOP)

    def abort(self) -> None:
        self._change(CLOSE)
        self._let_go()
        self._transport.abort()

    def _close(self, event: Event) -> None:
        """Accept no more data; if the event closes the connection, close it once all is sent."""
        is_closing = self.state is CLOSING
        self.flush()
        self._change(event)
        self._let_go()
        if self.state is CLOSING and not is_closing:  # asyncio's TLS breaks if it is closed twice
            self._drain_by = self._time_to_drain()
            self._transport.close()

    def _let_go(self) -> None:
        """Stop reading, discard pending requests, and end a stream."""
        self._parser.end()
        for request in self._pending:
            if isinstance(request, Request):
                self._server.bodies.give_back(request)
        self._pending.clear()
        self._held.clear()
        self._unread = _NOTHING
        if stream := self._stream:
            self._stream = None
            # It is not cancelled immediately: a stream that never began could not close its chunks.
            asyncio.get_running_loop().call_soon(stream.cancel)

    def is_overdue(self, now: float) -> bool:
        if self.output_paused or self.state is CLOSING:
            return now >= self._drain_by
        timeout = TIMEOUTS.get(self.state)
        if timeout is None:
            return False
        if self.state is BODY and self._has_stalled(now):
            return True
        time_for_body = self._parser.body_bytes / self._limits.slowest_bytes_s
        return now >= self._since + timeout(self._limits) + time_for_body

    def _has_stalled(self, now: float) -> bool:
        """Return whether a body makes no progress; called once a second."""
        if self._parser.body_bytes - self._body_seen < self._limits.slowest_bytes_s:
            return now >= self._body_seen_at + self._limits.stall_s
        self._body_seen, self._body_seen_at = self._parser.body_bytes, now
        return False

    def _time_to_drain(self) -> float:
        unsent = self._transport.get_write_buffer_size()
        seconds = self._limits.write_timeout_s + unsent / self._limits.slowest_bytes_s
        return self._server.now + seconds

    # Reading

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(self._read_buffer[:nbytes].tobytes())

    def data_received(self, data: bytes) -> None:
        if len(data) <= MAX_FEED_BYTES and not self._unread:
            self._pending.extend(self._parser.feed(data))
            self._server.answer_later(self)
        elif not self._parser.is_done:
            self._unread = memoryview(bytes(self._unread) + data)
            self._read_slices()

    def _read_slices(self) -> None:
        """Parse unread bytes: a body completely, requests one slice per turn of the event loop."""
        while self._unread:
            data, self._unread = self._unread[:MAX_FEED_BYTES], self._unread[MAX_FEED_BYTES:]
            self._pending.extend(self._parser.feed(bytes(data)))
            if self._pending or self.state is not BODY:
                break
        is_ready = self.answer_pending()
        if self._parser.is_done:
            self._unread = _NOTHING
        elif self._unread:
            self._pause_input()
            asyncio.get_running_loop().call_soon(self._proceed)
        elif is_ready or self._waits_for_answer():
            # This also applies during an answer: otherwise the server would not notice that the
            # client leaves.
            self._resume_input()

    def _waits_for_answer(self) -> bool:
        """Return whether nothing has arrived after the request that is being answered."""
        is_alone = not self._pending and self._parser.reading is NOTHING
        return self._answering is not None and is_alone

    def _pause_input(self) -> None:
        if not self.input_paused and not self._transport.is_closing():
            self.input_paused = True
            self._transport.pause_reading()

    def _resume_input(self) -> None:
        if self.input_paused and not self._transport.is_closing():
            self.input_paused = False
            self._transport.resume_reading()

    def _proceed(self) -> None:
        """Continue after an answer, a pause for other connections, or when the client reads."""
        if self.answer_pending() and self.input_paused:
            self._read_slices()

    # Answering

    def answer_pending(self) -> bool:
        """Answer pending requests in order; return True if none is left and more may come."""
        pending = self._pending
        while pending:
            if self.output_paused or self.state not in READY:
                if len(pending) >= self._limits.waiting_requests or self._reads_unadmitted_body():
                    self._pause_input()
                return False
            request = pending.pop(0)
            if isinstance(request, Request):
                self._answer(request)
            else:
                self._refuse(self._server.refusal(request))
        reading = self._parser.reading
        if self.output_paused or self.state not in READY:
            if reading is not NOTHING and self._reads_unadmitted_body():
                self._pause_input()
            return False
        if reading is NOTHING:
            return True
        self._follow(reading)
        return self.state in READY

    def _reads_unadmitted_body(self) -> bool:
        """Return whether a body is arriving before its request has had its turn to be checked."""
        parser = self._parser
        return parser.reading is Reading.BODY and self.state is not BODY and not parser.is_done

    def _follow(self, reading: Reading) -> None:
        """Record which part of the next request is being read: each part has its own time-out."""
        if self.state is IDLE:
            self._change(BYTES)
        if self.state is HEAD and reading is Reading.BODY:
            self._check_body(self._parser.head)

    def _check_body(self, request: Request) -> None:
        """Check whether the client may send the body; so far, little or nothing of it was read."""
        self._change(BODY_ANNOUNCED)
        try:
            reply = self._server.admission(request)
        except Exception as error:
            reply = self._server.reply_to_failure(request, error)
        if isinstance(reply, Coroutine):
            self._pause_input()
            self._server.run(self._continue_later(request, reply, self._admit_body))
        else:
            self._admit_body(request, reply)

    def _admit_body(self, request: Request, reply: SentReply) -> None:
        if self.state is not CHECKING:
            return  # the client has left
        if reply.status != CONTINUE.status or not isinstance(reply, Reply):
            self._refuse(reply if isinstance(reply, Reply) else self._server.fault(), request)
            return
        self._change(BODY_ADMITTED)
        self._body_seen, self._body_seen_at = 0, self._server.now
        if self._parser.wants_continue:
            self._parser.wants_continue = False
            self._write(CONTINUE.encode())

    def _answer(self, request: Request) -> None:
        self._change(REQUEST)
        try:
            reply = self._server.handler(request)
        except Exception as error:
            reply = self._server.reply_to_failure(request, error)
        if isinstance(reply, Reply):
            self._deliver(request, reply)
        # Compare the type first: checking the abstract class takes 3 % of the time of a change.
        elif type(reply) is CoroutineType or isinstance(reply, Coroutine):
            self._answering = self._server.run(self._continue_later(request, reply, self._deliver))
        else:
            self._deliver(request, reply)

    async def _continue_later(
        self,
        request: Request,
        answer: Coroutine[Any, Any, SentReply],
        proceed: Callable[[Request, SentReply], None],
    ) -> None:
        try:
            reply = await answer
        except asyncio.CancelledError:
            reply = self._server.problem(
                503,
                "The request was cancelled: the server is stopping, or the client has "
                "disconnected.",
            )
        except Exception as error:
            reply = self._server.reply_to_failure(request, error)
        self._answering = None
        proceed(request, reply)
        self._proceed()

    def _deliver(self, request: Request, reply: SentReply) -> None:
        if request.body:
            self._server.bodies.give_back(request)
        if self.state is not ANSWERING:
            return  # the client has left
        self._owner = request.owner
        if isinstance(reply, Reply):
            self._send(request, reply)
        elif isinstance(reply, StreamReply):
            self._change(STREAM)
            self._stream = self._server.run(self._run_stream(request, reply))
        elif isinstance(reply, RawReply):
            self._change(STREAM)
            self._stream = self._server.run(self._run_raw(reply))
        else:
            logger.error("The handler returned %r, which is not a reply.", type(reply))
            self._send(request, self._server.fault())

    def _is_last(self) -> bool:
        """Return whether the current answer is the last: no request waits, and none will come."""
        return self._parser.is_done and not self._pending

    def _send(self, request: Request, reply: Reply) -> None:
        """Queue a reply for the end of this round.

        The last reply and a full buffer are sent immediately.
        """
        is_last = self._parser.is_done and self._is_last()
        try:
            data = reply.encode(is_last, request.method == "HEAD")
        except ValueError:
            logger.exception("The head of a reply cannot be sent.")
            reply, is_last = self._server.fault(), True
            data = reply.encode(close=True)
        self._server.answers[reply.status] += 1
        if is_last:
            self._held.append(data)
            self._close(LAST_ANSWERED)
            return
        self._change(ANSWERED)
        held = self._held
        if not held:
            self._server.flush_later(self)
        held.append(data)
        if len(held) > MAX_HELD_REPLIES or len(data) > MAX_HELD_BYTES:
            self.flush()

    def _refuse(self, reply: Reply, request: Request | None = None) -> None:
        """Refuse a request and read no further; `request` is None if no head was read."""
        self._parser.end()
        self._server.answers[reply.status] += 1
        head_only = request is not None and request.method == "HEAD"
        self._write(reply.encode(close=True, head_only=head_only))
        if self._transport.can_write_eof():
            self._change(BAD_REQUEST)
            self._transport.write_eof()
            self._resume_input()
        else:
            self._close(CLOSE)

    # Writing

    def _write(self, data: bytes) -> None:
        self._held.append(data)
        self.flush()

    def flush(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def pause_writing(self) -> None:
        self.output_paused = True
        self._drain_by = self._time_to_drain()
        unread = self._transport.get_write_buffer_size()
        holder = f"tenant {self._owner}" if self._owner else source_of(self.peer)
        if self._server.unread_replies.take(holder, unread):
            self._unread_reply_bytes, self._unread_reply_holder = unread, holder
        else:
            self._server.warn_of_unread_replies(source_of(self.peer))
            # The write in progress must end first.
            asyncio.get_running_loop().call_soon(self._reset_unread)

    def _reset_unread(self) -> None:
        if self.output_paused and self.state is not CLOSED:
            self.reset()

    def _end_unread_reply(self) -> None:
        unread, self._unread_reply_bytes = self._unread_reply_bytes, 0
        if unread:
            self._server.unread_replies.give_back(self._unread_reply_holder, unread)

    def resume_writing(self) -> None:
        self.output_paused = False
        self._end_unread_reply()
        if self._drained and not self._drained.done():
            self._drained.set_result(None)
        self._proceed()

    # Streams

    async def _run_stream(self, request: Request, reply: StreamReply) -> None:
        chunked = not request.is_http10
        head_only = request.method == "HEAD"
        self._server.answers[reply.status] += 1
        try:
            self._write(reply.encode_head(chunked=chunked, close=self._is_last()))
            await self._pump(reply.chunks, chunked, head_only)
            is_whole = True
        except asyncio.CancelledError:
            is_whole = self._parser.is_done  # at a stop, the stream ends like a complete one
        except StreamCut as cut:
            logger.warning("The response to %r was cut off: %s", request, cut)
            is_whole = False
        except Exception:
            logger.exception("A stream failed.")
            is_whole = False
        self._stream = None
        if self.state is not STREAMING:
            return  # the client has left
        if not is_whole:
            self.abort()
            return
        if chunked and not head_only:
            self._write(b"0\r\n\r\n")
        if self._is_last():
            self._close(LAST_ANSWERED)
        else:
            self._change(ANSWERED)
            self._proceed()

    async def _run_raw(self, reply: RawReply) -> None:
        self._server.answers[reply.status] += 1
        try:
            await self._pump(reply.pieces, chunked=False, head_only=False)
            if reply.end is Ending.HANG:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass  # the client has left, or the server stops
        self._stream = None
        if self.state is not STREAMING:
            return
        if reply.end is Ending.CONTINUE and not self._is_last():
            self._change(ANSWERED)
            self._proceed()
        elif reply.end is Ending.RESET:
            self.reset()
        else:
            self._close(LAST_ANSWERED)

    def reset(self) -> None:
        """Close immediately with a reset instead of an orderly end."""
        reset_at_close(self._transport)
        self.abort()

    async def _pump(self, chunks: AsyncIterator[bytes], chunked: bool, head_only: bool) -> None:
        try:
            # The loop ends with the connection, even if the chunks ignore the cancellation.
            while not head_only and self.state is STREAMING:
                chunk = await anext(chunks)
                if chunk:
                    self._write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk)
                if self.output_paused:
                    self._drained = asyncio.get_running_loop().create_future()
                    await self._drained
        except StopAsyncIteration:
            pass
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()
