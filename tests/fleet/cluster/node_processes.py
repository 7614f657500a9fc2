"""Nodes as processes on one database, and requests to them over HTTP."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

import leverframe
from tests.network_guard import sitecustomize as network_guard
from tests.patience import PATIENCE_S
from tests.ports import free_port

#: The source of the tested program.
SOURCE = Path(leverframe.__file__).parent.parent


def environment(source: Path) -> dict[str, str]:
    """Return the environment in which Python finds the program with this source."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(source), network_guard.FOLDER])}


@contextmanager
def running(
    name: str, database: str, folder: Path, source: Path = SOURCE, domain: str = "localhost"
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a node of the program with this source, with controllers below a domain; yield its
    process and its port."""
    port = free_port()
    config = folder / f"{name}.toml"
    config.write_text(
        f'hosts = ["{domain}"]\n[cluster]\ndatabase = "{database}"\nlive_state_every = 1\n'
    )
    command = [sys.executable, "-m", "leverframe", "fleet", "run", "--config", str(config)]
    command += ["--node", name, "--port", str(port), "--data", str(folder / name), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(source)
    ) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["event"] == "ready"
            yield process, port
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()


def set_name(port: int, name: str, value: int) -> bool:
    """Set the name of a controller through any node; return whether that was acknowledged."""
    try:
        answer = httpx.get(
            f"http://127.0.0.1:{port}/stm.cgi?sname={name}v{value}",
            headers={"Host": f"{name}.localhost"},
            timeout=PATIENCE_S,
        )
    except httpx.HTTPError:
        return False
    return answer.status_code == 200


def name_of(port: int, name: str) -> str | None:
    """Read the name of a controller; None if no node answers for it."""
    try:
        value: str | None = ask_controller(port, name, "/json/all.json").json().get("sname")
    except httpx.HTTPError:
        return None
    return value


def ask_controller(port: int, name: str, path: str) -> httpx.Response:
    host = {"Host": f"{name}.localhost"}
    return httpx.get(f"http://127.0.0.1:{port}{path}", headers=host, timeout=PATIENCE_S)


def counts(port: int) -> list[int]:
    report = httpx.get(f"http://127.0.0.1:{port}/api/fleet/nodes", timeout=PATIENCE_S).json()
    return [node["controllers"] for node in report["nodes"]]


def add_controllers(port: int, count: int) -> None:
    """Add controllers c-1, c-2 and so on."""
    made = httpx.post(
        f"http://127.0.0.1:{port}/api/fleet/add?count={count}&name=c-%7Bn%7D", timeout=PATIENCE_S
    )
    assert made.status_code == 200, made.text


def share_key(folder: Path, first: str, second: str) -> None:
    """Copy the key of a node to another node that has not started."""
    (folder / second).mkdir()
    shutil.copy(folder / first / "fleet.key", folder / second)
