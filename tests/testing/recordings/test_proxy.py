"""The proxy passes on what client and unit say, bears what either does, and writes it down."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from leverframe.interface.exchange import MAX_TEXT_BYTES
from leverframe.server.http.messages import Reply, Request, StreamReply
from leverframe.testing.recordings import proxy
from leverframe.testing.recordings import unit_client as unit_client_module
from leverframe.testing.recordings.unit_client import BadAddress, unit_at
from tests.cases import for_each
from tests.devices.waiting import until
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.testing.recordings.recorded_twin import (
    HOST,
    list_differences,
    read_exchanges,
    recorder,
    replay_against,
    serve,
    twin_at_port,
)

TEXT = "text/plain"


async def get(url: str, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
        return await client.get(url, headers=named)


async def test_client_gets_what_it_would_get_from_the_unit(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    async with twin_at_port() as unit, recorder(unit.url, path) as url:
        assert (await get(f"{url}/outs.cgi?out0=1")).status_code == 200
        through, direct = await get(f"{url}/json/all.json"), await get(f"{unit.url}/json/all.json")
        assert through.content == direct.content
        assert through.headers["content-type"] == direct.headers["content-type"]
        assert (await get(f"{url}/nowhere")).status_code == 404
    switch, read, lost = read_exchanges(path)
    assert (switch.method, switch.target, switch.answer.status) == ("GET", "/outs.cgi?out0=1", 200)
    assert read.answer.body.content() == direct.content
    assert lost.answer.status == 404
    assert path.stat().st_mode & 0o077 == 0


async def test_request_reaches_the_unit_as_it_was_written(tmp_path: Path) -> None:
    seen: list[Request] = []

    def unit(request: Request) -> Reply:
        seen.append(request)
        return Reply(200, TEXT, b"yes")

    targets = ["/a.cgi?x=1*2|3", '/a.cgi?t="a"&&b=%C4%85', "/a.cgi?", "//a.cgi?x=a+b", "/a%2Fb"]
    async with serve(unit) as place, recorder(place, tmp_path / "s") as url:
        port = int(url.rpartition(":")[2])
        for target in targets:
            reader, writer = await asyncio.open_connection(HOST, port)
            head = f"GET {target} HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode())
            assert (await reader.read()).endswith(b"yes")
            writer.close()
    sent = [x.path if x.query is None else f"{x.path}?{x.query}" for x in seen]
    assert sent == targets
    assert [one.target for one in read_exchanges(tmp_path / "s")] == targets


async def test_body_is_passed_on_with_its_headers(tmp_path: Path) -> None:
    seen: list[Request] = []

    def unit(request: Request) -> Reply:
        seen.append(request)
        return Reply(200, TEXT, b"", (("Set-Cookie", "a=b"), ("Set-Cookie", "c=d"), ("X-Own", "1")))

    async with (
        serve(unit) as place,
        recorder(place, tmp_path / "s") as url,
        httpx.AsyncClient(timeout=PATIENCE_S) as client,
    ):
        headers = {"Authorization": "Basic geheim", "Origin": url, "Referer": f"{url}/page"}
        headers["Cookie"] = "key=geheim"
        reply = await client.post(f"{url}/outs.cgi", content=b"out0=1", headers=headers)
    (request,) = seen
    assert request.body == b"out0=1"
    assert request.headers["host"] == place.removeprefix("http://")
    assert request.headers["origin"] == place
    assert request.headers["referer"] == f"{place}/page"
    assert request.headers["authorization"] == "Basic geheim"
    assert reply.headers.get_list("set-cookie") == ["a=b", "c=d"]
    assert reply.headers["x-own"] == "1"
    (one,) = read_exchanges(tmp_path / "s")
    assert one.body.text == "out0=1"
    assert {one.headers[name] for name in ("authorization", "cookie")} == {"***"}
    assert one.answer.headers["set-cookie"] == "***"
    assert "geheim" not in (tmp_path / "s").read_text()


async def test_headers_of_any_bytes_are_passed_on(tmp_path: Path) -> None:
    seen: list[Request] = []

    def unit(request: Request) -> Reply:
        seen.append(request)
        return Reply(200, TEXT, b"yes", (("X-Name", "Ogr\xf3d"),))

    async with serve(unit) as place, recorder(place, tmp_path / "s") as url:
        port = int(url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection(HOST, port)
        head = f"GET / HTTP/1.1\r\nHost: {HOST}:{port}\r\nUser-Agent: Ogr\xf3d\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode("latin-1"))
        answer = await reader.read()
        writer.close()
        assert seen[0].headers["user-agent"] == "Ogr\xf3d"
        assert b"X-Name: Ogr\xf3d\r\n" in answer
        assert answer.endswith(b"yes")
        assert list_differences(await replay_against(tmp_path / "s", place)) == []
        assert seen[1].headers["user-agent"] == "Ogr\xf3d"


async def test_client_that_reads_slowly_gets_all_of_a_large_answer(tmp_path: Path) -> None:
    large = bytes(range(256)) * 40_000

    def unit(_request: Request) -> Reply:
        return Reply(200, "application/octet-stream", large)

    async with (
        serve(unit) as place,
        recorder(place, tmp_path / "s") as url,
        httpx.AsyncClient(timeout=PATIENCE_S) as client,
        client.stream("GET", f"{url}/") as reply,
    ):
        await asyncio.sleep(0.3)
        assert b"".join([part async for part in reply.aiter_bytes()]) == large


async def test_client_that_does_not_read_on_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "CLIENT_S", 0.1)
    large = b"x" * 50_000_000

    async with (
        serve(lambda _: Reply(200, TEXT, large)) as place,
        recorder(place, tmp_path / "s") as url,
        httpx.AsyncClient(timeout=PATIENCE_S) as client,
        client.stream("GET", f"{url}/") as reply,
    ):
        await until(lambda: len(read_exchanges(tmp_path / "s")) == 1)
        await asyncio.sleep(0.3)
        with pytest.raises(httpx.RemoteProtocolError):
            await reply.aread()
    assert read_exchanges(tmp_path / "s")[0].answer.body.left_out == "cut"


async def test_place_that_the_unit_names_is_named_as_the_client_knows_it(tmp_path: Path) -> None:
    def unit(request: Request) -> Reply:
        where = f"http://{request.headers['host']}/next?token=geheim"
        return Reply(302, "", b"", (("Location", where), ("Strict-Transport-Security", "x")))

    async with serve(unit) as place, recorder(place, tmp_path / "s") as url:
        reply = await get(f"{url}/")
        assert reply.headers["location"] == f"{url}/next?token=geheim"
        assert "strict-transport-security" not in reply.headers
    (one,) = read_exchanges(tmp_path / "s")
    assert one.answer.headers["location"].endswith("/next?token=***")


async def test_head_and_answers_without_a_body_are_passed_on(tmp_path: Path) -> None:
    def unit(request: Request) -> Reply:
        return Reply(204, "", b"") if request.path == "/none" else Reply(200, TEXT, b"body")

    async with (
        serve(unit) as place,
        recorder(place, tmp_path / "s") as url,
        httpx.AsyncClient(timeout=PATIENCE_S) as client,
    ):
        assert (await client.get(f"{url}/none")).status_code == 204
        reply = await client.head(f"{url}/some")
        assert (reply.status_code, reply.content) == (200, b"")
        assert (await client.get(f"{url}/some")).content == b"body"
    assert [one.answer.status for one in read_exchanges(tmp_path / "s")] == [204, 200, 200]


async def test_unit_that_is_off_is_a_clear_502(tmp_path: Path) -> None:
    place = f"http://{HOST}:{free_port()}"
    async with recorder(place, tmp_path / "s") as url:
        reply = await get(f"{url}/json/all.json")
    assert reply.status_code == 502
    assert "refuses connections; check that the server runs on this port." in reply.json()["detail"]
    (one,) = read_exchanges(tmp_path / "s")
    assert (one.answer.status, one.answer.problem) == (0, reply.json()["detail"])


async def test_unit_that_does_not_answer_is_a_clear_504(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def late() -> Reply:
        await release.wait()
        return Reply(200, TEXT, b"")

    async with serve(lambda _: late()) as place:
        async with recorder(place, tmp_path / "s", answer_s=0.2) as url:
            reply = await get(f"{url}/")
        release.set()
    assert reply.status_code == 504
    assert "did not answer in time" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"", 502),
        (b"nonsense\r\n\r\n", 502),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", 502),
        (b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n", 502),
        (b"HTTP/1.0 200 OK\r\n\r\nold", 200),
    ],
)
async def test_client_gets_an_answer_for_any_bytes_of_the_unit(
    tmp_path: Path, answer: bytes, status: int
) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, HOST, 0)
    async with server:
        place = f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
        async with recorder(place, tmp_path / "s") as url:
            assert (await get(f"{url}/")).status_code == status
    assert len(read_exchanges(tmp_path / "s")) == 1


async def test_large_answer_passes_and_is_not_written_down(tmp_path: Path) -> None:
    large = b"x" * (4 * MAX_TEXT_BYTES)

    def unit(_request: Request) -> Reply:
        return Reply(200, TEXT, large)

    async with serve(unit) as place, recorder(place, tmp_path / "s") as url:
        assert (await get(f"{url}/")).content == large
    (one,) = read_exchanges(tmp_path / "s")
    assert (one.answer.body.left_out, one.answer.body.size) == ("large", len(large))
    assert (tmp_path / "s").stat().st_size < 2000


async def test_large_answer_that_breaks_off_is_cut_for_the_client_too(tmp_path: Path) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + b"x" * 100_000)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, HOST, 0)
    async with server:
        place = f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
        async with recorder(place, tmp_path / "s") as url:
            with pytest.raises(httpx.RemoteProtocolError):
                await get(f"{url}/")
    (one,) = read_exchanges(tmp_path / "s")
    assert one.answer.body.left_out == "cut"


async def test_stream_arrives_as_it_comes_and_ends_with_its_client(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with twin_at_port() as unit, recorder(unit.url, path) as url:
        watchers = unit.twin.controller.watchers
        before = len(watchers)
        async with (
            httpx.AsyncClient(timeout=PATIENCE_S) as client,
            client.stream("GET", f"{url}/api/stream") as reply,
        ):
            assert await anext(reply.aiter_lines()) == "event: state"
            assert len(watchers) == before + 1
        await until(lambda: len(read_exchanges(path)) == 1)
        await until(lambda: len(watchers) == before)
    assert read_exchanges(path)[0].answer.body.left_out == "stream"


async def test_answer_whose_client_has_left_lets_the_unit_go(tmp_path: Path) -> None:
    asked, release, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 100_000
                await asyncio.sleep(0)
        finally:
            ended.set()

    async def unit() -> StreamReply:
        asked.set()
        await release.wait()
        return StreamReply(200, TEXT, endless())

    async with serve(lambda _: unit()) as place, recorder(place, tmp_path / "s") as url:
        port = int(url.rpartition(":")[2])
        _, writer = await asyncio.open_connection(HOST, port)
        writer.write(f"GET / HTTP/1.1\r\nHost: {HOST}:{port}\r\n\r\n".encode())
        await asked.wait()
        writer.transport.abort()
        await asyncio.sleep(0.05)
        release.set()
    await asyncio.wait_for(ended.wait(), PATIENCE_S)
    assert read_exchanges(tmp_path / "s")[0].answer.body.left_out == "cut"


async def test_page_with_a_name_of_its_own_does_not_reach_the_unit(tmp_path: Path) -> None:
    async with twin_at_port() as unit, recorder(unit.url, tmp_path / "s") as url:
        for header in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            assert (await get(f"{url}/outs.cgi?out0=1", **header)).status_code == 403
        assert await unit.twin.outputs() == "000000"


async def test_many_parallel_clients_are_all_recorded(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with (
        twin_at_port() as unit,
        recorder(unit.url, path) as url,
        httpx.AsyncClient(timeout=PATIENCE_S) as client,
    ):
        asked = [client.get(f"{url}/outs.cgi?out0={number % 2}") for number in range(40)]
        replies = await asyncio.gather(*asked)
    assert {reply.status_code for reply in replies} == {200}
    assert len(read_exchanges(path)) == 40


async def test_unit_with_tls_is_asked_by_tls(tmp_path: Path) -> None:
    async with recorder("https://127.0.0.1:1", tmp_path / "s") as url:
        assert (await get(f"{url}/")).status_code == 502
    with pytest.raises(BadAddress, match="cannot be used"):
        async with unit_client_module.unit_client("https://a", str(tmp_path / "no.pem")):
            pass


@for_each(
    ("address", "why"),
    [
        ("192.168.1.10", "is not valid"),
        ("ftp://a", "is not valid"),
        ("http://", "must not contain a path"),
        ("http://a:99999", "is not valid"),
        ("http://a/b", "must not contain a path"),
        ("http://a?b", "must not contain a path"),
        ("http://me:geheim@a", "must not contain user or password"),
    ],
)
def test_address_that_is_none_of_a_unit_is_refused(address: str, why: str) -> None:
    with pytest.raises(BadAddress, match=why) as refusal:
        unit_at(address)
    assert "geheim" not in str(refusal.value)
