"""`leverframe fleet map`: what it prints, and what it sends to a running HAProxy."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from leverframe.fleet import node_commands
from leverframe.fleet.client import CommandLineClient
from leverframe.fleet.cluster.directory import Directory
from leverframe.host.command_line.entry import carry_out
from tests.fleet.loop_node import loop_node
from tests.patience import PATIENCE_S


class Stopped(Exception):
    pass


@contextmanager
def haproxy_at(path: Path, *answers: str) -> Iterator[list[str]]:
    """Stand in for the socket of HAProxy: note commands, and give these answers to them."""
    heard: list[str] = []
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            for answer in answers:
                with listening.accept()[0] as client:
                    heard.append(b"".join(iter(lambda: client.recv(4096), b"")).decode())
                    client.sendall(answer.encode())

        thread = threading.Thread(target=serve)
        thread.start()
        yield heard
        thread.join(PATIENCE_S)


async def test_map_follows_the_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loop_node() as node:
        await node.node.door.listen("127.0.0.1", 0)
        url = f"http://127.0.0.1:{node.node.door.port}"
        words = ["fleet", "map", "--node", url, "--domain", "fleet.example"]
        assert await asyncio.to_thread(carry_out, words) != 0
        assert "This node shares no database with other nodes" in capsys.readouterr().err

        directory = node.node.door.directory = Directory("a")
        directory.replace({"gh-2": "b", "gh-1": "a", "gh-3": None}, {})
        assert await asyncio.to_thread(carry_out, words) == 0
        assert capsys.readouterr().out == "gh-1.fleet.example a\ngh-2.fleet.example b\n"

        path = tmp_path / "s"
        words += ["--haproxy", str(path)]
        assert await asyncio.to_thread(carry_out, words) != 0
        assert f"{path} does not answer: No such file or directory." in capsys.readouterr().err

        # With --every only changes are sent, and a lasting problem is reported once.
        looks = 0

        def sleep(seconds: float) -> None:
            nonlocal looks
            assert seconds == 2.0
            looks += 1
            if looks == 2:
                directory.replace({"gh-1": "b"}, {})
            elif looks == 3:
                node.node.door.directory = None
            elif looks == 5:
                raise Stopped

        monkeypatch.setattr(node_commands.time, "sleep", sleep)
        once = ("New version created: 7\n\n", "\n", "\n")
        with (
            haproxy_at(path, *once, *once) as heard,
            closing(CommandLineClient(url, None, None)) as client,
            pytest.raises(Stopped),
        ):
            await asyncio.to_thread(
                node_commands.map_controllers, client, "fleet.example", str(path), "/m", 2.0
            )
        assert heard == [
            "prepare map /m\n",
            "add map @7 /m <<\ngh-1.fleet.example a\ngh-2.fleet.example b\n\n",
            "commit map @7 /m\n",
            "prepare map /m\n",
            "add map @7 /m <<\ngh-1.fleet.example b\n\n",
            "commit map @7 /m\n",
        ]
        output = capsys.readouterr()
        assert output.out.splitlines() == [
            f"{path} routes 2 controllers by /m",
            f"{path} routes 1 controllers by /m",
        ]
        assert output.err.count("This node shares no database with other nodes") == 1
