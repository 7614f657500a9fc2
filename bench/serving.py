"""Servers under measurement: one core for all of them, the other core for their clients."""

import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

SERVER_CORE, LOAD_CORE = 1, 0
HOST = "127.0.0.1"
PATIENCE_S = 60
#: When a node stops, it writes the first values of thousands of new controllers.
STOP_PATIENCE_S = 300
ADDRESS = re.compile(r"http://[\w.]+:\d+(?=/)")
CONTROLLER = (sys.executable, "-m", "leverframe", "run", "--no-mdns", "--no-discovery")


@contextmanager
def pin(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run a program on the core of the servers until the end of the block."""
    program = subprocess.Popen(
        ["taskset", "-c", str(SERVER_CORE), *command],
        stdout=subprocess.PIPE,
        # Libraries log a long message for every client that disconnects.
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    assert program.stdout is not None
    with program.stdout:
        try:
            yield program
        finally:
            program.terminate()
            program.wait(STOP_PATIENCE_S)


class Served(NamedTuple):
    """A running server."""

    address: str
    pid: int


def ran_ns(pid: int) -> int:
    """Return the nanoseconds that all threads of a process have run."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        total += int((thread / "schedstat").read_text().split()[0])
    return total


@contextmanager
def printing_its_address(command: Sequence[str]) -> Iterator[Served]:
    """Run a server whose first line of output contains its address."""
    with pin(command) as program:
        assert program.stdout is not None
        line = program.stdout.readline()
        found = ADDRESS.search(line)
        if found is None:
            raise SystemExit(f"the server failed to start: {line!r}")
        yield Served(found[0], program.pid)


@contextmanager
def controller(folder: Path, *options: str) -> Iterator[Served]:
    """Run a controller with its data in a folder."""
    with printing_its_address([*CONTROLLER, "--port", "0", "--data", str(folder), *options]) as own:
        yield own


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def wait_for(port: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            socket.create_connection((HOST, port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"nothing listens on port {port}")


def fetch(address: str, path: str, body: bytes | None = None) -> bytes:
    with urllib.request.urlopen(address + path, body) as answer:
        content: bytes = answer.read()
    return content
