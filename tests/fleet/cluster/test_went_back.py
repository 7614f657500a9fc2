"""A database that is rolled back under running nodes: they report it, and start nothing again."""

import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.heartbeat import BeatResult, Heartbeat
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.server.http.messages import Reply, Request
from leverframe.storage.lanes.postgres_connection import connect
from leverframe.storage.lanes.postgres_lane import DatabaseWentBack, Fenced, PostgresLane
from leverframe.storage.store import Changes
from tests.devices.waiting import until
from tests.fleet.cluster.nodes import Cluster, cluster_on, new
from tests.postgres_server import PostgresServer

PROBLEM = "database went back"


class Backup:
    """A dump of a database, as an operator creates and restores it."""

    def __init__(self, server: PostgresServer, address: str) -> None:
        self._server = server
        self._name = str(conninfo_to_dict(address)["dbname"])
        self._file = str(server.socket / f"{self._name}.dump")
        self._run("pg_dump", "--format", "custom", "--file", self._file, self._name)

    def restore(self) -> None:
        name = sql.Identifier(self._name)
        with psycopg.connect(self._server.address(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(name))
        self._run("pg_restore", "--dbname", self._name, self._file)

    def _run(self, program: str, *arguments: str) -> None:
        self._server.run(program, "-h", str(self._server.socket), "-U", "postgres", *arguments)


@pytest.fixture
async def cluster(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster_on(postgres.new_fleet(), tmp_path) as cluster:
        yield cluster


async def notices(cluster: Cluster, name: str) -> None:
    node, member = cluster.nodes[name], cluster.members[name]
    await until(lambda: PROBLEM in node.troubles)
    assert "was rolled back" in node.troubles[PROBLEM]
    assert "was rolled back" in (member.why_not() or "")
    assert member.figures.fenced == 0


def epochs(cluster: Cluster) -> dict[str, int]:
    with connect(cluster.database) as connection:
        return {one.name: one.epoch for one in membership.read_nodes(connection)}


async def test_restored_backup_from_before_the_present_life_is_reported(
    cluster: Cluster, postgres: PostgresServer
) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    backup = Backup(postgres, cluster.database)
    # Of this node the backup knows nothing; of the other one an earlier beat, and no later change.
    await cluster.join("b")
    await cluster.wait_for_counts(1, 0)
    backup.restore()
    for name in ("a", "b"):
        await notices(cluster, name)
    # No node has begun another life, which would have hidden it.
    assert epochs(cluster) == {"a": 1}
    # Restarted, as the message says, a node accepts the present state.
    await cluster.leave("b")
    await cluster.join("b")
    assert cluster.members["b"].why_not() is None


@pytest.mark.thorough
async def test_restored_backup_of_an_earlier_life_is_reported(
    cluster: Cluster, postgres: PostgresServer
) -> None:
    await cluster.join("a")
    backup = Backup(postgres, cluster.database)
    member = cluster.members["a"]
    await cluster.declare_dead("a")
    await until(lambda: member._claim.epoch == 3 and not member._is_fenced)
    member.figures.fenced = 0
    backup.restore()
    await notices(cluster, "a")
    assert epochs(cluster) == {"a": 1}


# --- what distinguishes the two cases -------------------------------------------------------------


async def beat(heart: Heartbeat, claim: membership.Claim, batch: int = 0) -> BeatResult:
    return await heart.beat(claim, lambda: batch, 0.0)


async def test_counters_distinguish_a_death_from_a_restored_database(
    postgres: PostgresServer,
) -> None:
    address = postgres.new_fleet()
    lease = NodeLease()
    heart = Heartbeat(address, lease)
    with connect(address) as database:
        claim = membership.register(database, "a", "", 1)
        assert lease.is_in_doubt
        for _ in range(3):
            assert await beat(heart, claim) is BeatResult.COUNTED
        assert not lease.is_in_doubt
        assert await beat(heart, claim, batch=1) is BeatResult.WENT_BACK
        (seen,) = membership.read_nodes(database)
        assert membership.declare_dead(database, seen)
        assert await beat(heart, claim) is BeatResult.LIFE_IS_OVER
        assert lease.is_in_doubt
        # Another node has declared dead what the restored database had of it.
        assert await beat(heart, claim, batch=1) is BeatResult.WENT_BACK
        database.execute("UPDATE node SET beat = beat - 3")
        assert await beat(heart, claim) is BeatResult.WENT_BACK
        latter = membership.register(database, "a", "", 1)
        assert await beat(heart, latter) is BeatResult.WENT_BACK
        database.execute("UPDATE node SET beat = 100")
        assert await beat(heart, latter) is BeatResult.COUNTED
        database.execute("UPDATE node SET epoch = 1")
        assert await beat(heart, latter) is BeatResult.WENT_BACK
        database.execute("DELETE FROM node")
        assert await beat(heart, latter) is BeatResult.WENT_BACK
    heart.close()


async def test_lane_distinguishes_a_death_from_a_restored_database(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    address = postgres.new_fleet()
    with connect(address) as database:
        membership.register(database, "a", "", 1)
        claim = membership.register(database, "a", "", 1)
        for setback, error in (
            ("UPDATE lane SET epoch = 1", DatabaseWentBack),
            ("DELETE FROM lane", DatabaseWentBack),
            ("UPDATE lane SET epoch = 9", Fenced),
            ("UPDATE lane SET epoch = 9, batch = batch - 1", DatabaseWentBack),
        ):
            database.execute("DELETE FROM lane")
            database.execute("INSERT INTO lane VALUES ('a', %s, 0)", (claim.epoch,))
            lane = PostgresLane(address, claim, tmp_path / "fleet.key")
            await lane.store(1).commit(Changes({"a": 1}))
            database.execute(setback)
            with pytest.raises(error):
                await lane.store(1).commit(Changes({"a": 2}))
            await lane.close()


async def test_change_that_notices_the_rollback_is_refused(
    cluster: Cluster,
) -> None:
    member = await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    # No beat notices it before.
    for task in member._tasks:
        task.cancel()
    handler = cluster.member("one").entrance.handler
    assert (await change(handler, "first")).status == 200
    with connect(cluster.database) as database:
        database.execute("UPDATE lane SET batch = batch - 1")
    refusals = []
    for name in ("second", "third"):
        refused = await change(handler, name)
        refusals.append((refused.status, refused.body))
        await until(lambda: PROBLEM in cluster.nodes["a"].troubles)
    assert refusals[0][0] == 503
    assert b"was rolled back" in refusals[0][1]
    assert refusals[0] == refusals[1]


async def change(handler: Any, name: str) -> Reply:
    answer = handler(Request("GET", "/stm.cgi", f"sname={name}", {}, b"", "127.0.0.1"))
    reply: Reply = await answer if inspect.isawaitable(answer) else answer
    return reply
