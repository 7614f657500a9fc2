"""Bodies are read from clients that may send them, and no client takes the room of others."""

import asyncio

import pytest

from leverframe.server.http.messages import CONTINUE, AnyReply, Reply, Request, StreamReply
from leverframe.server.http.parser import MAX_FEED_BYTES
from leverframe.server.http.server import HttpLimits
from tests.cases import for_each

from .handlers import Gate, path_as_text
from .http_peer import GET, Client, serving

MIB = 1024 * 1024
#: More than is looked at before a body is admitted.
MUCH = 40 * MAX_FEED_BYTES
FORBIDDEN = Reply(403, "text/plain", b"not you")


def post(path: str = "/p", size: int = MUCH, more: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n{more}\r\n".encode()


class Door:
    """An admission that waits until it is opened, for a path that says so."""

    def __init__(self, verdict: Reply) -> None:
        self.verdict = verdict
        self.asked: list[Request] = []
        self.knocked = asyncio.Event()
        self.opened = asyncio.Event()

    def __call__(self, request: Request) -> AnyReply | object:
        self.asked.append(request)
        return self.wait() if request.path == "/later" else self.verdict

    async def wait(self) -> Reply:
        self.knocked.set()
        await self.opened.wait()
        return self.verdict


@for_each("path", ["/now", "/later"])
async def test_forbidden_body_is_refused_before_it_is_sent(path: str) -> None:
    door, asked = Door(FORBIDDEN), list[str]()

    def handler(request: Request) -> Reply:
        asked.append(request.path)
        return path_as_text(request)

    async with serving(handler, admission=door) as running:
        door.opened.set()
        client = await running.connect()
        answer = await client.ask(post(path))
        assert (answer.status, answer.body) == (403, b"not you")
        assert answer.headers["connection"] == "close"
        # What is sent nevertheless is read, so that the answer is not lost, and means nothing.
        client.send(bytes(MUCH) + GET)
        assert await client.rest() == b""
        assert (asked, door.asked[0].path, door.asked[0].body) == ([], path, b"")
        assert running.server.state.bodies.used == 0


async def test_head_only_refusal_has_no_body() -> None:
    async with serving(path_as_text, admission=Door(FORBIDDEN)) as running:
        client = await running.connect()
        client.send(post().replace(b"POST", b"HEAD"))
        assert (await client.answer(to_head=True)).status == 403
        assert await client.rest() == b""


async def test_waiting_client_gets_continue_only_when_allowed() -> None:
    for verdict, first in ((CONTINUE, b"100 Continue"), (FORBIDDEN, b"403")):
        async with serving(path_as_text, admission=Door(verdict)) as running:
            client = await running.connect()
            client.send(post(more="Expect: 100-continue\r\n"))
            assert first in await client.reader.readline()


async def test_body_is_not_read_while_it_is_found_out_who_sends_it() -> None:
    door = Door(CONTINUE)
    async with serving(path_as_text, admission=door) as running:
        client = await running.connect()
        client.send(post("/later", MIB) + bytes(MIB))
        await door.knocked.wait()
        await running.settle()
        assert running.server.state.bodies.used <= MAX_FEED_BYTES
        # However long that takes.
        await running.pass_time(100)
        door.opened.set()
        assert (await client.answer()).body == b"/later"
        assert len(door.asked) == 1
        assert (await client.ask(GET)).status == 200


async def test_body_behind_a_request_that_is_being_answered_waits_for_its_turn() -> None:
    gate, door = Gate(), Door(FORBIDDEN)
    async with serving(gate, admission=door) as running:
        client = await running.connect()
        client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
        await gate.entered.wait()
        client.send(post())
        for _ in range(10):
            client.send(bytes(MUCH // 10))
            await running.settle()
        assert running.server.state.bodies.used <= 2 * MAX_FEED_BYTES
        assert door.asked == []
        gate.opened.set()
        assert [(await client.answer()).status for _ in range(2)] == [200, 403]


async def test_small_body_that_comes_with_its_head_is_a_matter_of_the_handler() -> None:
    door = Door(FORBIDDEN)
    async with serving(path_as_text, admission=door) as running:
        client = await running.connect()
        assert (await client.ask(post(size=5) + b"hello")).status == 200
    assert door.asked == []


@for_each("leaves", ["client", "server"])
async def test_client_that_leaves_during_the_check_leaves_nothing_behind(leaves: str) -> None:
    door = Door(CONTINUE)
    async with serving(path_as_text, admission=door) as running:
        state = running.server.state
        client = await running.connect()
        client.send(post("/later") + b"begun")
        await door.knocked.wait()
        if leaves == "client":
            client.vanish()
            await running.settle()
            door.opened.set()
            await running.settle()
        else:
            stop = asyncio.ensure_future(running.server.stop())
            assert await client.is_dropped()
            door.opened.set()
            await stop
        assert (state.bodies.used, state.answers[403]) == (0, 0)


async def test_failed_admission_check_admits_no_body(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(request: Request) -> Reply:
        raise RuntimeError("secret detail")

    async def fails_later(request: Request) -> Reply:
        raise RuntimeError("secret detail")

    async def nothing() -> object:
        yield b""

    def streams(request: Request) -> AnyReply:
        return StreamReply(100, "", nothing())  # type: ignore[arg-type]

    for check in (fails, fails_later, streams):
        async with serving(path_as_text, admission=check) as running:
            answer = await (await running.connect()).ask(post())
            assert answer.status == 500
            assert b"secret" not in answer.body
    assert caplog.text.count("RuntimeError: secret detail") == 2


async def upload_without_end(client: Client, size: int) -> None:
    client.send(post(size=16 * MIB) + bytes(size))


async def test_one_address_cannot_take_all_room_for_bodies() -> None:
    limits = HttpLimits(body_limit=lambda *_: 16 * MIB, bodies_bytes=4 * MIB, read_bytes=MIB // 4)
    async with serving(path_as_text, limits) as running:
        for _ in range(4):
            await upload_without_end(await running.connect(), MIB)
        await running.settle()
        used = running.server.state.bodies.used
        assert MIB < used <= 2 * MIB
        other = await running.connect(source="127.0.0.2")
        assert (await other.ask(post(size=MIB) + bytes(MIB))).status == 200
        assert running.server.state.bodies.used == used


async def test_small_bodies_have_room_whatever_is_uploaded() -> None:
    limits = HttpLimits(
        body_limit=lambda _method, path, _query: 1000 if path == "/signin" else 16 * MIB,
        bodies_bytes=MIB,
    )
    async with serving(path_as_text, limits) as running:
        uploading = await running.connect()
        await upload_without_end(uploading, 700_000)
        assert (await uploading.answer()).status == 503
        for _ in range(4):
            await upload_without_end(await running.connect(), 450_000)
        await running.settle()
        client = await running.connect()
        assert (await client.ask(post("/signin", 1000) + bytes(1000))).status == 200
