"""UDP discovery: the maker's library finds us, and other clients get no more than an answer."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC
from typing import Any

import pytest
from tinytoolslib.constants import LK_UDP_BOOTLOADER_MSG, LK_UDP_DISCOVERY_MSG
from tinytoolslib.discovery import DiscoveryServerAuto, run_discovery

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.host.assembly import build
from leverframe.host.configuration import Config
from leverframe.host.serve import announce_controller
from leverframe.server.discovery import (
    PORT,
    QUESTION,
    START_BOOTLOADER,
    DiscoveryServer,
    OwnAddress,
    answers_discovery,
    find_own_address,
)
from leverframe.server.mdns import Announcing, MdnsAnnouncer, announce
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.notify.broker import until
from tests.patience import PATIENCE_S
from tests.ports import free_port

NAME, MAC = "leverframe-0a0b0c", "02:11:22:0A:0B:0C"
#: The library asks the address that ends in 255; on loopback that is an address like any other.
ASKED, ASKING = "127.0.0.255", "127.0.0.1"


#: An address of documentation, which no machine has.
OWN_NETWORK = "192.0.2.7"
#: The maker's library waits for the time it gets, and a busy machine may be late.
TRIES = 5
#: All hosts on loopback.
ALL = "127.255.255.255"


class Client:
    """Sends datagrams to a discovery server and hears what it says."""

    def __init__(self, port: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        self._socket.bind((ASKING, 0))
        self._port = port

    async def send(self, data: bytes, to: str = ASKED) -> None:
        await asyncio.get_running_loop().sock_sendto(self._socket, data, (to, self._port))

    async def hear(self, patience_s: float = PATIENCE_S) -> tuple[bytes, str]:
        """Return an answer and the address that it came from."""
        async with asyncio.timeout(patience_s):
            data, source = await asyncio.get_running_loop().sock_recvfrom(self._socket, 1000)
        assert source[1] == self._port
        return data, source[0]

    async def ask(self, data: bytes, patience_s: float = PATIENCE_S) -> bytes:
        await self.send(data)
        return (await self.hear(patience_s))[0]

    async def ask_all(self, to: str, count: int) -> list[tuple[str, str]]:
        """Ask, and return the first lines of that many answers with their addresses, sorted.

        A further answer would be there before the one to a question of its own.
        """
        await self.send(QUESTION, to)
        heard = [await self.hear() for _ in range(count)]
        with pytest.raises(TimeoutError):
            await self.hear(patience_s=0.1)
        return sorted((data.decode().splitlines()[0], source) for data, source in heard)

    def close(self) -> None:
        self._socket.close()


class Bench:
    def __init__(self, twin: LoopTwin) -> None:
        self.twin = twin
        self.port = free_port()
        self.client = Client(self.port)

    async def serve(
        self,
        *,
        name: str = NAME,
        http_port: int = 80,
        bootloader: bool = False,
        only: OwnAddress | None = None,
    ) -> DiscoveryServer:
        server = DiscoveryServer(
            self.twin.controller,
            name=name,
            mac=MAC,
            http_port=http_port,
            bootloader=bootloader,
        )
        server.start(only, self.port, retry_s=0.02)
        return server


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    twin = await LoopTwin.start(Profile("3.5", "1.49d"))
    bench = Bench(twin)
    yield bench
    bench.client.close()
    await twin.controller.stop()


# The library leaves its socket to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_makers_library_finds_the_controller(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It asks from the port that it asks, so it must share it with a controller on its machine.
    monkeypatch.setattr(DiscoveryServerAuto, "allow_reuse_address", True)
    server = await bench.serve()
    found: list[dict[str, Any]] = []
    for _ in range(TRIES):
        found = await asyncio.to_thread(
            run_discovery, time_limit=1, port=bench.port, addresses=[ASKING]
        )
        if found:
            break
    await server.close()
    (device,) = found
    assert device["ip_address"] == ASKED
    assert device["name"] == NAME
    assert device["mac_address"] == MAC
    assert device["software_version"] == "1.49d"
    assert device["hardware_version"] == "3.5"


async def test_answer_has_four_lines(bench: Bench) -> None:
    server = await bench.serve()
    answer = await bench.client.ask(QUESTION)
    assert answer.decode().splitlines() == [NAME, "02-11-22-0A-0B-0C", "1.49d", "3.5"]
    await server.close()


async def test_name_that_was_given_is_the_one_in_the_answer(bench: Bench) -> None:
    server = await bench.serve(http_port=8080)
    await bench.twin.ok("/stm.cgi?sname=Ogr%C3%B3d")
    assert await bench.client.ask_all(ALL, 1) == [("Ogród:8080", ASKING)]
    await bench.twin.ok("/stm.cgi?sname=")
    assert await bench.client.ask_all(ALL, 1) == [(f"{NAME}:8080", ASKING)]
    await server.close()


async def test_given_name_is_announced_by_mdns(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing leaves the machine: `test_mdns.py` shows the rest on loopback.
    monkeypatch.setattr(MdnsAnnouncer, "start", lambda *_: None)
    await bench.twin.ok("/stm.cgi?sname=Attic")
    only_mdns = Announcing(discovery=False, bootloader=False, mdns=True)
    (announcer,) = await announce(
        bench.twin.controller,
        only_mdns,
        name=NAME,
        host_label=NAME,
        mac=MAC,
        host=OWN_NETWORK,
        port=80,
    )
    assert isinstance(announcer, MdnsAnnouncer)
    assert announcer._name == "Attic"
    await bench.twin.ok("/stm.cgi?sname=")
    assert announcer._name == NAME
    await announcer.close()


def test_question_and_bytes_are_those_of_the_makers_library() -> None:
    assert (QUESTION, START_BOOTLOADER) == (LK_UDP_DISCOVERY_MSG, LK_UDP_BOOTLOADER_MSG)
    assert PORT == 30403


@pytest.mark.parametrize("data", [b"", b"Discovery", b"\x00" * 1000, QUESTION[:-1], b"\xff\xfe"])
async def test_anything_else_is_not_answered(bench: Bench, data: bytes) -> None:
    server = await bench.serve()
    await bench.client.send(data)
    # What is heard next is the answer to this one, so the other one had none.
    assert (await bench.client.ask(QUESTION)).startswith(NAME.encode())
    await server.close()


@pytest.mark.parametrize("allowed", [True, False])
async def test_bootloader_starts_by_udp_only_where_that_is_configured(
    bench: Bench, allowed: bool
) -> None:
    server = await bench.serve(bootloader=allowed)
    await bench.client.send(START_BOOTLOADER)
    await bench.client.ask(QUESTION)
    assert (bench.twin.controller.bootloader_until is not None) is allowed
    await server.close()


async def test_bootloader_is_not_started_by_udp_again_and_again(bench: Bench) -> None:
    server = await bench.serve(bootloader=True)
    controller = bench.twin.controller
    waited = []
    for _ in range(13):
        await bench.client.send(START_BOOTLOADER)
        await bench.client.ask(QUESTION)
        waited.append(controller.bootloader_until is not None)
        await controller.advance(60)
        assert controller.bootloader_until is None
    assert waited == [True, *[False] * 9, True, False, False]
    await server.close()


async def test_port_that_is_taken_is_a_trouble_until_it_is_free(bench: Bench) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("0.0.0.0", bench.port))
        server = await bench.serve()
        assert str(bench.port) in bench.twin.controller.troubles["discovery"]
        assert (await bench.twin.json("/health"))["status"] == "degraded"
        await bench.twin.ok("/outs.cgi?out0=1")
    await until(lambda: not bench.twin.controller.troubles)
    assert await bench.client.ask(QUESTION)
    await server.close()


async def test_port_that_stays_taken_is_not_tried_after_the_end(bench: Bench) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("0.0.0.0", bench.port))
        server = await bench.serve()
        await server.close()
        assert server._retry is not None
        assert server._retry.cancelled()


@pytest.mark.parametrize("address", ["127.0.0.77", ASKED, "127.3.4.5"])
async def test_answer_comes_from_the_address_that_was_asked(bench: Bench, address: str) -> None:
    server = await bench.serve()
    assert await bench.client.ask_all(address, 1) == [(NAME, address)]
    await server.close()


@pytest.mark.parametrize(("address", "answers_from"), [(ASKED, ASKED), (ALL, ASKING)])
async def test_controllers_on_one_machine_share_the_port_and_each_answers_once(
    bench: Bench, address: str, answers_from: str
) -> None:
    servers = [
        await bench.serve(name=name, http_port=port)
        for name, port in [("attic", 8081), ("cellar", 80), ("garage", 443)]
    ]
    expected = [("attic:8081", answers_from), ("cellar", answers_from), ("garage", answers_from)]
    assert await bench.client.ask_all(address, 3) == expected
    # Also when the one that heard what was not sent to all has gone.
    await servers.pop().close()
    assert await bench.client.ask_all(address, 2) == expected[:2]
    assert bench.twin.controller.troubles == {}
    for server in servers:
        await server.close()


async def test_controller_at_one_address_answers_from_it_and_for_it_only(bench: Bench) -> None:
    loopback = socket.if_nametoindex("lo")
    one = await bench.serve(name="one", only=OwnAddress("127.0.0.5", loopback))
    every = await bench.serve(name="every")
    elsewhere = await bench.serve(name="elsewhere", only=OwnAddress("10.11.12.13", loopback + 1))
    address = bench.client.ask_all
    assert await address("127.0.0.5", 2) == [("every", "127.0.0.5"), ("one", "127.0.0.5")]
    assert await address("127.0.0.6", 1) == [("every", "127.0.0.6")]
    assert await address(ALL, 2) == [("every", ASKING), ("one", "127.0.0.5")]
    for server in (one, every, elsewhere):
        await server.close()


async def test_neighbour_passes_on_nothing_but_questions(bench: Bench) -> None:
    server = await bench.serve()
    mark = b"leverframe-address"
    for bad in (mark, mark + b"\0" * 20, mark + b"\0" * 100):
        await bench.client.send(bad, ALL)
    assert await bench.client.ask_all(ALL, 1) == [(NAME, ASKING)]
    await server.close()


def test_address_of_a_host_is_found_with_its_interface() -> None:
    assert find_own_address("127.0.0.1") == OwnAddress("127.0.0.1", socket.if_nametoindex("lo"))


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_host_without_an_address_of_the_machine_has_none(host: str) -> None:
    assert find_own_address(host) is None


@pytest.mark.parametrize(
    ("hw", "sw", "answers"),
    [("3.0", "1.58a", False), ("3.5", "1.24", False), ("3.5", "1.26", True), ("3.9", "1.75", True)],
)
def test_discovery_came_with_hw_35_sw_126(hw: str, sw: str, answers: bool) -> None:
    assert answers_discovery(Profile(hw, sw)) is answers


async def test_version_at_the_moment_of_the_question_decides(bench: Bench) -> None:
    server = await bench.serve()
    new, bench.twin.controller.profile = bench.twin.controller.profile, Profile("3.5", "1.24")
    with pytest.raises(TimeoutError):
        await bench.client.ask(QUESTION, patience_s=0.2)
    bench.twin.controller.profile = new
    assert await bench.client.ask(QUESTION)
    await server.close()


@pytest.mark.parametrize("old", [Profile("3.5", "1.24"), Profile("3.0", "1.58a")])
async def test_version_that_does_not_answer_names_no_port_until_firmware_brings_it(
    bench: Bench, old: Profile
) -> None:
    controller = bench.twin.controller
    new, controller.profile = controller.profile, old
    server = await bench.serve()
    assert server.port is None
    with pytest.raises(TimeoutError):
        await bench.client.ask(QUESTION, patience_s=0.2)
    controller.profile = new
    controller.notify_profile()
    assert server.port == bench.port
    assert await bench.client.ask(QUESTION)
    controller.profile = old
    controller.notify_profile()
    assert server.port is None
    await server.close()


@pytest.mark.parametrize(
    ("version", "is_named"),
    [("3.5/1.24", False), ("3.5/1.26", True), ("3.0/1.58a", False), ("3.9/1.75", True)],
)
async def test_discovery_is_among_the_ports_of_versions_that_answer_it(
    version: str, is_named: bool
) -> None:
    built = await build(Profile(*version.split("/")), MemoryStore(), VirtualClock(), UTC)
    wanted = Announcing(discovery=True, bootloader=False, mdns=False)
    started = await announce(
        built.controller, wanted, name=NAME, host_label=NAME, mac=MAC, host="0.0.0.0", port=80
    )
    assert built.controller.open_ports().get("discovery") == (PORT if is_named else None)
    for one in started:
        await one.close()
    await built.stop()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
async def test_nothing_is_announced_on_loopback(host: str) -> None:
    built = await build(Profile(), MemoryStore(), VirtualClock(), UTC)
    config = Config(host=host, discovery=True, mdns=True)
    assert await announce_controller(built, config, 80) == []
    await built.stop()


async def test_disabled_services_are_not_started(bench: Bench) -> None:
    nothing = Announcing(discovery=False, bootloader=False, mdns=False)
    started = await announce(
        bench.twin.controller, nothing, name=NAME, host_label=NAME, mac=MAC, host="0.0.0.0", port=80
    )
    assert started == []


#: Two machines on one cable: 10.11.12.1 asks, the other one has two addresses and runs a controller
#: on each port of all its addresses, and one on the second address only.
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
    ip address add 10.11.12.3/24 brd + dev there
    ip link set there up
    run() {
        "$2" -m leverframe run --host $3 --port $4 --hw 3.9 --sw 1.75 \
            --data "$1/data$4" --no-mdns > "$1/log$4" 2>&1 & echo $! >> "$1/pids"
    }
    run "$1" "$2" 0.0.0.0 80
    run "$1" "$2" 0.0.0.0 8081
    run "$1" "$2" 10.11.12.3 8082
    wait
' sh "$1" "$2" &
trap 'kill $(cat "$1/pids")' EXIT
while [ ! -s "$1/there" ]; do sleep 0.05; done
ip link set there netns "$(cat "$1/there")"
touch "$1/cable"
for port in 80 8081 8082; do
    for i in $(seq 400); do grep -q "answers at" "$1/log$port" 2>/dev/null && break; sleep 0.1; done
done
"$2" -c '
from tinytoolslib.discovery import run_discovery
for _ in range(TRIES):
    found = run_discovery(time_limit=2, addresses=["10.11.12.1"])
    if len(found) >= 3:
        break
for device in found:
    port = device["name"].partition(":")[2] or "80"
    print(device["ip_address"], port, device["hardware_version"], device["software_version"])
' | sort
""".replace("TRIES", str(TRIES))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay a cable between two networks")
@pytest.mark.needs_program("unshare")
@pytest.mark.needs_program("ip")
def test_broadcast_in_the_network_finds_every_running_controller_once(tmp_path: Any) -> None:
    unshare = shutil.which("unshare")
    assert unshare is not None
    laid = subprocess.run([unshare, "--net", "true"], capture_output=True)
    if laid.returncode:
        pytest.skip("networks of their own cannot be made here")
    done = subprocess.run(
        [unshare, "--net", "sh", "-c", TWO_MACHINES, "sh", str(tmp_path), sys.executable],
        capture_output=True,
        text=True,
        timeout=100,
    )
    logs = "".join(log.read_text() for log in tmp_path.glob("log*"))
    assert done.stdout.splitlines() == [
        "10.11.12.2 80 3.9 1.75",
        "10.11.12.2 8081 3.9 1.75",
        "10.11.12.3 8082 3.9 1.75",
    ], done.stderr + logs
    assert "WARNING" not in logs
