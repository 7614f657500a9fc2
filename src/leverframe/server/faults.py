"""Simulated faults: bytes cut, delayed or corrupted in transit, and faulty HTTP answers."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from time import perf_counter
from typing import Any, Protocol, cast

from msgspec.structs import replace

from leverframe.devices.simulated import fault_catalogue
from leverframe.devices.simulated.fault_catalogue import SPARED_PATHS
from leverframe.host.controller.faults import BESIDE, LATE, OWN, UNTRUE, ActiveFault, Faults
from leverframe.host.controller.hooks import RequestLog
from leverframe.server.http.connection import reset_at_close
from leverframe.server.http.messages import (
    PHRASES,
    Ending,
    RawReply,
    Reply,
    Request,
    SentAnswer,
    SentReply,
    problem_reply,
)
from leverframe.server.http.request_journal import BENCH_HEADER, note_answer

# Faults of bytes in transit: cut, delayed, corrupted, or lost in a reset connection.
#
# They affect Modbus answers and the bytes that are sent to the MQTT broker
# (`devices/simulated/fault_catalogue.py`). A delay is real time, and later bytes wait too, so that
# they keep their order.


def cut_bytes(active: ActiveFault, data: bytes) -> bytes:
    """Return the part that arrives if the bytes are cut."""
    count = active["bytes"]
    return data[: len(data) // 2 if count is None else int(count)]


def corrupt_bytes(active: ActiveFault, data: bytes, spared: int = 0) -> bytes:
    """Return the bytes with some of them changed (default: one), never the first `spared`."""
    places = range(spared, len(data))
    count = 1 if active["bytes"] is None else int(active["bytes"])
    corrupted = bytearray(data)
    for place in active.random.sample(places, min(count, len(places))):
        corrupted[place] ^= active.random.randint(1, 255)
    return bytes(corrupted)


def reset_connection(transport: asyncio.Transport) -> None:
    """Reset a connection instead of closing it."""
    reset_at_close(transport)
    transport.abort()


class FaultyTransport:
    """The transport of a connection to a broker; it applies faults to the written bytes."""

    def __init__(self, transport: asyncio.Transport, faults: Faults) -> None:
        self._transport = transport
        self._faults = faults
        #: Delayed bytes, in their order.
        self._held: deque[bytes] = deque()
        self._release: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        active = self._faults.of_mqtt()
        if active is None:
            self._pass_on(data)
            return
        match active["what"]:
            case fault_catalogue.RESET:
                reset_connection(self._transport)
            case fault_catalogue.CUT:
                self._pass_on(cut_bytes(active, data))
                self.close()
            case fault_catalogue.CORRUPT:
                self._pass_on(corrupt_bytes(active, data))
            case fault_catalogue.DELAY:
                self._held.append(data)
                if self._release is None:
                    loop = asyncio.get_running_loop()
                    self._release = loop.call_later(active["delay"], self._send_held)

    def close(self) -> None:
        self._send_held()
        self._transport.close()

    def _pass_on(self, data: bytes) -> None:
        if self._release is None:
            self._transport.write(data)
        else:
            self._held.append(data)

    def _send_held(self) -> None:
        if self._release is not None:
            self._release.cancel()
            self._release = None
        while self._held and not self._transport.is_closing():
            self._transport.write(self._held.popleft())


def faulty_transport(faults: Faults) -> Callable[[asyncio.Transport], asyncio.Transport]:
    """Return a function that applies the faults of a controller to a transport."""
    return lambda transport: cast(asyncio.Transport, FaultyTransport(transport, faults))


# Faulty answers to HTTP clients, while such faults are set (`host/controller/faults.py`).
#
# Without faults, requests do not pass through here: a server gets another handler only while faults
# are set. The paths of the test bench are exempt; otherwise a fault could not be ended over HTTP.
# Delays here are real time.

#: The status of an answer that never comes.
NO_STATUS = 0
#: Maximum number of targets below a stale path for which an answer is kept.
MAX_STALE = 100
#: The number of pieces per second in which a slow answer is sent.
DROPS_PER_S = 20


class HandlerPlace(Protocol):
    """The holder of a server's handler."""

    handler: Callable[[Request], SentAnswer]


class ClosableServer(Protocol):
    """A server that can be paused."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class FaultyServer(ClosableServer, Protocol):
    """A server whose handler can also be replaced temporarily."""

    @property
    def state(self) -> HandlerPlace: ...


class PortFaults:
    """A port of a controller, closed while a fault closes it or cuts the power."""

    def __init__(self, server: ClosableServer) -> None:
        self._port = server
        self._is_closed = False

    def follow_faults(self, is_faulty: bool, is_closed: bool) -> None:
        if is_closed != self._is_closed:
            self._is_closed = is_closed
            if is_closed:
                self._port.pause()
            else:
                self._port.resume()


class HttpFaults(PortFaults):
    """The faults of a controller, applied to one of its HTTP servers."""

    def __init__(self, faults: Faults, server: FaultyServer, journal: RequestLog | None) -> None:
        super().__init__(server)
        self._faults = faults
        self._server = server
        #: The request journal; it records the replies that clients actually received.
        self._journal = journal
        self._handler: Callable[[Request], SentAnswer] = server.state.handler
        faults.join(self)

    def follow_faults(self, is_faulty: bool, is_closed: bool) -> None:
        super().follow_faults(is_faulty, is_closed)
        self._server.state.handler = self._handle if is_faulty else self._handler

    def _handle(self, request: Request) -> SentAnswer:
        if request.path.startswith(SPARED_PATHS) or BENCH_HEADER in request.headers:
            return self._handler(request)
        met = self._faults.of_request(request.path)
        return self._faulty(request, met) if met else self._handler(request)

    async def _faulty(self, request: Request, met: list[ActiveFault]) -> SentReply:
        entry, began = None, perf_counter()
        if self._journal is not None:
            # Recorded when the request arrives, not when it is finally answered.
            entry = self._journal.note(request)
            entry.fault = ", ".join(active.fault.shown for active in met)
            # Mark a copy of the headers, because the client's next request may share the original
            # ones.
            request = replace(request, headers={**request.headers, BENCH_HEADER: "noted"})
        for active in met:
            if active.fault.kind == LATE:
                jitter_s = active["jitter"] * active.random.random()
                await asyncio.sleep(active["delay"] + jitter_s)
        acting = next((active for active in met if active.fault.kind not in BESIDE), None)
        if acting is not None and acting.fault.kind == "status":
            # The requested command is not run.
            return _record(entry, _status(acting), began)
        own = next((active for active in met if active.fault.kind == OWN), None)
        answer = self._handler(request) if own is None else _own_answer(own)
        reply = await answer if isinstance(answer, Coroutine) else answer
        if entry is not None:
            note_answer(entry, reply, began)
        if not isinstance(reply, Reply):
            return reply
        for active in met:
            if active.fault.kind == UNTRUE:
                reply = _with_raw_value(active, reply)
        if acting is None:
            return reply
        return _record(entry, _MADE_FAULTY[acting.fault.kind](acting, request, reply), began)


def _record(entry: Any, reply: SentReply, began: float) -> SentReply:
    """Record what the client actually received: no status and no duration if that was nothing."""
    if entry is None:
        return reply
    entry.status = reply.status or None
    entry.duration = perf_counter() - began if reply.status else None
    if isinstance(reply, RawReply) and reply.status:
        return replace(reply, pieces=_time_pieces(entry, reply.pieces, began))
    return reply


async def _time_pieces(
    entry: Any, pieces: AsyncIterator[bytes], began: float
) -> AsyncIterator[bytes]:
    """Pass on pieces as they are written, and record the total duration."""
    async for piece in pieces:
        entry.duration = perf_counter() - began
        yield piece


def _own_answer(active: ActiveFault) -> Reply:
    status = int(active["status"])
    # Answers with these statuses have no body.
    body = b"" if status in (204, 304) else active["base64"] or active["body"] or b""
    return Reply(status, active["type"], body, active["headers"] or ())


def _raw(reply: Reply, data: bytes, end: Ending) -> RawReply:
    return RawReply(reply.status, _in_one_piece(data), end)


async def _in_one_piece(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _never() -> AsyncIterator[bytes]:
    return
    yield b""


async def _in_drops(data: bytes, rate: float) -> AsyncIterator[bytes]:
    size = max(1, round(rate / DROPS_PER_S))
    for begin in range(0, len(data), size):
        yield data[begin : begin + size]
        await asyncio.sleep(size / rate)


def _encode(request: Request, reply: Reply) -> bytes:
    return reply.encode(head_only=request.method == "HEAD")


def _split(data: bytes) -> tuple[bytes, bytes]:
    head, mark, body = data.partition(b"\r\n\r\n")
    return head + mark, body


def _dripping(active: ActiveFault, request: Request, reply: Reply) -> SentReply:
    pieces = _in_drops(_encode(request, reply), active["rate"])
    return RawReply(reply.status, pieces, Ending.CONTINUE)


def _reset(active: ActiveFault, request: Request, reply: Reply) -> SentReply:
    data = _encode(request, reply)[: int(active["bytes"])]
    # A client does not receive bytes that are still in transit when its connection is reset.
    pieces = _then_a_moment(data) if data else _never()
    return RawReply(reply.status if data else NO_STATUS, pieces, Ending.RESET)


async def _then_a_moment(data: bytes) -> AsyncIterator[bytes]:
    yield data
    await asyncio.sleep(0.05)


def _cut(active: ActiveFault, request: Request, reply: Reply) -> SentReply:
    head, body = _split(_encode(request, reply))
    count = active["bytes"]
    kept = len(body) // 2 if count is None else int(count)
    return _raw(reply, head + body[:kept], Ending.CLOSE)


def _wrong_length(active: ActiveFault, request: Request, reply: Reply) -> SentReply:
    head, body = _split(_encode(request, reply))
    said = max(0, len(body) + int(active["by"]))
    head = re.sub(rb"(?i)(content-length: )\d+", rb"\g<1>%d" % said, head)
    return _raw(reply, head + body, Ending.CLOSE)


def _status(active: ActiveFault) -> Reply:
    code = int(active["code"])
    title = PHRASES.get(code, "An error")
    return problem_reply(code, f"{title}, caused by a configured fault.")


def _garbage(active: ActiveFault, request: Request, reply: Reply) -> SentReply:
    if active["of"] == "answer":
        return _raw(reply, active.random.randbytes(max(64, len(reply.body))), Ending.CLOSE)
    return replace(reply, body=active.random.randbytes(len(reply.body)))


def _with_type(active: ActiveFault, request: Request, reply: Reply) -> SentReply:
    return replace(reply, content_type=active["type"])


def _stale(active: ActiveFault, request: Request, reply: Reply) -> SentReply:
    answers: dict[Any, Reply] = active.memory
    target = (request.method, request.path, request.query)
    if target not in answers and len(answers) >= MAX_STALE:
        return reply
    return answers.setdefault(target, reply)


def _half_open(active: ActiveFault, request: Request, reply: Reply) -> SentReply:
    return _raw(reply, _encode(request, reply), Ending.HANG)


def _frozen(active: ActiveFault, request: Request, reply: Reply) -> SentReply:
    return RawReply(NO_STATUS, _never(), Ending.HANG)


def _with_raw_value(active: ActiveFault, reply: Reply) -> Reply:
    key, value = re.escape(active["key"]).encode(), active["value"].encode()
    body = re.sub(rb"(<%b>)[^<]*" % key, lambda found: found[1] + value, reply.body)
    body = re.sub(
        rb'("%b":\s*)("?)(?:(?<=")(?:[^"\\]|\\.)*"|[^,}\]]*)' % key,
        lambda found: found[1] + found[2] + value + found[2],
        body,
    )
    return replace(reply, body=body)


_Made = Callable[[ActiveFault, Request, Reply], SentReply]
_MADE_FAULTY: dict[str, _Made] = {
    "drip": _dripping,
    "reset": _reset,
    "cut": _cut,
    "wrong_length": _wrong_length,
    "garbage": _garbage,
    "content_type": _with_type,
    "stale": _stale,
    "half_open": _half_open,
    "frozen": _frozen,
}
