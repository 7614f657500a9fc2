"""Nodes on a real database: controllers are shared out, moved, given up and taken over."""

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from leverframe.fleet.cluster import member as member_module
from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.database_setup import NameTaken
from leverframe.fleet.cluster.heartbeat import BeatResult
from leverframe.fleet.cluster.lease import LEASE_S
from leverframe.fleet.member import Member
from leverframe.fleet.records import NotRunning
from leverframe.host.controller.hand_over import SavedLive
from leverframe.interface.table.lookup import UNRESTRICTED
from leverframe.interface.table.refusals import BadValue
from leverframe.server.http.messages import Reply, Request
from leverframe.storage.lanes.lane import OF_NODE
from leverframe.storage.lanes.postgres_connection import AWAY, Connection, connect
from leverframe.storage.lanes.postgres_lane import Claim, InDoubt, PostgresLane
from leverframe.storage.store import Stored, StoreUnavailable
from tests.devices.waiting import until
from tests.fleet.cluster.nodes import Cluster, cluster_on, new
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer


@pytest.fixture
async def cluster(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster_on(postgres.new_fleet(), tmp_path) as cluster:
        yield cluster


async def test_controllers_are_distributed_and_move_to_free_nodes(cluster: Cluster) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one", "two", "three", "four"))
    await cluster.join("b")
    await cluster.wait_for_counts(2, 2)
    assert cluster.names("a") | cluster.names("b") == {"one", "two", "three", "four"}
    await cluster.leave("a")
    await cluster.wait_for_counts(4)
    with pytest.raises(NameTaken, match="A node b is already running"):
        await cluster.join("b")


async def test_node_start_survives_a_short_database_outage(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    await cluster.leave("a")
    fetch, asked = PostgresLane.fetch, 0

    async def stumbling(lane: PostgresLane, numbers: Sequence[int]) -> dict[int, Stored]:
        nonlocal asked
        asked += OF_NODE not in numbers
        if asked == 1:
            raise StoreUnavailable(AWAY)
        return await fetch(lane, numbers)

    monkeypatch.setattr(PostgresLane, "fetch", stumbling)
    await cluster.join("a")
    await cluster.wait_for_counts(1)
    assert asked == 2


async def test_moved_controller_stays_at_the_requested_node(cluster: Cluster) -> None:
    for name in ("a", "b"):
        await cluster.join(name)
    await cluster.nodes["a"].add(new("one", "two"))
    await cluster.wait_for_counts(1, 1)
    (there,) = cluster.names("a")
    await cluster.members["b"].move([there], "b")
    await until(lambda: there in cluster.names("b"))
    await cluster.wait_for_counts(1, 1)
    assert cluster.names("b") == {there}


@pytest.mark.thorough
async def test_drained_node_stays_empty_until_undone(
    cluster: Cluster,
) -> None:
    for name in ("a", "b"):
        await cluster.join(name, capacity=1 if name == "a" else 3)
    await cluster.nodes["a"].add(new("one", "two", "three", "four"))
    await cluster.wait_for_counts(1, 3)
    await cluster.members["a"].drain("b", undo=False)
    await cluster.wait_for_counts(4, 0)
    # Declared dead by mistake, it begins another life.
    b = cluster.members["b"]
    await cluster.declare_dead("b")
    await until(lambda: b._claim.epoch == 3 and not b.lease.is_in_doubt)
    await cluster.nodes["a"].add(new("five"))
    await cluster.wait_for_counts(5, 0)
    # Stopped and started again.
    await cluster.leave("b")
    await cluster.join("b", capacity=4)
    await until(lambda: any(one.is_drained for one in cluster.members["a"].nodes))
    assert cluster.counts() == [5, 0]
    (other,) = [one for one in cluster.members["a"].report().nodes if one.name == "b"]
    assert (other.capacity, other.is_drained) == (0, True)
    await cluster.members["a"].drain("b", undo=True)
    await cluster.wait_for_counts(1, 4)


async def test_unknown_node_cannot_be_drained(cluster: Cluster) -> None:
    await cluster.join("a")
    for undo in (False, True):
        with pytest.raises(BadValue, match="No running node is named 'c'"):
            await cluster.members["a"].drain("c", undo=undo)


@pytest.mark.thorough
async def test_forgotten_node_returns_as_a_new_node(
    cluster: Cluster,
) -> None:
    for name in ("a", "b"):
        await cluster.join(name)
    a = cluster.members["a"]
    with pytest.raises(BadValue, match="There is no stopped node 'b'"):
        await a.forget("b")
    await cluster.nodes["a"].add(new("one", "two"))
    await cluster.wait_for_counts(1, 1)
    await a.move(["one"], "b")
    await cluster.leave("b")
    await until(lambda: not all(one.is_alive for one in a.nodes))
    await a.forget("b")
    await until(lambda: [one.name for one in a.report().nodes] == ["a"])
    assert {one.wanted for one in a._placed} == {None}
    await cluster.join("b")
    await cluster.wait_for_counts(1, 1)
    # What its earlier life still sends is void.
    assert cluster.members["b"]._claim.epoch > 1


async def test_request_with_a_broken_connection_is_reported_as_unknown(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    await cluster.wait_for_counts(1)
    broken = "SELECT pg_terminate_backend(pg_backend_pid())"
    monkeypatch.setattr(membership, "want", lambda it, *wish: it.execute(broken))
    with pytest.raises(InDoubt, match="not known yet"):
        await cluster.members["a"].move(["one"], "a")


async def test_request_without_database_is_refused_without_its_address(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    await cluster.wait_for_counts(1)
    member = cluster.members["a"]
    monkeypatch.setattr(member_module, "PATIENCE_S", 0.0)
    monkeypatch.setattr(member, "_address", "host=/nowhere")
    with pytest.raises(StoreUnavailable) as refused:
        await member.move(["one"], "a")
    assert str(refused.value) == AWAY
    monkeypatch.undo()


async def test_request_refused_by_the_database_is_reported_as_not_done(cluster: Cluster) -> None:
    await cluster.join("a")
    with connect(cluster.database) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
    why = "cannot execute UPDATE in a read-only transaction"
    assert await cluster.asked["a"].expect_refusal(507, "drain", node="a") == (
        f"The database rejected the change: {why}. Nothing was changed."
    )


async def ask_controller(cluster: Cluster, node: str, path: str, query: str = "") -> bytes:
    """Ask the controller `one` at a node."""
    request = Request("GET", path, query, {}, b"", "127.0.0.1")
    web = cluster.nodes[node].members["one"].built.web
    answer: Any = web.handle(request, requester=UNRESTRICTED)
    reply = await answer if inspect.isawaitable(answer) else answer
    assert reply.status == 200, reply.body
    body: bytes = reply.body
    return body


async def read_records(cluster: Cluster, node: str) -> tuple[list[float], list[str], set[str], int]:
    """Return the course of an output, its journal, causes and number of audit entries."""
    chart = msgspec.json.decode(await ask_controller(cluster, node, "/api/history", "labels=OUT0"))
    journal = msgspec.json.decode(await ask_controller(cluster, node, "/api/journal"))
    timeline = msgspec.json.decode(await ask_controller(cluster, node, "/api/timeline"))
    (lane,) = [lane for lane in timeline["lanes"] if lane["label"] == "OUT0"]
    causes = {bar["cause"]["kind"] for bar in lane["bars"] if bar.get("cause")}
    audit = msgspec.json.decode(await ask_controller(cluster, node, "/api/audit"))
    values = [value for value in chart["series"]["OUT0"]["values"] if value is not None]
    return values, [one["what"] for one in journal], causes, len(audit)


async def test_moved_controller_shows_its_charts_journal_and_audit(
    cluster: Cluster,
) -> None:
    for name in ("a", "b"):
        await cluster.join(name)
    await cluster.nodes["a"].add(new("one"))
    await cluster.members["a"].move(["one"], "a")
    await until(lambda: "one" in cluster.names("a"))
    await ask_controller(cluster, "a", "/outs.cgi", "out0=1")
    await ask_controller(cluster, "a", "/stm.cgi", "oname=0Pump")
    async with asyncio.timeout(PATIENCE_S):
        # Values are recorded by the millisecond, and requested up to the present one.
        while (await read_records(cluster, "a"))[0][-1] != 1:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    values, journal, causes, audit = await read_records(cluster, "a")
    assert causes
    assert audit
    await cluster.members["a"].move(["one"], "b")
    await until(lambda: "one" in cluster.names("b"))
    async with asyncio.timeout(PATIENCE_S):
        # It is on there, too, and not merely was.
        while (await read_records(cluster, "b"))[0][len(values) :][-1:] != [1]:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    moved = await read_records(cluster, "b")
    assert moved[0][: len(values)] == values
    assert moved[1][: len(journal)] == journal
    assert moved[2] >= causes
    assert moved[3] == audit
    await cluster.nodes["b"].remove([cluster.nodes["b"].members["one"]])
    with connect(cluster.database) as connection:
        for table in ("chunk", "entry", "told", "mark", "last_moments"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


async def test_failed_start_is_logged_once_and_retried(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    await cluster.join("b")
    cluster.nodes["b"].roster.retry_s = 0.0
    node, tries = cluster.nodes["b"], iter(range(3))
    start_stored = node._start_stored

    async def fail_twice(*given: Any) -> None:
        if next(tries) < 2:
            raise StoreUnavailable("The database is away.")
        await start_stored(*given)

    monkeypatch.setattr(node, "_start_stored", fail_twice)
    await cluster.members["a"].move(["one"], "b")
    await cluster.wait_for_counts(0, 1)
    assert [one.message for one in caplog.records if "failed to start" in one.message] == [
        "one failed to start: The database is away."
    ]
    # It is listed as running a moment before it is noted as such.
    await until(lambda: not node.roster.problems())


async def test_controllers_start_when_the_database_returns(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    await cluster.join("b")
    cluster.nodes["b"].roster.retry_s = 1000.0
    node = cluster.nodes["b"]
    start_stored = node._start_stored

    async def fail(*given: Any) -> None:
        raise StoreUnavailable("The database is away.")

    monkeypatch.setattr(node, "_start_stored", fail)
    await cluster.members["a"].move(["one"], "b")
    await until(lambda: [one.name for one in node.roster.list_failed()] == ["one"])
    with pytest.raises(
        NotRunning, match="one failed to start: The database is away. The node retries it"
    ):
        node.select(["one"])
    monkeypatch.setattr(node, "_start_stored", start_stored)
    for one in cluster.members.values():
        # As after an error of its connection.
        one._note_away(StoreUnavailable("The database is away."))
    await cluster.wait_for_counts(0, 1)


async def test_change_at_a_node_declared_dead_is_sent_to_the_next_owner(
    cluster: Cluster,
) -> None:
    """It has not heard of it, and its lease still runs: the fence holds the change back."""
    member = await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    for task in member._tasks:
        task.cancel()
    await asyncio.wait(member._tasks)
    # On a busy machine the last beat may be long ago.
    now = member.lease.now()
    member.lease.renew(now)
    member.lease.now = partial(float, now)
    await cluster.declare_dead("a")
    web = cluster.nodes["a"].members["one"].built.web
    request = Request("GET", "/stm.cgi", "sname=other", {}, b"", "127.0.0.1")
    answer: Any = web.handle(request, requester=UNRESTRICTED)
    # What the node writes by itself may have met the fence before.
    refused = answer if isinstance(answer, Reply) else await answer
    assert (refused.status, b"another node has taken over" in refused.body) == (421, True)


async def test_lease_is_renewed_while_looking_at_others_waits(cluster: Cluster) -> None:
    """What claims, reads and accounts wait for does not hold up a beat."""
    member = await cluster.join("a")
    with psycopg.connect(cluster.database) as others, connect(cluster.database) as reading:
        others.execute("LOCK controller, account IN ACCESS EXCLUSIVE MODE")
        waits = "SELECT 1 FROM pg_locks WHERE NOT granted"
        await until(lambda: reading.execute(waits).fetchone() is not None)
        await beats_are_counted(reading)
        await until(lambda: member.lease.age_s < LEASE_S / 2)


async def test_leaving_node_renews_its_lease_until_all_is_released(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others would declare it dead in the middle, and start what it could have handed over."""
    await cluster.join("a")
    node = cluster.nodes["a"]
    await node.add(new("one"))
    hand_over = node.hand_over

    async def slowly(members: Sequence[Member]) -> dict[int, SavedLive]:
        with connect(cluster.database) as reading:
            await beats_are_counted(reading)
        return await hand_over(members)

    monkeypatch.setattr(node, "hand_over", slowly)
    await cluster.leave("a")


async def beats_are_counted(connection: Connection) -> None:
    def count_beats() -> int:
        row = connection.execute("SELECT beat FROM node").fetchone()
        assert row is not None
        return int(row[0])

    from_here = count_beats()
    await until(lambda: count_beats() >= from_here + 5)


async def test_restarted_life_takes_its_share_with_its_lease(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """News that come before the first beat of a life are looked at again after it."""
    monkeypatch.setattr(member_module, "LOOK_AT_ALL_BEATS", 10**6)
    member = await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    beat, placed, looks = member._heart.beat, membership.read_places, Counter[int]()

    def count_looks(connection: Connection) -> list[membership.Placed]:
        looks[member._claim.epoch] += 1
        return placed(connection)

    async def late(claim: Claim, *given: Any) -> BeatResult:
        if claim.epoch == 3:
            await until(lambda: looks[3] > 0)
        return await beat(claim, *given)

    monkeypatch.setattr(membership, "read_places", count_looks)
    monkeypatch.setattr(member._heart, "beat", late)
    await cluster.declare_dead("a")
    await until(lambda: member._claim.epoch == 3)
    await cluster.wait_for_counts(1)


async def test_node_with_a_taken_name_stays_out(cluster: Cluster) -> None:
    """A machine that was asleep finds its replacement: each would end the life of the other."""
    member = await cluster.join("a")
    with connect(cluster.database) as connection:
        await asyncio.to_thread(membership.register, connection, "a", "192.0.2.1:1", 1)
        other = Claim("a", member._claim.epoch + 1)
        while member.lease.ended is None:
            assert membership.beat(connection, other) is not None
            await asyncio.sleep(0.02)
    assert "A node a is already running" in member.lease.ended
    assert any("A node a is already running" in one for one in cluster.nodes["a"].troubles.values())
