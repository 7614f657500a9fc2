"""Doors across nodes: any node serves any controller, wherever it is and moves."""

import asyncio
import socket
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from leverframe.fleet.cluster import tunnel
from leverframe.fleet.cluster.directory import Place
from leverframe.fleet.cluster.handshake import Client
from leverframe.fleet.owners import DEADLINES
from leverframe.fleet.records import MemberRecord
from leverframe.host.configuration import Config
from leverframe.host.reach import certificate_of
from leverframe.server.fair_shares import DescriptorBudget, FairShares
from leverframe.server.http.limits import MIB
from leverframe.server.http.messages import CONTINUE, Reply
from tests.cases import for_each
from tests.fleet.cluster.joined_doors import HOME, JoinedNode, join_nodes, until
from tests.fleet.failing import fail
from tests.fleet.http_client import Streams, ask, ask_once, connection_to
from tests.patience import PATIENCE_S
from tests.stopwatch import within

GH = "gh-1.localhost"


async def open_to(node: JoinedNode) -> Streams:
    return await asyncio.open_connection(HOME, node.port)


def is_idle(*nodes: JoinedNode) -> bool:
    """Return whether nothing is open, held or counted any more."""
    return all(
        not node.door.state.connections
        and not node.door.shares.used
        and not node.door.descriptors.clients.used
        and not node.fleet_door.forwarding.tunnels
        for node in nodes
    )


async def test_any_node_serves_any_controller_on_a_kept_connection() -> None:
    async with join_nodes("abc") as nodes:
        await nodes.put("gh-1", "b")
        await nodes.put("gh-2", "c")
        for name, owner in (("gh-1", "b"), ("gh-2", "c")):
            for node in nodes.nodes.values():
                async with connection_to(HOME, node.port) as client:
                    for _ in range(3):
                        answer = await ask(client, "/", f"{name}.localhost")
                        assert (answer.status, answer.body) == (200, f"{name} at {owner}")
        unknown = await ask_once(HOME, nodes["a"].port, "/", "gh-9.localhost")
        assert unknown.status == 404
        await until(lambda: is_idle(*nodes.nodes.values()))


async def test_every_node_reports_why_a_controller_failed_immediately() -> None:
    async with join_nodes(hold_s=1000.0) as nodes:
        roster = nodes["b"].door.roster
        roster.retry_s = 1000.0
        fail(roster, MemberRecord("gh-1"), 7, "gh-1 failed to start: no.")
        nodes.owners["gh-1"] = "b"
        nodes.publish()
        for node in nodes.nodes.values():
            answer = await ask_once(HOME, node.port, "/", GH)
            assert answer.status == 503
            assert "gh-1 failed to start: no. The node retries it every few seconds." in answer.body
        # The former owner reports nothing about a controller of another node.
        nodes.owners["gh-1"] = "a"
        await nodes.put("gh-1", "a")
        answer = await ask_once(HOME, nodes["b"].port, "/", GH)
        assert (answer.status, answer.body) == (200, "gh-1 at a")


async def test_owner_sees_and_counts_the_address_of_the_client() -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        reader, writer = await asyncio.open_connection(
            HOME, nodes["a"].port, local_addr=("127.0.0.77", 0)
        )
        assert (await ask((reader, writer), "/", GH)).status == 200
        assert standing.requests[0].peer == "127.0.0.77"
        assert nodes["b"].door.descriptors.clients.count_of("127.0.0.77") == 1
        # At the door: the client's connection, and that to the owner.
        assert nodes["a"].door.descriptors.clients.count_of("127.0.0.77") == 2
        assert nodes["a"].door.shares.count_of("gh-1") == 1
        writer.close()


async def test_split_and_pipelined_requests_are_forwarded_from_their_first_byte() -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        reader, writer = await open_to(nodes["a"])
        head = f"GET /1 HTTP/1.1\r\nHost: {GH}\r\nX-Long: {'y' * 9000}\r\n\r\n".encode()
        for begin in range(0, len(head), 3000):
            writer.write(head[begin : begin + 3000])
            await asyncio.sleep(0.002)
        writer.write(head.replace(b"/1 ", b"/2 ") + head.replace(b"/1 ", b"/3 "))
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(3):
                await reader.readuntil(b"gh-1 at b")
        assert [request.path for request in standing.requests] == ["/1", "/2", "/3"]
        writer.close()


async def test_pipelined_request_behind_a_local_answer_must_be_repeated() -> None:
    async with join_nodes() as nodes:
        await nodes.put("gh-1", "b")
        await nodes.put("gh-2", "a")
        reader, writer = await open_to(nodes["a"])
        both = "".join(f"GET / HTTP/1.1\r\nHost: gh-{n}.localhost\r\n\r\n" for n in (2, 1))
        writer.write(both.encode())
        answers = await asyncio.wait_for(reader.read(), PATIENCE_S)
        assert b"gh-2 at a" in answers
        assert b" 421 " in answers
        assert b"Nothing was done" in answers
        assert nodes.standing["gh-1"].requests == []
        assert nodes["a"].directory.figures.misdirected == 1
        writer.close()


async def test_kept_connection_can_reach_other_controllers() -> None:
    async with join_nodes("abc") as nodes:
        for name, node in (("gh-1", "a"), ("gh-2", "b"), ("gh-3", "b"), ("gh-4", "c")):
            await nodes.put(name, node)
        async with connection_to(HOME, nodes["a"].port) as client:
            for number, owner in ((1, "a"), (2, "b"), (3, "b")):
                answer = await ask(client, "/", f"gh-{number}.localhost")
                assert answer.body == f"gh-{number} at {owner}"
            # A request without a name is for the node, not for the controller of the connection.
            assert (await ask(client, "/", HOME)).status == 503
            # The node that it is joined to does not forward to a third node.
            answer = await ask(client, "/", "gh-4.localhost")
            assert answer.status == 421
            assert await client[0].read() == b""


async def test_large_bodies_and_answers_are_forwarded_completely() -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        async with connection_to(HOME, nodes["a"].port) as client:
            body = bytes(range(256)) * 4096 * 8
            answer = await ask(client, "/", GH, "POST", body)
            assert answer.body == f"gh-1 at b {len(body)}"
            assert standing.requests[0].body == body
            large = await ask(client, "/large", GH)
            assert len(large.body) == 8 * MIB


async def test_continue_for_a_body_comes_from_the_owner() -> None:
    async with join_nodes() as nodes:
        await nodes.put("gh-1", "b")
        async with connection_to(HOME, nodes["a"].port) as (reader, writer):
            head = f"POST / HTTP/1.1\r\nHost: {GH}\r\nContent-Length: 3\r\n"
            writer.write(head.encode() + b"Expect: 100-continue\r\n\r\n")
            assert b" 100 " in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
            writer.write(b"abc")
            assert await _next_answer((reader, writer)) == "gh-1 at b 3"


async def _next_answer(client: Streams) -> str:
    head = await client[0].readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split()[0])
    return (await client[0].readexactly(length)).decode()


async def test_client_that_does_not_read_is_cut_off_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        reader, writer = await open_to(nodes["a"])
        writer.transport.get_extra_info("socket").setsockopt(  # small, so that it fills up soon
            socket.SOL_SOCKET, socket.SO_RCVBUF, 4096
        )
        writer.transport.pause_reading()
        writer.write(f"GET /stream HTTP/1.1\r\nHost: {GH}\r\n\r\n".encode())
        (held,) = await _tunnels(nodes["a"])
        seen: list[int] = []
        # Several times the same: a busy machine may have kept the test itself from running once.
        while len(set(seen[-5:])) != 1 or len(seen) < 5:
            seen.append(standing.sent)
            await asyncio.sleep(0.02)
        # What is held at the door is bounded.
        assert held._client.get_write_buffer_size() < MIB
        now = nodes["a"].door.state.now
        assert not held.is_overdue(now + 20)
        nodes["a"].door.state.sweep(now + 100)
        await asyncio.wait_for(standing.stream_ended.wait(), PATIENCE_S)
        writer.close()
        await until(lambda: is_idle(nodes["a"], nodes["b"]))


async def _tunnels(node: JoinedNode) -> list[Any]:
    await until(lambda: node.fleet_door.forwarding.tunnels)
    return list(node.fleet_door.forwarding.tunnels)


async def test_slow_owner_holds_back_the_body_of_the_client() -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        may_continue = asyncio.Event()

        async def admit_later() -> Reply:
            await may_continue.wait()
            return CONTINUE

        standing.entrance.admission = lambda request: admit_later()
        reader, writer = await open_to(nodes["a"])
        head = f"POST / HTTP/1.1\r\nHost: {GH}\r\nContent-Length: {24 * MIB}\r\n\r\n"
        writer.write(head.encode() + b"x" * 24 * MIB)
        (held,) = await _tunnels(nodes["a"])
        await until(lambda: not held._client.is_reading())
        # What is held at the door is bounded.
        assert held._owner.get_write_buffer_size() < MIB
        may_continue.set()
        assert await _next_answer((reader, writer)) == f"gh-1 at b {24 * MIB}"
        writer.close()


async def test_half_closed_client_still_gets_its_answer() -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        reader, writer = await open_to(nodes["a"])
        writer.write(f"GET /wait HTTP/1.1\r\nHost: {GH}\r\n\r\n".encode())
        writer.write_eof()
        await until(lambda: standing.requests)
        standing.may_answer.set()
        assert (await asyncio.wait_for(reader.read(), PATIENCE_S)).endswith(b"late")
        await until(lambda: is_idle(nodes["a"], nodes["b"]))
        writer.close()


async def test_leaving_client_ends_its_stream_at_the_owner() -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        reader, writer = await open_to(nodes["a"])
        writer.write(f"GET /stream HTTP/1.1\r\nHost: {GH}\r\n\r\n".encode())
        await reader.readuntil(b"piece")
        writer.transport.abort()
        await asyncio.wait_for(standing.stream_ended.wait(), PATIENCE_S)
        await until(lambda: is_idle(nodes["a"], nodes["b"]))


async def test_end_and_reset_by_the_owner_reach_the_client() -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        reader, writer = await open_to(nodes["a"])
        writer.write(f"GET / HTTP/1.1\r\nHost: {GH}\r\nConnection: close\r\n\r\n".encode())
        assert (await asyncio.wait_for(reader.read(), PATIENCE_S)).endswith(b"gh-1 at b")
        writer.close()
        standing.entrance.pause()
        with pytest.raises(ConnectionResetError):
            await ask_once(HOME, nodes["a"].port, "/", GH)
        await until(lambda: is_idle(nodes["a"], nodes["b"]))


async def test_refused_body_is_answered_while_the_client_still_sends() -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        refused = nodes["b"].door.state.problem(403, "No.")
        standing.entrance.admission = lambda request: refused
        reader, writer = await open_to(nodes["a"])
        head = f"POST / HTTP/1.1\r\nHost: {GH}\r\nContent-Length: {4 * MIB}\r\n\r\n"
        writer.write(head.encode() + b"x" * MIB)
        assert b" 403 " in await asyncio.wait_for(reader.readline(), PATIENCE_S)
        writer.close()


# --- moving ---------------------------------------------------------------------------------------


async def test_idle_connection_reaches_the_new_owner_after_a_move() -> None:
    async with join_nodes() as nodes:
        await nodes.put("gh-1", "a")
        async with connection_to(HOME, nodes["a"].port) as client:
            assert (await ask(client, "/", GH)).body == "gh-1 at a"
            await nodes.take("gh-1")
            await nodes.put("gh-1", "b")
            assert (await ask(client, "/", GH)).body == "gh-1 at b"
            # Joined by now; the connection ends with the stay at that node.
            await nodes.take("gh-1")
            assert await asyncio.wait_for(client[0].read(), PATIENCE_S) == b""
        await nodes.put("gh-1", "a")
        assert (await ask_once(HOME, nodes["b"].port, "/", GH)).body == "gh-1 at a"


@pytest.mark.parametrize("door", ["a", "b"], ids=["joined", "direct"])
async def test_requests_complete_and_streams_end_during_a_move(door: str) -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        waiting = await open_to(nodes[door])
        waiting[1].write(f"GET /wait HTTP/1.1\r\nHost: {GH}\r\n\r\n".encode())
        streaming = await open_to(nodes[door])
        streaming[1].write(f"GET /stream HTTP/1.1\r\nHost: {GH}\r\n\r\n".encode())
        await streaming[0].readuntil(b"piece")
        await until(lambda: len(standing.requests) == 2)
        await nodes.take("gh-1")
        standing.may_answer.set()
        assert (await _next_answer(waiting)) == "late"
        assert (await asyncio.wait_for(streaming[0].read(), PATIENCE_S)).endswith(b"0\r\n\r\n")
        for _, writer in (waiting, streaming):
            writer.close()


async def test_upload_to_a_moving_controller_must_be_repeated() -> None:
    async with join_nodes() as nodes:
        await nodes.put("gh-1", "a")
        reader, writer = await open_to(nodes["a"])
        head = f"POST / HTTP/1.1\r\nHost: {GH}\r\nContent-Length: 10000\r\n\r\n"
        writer.write(head.encode() + b"x" * 5000)
        await until(lambda: nodes["a"].door.state.bodies.used)
        await nodes.take("gh-1")
        moved = await nodes.put("gh-1", "b")
        writer.write(b"x" * 5000)
        answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
        assert b" 421 " in answer
        assert moved.requests == []
        writer.close()


async def test_door_with_an_old_directory_looks_up_the_owner_again() -> None:
    async with join_nodes("abc") as nodes:
        await nodes.put("gh-1", "b")
        await nodes.take("gh-1", "b", "c")
        await nodes.put("gh-1", "c", "b", "c")
        asking = asyncio.create_task(ask_once(HOME, nodes["a"].port, "/", GH))
        await until(lambda: nodes["a"].directory.awaited["gh-1"])
        nodes.publish("a")
        assert (await asking).body == "gh-1 at c"


async def test_request_is_held_until_a_node_has_the_controller() -> None:
    async with join_nodes("ab", hold_s=60.0) as nodes:
        nodes.owners["gh-1"] = None
        nodes.publish()
        body = b"x" * 100_000
        port = nodes["a"].port
        async with connection_to(HOME, port) as one, connection_to(HOME, port) as other:
            for owner in "ab":  # forwarded to another node, and answered by this node
                asking = [
                    asyncio.create_task(ask(one, "/", GH)),
                    asyncio.create_task(ask(other, "/", GH, "POST", body)),
                ]
                await until(lambda: nodes["a"].directory.awaited["gh-1"] == 2)
                await nodes.put("gh-1", owner)
                answers = [answer.body for answer in await asyncio.gather(*asking)]
                assert answers == [f"gh-1 at {owner}", f"gh-1 at {owner} 100000"]
                if owner == "a":
                    await nodes.take("gh-1")
        figures = nodes["a"].directory.figures
        assert (figures.held, figures.joined) == (4, 2)


async def test_door_waits_for_an_owner_that_starts_the_controller() -> None:
    async with join_nodes() as nodes:
        nodes.owners["gh-1"] = "b"
        nodes.publish()
        asking = asyncio.create_task(ask_once(HOME, nodes["a"].port, "/", GH))
        await until(lambda: nodes["b"].directory.awaited["gh-1"])
        await nodes.put("gh-1", "b")
        assert (await asking).body == "gh-1 at b"


async def test_request_without_an_owner_is_refused_after_three_seconds() -> None:
    assert DEADLINES["connection"].hold_s == 3.0
    async with join_nodes(hold_s=0.1) as nodes:
        nodes.owners["gh-1"] = None
        nodes.publish()
        async with connection_to(HOME, nodes["a"].port) as client:
            for _ in range(2):
                began = time.monotonic()
                with within(3.0):
                    answer = await ask(client, "/", GH)
                assert time.monotonic() - began > 0.09
                assert answer.status == 503
                assert "Retry-After: 5" in answer.head
                assert "Nothing was done" in answer.body
            answer = await ask(client, "/", GH, "POST", b"x" * 5000)
            assert answer.status == 503
        # An owner that does not answer, a missing owner, and one with another key.
        deaf = socket.create_server((HOME, 0))
        strange = JoinedNode("c", b"another key", 1.0)
        await strange.start()
        for port in (deaf.getsockname()[1], _find_closed_port(), strange.fleet_door.inner.port):
            nodes["a"].directory.replace({"gh-1": "c"}, {"c": Place("c", HOME, port)})
            assert (await ask_once(HOME, nodes["a"].port, "/", GH)).status == 503
        deaf.close()
        await strange.stop()
        assert nodes["a"].directory.figures.unavailable == 6
        await until(lambda: is_idle(nodes["a"]))


def _find_closed_port() -> int:
    with socket.create_server((HOME, 0)) as server:
        port: int = server.getsockname()[1]
    return port


async def test_client_that_leaves_while_waiting_leaves_nothing_behind() -> None:
    async with join_nodes() as nodes:
        nodes.owners["gh-1"] = None
        nodes.publish()
        _, writer = await open_to(nodes["a"])
        writer.write(f"GET / HTTP/1.1\r\nHost: {GH}\r\n\r\n".encode())
        await until(lambda: nodes["a"].directory.awaited["gh-1"])
        writer.transport.abort()
        await nodes.put("gh-1", "b")
        await until(lambda: is_idle(nodes["a"], nodes["b"]))


async def test_door_leaves_an_old_owner_that_does_not_let_go() -> None:
    async with join_nodes("abc") as nodes:
        await nodes.put("gh-1", "b")
        async with connection_to(HOME, nodes["a"].port) as client:
            await ask(client, "/", GH)
            (held,) = await _tunnels(nodes["a"])
            # It does not have the controller any more, and its connections stay as they are.
            nodes.owners["gh-1"] = None
            nodes.publish("a")
            now = nodes["a"].door.state.now
            assert not held.is_overdue(now)
            assert not held.is_overdue(now + tunnel.LET_GO_S - 1)
            nodes["a"].door.state.sweep(now + tunnel.LET_GO_S)
            assert await asyncio.wait_for(client[0].read(), PATIENCE_S) == b""


async def test_clients_of_a_dead_node_are_disconnected_immediately() -> None:
    async with join_nodes("ab") as nodes:
        await nodes.put("gh-1", "b")
        async with connection_to(HOME, nodes["a"].port) as client:
            await ask(client, "/", GH)
            (held,) = await _tunnels(nodes["a"])
            state, directory = nodes["a"].door.state, nodes["a"].directory
            assert not held.is_overdue(state.now)
            directory.replace({"gh-1": None}, {"a": nodes["a"].place})
            assert held.is_overdue(state.now)
            state.sweep(state.now)
            assert await asyncio.wait_for(client[0].read(), PATIENCE_S) == b""


# --- stopping, sharing ----------------------------------------------------------------------------


async def test_stopping_door_completes_answers_and_closes_idle_connections() -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        idle = await open_to(nodes["a"])
        await ask(idle, "/", GH)
        waiting = await open_to(nodes["a"])
        waiting[1].write(f"GET /wait HTTP/1.1\r\nHost: {GH}\r\n\r\n".encode())
        streaming = await open_to(nodes["a"])
        streaming[1].write(f"GET /stream HTTP/1.1\r\nHost: {GH}\r\n\r\n".encode())
        await streaming[0].readuntil(b"piece")
        await until(lambda: len(standing.requests) == 3)
        stopping = asyncio.create_task(nodes["a"].stop(grace_s=PATIENCE_S))
        assert await asyncio.wait_for(idle[0].read(), PATIENCE_S) == b""
        await asyncio.wait_for(streaming[0].read(), PATIENCE_S)
        # What the client sends from now on is not done any more.
        waiting[1].write(f"GET / HTTP/1.1\r\nHost: {GH}\r\n\r\n".encode())
        await asyncio.sleep(0.01)
        assert not stopping.done()
        standing.may_answer.set()
        assert (await asyncio.wait_for(waiting[0].read(), PATIENCE_S)).endswith(b"late")
        await asyncio.wait_for(stopping, PATIENCE_S)
        assert len(standing.requests) == 3
        for _, writer in (idle, waiting, streaming):
            writer.close()


async def test_held_requests_are_served_within_the_grace_of_a_stop() -> None:
    async with join_nodes("ab", hold_s=60.0) as nodes:
        nodes.owners["gh-1"] = None
        nodes.publish()
        reader, writer = await open_to(nodes["a"])
        writer.write(f"GET / HTTP/1.1\r\nHost: {GH}\r\n\r\n".encode())
        await until(lambda: nodes["a"].directory.awaited["gh-1"])
        stopping = asyncio.create_task(nodes["a"].stop(grace_s=PATIENCE_S))
        await until(lambda: nodes["a"].door.state.is_stopping)
        await nodes.put("gh-1", "b")
        assert (await asyncio.wait_for(reader.read(), PATIENCE_S)).endswith(b"gh-1 at b")
        await asyncio.wait_for(stopping, PATIENCE_S)
        writer.close()


async def test_stop_waits_no_longer_than_its_grace() -> None:
    async with join_nodes("ab", hold_s=60.0) as nodes:
        standing = await nodes.put("gh-1", "b")
        nodes.owners["gh-2"] = None
        nodes.publish()
        clients = [await open_to(nodes["a"]) for _ in range(2)]
        for (_, writer), name in zip(clients, ("gh-1", "gh-2"), strict=True):
            writer.write(f"GET /wait HTTP/1.1\r\nHost: {name}.localhost\r\n\r\n".encode())
        await until(lambda: standing.requests and nodes["a"].directory.awaited["gh-2"])
        await asyncio.wait_for(nodes["a"].stop(grace_s=0.05), PATIENCE_S)
        assert is_idle(nodes["a"])
        for _, writer in clients:
            writer.close()
        standing.may_answer.set()


async def test_flooded_controller_leaves_connections_for_other_nodes() -> None:
    async with join_nodes() as nodes:
        await nodes.put("gh-1", "b")
        await nodes.put("gh-2", "b")
        nodes["a"].door.shares = FairShares(16, 1.0)
        held = []
        statuses = []
        for _ in range(12):
            held.append(await open_to(nodes["a"]))
            statuses.append((await ask(held[-1], "/", GH)).status)
        assert statuses[:8] == [200] * 8
        assert statuses[-1] == 503
        assert (await ask_once(HOME, nodes["a"].port, "/", "gh-2.localhost")).status == 200
        for _, writer in held:
            writer.close()
        await until(lambda: is_idle(*nodes.nodes.values()))


async def test_client_with_too_many_connections_is_refused_at_door_and_owner() -> None:
    async with join_nodes() as nodes:
        await nodes.put("gh-1", "b")
        full = DescriptorBudget()
        full.clients = FairShares(1, 8.0)
        full.clients.take("another client")
        for node in "ab":
            usual, nodes[node].door.descriptors = nodes[node].door.descriptors, full
            answer = await ask_once(HOME, nodes["a"].port, "/", GH)
            assert answer.status == 503
            assert "Too many connections" in answer.body
            nodes[node].door.descriptors = usual
        assert full.refused == {("join", "full"): 1, ("inner", "full"): 1}


async def test_name_of_another_node_is_joined_by_tls_or_redirected_to_https(
    tmp_path: Path,
) -> None:
    certificate = certificate_of(Config(tls=True), tmp_path, "leverframe fleet")
    assert certificate is not None
    async with join_nodes() as nodes:
        await nodes.put("gh-1", "b")
        await nodes["a"].door.stop()
        nodes["a"].door.state.is_stopping = False
        await nodes["a"].door.listen(HOME, 0, certificate.context)
        port = nodes["a"].port
        assert (await ask_once(HOME, port, "/", GH)).status == 308
        trusting = ssl.create_default_context(cafile=tmp_path / "tls-certificate.pem")
        trusting.check_hostname = False
        streams = await asyncio.open_connection(HOME, port, ssl=trusting)
        assert (await ask(streams, "/", GH)).body == "gh-1 at b"
        assert len((await ask(streams, "/large", GH)).body) == 8 * MIB
        await nodes.take("gh-1")
        assert await asyncio.wait_for(streams[0].read(), PATIENCE_S) == b""
        await nodes.put("gh-1", "b")
        streams = await asyncio.open_connection(HOME, port, ssl=trusting)
        assert (await ask(streams, "/", GH)).body == "gh-1 at b"
        streams[1].close()
        await until(lambda: is_idle(nodes["a"], nodes["b"]))


async def test_client_that_gives_up_leaves_no_connection_to_the_owner() -> None:
    async with join_nodes() as nodes:
        came: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        silent = await asyncio.start_server(lambda *streams: came.put_nowait(streams), HOME, 0)
        port = silent.sockets[0].getsockname()[1]
        nodes["a"].directory.replace({"gh-1": "c"}, {"c": Place("c", HOME, port)})
        client = Client(HOME, 1, HOME, 2)
        reaching = asyncio.create_task(nodes["a"].fleet_door.forwarding.reach("gh-1", client))
        reader, writer = await asyncio.wait_for(came.get(), PATIENCE_S)
        reaching.cancel()
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        writer.close()
        await writer.wait_closed()
        silent.close()
        await until(lambda: is_idle(nodes["a"]))


@for_each("is_reset", [False, True])
async def test_work_at_another_node_ends_with_its_client(is_reset: bool) -> None:
    async with join_nodes("ab") as nodes:
        standing = await nodes.put("gh-1", "b")
        _, writer = await open_to(nodes["a"])
        writer.write(b"GET /work HTTP/1.1\r\nHost: gh-1.localhost\r\n\r\n")
        await until(lambda: bool(standing.requests))
        if is_reset:
            writer.transport.abort()
        else:
            writer.close()
        async with asyncio.timeout(PATIENCE_S):
            await standing.work_ended.wait()
