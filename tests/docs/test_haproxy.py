"""The documented HAProxy, running before two nodes between which controllers move."""

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trustme

from leverframe.fleet.node_commands import HaproxyRefused, map_lines, put_map
from leverframe.server.http.limits import NamedProxies
from leverframe.server.http.messages import Reply
from tests.conftest import PROGRAM_FOLDERS
from tests.docs.blocks import DOCS, blocks
from tests.fleet.cluster.joined_doors import HOME, JoinedNodes, join_nodes
from tests.fleet.http_client import Answered, Streams, ask
from tests.patience import PATIENCE_S
from tests.ports import free_port

pytestmark = pytest.mark.needs_program("haproxy")

DOMAIN = "fleet.example"
#: Where the client asks from; HAProxy asks from 127.0.0.1.
CLIENT = "127.0.0.9"


class RunningProxy:
    def __init__(self, folder: Path, port: int, trusting: ssl.SSLContext) -> None:
        self.folder = folder
        self.socket = str(folder / "admin.sock")
        self.map = str(folder / "fleet.map")
        self._port = port
        self._trusting = trusting

    async def connect(self) -> Streams:
        return await asyncio.open_connection(
            *(HOME, self._port),
            ssl=self._trusting,
            server_hostname=f"gh-1.{DOMAIN}",
            local_addr=(CLIENT, 0),
        )

    async def ask(self, name: str, path: str = "/") -> Answered:
        streams = await self.connect()
        try:
            return await ask(streams, path, f"{name}.{DOMAIN}")
        finally:
            streams[1].close()

    async def update(self, nodes: JoinedNodes) -> None:
        lines = map_lines(nodes.owners, DOMAIN)
        await asyncio.to_thread(put_map, self.socket, self.map, lines)


def proxy_files(
    folder: Path, nodes: Mapping[str, int], owners: Mapping[str, str], port: int
) -> ssl.SSLContext:
    """Write the files that a reader has in /etc, with other paths and ports."""
    (block,) = [x for x in blocks(DOCS / "how-to/several-machines.md") if x.language == "haproxy"]
    text = block.text.replace("bind :443", f"bind {HOME}:{port}")
    for found, here in (
        *(("/etc/haproxy", str(folder)), ("/run/haproxy", str(folder))),
        *(
            ("10.0.0.1:8080", f"{HOME}:{nodes['a']}"),
            ("10.0.0.2:8080", f"{HOME}:{nodes['b']}"),
        ),
    ):
        assert found in text
        text = text.replace(found, here)
    (folder / "haproxy.cfg").write_text(text)
    (folder / "fleet.map").write_text("\n".join(map_lines(owners, DOMAIN)) + "\n")
    authority = trustme.CA()
    pair = authority.issue_cert(f"*.{DOMAIN}")
    pair.private_key_and_cert_chain_pem.write_to_path(folder / "fleet.pem")
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    return trusting


@asynccontextmanager
async def haproxy_before(
    nodes: Mapping[str, int], owners: Mapping[str, str]
) -> AsyncIterator[RunningProxy]:
    """Run HAProxy before nodes at these ports, with a map of the owners."""
    # A folder of pytest's has a name that is too long for a socket of HAProxy's.
    with TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        trusting = proxy_files(folder, nodes, owners, port)
        async with running_haproxy(folder / "haproxy.cfg") as process:
            proxy = RunningProxy(folder, port, trusting)
            await _listening(proxy, process)
            yield proxy


@asynccontextmanager
async def running_haproxy(configuration: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    program = shutil.which("haproxy", path=PROGRAM_FOLDERS)
    assert program is not None
    process = await asyncio.create_subprocess_exec(
        program, "-db", "-f", str(configuration), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _listening(proxy: RunningProxy, process: asyncio.subprocess.Process) -> None:
    """Retry until HAProxy listens or has ended; it does not report that it listens."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                (await proxy.connect())[1].close()
                return
            except OSError:
                assert process.returncode is None
                await asyncio.sleep(0.02)


async def test_haproxy_routes_to_the_owner_and_follows_the_map() -> None:
    async with join_nodes("ab") as nodes:
        for node in nodes.nodes.values():
            node.door.state.proxies = NamedProxies([ip_network(HOME)])
            node.door.node.handler = lambda request: Reply(200, "text/plain", b"healthy")
        first = await nodes.put("gh-1", "a")
        await nodes.put("gh-2", "b")
        ports = {name: node.port for name, node in nodes.nodes.items()}
        async with haproxy_before(ports, nodes.owners) as proxy:
            assert [(await proxy.ask(f"gh-{n}")).body for n in (1, 2)] == ["gh-1 at a", "gh-2 at b"]
            # The client's address arrives by a header that only the proxy can send.
            assert first.requests[-1].peer == CLIENT
            # A controller moves: with the old map its new owner is reached through the old one.
            await nodes.take("gh-1")
            second = await nodes.put("gh-1", "b")
            assert (await proxy.ask("gh-1")).body == "gh-1 at b"
            assert second.requests[-1].peer == CLIENT
            assert nodes["b"].door.descriptors.clients.count_of(HOME) >= 1
            # With the new map directly, on a connection that is kept.
            await proxy.update(nodes)
            forwarding = nodes["a"].fleet_door.forwarding
            streams = await proxy.connect()
            for _ in range(2):
                assert (await ask(streams, "/", f"gh-1.{DOMAIN}")).body == "gh-1 at b"
            assert not forwarding.tunnels
            streams[1].close()
            # A controller that is missing in the map is found by any node.
            await nodes.put("gh-3", "a")
            assert (await proxy.ask("gh-3")).body == "gh-3 at a"
            assert (await proxy.ask("gh-9")).status == 404
            # A stream arrives without delay.
            streams = await proxy.connect()
            request = f"GET /stream HTTP/1.1\r\nHost: gh-1.{DOMAIN}\r\n\r\n"
            streams[1].write(request.encode())
            await asyncio.wait_for(streams[0].readuntil(b"piece"), PATIENCE_S)
            streams[1].close()
            # A node is gone, and its controllers are at the other one; the map is still the old.
            await nodes["b"].stop()
            for name in ("gh-1", "gh-2"):
                await nodes.put(name, "a", "a")
            assert (await proxy.ask("gh-1")).body == "gh-1 at a"
            # A map is accepted whole or not at all.
            with pytest.raises(HaproxyRefused, match="has no map"):
                await asyncio.to_thread(put_map, proxy.socket, "/another.map", [])
            with pytest.raises(HaproxyRefused, match="keeps the old one"):
                await asyncio.to_thread(put_map, proxy.socket, proxy.map, ["gh-1.x a", "one"])
            many = {f"x-{n}": "a" for n in range(500)}
            await asyncio.to_thread(put_map, proxy.socket, proxy.map, map_lines(many, DOMAIN))
