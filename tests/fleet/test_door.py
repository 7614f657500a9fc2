"""The front door: the target by name, address and port, and the limits of each client."""

import asyncio
import gc
import socket
import ssl
import tracemalloc
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.fleet import door as door_module
from leverframe.fleet.door import Door
from leverframe.fleet.entrance import Entrance
from leverframe.fleet.member import NewController
from leverframe.fleet.records import MemberRecord
from leverframe.host.configuration import Config
from leverframe.host.reach import certificate_of
from leverframe.interface.table.refusals import Conflict
from leverframe.server.discovery import discovery_answer
from leverframe.server.fair_shares import FairShares
from leverframe.server.http.limits import HttpLimits
from leverframe.server.http.parser import MAX_FEED_BYTES, BadRequest, BodyBudget, RequestParser
from tests.fleet.http_client import ask, ask_once, connection_to
from tests.fleet.loop_node import LoopNode, loop_node
from tests.patience import PATIENCE_S
from tests.ports import free_port

HOME = "127.0.0.1"


async def listening(node: LoopNode, host: str = HOME) -> int:
    await node.node.door.listen(host, 0)
    return node.node.door.port


def name_in(answer: str) -> str:
    """Return the name of the controller that answered /json/all.json."""
    return answer.partition('"sname":"')[2].partition('"')[0]


async def test_door_finds_controllers_by_name_and_the_node_by_address() -> None:
    async with loop_node(hosts=("fleet.example",)) as node:
        port = await listening(node)
        await node.post("add", name="gh-{n}", count=2)
        async with connection_to(HOME, port) as client:
            for host in ("gh-2.localhost", "GH-2.fleet.example:80", "gh-2", "gh-2.localhost."):
                answer = await ask(client, "/json/all.json", host)
                assert (answer.status, name_in(answer.body)) == (200, "gh-2")
            assert name_in((await ask(client, "/json/all.json", "gh-1.localhost")).body) == "gh-1"
            for host in (f"{HOME}:{port}", "localhost", "fleet.example", "[::1]:80"):
                answer = await ask(client, "/api/fleet/list", host)
                assert answer.body.count('"name"') == 2


async def test_machine_name_reaches_the_node_beyond_loopback() -> None:
    machine = socket.gethostname()
    async with loop_node(host="0.0.0.0") as node:
        await node.node.add([NewController(MemberRecord("gh-1"), Profile())])
        port = await listening(node)
        for host in (machine, f"{machine}.local"):
            assert (await ask_once(HOME, port, "/health", host)).body.count("controllers") == 1
            answer = await ask_once(HOME, port, "/health", f"gh-1.{host}")
            assert '"board":"simulated"' in answer.body


async def test_unknown_name_gets_404_and_reaches_no_controller() -> None:
    async with loop_node() as node:
        port = await listening(node)
        await node.post("add", name="gh-1", address="127.0.0.5")
        for address in (HOME, "127.0.0.5"):
            for host in ("gh-9.localhost", "gh-1.evil.example", "evil.example"):
                answer = await ask_once(address, port, "/outs.cgi?out0=1", host)
                assert answer.status == 404
                assert "No controller has this name." in answer.body
                assert "gh-1" not in answer.body
        assert node.member("gh-1").controller.engine.values["OUT0"] == 0


def send_host(door: Door, host: str) -> Entrance | int:
    """Return the target of a request with this Host, or the status of its refusal."""
    limits = HttpLimits()
    parser = RequestParser(limits, BodyBudget(limits))
    wire = b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host.encode()
    for start in range(0, len(wire), MAX_FEED_BYTES):
        for found in parser.feed(wire[start : start + MAX_FEED_BYTES]):
            return found.status if isinstance(found, BadRequest) else door.meant(found, door.node)
    raise AssertionError("the request is not complete")


async def test_invented_hosts_leave_nothing_behind() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-1")
        door, controller = node.node.door, node.member("gh-1").entrance
        tracemalloc.start()
        try:
            for count in range(1000):
                assert send_host(door, f"gh-1.localhost:{count}") is controller
                assert send_host(door, f"127.0.0.1:{count}") is door.node
                assert send_host(door, f"{count}." + "a" * 240) is door.unknown
            for count in range(100):
                assert send_host(door, f"gh-1.localhost:{count:030000}") == 400
                assert send_host(door, f"127.0.0.1:{count:030000}") == 400
            gc.collect()
            left, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert door_module._is_address.cache_info().currsize <= door_module.MAX_KEPT_NAMES
        assert left < 300_000


async def test_door_finds_a_controller_by_its_own_address() -> None:
    async with loop_node() as node:
        port = await listening(node)
        await node.post("add", name="gh-{n}", count=3, address="127.0.0.7")
        for place in range(3):
            address = f"127.0.0.{7 + place}"
            answer = await ask_once(address, port, "/json/all.json", f"{address}:{port}")
            assert name_in(answer.body) == f"gh-{place + 1}"
        # The name takes precedence over the address.
        answer = await ask_once("127.0.0.7", port, "/json/all.json", "gh-3.localhost")
        assert name_in(answer.body) == "gh-3"
        await node.post("remove", name="gh-1")
        assert (await ask_once("127.0.0.7", port, "/outs.cgi", "127.0.0.7")).status == 404


async def test_door_finds_a_controller_by_its_own_port() -> None:
    async with loop_node() as node:
        await listening(node)
        port = free_port()
        await node.post("add", name="gh-1", port=port)
        answer = await ask_once(HOME, port, "/json/all.json", f"{HOME}:{port}")
        assert name_in(answer.body) == "gh-1"
        await node.post("remove", name="gh-1")
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(HOME, port)


async def test_stopping_node_ends_connections_of_all_ports(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with loop_node() as node:
        await listening(node)
        await node.post("add", name="gh-1", port=free_port())
        await node.post("add", name="gh-2")
        members = list(node.node.members.values())
    assert [one.has_left for one in members] == [True, True]
    assert not caplog.records


async def test_port_in_use_is_reported_and_nothing_is_created() -> None:
    async with loop_node() as node:
        port = await listening(node)
        problem = await node.expect_refusal(409, "add", name="a", port=port)
        assert f"a: port {port} of 127.0.0.1 cannot be used: " in problem
        assert await node.get("list") == []
        assert await node.expect_refusal(409, "add", name="a", port=port, dry_run=1) == problem


async def test_unreachable_address_is_refused() -> None:
    async with loop_node() as node:
        await listening(node)
        problem = await node.expect_refusal(409, "add", name="a", address="10.7.0.1")
        assert "listens on 127.0.0.1, so 10.7.0.1 would not reach this controller" in problem


@pytest.mark.parametrize("host", [HOME, "0.0.0.0"])
async def test_address_of_the_node_is_refused_for_a_controller(host: str) -> None:
    async with loop_node(host=host) as node:
        await listening(node, host)
        with pytest.raises(Conflict, match="a: the node itself is available at 127.0.0.1."):
            await node.node.add([NewController(MemberRecord("a", address=HOME), Profile())])
        assert not node.node.members


async def test_door_on_all_addresses_accepts_any_address() -> None:
    async with loop_node(host="0.0.0.0") as node:
        node.node.door._host = "0.0.0.0"
        node.node.door._check_address("a", "10.7.0.1")


async def test_door_without_interface_rights_uses_its_own_address_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Refusing(door_module.socket.socket):
        def setsockopt(self, *options: object) -> None:
            if options[1] == door_module.socket.SO_BINDTODEVICE:
                raise PermissionError
            super().setsockopt(*options)  # type: ignore[arg-type]

    monkeypatch.setattr(door_module.socket, "socket", Refusing)
    async with loop_node() as node:
        port = await listening(node)
        monkeypatch.undo()
        await node.post("add", name="a")
        assert (await ask_once(HOME, port, "/outs.cgi", "a.localhost")).status == 200
        assert "would not reach this controller" in await node.expect_refusal(
            409, "add", name="b", address="127.0.0.5"
        )


async def test_node_on_loopback_is_unreachable_from_other_machines() -> None:
    async with loop_node() as node:
        await listening(node)
        (listening_socket,) = node.node.door._listener.sockets  # type: ignore[union-attr]
        device = listening_socket.getsockopt(
            door_module.socket.SOL_SOCKET, door_module.socket.SO_BINDTODEVICE, 16
        )
        assert device.rstrip(b"\0") == b"lo"


async def test_new_name_is_valid_immediately_and_the_old_one_is_not() -> None:
    async with loop_node() as node:
        port = await listening(node)
        await node.post("add", name="gh-1")
        async with connection_to(HOME, port) as client:
            assert (await ask(client, "/outs.cgi", "gh-1.localhost")).status == 200
            await node.post("rename", name="gh-1", to="cellar")
            # A connected client has to connect again.
            assert await client[0].read() == b""
        assert (await ask_once(HOME, port, "/outs.cgi", "cellar.localhost")).status == 200
        assert (await ask_once(HOME, port, "/outs.cgi", "gh-1.localhost")).status == 404
        # Without a name of its own it uses this one.
        report = await ask_once(HOME, port, "/json/all.json", "cellar.localhost")
        assert '"sname":"cellar"' in report.body
        member = node.member("cellar")
        answer = discovery_answer(member.controller, member.built.name, member.built.mac, 80)
        assert answer.startswith(b"cellar\r\n")
        # The old connection is released under the name under which it was counted.
        assert node.node.door.shares.count_of("gh-1") == 0


async def test_page_of_a_controller_cannot_switch_another() -> None:
    async with loop_node() as node:
        port = await listening(node)
        await node.post("add", name="gh-{n}", count=2)
        host = f"gh-2.localhost:{port}"
        for origin, status in ((f"http://gh-1.localhost:{port}", 403), (f"http://{host}", 200)):
            answer = await ask_once(HOME, port, "/outs.cgi?out0=1", host, Origin=origin)
            assert answer.status == status
        answer = await ask_once(
            HOME, port, "/api/fleet/remove?name=gh-1", HOME, method="POST", Origin=f"http://{host}"
        )
        assert answer.status == 403
        assert len(await node.get("list")) == 2


async def test_each_controller_has_its_own_cookies_and_passwords() -> None:
    async with loop_node(host="0.0.0.0") as node:
        await node.node.door.listen(HOME, 0)
        port = node.node.door.port
        (one, other) = await _with_administrators(node)
        form = f"username=admin&password={one}".encode()
        async with connection_to(HOME, port) as client:
            signed = await ask(client, "/post.cgi?signin", "gh-1.localhost", "POST", form)
            assert signed.status == 200
            cookie = signed.head.partition("Set-Cookie: ")[2].partition(";")[0]
            again = await ask(client, "/outs.cgi", "gh-1.localhost", Cookie=cookie)
            assert again.status == 200
            elsewhere = await ask(client, "/outs.cgi", "gh-2.localhost", Cookie=cookie)
            assert elsewhere.status == 401
            foreign = await ask(client, "/outs.cgi", "gh-2.localhost", account=f"admin:{one}")
            assert foreign.status == 401
            own = await ask(client, "/outs.cgi", "gh-2.localhost", account=f"admin:{other}")
            assert own.status == 200


async def _with_administrators(node: LoopNode) -> list[str]:
    passwords = []
    for name in ("gh-1", "gh-2"):
        password, leaves = await node.web.new_administrator()
        await node.node.add([NewController(MemberRecord(name), Profile(), leaves)])
        assert password is not None
        passwords.append(password)
    return passwords


async def test_forbidden_body_is_refused_before_it_is_read() -> None:
    async with loop_node() as node:
        port = await listening(node)
        await node.post("add", name="gh-1")
        async with connection_to(HOME, port) as (reader, writer):
            writer.write(
                b"POST /api/fleet/add?name=b HTTP/1.1\r\nHost: x.example\r\n"
                b"Expect: 100-continue\r\nContent-Length: 100000\r\n\r\n"
            )
            assert b" 404 " in await reader.readline()
        async with connection_to(HOME, port) as client:
            body = b'{"hw":"3.9","sw":"1.75","settings":{}}'
            made = await ask(client, "/api/fleet/add?name=b", "localhost", "POST", body)
            assert made.status == 200
            small = await ask(client, "/post.cgi?sched_save", "b.localhost", "POST", b"&&")
            assert small.status == 200


async def test_flooded_controller_leaves_connections_for_others() -> None:
    async with loop_node() as node:
        port = await listening(node)
        await node.post("add", name="gh-{n}", count=2)
        node.node.door.shares = FairShares(16, 1.0)
        held = []
        try:
            statuses = []
            for _ in range(12):
                streams = await asyncio.open_connection(HOME, port)
                held.append(streams)
                statuses.append((await ask(streams, "/outs.cgi", "gh-1.localhost")).status)
            assert statuses[:8] == [200] * 8
            assert statuses[-1] == 503
            assert (await ask_once(HOME, port, "/outs.cgi", "gh-2.localhost")).status == 200
        finally:
            for _, writer in held:
                writer.close()
        async with asyncio.timeout(PATIENCE_S):
            while node.node.door.shares.used:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0)
        assert (await ask_once(HOME, port, "/outs.cgi", "gh-1.localhost")).status == 200


async def test_fault_of_a_controller_affects_no_other() -> None:
    async with loop_node() as node:
        port = await listening(node)
        await node.post("add", name="gh-{n}", count=2)
        await node.post("fault", fault="status*code:500", name="gh-1")
        assert (await ask_once(HOME, port, "/outs.cgi", "gh-1.localhost")).status == 500
        assert (await ask_once(HOME, port, "/outs.cgi", "gh-2.localhost")).status == 200
        await node.post("fault", fault="none")
        async with connection_to(HOME, port) as client:
            assert (await ask(client, "/outs.cgi", "gh-1.localhost")).status == 200
            await node.post("fault", fault="refuse", name="gh-1")
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await ask(client, "/outs.cgi", "gh-1.localhost")
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await ask_once(HOME, port, "/outs.cgi", "gh-1.localhost")
        await node.post("fault", fault="none", name="gh-1")
        assert (await ask_once(HOME, port, "/outs.cgi", "gh-1.localhost")).status == 200


async def test_tls_node_serves_each_name_by_https_and_redirects_to_it(tmp_path: Path) -> None:
    certificate = certificate_of(
        Config(tls=True, hosts=("*.fleet.example",)), tmp_path, "leverframe fleet"
    )
    assert certificate is not None
    async with loop_node(hosts=("fleet.example",)) as node:
        await node.node.door.listen(HOME, 0, certificate.context)
        port = node.node.door.port
        await node.post("add", name="gh-1")
        assert node.node.door.url_of("gh-1") == f"https://gh-1.fleet.example:{port}/"
        plain = await ask_once(HOME, port, "/outs.cgi", f"gh-1.fleet.example:{port}")
        assert plain.status == 308
        assert f"Location: https://gh-1.fleet.example:{port}/outs.cgi" in plain.head
        assert (await ask_once(HOME, port, "/outs.cgi", "evil.example")).status == 404
        trusting = ssl.create_default_context(cafile=tmp_path / "tls-certificate.pem")
        streams = await asyncio.open_connection(
            HOME, port, ssl=trusting, server_hostname="gh-1.fleet.example"
        )
        answer = await ask(streams, "/outs.cgi", f"gh-1.fleet.example:{port}")
        assert answer.status == 200
        assert "Strict-Transport-Security" in answer.head
        streams[1].close()


@pytest.mark.parametrize("proxies", [(HOME,), ("10.0.0.5",)], ids=["named", "stranger"])
async def test_waits_after_wrong_passwords_count_the_client_behind_a_named_proxy(
    proxies: tuple[str, ...],
) -> None:
    async with loop_node(host="0.0.0.0", proxies=proxies) as node:
        await node.node.door.listen(HOME, 0)
        port = node.node.door.port
        await _with_administrators(node)
        async with connection_to(HOME, port) as client:

            async def guess(target: str, host: str, of: str) -> int:
                came_from = {"X-Forwarded-For": f"127.0.0.9, {of}"}
                answer = await ask(client, target, host, account="admin:x", **came_from)
                return answer.status

            for target, host in (("/outs.cgi", "gh-1.localhost"), ("/api/fleet", HOME)):
                guesses = [await guess(target, host, "192.0.2.7") for _ in range(8)]
                assert (guesses[0], guesses[-1]) == (401, 429)
                another = await guess(target, host, "192.0.2.8")
                assert another == (401 if proxies == (HOME,) else 429)
