"""What connections may hold in memory: bodies, bytes that wait to be parsed, unread replies."""

from leverframe.server.http.connection import Connection
from leverframe.server.http.limits import HttpLimits
from leverframe.server.http.messages import CONTINUE, Reply, Request
from leverframe.server.http.parser import BodyBudget, RequestParser
from tests.devices.waiting import until

from .handlers import Gate, path_as_text
from .http_peer import GET, Serving, serving
from .test_bodies import post
from .test_slow_clients import LARGE, MIB, Large, NotReading

SLOW = b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"


def the_connection(running: Serving) -> Connection:
    (connection,) = running.server.state.connections
    assert isinstance(connection, Connection)
    return connection


def test_parser_holds_no_body_beyond_its_request() -> None:
    parser = RequestParser(HttpLimits(), BodyBudget(HttpLimits()))
    (found,) = parser.feed(b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
    assert isinstance(found, Request)
    assert found.body == b"abc"
    assert (parser.head.body, parser.body_bytes) == (b"", 0)


async def test_little_is_read_beside_a_request_that_waits_for_its_answer() -> None:
    gate, limits = Gate(), HttpLimits()
    async with serving(gate, limits) as running:
        client = await running.connect()
        count = 8 * limits.read_bytes // len(GET)
        client.send(SLOW + GET * count)
        await gate.entered.wait()
        connection = the_connection(running)
        await until(lambda: connection.input_paused)
        assert len(connection._unread) <= limits.read_bytes
        gate.opened.set()
        assert [(await client.answer()).status for _ in range(count + 1)] == [200] * (count + 1)


async def test_one_address_cannot_fill_the_memory_with_replies_that_it_does_not_read() -> None:
    limits = HttpLimits(unread_replies_bytes=32 * MIB)
    async with serving(Large(8 * MIB), limits) as running:
        state = running.server.state
        greedy = [NotReading(running) for _ in range(6)]
        for client in greedy:
            client.send(LARGE)
        await running.settle()
        await running.settle()
        assert 0 < state.unread_replies.used <= limits.unread_replies_bytes // 2
        assert 0 < len(state.connections) < len(greedy)
        other = await running.connect(source="127.0.0.2")
        assert len((await other.ask(LARGE)).body) == 8 * MIB
        await other.close()
        for client in greedy:
            client.socket.close()
        await running.settle()
        assert state.unread_replies.used == 0


async def test_clients_that_read_are_never_reset_for_it() -> None:
    limits = HttpLimits(unread_replies_bytes=16 * MIB)

    def handler(request: Request) -> Reply:
        return Reply(200, "", bytes(4 * MIB)) if request.path == "/large" else path_as_text(request)

    async with serving(handler, limits) as running:
        for _ in range(8):
            client = await running.connect()
            assert len((await client.ask(LARGE)).body) == 4 * MIB
        assert running.server.state.unread_replies.used == 0


def admit_for_owner(request: Request) -> Reply:
    """Count a body for the owner that its query names."""
    request.owner = request.query or ""
    return CONTINUE


async def test_bodies_of_one_owner_are_bounded_over_all_addresses() -> None:
    limits = HttpLimits(
        body_limit=lambda *_: 16 * MIB, bodies_of_owner_bytes=2 * MIB, read_bytes=MIB // 4
    )
    async with serving(path_as_text, limits, admission=admit_for_owner) as running:
        bodies = running.server.state.bodies
        uploading = [await running.connect(source=f"127.0.0.{n}") for n in (1, 2, 3)]
        for client in uploading[:2]:
            client.send(post("/p?acme", 2 * MIB) + bytes(MIB - 10))
        await running.settle()
        assert MIB < bodies.bytes_of_owner("acme") <= 2 * MIB
        answer = await uploading[2].ask(post("/p?acme", MIB) + bytes(MIB))
        assert (answer.status, answer.headers["retry-after"]) == (429, "5")
        assert "at most 2 MiB together" in answer.json["detail"]
        other = await running.connect()
        assert (await other.ask(post("/p?zulu", MIB) + bytes(MIB))).status == 200
        assert (await other.ask(post("/p", MIB) + bytes(MIB))).status == 200
        uploading[1].vanish()
        await running.settle()
        uploading[0].send(bytes(MIB + 10))
        assert (await uploading[0].answer()).status == 200
        assert (bodies.bytes_of_owner("acme"), bodies.used) == (0, 0)


async def test_body_of_an_owner_counts_until_its_answer() -> None:
    gate = Gate()
    async with serving(gate, admission=admit_for_owner) as running:
        bodies = running.server.state.bodies
        client = await running.connect()
        client.send(post("/slow?acme", MIB) + bytes(MIB))
        await gate.entered.wait()
        assert MIB // 2 < bodies.bytes_of_owner("acme") <= MIB
        gate.opened.set()
        assert (await client.answer()).status == 200
        assert (bodies.bytes_of_owner("acme"), bodies.used) == (0, 0)


async def test_unread_replies_of_one_owner_are_bounded_over_all_addresses() -> None:
    limits = HttpLimits(unread_replies_bytes=32 * MIB)

    def answer(request: Request) -> Reply:
        request.owner = request.query or ""
        return Reply(200, "", bytes(8 * MIB)) if request.path == "/large" else path_as_text(request)

    async with serving(answer, limits) as running:
        state = running.server.state
        greedy = [NotReading(running, f"127.0.0.{number}") for number in range(1, 7)]
        for client in greedy:
            client.send(LARGE.replace(b"/large", b"/large?acme"))
        await running.settle()
        await running.settle()
        assert 0 < state.unread_replies.count_of("tenant acme") <= limits.unread_replies_bytes // 2
        assert state.unread_replies.used == state.unread_replies.count_of("tenant acme")
        assert 0 < len(state.connections) < len(greedy)
        other = await running.connect()
        assert len((await other.ask(LARGE)).body) == 8 * MIB
        await other.close()
        for client in greedy:
            client.socket.close()
        await running.settle()
        assert state.unread_replies.used == 0
