"""A paced client: never two requests in parallel, never too many, never a command twice."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic

import pytest

from leverframe.testing import Twin, faults
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.testing.recordings.unit_client import UnitSilent
from leverframe.units import client as module
from leverframe.units.client import PacedClient, SignInNeeded, UnusableAnswer, open_paced_client
from tests.cases import for_each
from tests.patience import PATIENCE_S

FILE = "/json/status.json"
#: Often enough for a busy machine, which may be late with some answers.
SOON = (0.01,) * 9
#: How long a unit is waited for that will not answer.
SHORT_S = 0.3


def list_paths(twin: Twin) -> list[str]:
    return [request.path for request in twin.requests()]


@asynccontextmanager
async def quick_client(
    twin: Twin, login: UnitLogin | None = None, answer_s: float = PATIENCE_S
) -> AsyncIterator[PacedClient]:
    async with open_paced_client(
        twin.url, login, twin.ca_file, paced=False, answer_s=answer_s, retry_waits_s=SOON
    ) as client:
        yield client


async def test_requests_keep_the_pace_of_a_real_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REQUESTS_PER_S", 50)
    with Twin() as twin:
        async with open_paced_client(twin.url) as client:
            begin = monotonic()
            await asyncio.gather(*(client.read(FILE) for _ in range(6)))
        assert monotonic() - begin >= 5 / 50
        assert list_paths(twin) == [FILE] * 6


@for_each(
    "fault",
    [
        faults.reset,
        faults.cut,
        faults.frozen,
        faults.status,
        lambda: faults.drip(1),
        lambda: faults.garbage("answer"),
    ],
)
async def test_read_is_repeated_until_it_succeeds(fault: Callable[[], faults.Fault]) -> None:
    with Twin() as twin, twin.fault(fault(), times=2):
        async with quick_client(twin, answer_s=SHORT_S) as client:
            answer = await client.read(FILE)
        assert answer.is_ok
        assert answer.content_type == "application/json"


async def test_read_that_never_succeeds_ends_with_what_is_wrong() -> None:
    with Twin() as twin, twin.fault(faults.frozen()):
        async with quick_client(twin, answer_s=SHORT_S) as client:
            with pytest.raises(UnitSilent, match="did not answer in time"):
                await client.read(FILE)


async def test_command_is_never_sent_twice() -> None:
    with Twin() as twin, twin.fault(faults.reset(), path="/outs.cgi"):
        async with quick_client(twin) as client:
            with pytest.raises(UnitSilent):
                await client.command("/outs.cgi?out0=1")
        assert list_paths(twin) == ["/outs.cgi"]


async def test_command_may_have_a_body() -> None:
    with Twin() as twin:
        async with quick_client(twin) as client:
            answer = await client.command("/post.cgi?sched_save", b"&s0=Pump*0*1*60*0*127*1&&")
        assert answer.is_ok
        assert twin.settings["schedule"][0]["name"] == "Pump"


async def test_login_is_shown_to_a_unit_that_asks_for_one() -> None:
    with Twin(accounts={"admin": "right-password"}, tls=True) as twin:
        async with quick_client(twin, UnitLogin("admin", "right-password")) as client:
            assert [(await client.read("/api/settings")).status for _ in range(2)] == [200, 200]
        assert [request.status for request in twin.requests()] == [401, 200, 200]


@pytest.mark.parametrize(
    ("login", "sentence"),
    [
        (None, "requires a login; add --user"),
        (UnitLogin("admin", "wrong-secret"), "rejects the login of admin"),
    ],
)
async def test_missing_or_wrong_login_is_reported_immediately(
    login: UnitLogin | None, sentence: str
) -> None:
    with Twin(accounts={"admin": "right-password"}) as twin:
        async with quick_client(twin, login) as client:
            with pytest.raises(SignInNeeded, match=sentence) as refused:
                await client.read(FILE)
        assert "wrong-secret" not in str(refused.value)
        assert len(twin.requests()) <= 2


async def test_endless_answer_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 100)
    with Twin() as twin:
        async with quick_client(twin) as client:
            with pytest.raises(UnusableAnswer, match="more than 100 bytes"):
                await client.read(FILE)


@asynccontextmanager
async def answering(answer: Callable[[bytes], bytes]) -> AsyncIterator[str]:
    """Serve what a function makes of the head of a request."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(await reader.readuntil(b"\r\n\r\n")))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_unit_that_redirects_its_clients_is_reported() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: https://unit.example/\r\n\r\n"
    async with answering(lambda _: moved) as url, open_paced_client(url, paced=False) as client:
        with pytest.raises(UnusableAnswer, match="redirects its clients to https://unit.example/"):
            await client.read(FILE)


async def test_unit_that_refuses_without_asking_for_a_login_is_shown_it() -> None:
    def answer(head: bytes) -> bytes:
        is_known = b"authorization: basic" in head.lower()
        return b"HTTP/1.1 200 OK\r\n\r\n" if is_known else b"HTTP/1.1 403 Forbidden\r\n\r\n"

    async with answering(answer) as url:
        async with open_paced_client(url, UnitLogin("admin", "admin"), paced=False) as client:
            assert (await client.read(FILE)).is_ok
        async with open_paced_client(url, paced=False) as client:
            assert (await client.read(FILE)).status == 403
