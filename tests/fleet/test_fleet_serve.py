"""`leverframe fleet run`: what it prints, serves and stores, from its start to its stop."""

import asyncio
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from random import Random

import msgspec
import pytest

from leverframe.fleet.fleet_file import read_fleet
from leverframe.fleet.serve import _serve
from leverframe.host.configuration.reader import Sources
from leverframe.host.ports import CannotListen
from tests.fleet.http_client import ask_once
from tests.patience import PATIENCE_S
from tests.ports import free_port

HOME = "127.0.0.1"


def fleet_file(folder: Path, port: int, more: str = "") -> Sources:
    text = f'port = {port}\ndata = "{folder / "data"}"\n{more}'
    (folder / "fleet.toml").write_text(text, encoding="utf-8")
    return Sources(folder / "fleet.toml", {}, {})


async def answering(port: int) -> None:
    """Wait until the node has started."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                answer = await ask_once(HOME, port, "/health", HOME)
                if '"controllers":1' in answer.body:
                    return
            except ConnectionRefusedError:
                pass
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("discovery = false\n", "A node with 1 controller answers at http://localhost:"),
        ("json = true\nvirtual_time = true\n", '"event":"ready"'),
        ("tls = true\nhosts = ['fleet.example']\n", "answers at https://fleet.example:"),
    ],
)
async def test_node_prints_its_address_and_stops_on_a_signal(
    keys: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    tables = '[[controllers]]\nname = "cellar"\n[[controllers]]\nname = "WRONG"\n'
    serving = asyncio.create_task(_serve(read_fleet(fleet_file(tmp_path, port, keys + tables))))
    if "tls" in keys:
        async with asyncio.timeout(PATIENCE_S):
            while not (tmp_path / "data" / "tls-certificate.pem").exists():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        # It has begun to listen to signals by then, or does so in the same round of the loop.
        await asyncio.sleep(0)
    else:
        await answering(port)
    output = ""
    async with asyncio.timeout(PATIENCE_S):
        while text not in output:
            await asyncio.sleep(0.01)
            output += capsys.readouterr().out
    if "tls" not in keys:
        # The page shows the failed controllers, too.
        assert "WRONG" in (await ask_once(HOME, port, "/api/fleet", HOME)).body
        figures = (await ask_once(HOME, port, "/metrics", HOME)).body
        assert "leverframe_node_controllers_not_started 1\n" in figures
    signal.raise_signal(signal.SIGTERM)
    await serving
    assert (tmp_path / "data" / "fleet.db").exists()


async def test_taken_port_is_reported_before_anything_is_created(tmp_path: Path) -> None:
    listener = await asyncio.start_server(lambda *_: None, HOME, 0)
    port = listener.sockets[0].getsockname()[1]
    with pytest.raises(CannotListen, match=f"Port {port} is in use by another program"):
        await _serve(read_fleet(fleet_file(tmp_path, port)))
    listener.close()
    assert not (tmp_path / "data" / "fleet.db").exists()


@pytest.mark.thorough
def test_node_killed_under_load_loses_no_acknowledged_change(tmp_path: Path) -> None:
    """Count a number up in each of many controllers; kill the node; check every one of them."""
    count, rounds, chance = 20, 3, Random(7)
    port = free_port()
    fleet_file(tmp_path, port, f'[[controllers]]\nname = "gh-{{n}}"\ncount = {count}\n')
    acknowledged = dict.fromkeys((f"gh-{n + 1}" for n in range(count)), 0)
    for _ in range(rounds):
        node = _start(tmp_path)
        connection = HTTPConnection(HOME, port, timeout=PATIENCE_S)
        try:
            for name, number in acknowledged.items():
                stored = _ask(connection, name, "/api/settings")["outputs"][0]["name"]
                # The change that was under way may have been stored, too.
                assert not number or int(stored[1:]) in (number, number + 1)
            for _ in range(chance.randrange(100, 200)):
                name = chance.choice(list(acknowledged))
                _ask(connection, name, f"/stm.cgi?oname=0N{acknowledged[name] + 1}")
                acknowledged[name] += 1
            name = chance.choice(list(acknowledged))
            target = f"/stm.cgi?oname=0N{acknowledged[name] + 1}"
            connection.request("GET", target, headers={"Host": f"{name}.localhost"})
        finally:
            node.kill()
            node.communicate()
            connection.close()
    assert sum(acknowledged.values()) >= rounds * 100


def _start(folder: Path) -> subprocess.Popen[str]:
    node = subprocess.Popen(
        [*(sys.executable, "-m", "leverframe", "fleet", "run", "--json"), "--config", "fleet.toml"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert node.stdout is not None
    assert '"event":"ready"' in node.stdout.readline()
    return node


def _ask(connection: HTTPConnection, name: str, target: str) -> dict[str, list[dict[str, str]]]:
    connection.request("GET", target, headers={"Host": f"{name}.localhost"})
    reply = connection.getresponse()
    body = reply.read()
    assert reply.status == 200, body
    if not body.startswith(b"{"):
        return {}
    answer: dict[str, list[dict[str, str]]] = msgspec.json.decode(body)
    return answer
