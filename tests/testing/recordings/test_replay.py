"""A recording that is sent again shows every difference that there is, and no other."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import httpx
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from tinytoolslib.models import get_version

from leverframe.core.profile import Profile
from leverframe.interface.descriptions.listing import example_request
from leverframe.interface.exchange_comparison import VARYING, ComparisonRules, Tolerance
from leverframe.interface.table.lookup import TABLE
from leverframe.server.http.messages import Reply, Request
from leverframe.testing.recordings.replay import (
    MAX_SILENT,
    ReplayedExchange,
    Replayer,
    ReplayFailed,
)
from leverframe.testing.recordings.unit_client import unit_client
from tests.effort import examples
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

NEWEST, OLDER = Profile(), Profile("3.0", "1.58a")

#: What can be sent to a twin without being sent away, and holds no secret.
COMMANDS = sorted(
    {
        f"{row.form.path}?{example_request(row, NEWEST).partition('?')[2]}"
        for row in TABLE
        if row.is_offered(NEWEST) and row.form.method == "GET" and row.form.items and not row.secret
        if "upgrade" not in row.line
    }
)
READS = (
    *("/json/status.json", "/json/all.json", "/xml/ix.xml", "/st0.xml", "/outs.cgi"),
    *("/api/settings", "/api/state", "/api/rules", "/api/log", "/api/sim", "/nowhere"),
)
BENCH = ("/sim.cgi?DS1=21.5&INPD2=0", "/sim.cgi?advance=60", "/sim.cgi?DS1=none", "/sim.cgi?x=1")


async def record_all(url: str, targets: list[str]) -> None:
    async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
        for target in targets:
            await client.get(url + target)


@given(st.lists(st.sampled_from([*COMMANDS, *READS, *BENCH]), min_size=1, max_size=12))
@examples(30)
def test_twin_in_the_same_state_answers_as_recorded(targets: list[str]) -> None:
    async def differences() -> list[str]:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "session.jsonl"
            async with twin_at_port() as unit, recorder(unit.url, path) as url:
                await record_all(url, targets)
            async with twin_at_port() as other:
                outcomes = await replay_against(path, other.url)
        assert [one.not_sent for one in outcomes] == [""] * len(targets)
        return list_differences(outcomes)

    assert asyncio.run(differences()) == []


async def test_every_difference_is_reported_by_its_key(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with twin_at_port() as unit, recorder(unit.url, path) as url:
        await unit.twin.ok("/sim.cgi?DS1=21.5")
        await record_all(url, ["/outs.cgi?out0=1", "/json/all.json", "/xml/ix.xml"])
    async with twin_at_port() as other:
        await other.twin.ok("/sim.cgi?DS1=22.0")
        await other.twin.ok("/outs.cgi?out3=1")
        assert list_differences(await replay_against(path, other.url)) == [
            "GET /outs.cgi?out0=1: out: 100000 -> 100100",
            "GET /json/all.json: ds1: 215 -> 220",
            "GET /json/all.json: out3: 0 -> 1",
            "GET /xml/ix.xml: out: 100000 -> 100100",
            "GET /xml/ix.xml: out3: 0 -> 1",
            "GET /xml/ix.xml: ds1: 215 -> 220",
        ]
        near = ComparisonRules(Tolerance.of("5"), VARYING | {"out", "out3"})
        assert list_differences(await replay_against(path, other.url, near)) == []


async def test_another_version_is_distinguished(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with twin_at_port(NEWEST) as unit, recorder(unit.url, path) as url:
        await record_all(url, ["/json/all.json", "/stm.cgi?sname=Cellar"])
    async with twin_at_port(OLDER) as other:
        lines = list_differences(await replay_against(path, other.url))
    assert "GET /json/all.json: hw: 3.9 -> 3.0" in lines
    assert "GET /json/all.json: sw: 1.75 -> 1.58a" in lines


def by_requests(url: str) -> None:
    session = requests.Session()
    session.get(f"{url}/outs.cgi", params={"out1": "1"}, timeout=PATIENCE_S).raise_for_status()
    session.post(f"{url}/outs.cgi", data={"out2": "1"}, timeout=PATIENCE_S).raise_for_status()
    assert session.get(f"{url}/json/status.json", timeout=PATIENCE_S).json()["out1"] == "1"


def by_httpx(url: str) -> None:
    with httpx.Client(timeout=PATIENCE_S) as client:
        client.get(f"{url}/outs.cgi", params={"out1": "1"}).raise_for_status()
        client.post(f"{url}/outs.cgi", data={"out2": "1"}).raise_for_status()
        assert client.get(f"{url}/json/status.json").json()["out2"] == "1"


def by_aiohttp(url: str) -> None:
    async def ask() -> None:
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{url}/outs.cgi?out1=1") as reply:
                assert reply.status == 200
            async with session.get(f"{url}/json/status.json") as reply:
                assert (await reply.json())["out1"] == "1"

    asyncio.run(ask())


def by_tinytoolslib(url: str) -> None:
    found = get_version(HOST, port=int(url.rpartition(":")[2]), with_device=True)
    assert found is not None
    device = found["device_model"]
    device.set_out([0, 1], [1, 1])
    device.set_pwm_duty(2, 73)
    assert device.get_all()["out1"] == 1


@pytest.mark.parametrize("client", [by_requests, by_httpx, by_aiohttp, by_tinytoolslib])
@pytest.mark.parametrize("profile", [NEWEST, OLDER], ids=str)
async def test_clients_of_others_are_recorded_and_replayed(
    client: object, profile: Profile, tmp_path: Path
) -> None:
    path = tmp_path / "s"
    assert callable(client)
    async with twin_at_port(profile) as unit, recorder(unit.url, path) as url:
        await asyncio.to_thread(client, url)
        switched = await unit.twin.outputs()
    assert switched != "000000"
    async with twin_at_port(profile) as other:
        assert list_differences(await replay_against(path, other.url)) == []
        assert await other.twin.outputs() == switched


async def test_requests_whose_secrets_were_masked_are_not_sent(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with twin_at_port() as unit, recorder(unit.url, path) as url:
        await record_all(url, ["/stm.cgi?em4=geheim12", "/outs.cgi?out0=1"])
        assert (await unit.twin.settings())["email"]["password"] == "***"
    async with twin_at_port() as other:
        secret, plain = await replay_against(path, other.url)
        assert (await other.twin.settings())["email"]["password"] is None
    assert "secret or file was not recorded" in secret.not_sent
    assert not plain.not_sent


async def test_stream_is_not_sent(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with (
        twin_at_port() as unit,
        recorder(unit.url, path) as url,
        httpx.AsyncClient(timeout=PATIENCE_S) as client,
        client.stream("GET", f"{url}/api/stream"),
    ):
        pass
    async with twin_at_port() as other:
        (one,) = await replay_against(path, other.url)
    assert "endless stream" in one.not_sent


async def test_requests_are_sent_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    seen: list[str] = []
    release = asyncio.Event()

    async def slow() -> Reply:
        await release.wait()
        return Reply(200, "text/plain", b"")

    def unit(request: Request) -> object:
        seen.append(request.path)
        return slow() if request.path == "/first" else Reply(200, "text/plain", b"")

    path = tmp_path / "s"
    async with (
        serve(unit) as place,  # type: ignore[arg-type]
        recorder(place, path) as url,
        httpx.AsyncClient(timeout=PATIENCE_S) as client,
    ):
        first = asyncio.create_task(client.get(f"{url}/first"))
        while not seen:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        await client.get(f"{url}/second")
        release.set()
        await first
        assert [one.path for one in read_exchanges(path)] == ["/second", "/first"]
        seen.clear()
        await replay_against(path, place)
        assert seen == ["/first", "/second"]


async def test_virtual_time_moves_by_the_recorded_pauses(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with twin_at_port() as unit, recorder(unit.url, path) as url:
        await record_all(url, ["/outs.cgi?out0=1", "/outs.cgi?out0=0"])
    text = path.read_text().splitlines(keepends=True)
    moved = text[2].replace(f'"at":"{read_exchanges(path)[1].at:%Y-%m-%d}', '"at":"2099-01-01')
    path.write_text("".join([*text[:2], moved]))
    assert read_exchanges(path)[1].at.year == 2099
    async with twin_at_port() as other, unit_client(other.url, None) as client:
        began = (await other.twin.state())["time"]
        replayer = Replayer(client, pace="virtual")
        outcomes = [one async for one in replayer.replay(read_exchanges(path))]
        assert (await other.twin.state())["time"] - began > 365 * 86_400
    assert list_differences(outcomes) == []


async def test_unit_whose_time_cannot_be_moved_ends_the_replay(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with twin_at_port() as unit, recorder(unit.url, path) as url:
        await record_all(url, ["/outs.cgi", "/outs.cgi"])

    def no_bench(request: Request) -> Reply:
        return Reply(404 if request.path == "/sim.cgi" else 200, "text/plain", b"")

    async with serve(no_bench) as place, unit_client(place, None) as client:
        with pytest.raises(ReplayFailed, match="cannot advance its time"):
            await collect(Replayer(client, pace="virtual"), path)


async def test_unit_that_is_off_cannot_move_its_time(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with twin_at_port() as unit, recorder(unit.url, path) as url:
        await record_all(url, ["/outs.cgi", "/outs.cgi"])
    asked = 0

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.readuntil(b"\r\n\r\n")
        if asked == 1:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<out>1</o")
        writer.close()

    server = await asyncio.start_server(speak, HOST, 0)
    async with server:
        place = f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
        async with unit_client(place, None) as client:
            with pytest.raises(ReplayFailed, match="did not answer like an HTTP server"):
                await collect(Replayer(client, pace="virtual"), path)


async def test_target_of_a_unit_is_compared_without_its_secrets(tmp_path: Path) -> None:
    places = iter(["/a?token=first", "/a?token=second", "/b"])

    def unit(_request: Request) -> Reply:
        return Reply(302, "", b"", (("Location", next(places)),))

    path = tmp_path / "s"
    async with serve(unit) as place, recorder(place, path) as url:
        await record_all(url, ["/"])
        assert list_differences(await replay_against(path, place)) == []
        assert list_differences(await replay_against(path, place)) == [
            "GET /: location: /a?token=*** -> /b"
        ]


async def test_answer_that_breaks_off_is_a_difference(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with twin_at_port() as unit, recorder(unit.url, path) as url:
        await record_all(url, ["/outs.cgi", "/outs.cgi"])

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<out>")
        writer.close()

    server = await asyncio.start_server(speak, HOST, 0)
    async with server:
        place = f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(ReplayFailed, match="request 1 of 2"):
            await replay_against(path, place)


async def collect(replayer: Replayer, path: Path) -> list[ReplayedExchange]:
    return [one async for one in replayer.replay(read_exchanges(path))]


async def test_pauses_are_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with twin_at_port() as unit, recorder(unit.url, path) as url:
        await record_all(url, ["/outs.cgi"])
        await asyncio.sleep(0.3)
        await record_all(url, ["/outs.cgi"])
    async with twin_at_port() as other, unit_client(other.url, None) as client:
        began = asyncio.get_running_loop().time()
        assert list_differences(await collect(Replayer(client, pace="recorded"), path)) == []
        assert asyncio.get_running_loop().time() - began > 0.3


async def test_unit_that_is_off_ends_the_replay_immediately(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with twin_at_port() as unit, recorder(unit.url, path) as url:
        await record_all(url, ["/outs.cgi"] * 3)
    place = f"http://{HOST}:{free_port()}"
    with pytest.raises(ReplayFailed, match=r"refuses connections.* request 1 of 3"):
        await replay_against(path, place)


async def test_unit_that_falls_silent_is_a_difference_and_then_the_end(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with twin_at_port() as unit, recorder(unit.url, path) as url:
        await record_all(url, ["/outs.cgi"] * 6)
    asked = 0

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.readuntil(b"\r\n\r\n")
        if asked < 3:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(speak, HOST, 0)
    async with server:
        place = f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(ReplayFailed, match="request 5 of 6"):
            await replay_against(path, place)
    assert asked == 2 + MAX_SILENT
