"""What can happen to a connection: the table of its states, and walks through it at random."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.server.http import connection as connections
from leverframe.server.http.connection import READY, TIMEOUTS, TRANSITIONS, Event, State
from leverframe.server.http.limits import HttpLimits
from leverframe.server.http.messages import CONTINUE, AnyReply, Reply, Request, StreamReply
from leverframe.server.http.parser import MAX_FEED_BYTES
from leverframe.server.http.server_state import ServerState
from tests.cases import for_each

from .handlers import path_as_text
from .wire import connect, connect_to


@for_each("event", Event)
@for_each("state", State)
async def test_event_leads_where_the_table_says_or_cannot_happen(
    state: State, event: Event
) -> None:
    connection, _ = connect()
    connection.state = state
    following = TRANSITIONS[state].get(event)
    if following:
        connection._change(event)
        assert connection.state is following
    else:
        with pytest.raises(RuntimeError, match=f"{event.name} cannot happen .* {state.name}"):
            connection._change(event)
        assert connection.state is state


def reachable(start: State) -> set[State]:
    found = {start}
    while more := {after for state in found for after in TRANSITIONS[state].values()} - found:
        found |= more
    return found


def test_every_state_is_reached_and_has_an_end() -> None:
    assert reachable(State.HEAD) == set(State)
    for state in State:
        assert State.CLOSED in reachable(state)
    assert reachable(State.CLOSED) == {State.CLOSED}
    assert reachable(State.CLOSING) == {State.CLOSING, State.CLOSED}


def test_every_event_happens_somewhere() -> None:
    assert {event for events in TRANSITIONS.values() for event in events} == set(Event)


def test_requests_are_answered_only_one_after_another() -> None:
    ready = {state for state in State if Event.REQUEST in TRANSITIONS[state]}
    assert ready == set(READY)
    assert State.ANSWERING not in ready


def test_only_a_check_or_an_answer_may_take_as_long_as_it_takes() -> None:
    # What closes has the time that what was sent may take.
    untimed = set(State) - set(TIMEOUTS)
    checked = {State.CHECKING, State.ANSWERING}
    assert untimed == checked | {State.STREAMING, State.CLOSING, State.CLOSED}


GET = b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n"


async def test_replies_of_one_round_leave_together_and_no_more_than_a_few_are_held() -> None:
    connection, wire = connect()
    for number in range(3):
        connection.data_received(GET % number)
    assert wire.written == []
    await asyncio.sleep(0)
    (sent,) = wire.written
    assert sent.count(b"HTTP/1.1 200") == 3
    connection.data_received(b"".join(GET % number for number in range(7)))
    await asyncio.sleep(0)
    assert wire.written[1].count(b"HTTP/1.1 200") == connections.MAX_HELD_REPLIES + 1
    assert b"".join(wire.written).count(b"HTTP/1.1 200") == 10


async def test_large_reply_is_not_held() -> None:
    body = bytes(connections.MAX_HELD_BYTES)
    connection, wire = connect(lambda _: Reply(200, "", body))
    for number in range(2):
        connection.data_received(GET % number)
    await asyncio.sleep(0)
    assert len(wire.written) == 2
    assert wire.written[0].endswith(body)


@for_each(
    "last",
    [
        b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nbad\r\n\r\n",
    ],
)
async def test_held_replies_leave_before_what_ends_the_connection(last: bytes) -> None:
    connection, wire = connect()
    connection.data_received(GET % 1)
    connection.data_received(last)
    await asyncio.sleep(0)
    assert wire.ended or wire.closed
    assert b"".join(wire.written).count(b"HTTP/1.1 ") == 2


async def test_requests_of_a_round_are_answered_when_all_have_been_read() -> None:
    asked: list[str] = []

    def note(request: Request) -> Reply:
        asked.append(request.path)
        return path_as_text(request)

    server = ServerState(note, HttpLimits())
    connections_and_wires = [connect_to(server) for _ in range(3)]
    for number, (connection, _) in enumerate(connections_and_wires):
        connection.data_received(GET % number)
    assert asked == []
    await asyncio.sleep(0)
    assert asked == ["/0", "/1", "/2"]
    assert [len(wire.written) for _, wire in connections_and_wires] == [1, 1, 1]


@for_each("tls", [False, True])
async def test_request_right_before_its_client_leaves_is_carried_out(tls: bool) -> None:
    asked: list[str] = []

    def note(request: Request) -> Reply:
        asked.append(request.path)
        return path_as_text(request)

    connection, _ = connect(note, tls=tls)
    connection.data_received(GET % 1)
    connection.eof_received()
    assert asked == ["/1"]


async def test_request_right_before_a_stop_is_answered() -> None:
    connection, wire = connect()
    connection.data_received(GET % 1)
    connection.stop()
    assert b"".join(wire.written).count(b"HTTP/1.1 200") == 1


async def test_connection_that_fails_takes_no_answer_from_the_others() -> None:
    def fail(status: int, detail: str) -> Reply:
        raise RuntimeError("a fault of this program")

    server = ServerState(path_as_text, HttpLimits(), problem=fail)
    (failing, ended), (sound, wire) = connect_to(server), connect_to(server)
    failing.data_received(b"no request\r\n\r\n")
    for number in range(2):
        sound.data_received(GET % number)
        await asyncio.sleep(0)
        assert wire.written[number].endswith(b"/%d" % number)
    assert ended.closed


async def test_burst_has_its_turn_and_then_others_have_theirs() -> None:
    asked: list[str] = []

    def note(request: Request) -> Reply:
        asked.append(request.path)
        return path_as_text(request)

    connection, wire = connect(note)
    sent = [b"GET /%d HTTP/1.1\r\nHost: h\r\nX: %s\r\n\r\n" % (n, b"a" * 1000) for n in range(200)]
    connection.data_received(b"".join(sent))
    seen = 0
    while connection.input_paused:
        assert 0 < len(asked) - seen <= 1 + MAX_FEED_BYTES // 1000
        assert not wire.reads
        seen = len(asked)
        await asyncio.sleep(0)
    assert wire.reads
    assert asked == [f"/{n}" for n in range(200)]


class Walk:
    """One connection, and what may happen to it from outside."""

    def __init__(self, tls: bool) -> None:
        self.faults: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _loop, fault: self.faults.append(fault)
        )
        self.gate = asyncio.Event()
        self.asked: list[str] = []
        limits = HttpLimits(waiting_requests=2)
        self.connection, self.wire = connect(self.handle, limits, tls=tls)
        self.server = self.connection._server
        self.server.admission = self.admit
        #: What happened: the state, the event, and the state after it.
        self.seen: list[tuple[State, Event, State]] = []
        self.change = self.connection._change
        self.connection._change = self.note  # type: ignore[method-assign]

    def note(self, event: Event) -> None:
        before = self.connection.state
        self.change(event)
        self.seen.append((before, event, self.connection.state))

    def handle(self, request: Request) -> Any:
        assert self.connection.state is State.ANSWERING
        self.asked.append(request.path)
        if request.path == "/later":
            return self.later(request)
        if request.path == "/stream":
            return StreamReply(200, "", self.stream())
        return path_as_text(request)

    def admit(self, request: Request) -> Any:
        assert self.connection.state is State.CHECKING
        if request.path == "/later":
            return self.admit_later()
        return CONTINUE if request.path == "/now" else Reply(403, "", b"")

    async def admit_later(self) -> Reply:
        await self.gate.wait()
        return CONTINUE

    async def later(self, request: Request) -> AnyReply:
        await self.gate.wait()
        return path_as_text(request)

    async def stream(self) -> AsyncIterator[bytes]:
        yield b"a"
        await self.gate.wait()
        yield b"b"

    def feed(self, data: bytes) -> None:
        if self.wire.reads and not self.wire.closed:
            self.connection.data_received(data)

    def open_gate(self) -> None:
        self.gate.set()

    def shut_gate(self) -> None:
        self.gate.clear()

    def stall(self) -> None:
        if not (self.connection.output_paused or self.wire.closed):
            self.connection.pause_writing()

    def read_again(self) -> None:
        if self.connection.output_paused:
            self.connection.resume_writing()

    def finish_sending(self) -> None:
        if self.wire.reads and not self.wire.closed and not self.connection.eof_received():
            self.wire.close()

    def stop(self) -> None:
        self.connection.stop()

    def pass_time(self) -> None:
        self.server.sweep(self.server.now + 7)

    def pass_long_time(self) -> None:
        self.server.sweep(self.server.now + 100)

    def give_up(self) -> None:
        """What a stop does when its time is over."""
        self.connection.abort()

    async def go(self, steps: list[Callable[["Walk"], None]]) -> None:
        for step in steps:
            step(self)
            for _ in range(3):
                await asyncio.sleep(0)
        self.connection.connection_lost(None)
        self.gate.set()
        await self.server.stop(grace_s=10)
        assert self.faults == []
        assert self.connection.state is State.CLOSED
        assert self.server.bodies.used == 0
        assert b"".join(self.wire.written).count(b"HTTP/1.1 200") <= len(self.asked)


def sending(data: bytes) -> Callable[[Walk], None]:
    return lambda walk: walk.feed(data)


PIECES = [
    *(
        b"GET /now HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /later HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /str",
        b"eam HTTP/1.1\r\n",
    ),
    *(
        b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n",
        b"HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n",
        b"\r\n",
        b"ab",
    ),
    *(
        b"POST /now HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n",
        b"GET /later HTTP/1.0\r\n\r\n",
    ),
    b"POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n",
    b"POST /never HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n",
    b"GET /now HTTP/1.1\r\nHost: h\r\n\r\n"
    b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\nGET /now HTTP/1.1\r\nHost: h\r\n\r\n" * 3,
    b"GET /now HTTP/1.1\r\nHost: h\r\nX: "
    + b"a" * 3000
    + b"\r\n\r\nGET /later HTTP/1.1\r\nHost: h\r\nX: "
    + b"a" * 3000,
]
steps = st.sampled_from(
    [
        *(sending(piece) for piece in PIECES),
        *(Walk.open_gate, Walk.shut_gate, Walk.stall, Walk.read_again),
        *(Walk.finish_sending, Walk.stop, Walk.pass_time),
    ]
)


@given(st.lists(steps, max_size=12), st.booleans())
def test_any_order_of_events_is_in_the_table(
    steps: list[Callable[[Walk], None]], tls: bool
) -> None:
    async def walk() -> None:
        await Walk(tls).go(steps)

    asyncio.run(walk())


NOW, LATER, STREAM = (sending(piece) for piece in (PIECES[0], PIECES[1], PIECES[4]))
LAST = sending(b"GET /now HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
LAST_STREAM = sending(b"GET /stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
BAD = sending(b"bad\r\n\r\n")
BAD_HEADER = sending(b"bad header\r\n\r\n")
BEGIN = sending(b"GET /now HTTP/1.1\r\n")
END = sending(b"Host: h\r\n\r\n")
CHUNKS = sending(b"POST /now HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
NO_CHUNK = sending(b"no size\r\n")
POST_NOW = sending(b"POST /now HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n")
POST_LATER = sending(b"POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n")
POST_NEVER = sending(b"POST /never HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n")
BODY = sending(b"body")
LOSE: tuple[Callable[[Walk], None], ...] = ()  # every walk ends with that

#: A way to let each entry of the table happen, written down once more and by hand: an entry that is
#: missing, wrong or never used is found.
WAYS: dict[tuple[State, Event, State], tuple[Callable[[Walk], None], ...]] = {
    (State.IDLE, Event.BYTES, State.HEAD): (NOW, BEGIN),
    (State.IDLE, Event.REQUEST, State.ANSWERING): (NOW, NOW),
    (State.IDLE, Event.BAD_REQUEST, State.LINGERING): (NOW, BAD),
    (State.IDLE, Event.STOP, State.CLOSING): (NOW, Walk.stop),
    (State.IDLE, Event.CLOSE, State.CLOSING): (NOW, Walk.finish_sending),
    (State.IDLE, Event.LOST, State.CLOSED): (NOW, *LOSE),
    (State.HEAD, Event.BODY_ANNOUNCED, State.CHECKING): (POST_NOW,),
    (State.HEAD, Event.REQUEST, State.ANSWERING): (BEGIN, END),
    (State.HEAD, Event.BAD_REQUEST, State.LINGERING): (BEGIN, BAD_HEADER),
    (State.HEAD, Event.STOP, State.CLOSING): (BEGIN, Walk.stop),
    (State.HEAD, Event.CLOSE, State.CLOSING): (BEGIN, Walk.finish_sending),
    (State.HEAD, Event.LOST, State.CLOSED): (BEGIN, *LOSE),
    (State.CHECKING, Event.BODY_ADMITTED, State.BODY): (POST_LATER, Walk.open_gate),
    (State.CHECKING, Event.BAD_REQUEST, State.LINGERING): (POST_NEVER,),
    (State.CHECKING, Event.STOP, State.CLOSING): (POST_LATER, Walk.stop),
    (State.CHECKING, Event.CLOSE, State.CLOSING): (POST_LATER, Walk.give_up),
    (State.CHECKING, Event.LOST, State.CLOSED): (POST_LATER, *LOSE),
    (State.BODY, Event.REQUEST, State.ANSWERING): (POST_NOW, BODY),
    (State.BODY, Event.BAD_REQUEST, State.LINGERING): (CHUNKS, NO_CHUNK),
    (State.BODY, Event.STOP, State.CLOSING): (POST_NOW, Walk.stop),
    (State.BODY, Event.CLOSE, State.CLOSING): (POST_NOW, Walk.finish_sending),
    (State.BODY, Event.LOST, State.CLOSED): (POST_NOW, *LOSE),
    (State.ANSWERING, Event.STREAM, State.STREAMING): (STREAM,),
    (State.ANSWERING, Event.ANSWERED, State.IDLE): (NOW,),
    (State.ANSWERING, Event.LAST_ANSWERED, State.CLOSING): (LAST,),
    (State.ANSWERING, Event.STOP, State.ANSWERING): (LATER, Walk.stop),
    (State.ANSWERING, Event.CLOSE, State.CLOSING): (LATER, Walk.give_up),
    (State.ANSWERING, Event.LOST, State.CLOSED): (LATER, *LOSE),
    (State.STREAMING, Event.ANSWERED, State.IDLE): (Walk.open_gate, STREAM),
    (State.STREAMING, Event.LAST_ANSWERED, State.CLOSING): (Walk.open_gate, LAST_STREAM),
    (State.STREAMING, Event.STOP, State.STREAMING): (STREAM, Walk.stop),
    (State.STREAMING, Event.CLOSE, State.CLOSING): (STREAM, Walk.finish_sending),
    (State.STREAMING, Event.LOST, State.CLOSED): (STREAM, *LOSE),
    (State.LINGERING, Event.STOP, State.CLOSING): (BAD, Walk.stop),
    (State.LINGERING, Event.CLOSE, State.CLOSING): (BAD, Walk.pass_time),
    (State.LINGERING, Event.LOST, State.CLOSED): (BAD, *LOSE),
    (State.CLOSING, Event.STOP, State.CLOSING): (LAST, Walk.stop),
    (State.CLOSING, Event.CLOSE, State.CLOSING): (LAST, Walk.pass_long_time),
    (State.CLOSING, Event.LOST, State.CLOSED): (LAST, *LOSE),
}


@for_each("entry", WAYS, ids=lambda entry: f"{entry[0].name}-{entry[1].name}")
async def test_each_entry_of_the_table_happens(entry: tuple[State, Event, State]) -> None:
    walk = Walk(tls=False)
    await walk.go(list(WAYS[entry]))
    assert entry in walk.seen


def test_table_has_no_other_entries() -> None:
    entries = [
        (state, event, after)
        for state, events in TRANSITIONS.items()
        for event, after in events.items()
    ]
    assert sorted(entries) == sorted(WAYS)


async def test_refusal_over_tls_closes_immediately() -> None:
    for steps, state in (([BAD], State.HEAD), ([POST_NEVER], State.CHECKING)):
        walk = Walk(tls=True)
        await walk.go(steps)
        assert (state, Event.CLOSE, State.CLOSING) in walk.seen


async def test_connection_that_is_made_while_the_server_stops_is_closed() -> None:
    server = ServerState(path_as_text)
    server.is_stopping = True
    connection, wire = connect_to(server)
    assert connection.state is State.CLOSING
    assert wire.closed
    connection.connection_lost(None)
