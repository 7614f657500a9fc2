"""Clients that leave in the middle of an answer, and what the log says of them: nothing."""

import random
import re
import socket
import struct
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds, Compactor
from tests.host import controller_process as processes
from tests.host.controller_process import ControllerProcess, controller_process
from tests.patience import PATIENCE_S

ROUNDS = 40
COMPLAINT = re.compile("Traceback|ERROR|WARNING")
OPEN_BY_WHO_ASKS = b"leverframe_http_connections 1"
#: The program where uvloop is not installed.
WITHOUT_UVLOOP = """
import sys
sys.modules["uvloop"] = None
from leverframe.__main__ import main
sys.exit(main())
"""


@pytest.fixture(params=["uvloop", pytest.param("asyncio", marks=pytest.mark.thorough)])
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "asyncio":
        monkeypatch.setattr(processes, "PROGRAM", [sys.executable, "-c", WITHOUT_UVLOOP])


def record(folder: Path) -> None:
    """A history of several megabytes as CSV, so that a download is never in the network whole."""
    folder.mkdir(parents=True)
    now = time.time()
    with closing(ChunkStore(folder / "history.db", Bounds().max_bytes)) as chunk_store:
        compactor = Compactor(chunk_store, Bounds())
        for label in ("DS1", "INPA1"):
            compactor.add([(now - 3000 + n * 0.1, label, n % 7) for n in range(30_000)])


def leave(process: ControllerProcess, chance: random.Random) -> None:
    """Ask for a stream and leave at some moment, in one of the ways in which clients do."""
    target = chance.choice(["/api/history.csv", "/api/history.csv", "/api/stream"])
    version = chance.choice(["1.1", "1.1", "1.0"])
    with socket.create_connection(("127.0.0.1", process.port)) as client:
        client.settimeout(PATIENCE_S)
        client.sendall(f"GET {target} HTTP/{version}\r\nHost: localhost\r\n\r\n".encode())
        if chance.random() < 0.6:
            client.recv(chance.randrange(1, 60_000))
        if chance.random() < 0.3:
            client.shutdown(socket.SHUT_WR)
        if chance.random() < 0.6:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def wait_until_all_have_left(process: ControllerProcess) -> None:
    """Else a busy machine would make it a test of what a stop does to streams."""
    until = time.monotonic() + PATIENCE_S
    while OPEN_BY_WHO_ASKS not in process.ask("/metrics")[1].splitlines():
        assert time.monotonic() < until


@pytest.mark.usefixtures("loop")
def test_client_that_leaves_a_stream_is_no_fault(tmp_path: Path) -> None:
    record(tmp_path / "data")
    chance = random.Random(20)
    with controller_process(tmp_path) as process:
        for _ in range(ROUNDS):
            leave(process, chance)
        wait_until_all_have_left(process)
    lines = process.log.read_text().splitlines()
    assert [one for one in lines if COMPLAINT.search(one)] == []


@pytest.mark.usefixtures("loop")
def test_bad_request_is_no_fault(tmp_path: Path) -> None:
    with controller_process(tmp_path) as process:
        many = {f"Name{number}": "x" for number in range(200)}
        assert process.ask("/health", **many)[0] == 431
    assert "Traceback" not in process.log.read_text()
