"""The documented HAProxy before two nodes as processes, kept up to date by `fleet map --every`."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.devices.waiting import until
from tests.docs.test_haproxy import DOMAIN, RunningProxy, haproxy_before
from tests.fleet.cluster.node_processes import add_controllers, running, share_key
from tests.postgres_server import server_of_process

pytestmark = [pytest.mark.needs_program("haproxy"), pytest.mark.thorough]

COUNT = 2


@pytest.fixture
def ports(tmp_path: Path) -> Iterator[dict[str, int]]:
    """Two nodes with a controller each."""
    database = server_of_process().new_fleet()
    with ExitStack() as stack:
        _, first = stack.enter_context(running("a", database, tmp_path, domain=DOMAIN))
        share_key(tmp_path, "a", "b")
        _, second = stack.enter_context(running("b", database, tmp_path, domain=DOMAIN))
        add_controllers(first, COUNT)
        yield {"a": first, "b": second}


@contextmanager
def following_map(proxy: RunningProxy, node: int) -> Iterator[None]:
    """Update the map of HAProxy as the guide does, until the end."""
    command = [sys.executable, "-m", "leverframe", "fleet", "map", "--domain", DOMAIN]
    command += ["--haproxy", proxy.socket, "--file", proxy.map, "--every", "100ms"]
    with subprocess.Popen([*command, "--node", f"http://127.0.0.1:{node}"]) as process:
        try:
            yield
        finally:
            process.terminate()


def nodes_by_map(proxy: RunningProxy) -> dict[str, str]:
    """Return the node of each controller from the map in HAProxy."""
    with socket.socket(socket.AF_UNIX) as asking, asking.makefile("rw") as lines:
        asking.connect(proxy.socket)
        lines.write(f"show map {proxy.map}\n")
        lines.flush()
        found = [line.split() for line in lines if line.strip()]
    return {host.removesuffix(f".{DOMAIN}"): node for _, host, node in found}


async def test_fleet_map_keeps_a_running_haproxy_up_to_date(ports: dict[str, int]) -> None:
    async with haproxy_before(ports, {}) as proxy:
        with following_map(proxy, ports["a"]):
            await until(lambda: sorted(nodes_by_map(proxy).values()) == ["a", "b"])
            (name,) = (one for one, node in nodes_by_map(proxy).items() if node == "b")
            switched = await proxy.ask(name, "/outs.cgi?pulse0=600")
            assert switched.status == 200, switched.body
            moved = await asyncio.to_thread(
                httpx.post, f"http://127.0.0.1:{ports['a']}/api/fleet/move?name={name}&node=a"
            )
            assert moved.status_code == 200, moved.text
            await until(lambda: nodes_by_map(proxy) == {"c-1": "a", "c-2": "a"})
            assert "<out>100000</out>" in (await proxy.ask(name, "/outs.cgi")).body
