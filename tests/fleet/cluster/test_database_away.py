"""A database that is away for longer than a lease: what is refused, how, and that it resumes."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leverframe.fleet.cluster.lease import LEASE_S, NodeLease
from leverframe.fleet.cluster.membership import notify_nodes
from leverframe.fleet.member import Member
from leverframe.server.http.messages import Reply, Request, StreamReply
from leverframe.storage.lanes.postgres_connection import connect
from tests.devices.waiting import until
from tests.fleet.cluster.nodes import Cluster, cluster_on
from tests.notify.broker import PASSWORD, USER, Broker, Listener
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer, postgres_server

CHANGE, SWITCH, READ = "/stm.cgi?sname=other", "/outs.cgi?out0=1", "/outs.cgi"
SHORT_LEASE_S = 1.0


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of its own, since the test stops it."""
    with postgres_server() as server:
        yield server


@pytest.fixture
async def there(
    server: PostgresServer, tmp_path: Path
) -> AsyncIterator[tuple[PostgresServer, Cluster]]:
    if not server.is_running():
        server.start()
    async with cluster_on(server.new_fleet(), tmp_path) as cluster:
        for name in ("a", "b"):
            await cluster.join(name)
        await cluster.add("a", "one", "two")
        yield server, cluster


@pytest.fixture
async def away(there: tuple[PostgresServer, Cluster]) -> tuple[PostgresServer, Cluster]:
    await goes(*there)
    return there


async def goes(server: PostgresServer, cluster: Cluster) -> None:
    give(cluster, SHORT_LEASE_S)
    await asyncio.to_thread(server.stop)
    await until(lambda: all(one.is_in_doubt for one in leases(cluster)))
    # On a busy machine a short lease runs out also while the database is there.
    give(cluster, LEASE_S)


def give(cluster: Cluster, lease_s: float) -> None:
    for one in leases(cluster):
        one._lease_s = lease_s


def leases(cluster: Cluster) -> list[NodeLease]:
    return [one.lease for one in cluster.members.values()]


async def ask_member(member: Member, target: str) -> Reply:
    path, _, query = target.partition("?")
    request = Request("GET", path, query, {}, b"", "127.0.0.1")
    answer: Any = member.entrance.handler(request)
    reply: Reply = await answer if inspect.isawaitable(answer) else answer
    return reply


async def test_changes_get_507_and_switching_503_until_the_database_returns(
    away: tuple[PostgresServer, Cluster],
) -> None:
    server, cluster = away
    members = [cluster.member(name) for name in ("one", "two")]
    epochs = [one._claim.epoch for one in cluster.members.values()]
    for member in members:
        for target, status in ((CHANGE, 507), (SWITCH, 503)):
            refused = await ask_member(member, target)
            assert refused.status == status
            assert b"Nothing was changed" in refused.body
        read = await ask_member(member, READ)
        assert (read.status, dict(read.headers)["Warning"][:3]) == (200, "110")
        assert b"<out>000000</out>" in read.body
    assert "Nothing was changed" in await cluster.asked["a"].expect_refusal(
        507, "send", command="stm.cgi?sname=other"
    )
    await asyncio.to_thread(server.start)
    await until(lambda: not any(one.is_in_doubt for one in leases(cluster)))
    for member in members:
        for target in (CHANGE, SWITCH):
            assert (await ask_member(member, target)).status == 200
    # The very same ones: nothing has moved, and no node was declared dead.
    assert [cluster.member(name) for name in ("one", "two")] == members
    assert [one._claim.epoch for one in cluster.members.values()] == epochs


@pytest.mark.thorough
async def test_controller_that_cannot_be_removed_keeps_running_until_it_can(
    away: tuple[PostgresServer, Cluster],
) -> None:
    server, cluster = away
    member = cluster.member("one")
    assert "Nothing was changed" in await cluster.asked["a"].expect_refusal(
        507, "remove", name="one"
    )
    assert cluster.member("one") is member
    assert not member.has_left
    assert (await ask_member(member, READ)).status == 200
    await asyncio.to_thread(server.start)
    await until(lambda: not any(one.is_in_doubt for one in leases(cluster)))
    assert (await ask_member(member, CHANGE)).status == 200
    assert (await cluster.asked["a"].post("remove", name="one"))["done"] == 1
    assert [one["name"] for one in await cluster.asked["b"].get("list")] == ["two"]
    with connect(cluster.database) as connection:
        rows = connection.execute(
            "SELECT count(*) FROM setting WHERE controller = %s", (member.number,)
        )
        assert rows.fetchone() == (0,)


@pytest.mark.thorough
async def test_controller_removed_during_an_outage_is_stopped(
    there: tuple[PostgresServer, Cluster], caplog: pytest.LogCaptureFixture
) -> None:
    _, cluster = there
    member = cluster.member("one")
    with connect(cluster.database) as connection:
        connection.execute("DELETE FROM controller WHERE number = %s", (member.number,))
        notify_nodes(connection)
    await until(lambda: member.has_left)
    assert (
        "stopped controllers that were removed while the database was unreachable: one"
        in caplog.text
    )
    await until(lambda: cluster.names("a") | cluster.names("b") == {"two"})


@pytest.mark.thorough
async def test_data_only_in_the_database_is_reported_as_unreadable_now(
    away: tuple[PostgresServer, Cluster],
) -> None:
    _, cluster = away
    a = cluster.asked["a"]
    template = b'{"hw": "3.9", "sw": "1.75", "settings": {}}'
    fleet = "/api/fleet"
    replies = [
        await a.ask(f"{fleet}/{question}", method="GET")
        for question in ("changes", "list?tag=none", "export?tag=none", "rollout?id=none")
    ]
    replies.append(await a.ask(f"{fleet}/drift?tag=none", template))
    member = cluster.member("one")
    replies += [
        await ask_member(member, question) for question in ("/api/audit", "/api/restore-report")
    ]
    for reply in replies:
        assert (reply.status, dict(reply.headers)["Retry-After"]) == (503, "2")
        answer = msgspec.json.decode(reply.body)
        assert answer["title"] == "Temporarily unreadable"
        assert answer["detail"] == (
            "The database cannot be reached; the requested data cannot be read until the database"
            " is back."
        )


async def test_answers_about_controllers_in_doubt_are_marked_stale(
    there: tuple[PostgresServer, Cluster],
) -> None:
    server, cluster = there

    async def are_marked() -> list[bool]:
        questions = ("/api/fleet", "/api/fleet/list", "/api/fleet/show?name=one")
        replies = [await cluster.asked["a"].ask(one, method="GET") for one in questions]
        assert [one.status for one in replies] == [200] * len(questions)
        return [dict(one.headers).get("Warning", "")[:3] == "110" for one in replies]

    assert await are_marked() == [False] * 3
    await goes(server, cluster)
    assert await are_marked() == [True] * 3
    await asyncio.to_thread(server.start)
    await until(lambda: not any(one.is_in_doubt for one in leases(cluster)))
    assert await are_marked() == [False] * 3


async def test_remembered_switch_in_the_first_seconds_of_a_cut_is_not_acknowledged(
    there: tuple[PostgresServer, Cluster],
) -> None:
    server, cluster = there
    member = cluster.member("one")
    assert (await ask_member(member, "/outs.cgi?roafs=01")).status == 200
    # The node acts for the controller all the time.
    give(cluster, 10 * PATIENCE_S)
    await until(lambda: all(one.seconds_left > PATIENCE_S for one in leases(cluster)))
    await asyncio.to_thread(server.stop)
    for _ in range(2):
        refused = await ask_member(member, SWITCH)
        assert refused.status == 503
        assert b"not stored yet" in refused.body
    assert (await ask_member(member, "/outs.cgi?out1=1")).status == 200
    await asyncio.to_thread(server.start)
    await until(lambda: "store" not in member.controller.troubles)
    assert (await ask_member(member, SWITCH)).status == 200
    with connect(cluster.database) as connection:
        rows = connection.execute(
            "SELECT value FROM kept WHERE controller = %s AND name = 'output.0'", (member.number,)
        )
        assert rows.fetchone() == ("true",)


async def test_watcher_of_a_controller_is_notified_of_doubt_immediately(
    there: tuple[PostgresServer, Cluster],
) -> None:
    server, cluster = there
    member = cluster.member("one")
    reply = member.entrance.handler(Request("GET", "/api/stream", "", {}, b"", "127.0.0.1"))
    assert isinstance(reply, StreamReply)
    chunks = aiter(reply.chunks)
    assert troubles_in(await anext(chunks)) == []
    await goes(server, cluster)
    assert await next_troubles(chunks) == [
        "Node: This node cannot reach the database that it shares with the other nodes, and does"
        " not know whether it still has this controller. The data shown may be outdated, and"
        " nothing can be changed."
    ]
    await asyncio.to_thread(server.start)
    assert await next_troubles(chunks) == []


async def next_troubles(chunks: AsyncIterator[bytes]) -> list[str]:
    """Wait for the next message with other findings."""
    async with asyncio.timeout(PATIENCE_S):
        while (found := troubles_in(await anext(chunks))) is None:
            pass
    return found


def troubles_in(chunk: bytes) -> list[str] | None:
    """Return the findings about parts in a message of a stream; None where it has none at all."""
    answer = msgspec.json.decode(chunk.partition(b"data: ")[2])
    findings = answer.get("findings")
    return findings and [one["text"] for one in findings if one["kind"] == "trouble"]


@pytest.mark.thorough
@pytest.mark.needs_program("mosquitto")
@pytest.mark.needs_program("mosquitto_sub")
async def test_mqtt_commands_get_the_cause_during_an_outage_and_work_after_it(
    there: tuple[PostgresServer, Cluster], tmp_path: Path
) -> None:
    server, cluster = there
    member = cluster.member("one")
    broker = Broker(tmp_path)
    listener = Listener(broker)
    await broker.start()
    try:
        await listener.start()
        link = f"/stm.cgi?mqtt=1*localhost*{broker.port}*{USER}*{PASSWORD}*cellar*0"
        assert (await ask_member(member, link)).status == 200
        await listener.until_last("cellar/status", "online")
        await goes(server, cluster)
        for number, command in enumerate(("out0=1", "pwmd=130"), start=1):
            await broker.publish("cellar/cmd", command)
            await until(lambda count=number: len(listener.of("cellar/cmdr")) == count)
            assert "Nothing was changed; try again" in listener.of("cellar/cmdr")[-1]
        assert member.controller.engine.values["OUT0"] == 0
        await asyncio.to_thread(server.start)
        await until(lambda: not any(one.is_in_doubt for one in leases(cluster)))
        await broker.publish("cellar/cmd", "out0=1&pwmd=130")
        await until(lambda: listener.of("cellar/cmdr")[2:] == ["1"])
        assert member.controller.engine.values["OUT0"] == 1
    finally:
        await listener.stop()
        await broker.kill()
