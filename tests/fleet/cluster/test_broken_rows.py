"""A start of many controllers with a broken row, or with a database that ends in the middle."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from psycopg import sql

from leverframe.fleet.cluster.membership import notify_nodes
from leverframe.fleet.cluster.own_controllers import OwnControllers
from leverframe.fleet.member import Member
from leverframe.storage.lanes.postgres_connection import connect
from tests.devices.waiting import until
from tests.fleet.cluster.nodes import Cluster, cluster_on, new
from tests.postgres_server import PostgresServer, postgres_server

#: Several batches, and the controller that is broken.
COUNT, AT_A_TIME, BROKEN = 23, 5, 12
NAMES = [f"c-{number}" for number in range(1, COUNT + 1)]


@pytest.fixture
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for constant in ("cluster.own_controllers.STARTED_AT_A_TIME", "node.READ_AT_A_TIME"):
        monkeypatch.setattr(f"leverframe.fleet.{constant}", AT_A_TIME)


@pytest.fixture
async def cluster(
    postgres: PostgresServer, tmp_path: Path, few_at_a_time: None
) -> AsyncIterator[Cluster]:
    """Nodes of a fleet whose controllers wait in the database."""
    async with cluster_on(postgres.new_fleet(), tmp_path) as cluster:
        await store_controllers(cluster)
        yield cluster


async def store_controllers(cluster: Cluster) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new(*NAMES))
    await cluster.leave("a")


def members_of(cluster: Cluster) -> list[Member]:
    return list(cluster.nodes["a"].members.values())


def break_row(cluster: Cluster, table: str, column: str, where: str) -> None:
    query = sql.SQL("UPDATE {} SET {} = '{{\"name' WHERE " + where)
    with connect(cluster.database) as connection:
        connection.execute(query.format(sql.Identifier(table), sql.Identifier(column)))


@pytest.mark.parametrize(
    ("table", "column", "where", "why"),
    [
        ("kept", "value", f"controller = {BROKEN} AND name = 'snmp.boots'", "snmp.boots"),
        (
            "controller",
            "record",
            f"number = {BROKEN}",
            "The record of the controller cannot be read",
        ),
        ("message", "value", f"controller = {BROKEN}", "value of message 7"),
    ],
)
async def test_broken_row_keeps_only_its_own_controller_from_starting(
    cluster: Cluster, table: str, column: str, where: str, why: str
) -> None:
    with connect(cluster.database) as connection:
        connection.execute("INSERT INTO message VALUES (%s, 7, '{}')", (BROKEN,))
    break_row(cluster, table, column, where)
    await cluster.join("a")
    broken = NAMES[BROKEN - 1]
    assert cluster.names("a") == {*NAMES} - {broken}
    (sentence,) = (await cluster.asked["a"].get(""))["not_started"]
    assert f"{broken} failed to start: " in sentence
    assert why in sentence
    # Other nodes and operations across nodes are not kept from their work either.
    await cluster.join("b")
    await until(lambda: sum(cluster.counts()) == COUNT - 1 and min(cluster.counts()) > 1)
    listed = await cluster.asked["b"].get("list")
    assert {*NAMES} - {broken} <= {one["name"] for one in listed}


async def test_repaired_row_lets_its_controller_start(cluster: Cluster) -> None:
    break_row(cluster, "kept", "value", f"controller = {BROKEN} AND name = 'snmp.boots'")
    await cluster.join("a")
    with connect(cluster.database) as connection:
        connection.execute(
            "UPDATE kept SET value = '5' WHERE controller = %s AND name = 'snmp.boots'", (BROKEN,)
        )
    answer = await cluster.asked["a"].post("start", name=NAMES[BROKEN - 1])
    assert answer["refused"] == 0
    assert cluster.names("a") == {*NAMES}


async def test_start_resumes_after_the_database_ended_in_the_middle(
    tmp_path: Path, few_at_a_time: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres_server() as server:
        async with cluster_on(server.new_fleet(), tmp_path) as cluster:
            await store_controllers(cluster)
            start, reached = OwnControllers._start, asyncio.Event()

            async def start_and_end(own: OwnControllers, numbers: list[int], live: object) -> None:
                if not reached.is_set():
                    # Behind the reads of the first batch, before anything is written for it.
                    await asyncio.to_thread(server.stop, "immediate")
                    reached.set()
                await start(own, numbers, live)  # type: ignore[arg-type]

            monkeypatch.setattr(OwnControllers, "_start", start_and_end)
            joining = asyncio.create_task(cluster.join("a"))
            await reached.wait()
            await asyncio.to_thread(server.start)
            await joining
            await until(lambda: cluster.names("a") == {*NAMES})
            assert cluster.nodes["a"].roster.list_failed() == []
            # Also those of the batch that failed resume where they were.
            journals = [one.controller.engine.machine.journal for one in members_of(cluster)]
            assert all("resumed" in str(list(one.since(0))) for one in journals)


async def test_awaited_controller_starts_in_the_next_batch(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, batches = OwnControllers._start, list[list[int]]()

    async def note(own: OwnControllers, numbers: list[int], live: object) -> None:
        batches.append(list(numbers))
        if len(batches) == 1:
            # A client asks for the last one while the first ones start.
            cluster.members["a"]._directory.awaited[NAMES[-1]] += 1
        await start(own, numbers, live)  # type: ignore[arg-type]

    monkeypatch.setattr(OwnControllers, "_start", note)
    await cluster.join("a")
    assert [batch[0] for batch in batches[:3]] == [1, COUNT, AT_A_TIME * 2]
    assert sorted(number for batch in batches for number in batch) == list(range(1, COUNT + 1))


async def test_starts_of_a_batch_share_a_transaction(cluster: Cluster) -> None:
    await cluster.join("a")
    figures = cluster.members["a"]._lane.figures
    assert figures.durable == COUNT
    assert sum(figures.batches.values()) == -(-COUNT // AT_A_TIME)


async def test_second_node_gets_what_was_not_started_yet(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Controllers that a node has and that another one is to have are started once."""
    start, began = OwnControllers._start, list[int]()

    async def note(own: OwnControllers, numbers: list[int], live: object) -> None:
        if not began:
            a = cluster.members["a"]
            a._changed.clear()
            with connect(cluster.database) as connection, connection.transaction():
                connection.execute(
                    "INSERT INTO node (name, epoch, is_alive, address, session, capacity, carries)"
                    " VALUES ('b', 1, true, '', 0, 1, 1)"
                )
                notify_nodes(connection)
            await until(lambda: len(a.nodes) == 2 and a._changed.is_set())
        began.extend(numbers)
        await start(own, numbers, live)  # type: ignore[arg-type]

    monkeypatch.setattr(OwnControllers, "_start", note)
    await cluster.join("a")
    share = -(-COUNT // 2)
    assert len(began) == share
    with connect(cluster.database) as connection:
        row = connection.execute("SELECT count(*) FROM controller WHERE node IS NULL").fetchone()
    assert row == (COUNT - share,)
