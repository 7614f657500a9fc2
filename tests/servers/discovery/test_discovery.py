"""UDP discovery: the maker's library finds us, and nobody else gets more than an answer."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tinytoolslib.constants import LK_UDP_BOOTLOADER_MSG, LK_UDP_DISCOVERY_MSG
from tinytoolslib.discovery import run_discovery

from leverframe.profile import Profile
from leverframe.servers.discovery.announcing import Announcing, announce
from leverframe.servers.discovery.discovery import (
    PORT,
    QUESTION,
    START_BOOTLOADER,
    DiscoveryServer,
    answers_discovery,
)
from tests.twin import Twin

NAME, MAC = "leverframe-0a0b0c", "02:11:22:0A:0B:0C"
#: The library asks the address that ends in 255; on loopback that is an address like any other.
ASKED, ASKING = "127.0.0.255", "127.0.0.1"


class Client:
    """Sends datagrams to a discovery server and hears what it says."""

    def __init__(self, port: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind((ASKING, 0))
        self._to = (ASKED, port)

    async def ask(self, data: bytes, patience_s: float = 5.0) -> bytes:
        loop = asyncio.get_running_loop()
        await loop.sock_sendto(self._socket, data, self._to)
        async with asyncio.timeout(patience_s):
            return await loop.sock_recv(self._socket, 1000)

    def close(self) -> None:
        self._socket.close()


class Bench:
    def __init__(self, twin: Twin) -> None:
        self.twin = twin
        self.port = _free_port()
        self.client = Client(self.port)

    async def serve(self, *, bootloader: bool = False) -> DiscoveryServer:
        server = DiscoveryServer(self.twin.controller, name=NAME, mac=MAC, bootloader=bootloader)
        await server.start(ASKED, self.twin.controller.troubles, self.port)
        return server


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    twin = await Twin.start(Profile("3.5", "1.49d"))
    bench = Bench(twin)
    yield bench
    bench.client.close()
    await twin.controller.stop()


# The library leaves its socket to be closed by whoever collects the garbage.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_the_makers_library_finds_the_controller(bench: Bench) -> None:
    server = await bench.serve()
    found: list[dict[str, Any]] = await asyncio.to_thread(
        run_discovery, time_limit=1, port=bench.port, addresses=[ASKING]
    )
    await server.close()
    (device,) = found
    assert device["ip_address"] == ASKED
    assert device["name"] == NAME
    assert device["mac_address"] == MAC
    assert device["software_version"] == "1.49d"
    assert device["hardware_version"] == "3.5"


async def test_the_answer_has_four_lines(bench: Bench) -> None:
    server = await bench.serve()
    answer = await bench.client.ask(QUESTION)
    assert answer.decode().splitlines() == [NAME, "02-11-22-0A-0B-0C", "1.49d", "3.5"]
    await server.close()


def test_question_and_bytes_are_those_of_the_makers_library() -> None:
    assert (QUESTION, START_BOOTLOADER) == (LK_UDP_DISCOVERY_MSG, LK_UDP_BOOTLOADER_MSG)
    assert PORT == 30403


@pytest.mark.parametrize("data", [b"", b"Discovery", b"\x00" * 1000, QUESTION[:-1], b"\xff\xfe"])
async def test_anything_else_is_not_answered(bench: Bench, data: bytes) -> None:
    server = await bench.serve()
    loop = asyncio.get_running_loop()
    await loop.sock_sendto(bench.client._socket, data, (ASKED, bench.port))
    # What is heard next is the answer to this one, so the other one had none.
    assert (await bench.client.ask(QUESTION)).startswith(NAME.encode())
    await server.close()


@pytest.mark.parametrize("allowed", [True, False])
async def test_the_bootloader_starts_by_udp_only_where_that_is_configured(
    bench: Bench, allowed: bool
) -> None:
    server = await bench.serve(bootloader=allowed)
    loop = asyncio.get_running_loop()
    await loop.sock_sendto(bench.client._socket, START_BOOTLOADER, (ASKED, bench.port))
    await bench.client.ask(QUESTION)
    assert (bench.twin.controller.bootloader_until is not None) is allowed
    await server.close()


async def test_the_bootloader_is_not_started_by_udp_again_and_again(bench: Bench) -> None:
    server = await bench.serve(bootloader=True)
    loop, controller = asyncio.get_running_loop(), bench.twin.controller
    waited = []
    for _ in range(13):
        await loop.sock_sendto(bench.client._socket, START_BOOTLOADER, (ASKED, bench.port))
        await bench.client.ask(QUESTION)
        waited.append(controller.bootloader_until is not None)
        await controller.advance(60)
        assert controller.bootloader_until is None
    assert waited == [True, *[False] * 9, True, False, False]
    await server.close()


async def test_a_port_that_is_taken_is_a_trouble_and_the_rest_runs(bench: Bench) -> None:
    first = await bench.serve()
    second = await bench.serve()
    assert str(bench.port) in bench.twin.controller.troubles["discovery"]
    assert (await bench.twin.json("/health"))["status"] == "degraded"
    await bench.twin.ok("/outs.cgi?out0=1")
    await first.close()
    await second.close()


@pytest.mark.parametrize(
    ("hw", "sw", "answers"),
    [("3.0", "1.58a", False), ("3.5", "1.24", False), ("3.5", "1.26", True), ("3.9", "1.75", True)],
)
def test_discovery_came_with_hw_35_sw_126(hw: str, sw: str, answers: bool) -> None:
    assert answers_discovery(Profile(hw, sw)) is answers


async def test_the_version_at_the_moment_of_the_question_decides(bench: Bench) -> None:
    server = await bench.serve()
    new, bench.twin.controller.profile = bench.twin.controller.profile, Profile("3.5", "1.24")
    with pytest.raises(TimeoutError):
        await bench.client.ask(QUESTION, patience_s=0.2)
    bench.twin.controller.profile = new
    assert await bench.client.ask(QUESTION)
    await server.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
async def test_nothing_is_announced_on_loopback(bench: Bench, host: str) -> None:
    everything = Announcing(discovery=True, bootloader=False, mdns=True)
    started = await announce(
        bench.twin.controller, everything, name=NAME, mac=MAC, host=host, port=80
    )
    assert started == []


async def test_what_is_switched_off_is_not_started(bench: Bench) -> None:
    nothing = Announcing(discovery=False, bootloader=False, mdns=False)
    started = await announce(
        bench.twin.controller, nothing, name=NAME, mac=MAC, host="0.0.0.0", port=80
    )
    assert started == []


#: Two machines on one cable: 10.11.12.1 asks, 10.11.12.2 runs a controller on all its addresses.
TWO_MACHINES = r"""
set -e
ip link set lo up
ip link add here type veth peer name there
ip address add 10.11.12.1/24 brd + dev here
ip link set here up
unshare --net sh -c '
    echo $$ > "$1/there"
    while [ ! -e "$1/cable" ]; do sleep 0.05; done
    ip link set lo up
    ip address add 10.11.12.2/24 brd + dev there
    ip link set there up
    exec "$2" -m leverframe run --host 0.0.0.0 --port 8080 --hw 3.9 --sw 1.75 \
        --data "$1/data" --no-mdns > "$1/log" 2>&1
' sh "$1" "$2" &
trap "kill $!" EXIT
while [ ! -s "$1/there" ]; do sleep 0.05; done
ip link set there netns "$(cat "$1/there")"
touch "$1/cable"
for i in $(seq 100); do grep -q "answers at" "$1/log" 2>/dev/null && break; sleep 0.1; done
"$2" -c '
from tinytoolslib.discovery import run_discovery
for device in run_discovery(time_limit=2, addresses=["10.11.12.1"]):
    print(device["ip_address"], device["hardware_version"], device["software_version"])
'
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay a cable between two networks")
@pytest.mark.needs_program("unshare")
@pytest.mark.needs_program("ip")
def test_a_broadcast_in_the_network_finds_a_running_controller(tmp_path: Any) -> None:
    unshare = shutil.which("unshare")
    assert unshare is not None
    laid = subprocess.run([unshare, "--net", "true"], capture_output=True)
    if laid.returncode:
        pytest.skip("networks of their own cannot be made here")
    done = subprocess.run(
        [unshare, "--net", "sh", "-c", TWO_MACHINES, "sh", str(tmp_path), sys.executable],
        capture_output=True,
        text=True,
        timeout=60,
    )
    log = (tmp_path / "log").read_text()
    assert done.stdout == "10.11.12.2 3.9 1.75\n", done.stderr + log
