"""However a request is cut on its way, it gets the same answer as whole.

Every request of these tests goes through a connection without a socket: cut in two, at every place
of requests that are alike, which a handler answers that repeats what it was asked; and in random
pieces, which a whole controller answers.
"""

import asyncio
import re
from collections.abc import Iterator
from random import Random

import pytest

from leverframe.core.profile import Profile
from leverframe.host.ports import http_limits
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.row import Row
from leverframe.server.http.connection import Connection, State
from leverframe.server.http.limits import HttpLimits
from leverframe.server.http.messages import Reply, Request
from leverframe.server.http.server_state import ServerState
from leverframe.testing import LoopTwin
from tests.boundary_profiles import NEWEST
from tests.conformance.requests import Sample, make_bad_samples, make_good_samples, misshapen
from tests.conformance.test_rows import COMMANDS, prepare, profiles_of
from tests.effort import some_of
from tests.patience import PATIENCE_S
from tests.server.http.wire import Wire, connect, connect_to

POLL = b"GET /outs.cgi HTTP/1.1\r\nHost: localhost\r\n\r\n"
#: Large files are cut at places that are this far apart, and all around their beginning.
CLOSE_TO_THE_BEGINNING = 1500
STRIDE = 97
#: Requests of one form are much alike: each is cut at every fifth place, the next one at others.
SHIFTS = 5
DIGIT = re.compile(rb"[0-9]")
#: Of the commands; a quick run takes one of them.
PARTS = 5
#: Other at every run.
RANDOM_PARTS = re.compile(rb"Set-Cookie: [^\r]*")


def wire_bytes(sample: Sample) -> bytes:
    lines = [f"{sample.method} {sample.target} HTTP/1.1", "Host: localhost"]
    if sample.content_type:
        lines.append(f"Content-Type: {sample.content_type}")
    if sample.body or sample.row.body is not None:
        lines.append(f"Content-Length: {len(sample.body)}")
    return "\r\n".join([*lines, "", ""]).encode() + sample.body


def samples_of(row: Row, profile: Profile) -> Iterator[Sample]:
    yield from make_good_samples(row, profile)
    yield from make_bad_samples(row, profile)
    yield from misshapen(row, profile)


def all_requests() -> list[bytes]:
    """The bytes of every request of the newest version that has its row, each once.

    A connection knows no versions, and in a first line it takes every digit like any other.
    """
    requests = (
        wire_bytes(sample)
        for number, row in COMMANDS
        for sample in samples_of(row, profiles_of(number)[-1])
    )
    return list({with_one_digit(request): request for request in requests}.values())


def with_one_digit(request: bytes) -> bytes:
    first_line, end, others = request.partition(b"\r\n")
    return DIGIT.sub(b"7", first_line) + end + others


def repeat(request: Request) -> Reply:
    head = (request.method, request.path, request.query, request.headers, request.is_http10)
    return Reply(200, "text/plain", repr(head).encode() + request.body)


async def answer_to(connection: Connection, wire: Wire, *pieces: bytes) -> bytes:
    for piece in pieces:
        connection.data_received(piece)
        connection.answer_pending()
        while connection.input_paused:  # noqa: ASYNC110
            await asyncio.sleep(0)  # what is long is read by and by
    connection.flush()
    answer = b"".join(wire.written)
    wire.written.clear()
    return answer


def places_in(request: bytes) -> list[int]:
    """Where to cut: everywhere from its beginning to the middle of what follows it."""
    end = len(request) + len(POLL) // 2
    close = range(1, min(end, CLOSE_TO_THE_BEGINNING))
    return [*close, *range(CLOSE_TO_THE_BEGINNING, end, STRIDE)]


async def test_request_that_is_cut_at_any_place_gets_the_same_answer() -> None:
    connection, wire = connect(repeat, http_limits())
    requests = all_requests()
    assert len(requests) > 2000
    for number, request in enumerate(some_of(requests)):
        data = request + POLL
        whole = await answer_to(connection, wire, data)
        assert whole.count(b"HTTP/1.1 200 OK") == 2, request
        for place in places_in(request)[number % SHIFTS :: SHIFTS]:
            answer = await answer_to(connection, wire, data[:place], data[place:])
            assert answer == whole, (request, place)
        await asyncio.sleep(0)
    connection.connection_lost(None)


def in_random_pieces(data: bytes, chance: Random) -> list[bytes]:
    """Cut at a few places or many, close together here and there."""
    count = chance.choice((1, 2, 5, 20))
    near = chance.randrange(len(data))
    places = {chance.randrange(len(data)) for _ in range(count)}
    places |= {(near + step) % len(data) for step in range(chance.randrange(5))}
    edges = [0, *sorted(places), len(data)]
    return [data[start:end] for start, end in zip(edges, edges[1:], strict=False) if end > start]


BUSY = (State.ANSWERING, State.CHECKING, State.BODY)


class ConnectedTwin:
    """A whole controller and one connection to it, made again when it was closed."""

    def __init__(self, twin: LoopTwin, limits: HttpLimits) -> None:
        self._server = ServerState(twin.web.handle, limits, admission=twin.web.admit_body)
        self._connection: Connection | None = None
        self._wire = Wire()

    async def ask(self, *pieces: bytes) -> bytes:
        if self._connection is None:
            self._connection, self._wire = connect_to(self._server)
        connection, wire = self._connection, self._wire
        wire.written.clear()
        async with asyncio.timeout(PATIENCE_S):
            for piece in pieces:
                connection.data_received(piece)
                connection.answer_pending()
                while connection.input_paused and not wire.ended:  # noqa: ASYNC110
                    await asyncio.sleep(0)
            while connection.state in BUSY:  # noqa: ASYNC110
                await asyncio.sleep(0)
        connection.flush()
        if wire.closed or wire.ended:
            self.close()
        return RANDOM_PARTS.sub(b"", b"".join(wire.written))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.connection_lost(None)
            self._connection = None


@pytest.mark.parametrize("part", some_of(range(PARTS)))
async def test_request_in_random_pieces_does_the_same(part: int) -> None:
    chance = Random(part)
    for _, row in COMMANDS[part::PARTS]:
        if not row.is_offered(NEWEST):
            continue
        limits = http_limits()
        whole, cut = [ConnectedTwin(await prepare(NEWEST, row), limits) for _ in range(2)]
        for sample in samples_of(row, NEWEST):
            data = wire_bytes(sample)
            expected = await whole.ask(data)
            assert expected.startswith(b"HTTP/1.1 "), sample
            assert await cut.ask(*in_random_pieces(data, chance)) == expected, sample
        whole.close()
        cut.close()


def test_every_command_is_among_them() -> None:
    assert {row.line for _, row in COMMANDS} == {row.line for row in TABLE if row.form.items}
