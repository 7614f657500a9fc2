"""Connections to the database: what they are refused, and that none is left open in the end."""

from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from leverframe.fleet.cluster import database_setup, membership
from leverframe.fleet.cluster.database_setup import NodeIdentity
from leverframe.fleet.cluster.directory import Place
from leverframe.fleet.cluster.registry import ClusterRegistry
from leverframe.storage.lanes.postgres_connection import Connection, SharedConnection, connect
from leverframe.storage.lanes.postgres_lane import Fenced, PostgresLane
from leverframe.storage.store import StoreUnavailable
from tests.devices.waiting import until
from tests.postgres_server import server_of_process


@pytest.fixture
def address() -> str:
    return server_of_process().new_fleet()


def sessions(address: str) -> int:
    """Count who is connected to this database, without the one who counts."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
    with psycopg.connect(server_of_process().address()) as connection:
        row = connection.execute(query, (conninfo_to_dict(address)["dbname"],)).fetchone()
    assert row is not None
    return int(row[0])


async def test_lane_whose_life_is_over_when_it_is_opened_leaves_nothing_open(
    address: str, tmp_path: Path
) -> None:
    with connect(address) as connection:
        claim = membership.register(connection, "a", "", 1)
        membership.register(connection, "a", "", 1)
    with pytest.raises(Fenced):
        PostgresLane(address, claim, tmp_path / "fleet.key")
    # The server takes a moment to let go of a session.
    await until(lambda: sessions(address) == 0)


async def test_node_that_cannot_be_opened_leaves_nothing_open(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(registry: ClusterRegistry) -> None:
        raise StoreUnavailable("It is away.")

    monkeypatch.setattr(ClusterRegistry, "load_accounts", fail)
    identity = NodeIdentity("a", Place("a", "127.0.0.1", 1))
    with pytest.raises(StoreUnavailable, match="It is away"):
        await database_setup.open_cluster(address, identity, tmp_path / "fleet.key")
    await until(lambda: sessions(address) == 0)


async def test_user_of_a_closed_connection_opens_no_new_one(address: str) -> None:
    shared = SharedConnection(address)
    is_at_it, is_closed = Event(), Event()
    refused: list[str] = []

    def work(connection: Connection) -> None:
        is_at_it.set()
        is_closed.wait()
        connection.execute("SELECT 1")

    def use() -> None:
        try:
            shared.use(work)
        except StoreUnavailable as error:
            refused.append(str(error))

    shared.use(lambda it: it.execute("SELECT 1"))
    user = Thread(target=use)
    user.start()
    is_at_it.wait()
    shared.close()
    is_closed.set()
    user.join()
    assert len(refused) == 1
    await until(lambda: sessions(address) == 0)


_INSERT = "INSERT INTO agreed (name, value) VALUES ('what', 'ever')"


def test_database_that_rejects_all_connections_is_reported_in_words(address: str) -> None:
    shared = SharedConnection(address, "SET default_transaction_read_only = on")
    try:
        with pytest.raises(StoreUnavailable) as refused:
            shared.use(lambda it: it.execute(_INSERT))
    finally:
        shared.close()
    why = "cannot execute INSERT in a read-only transaction"
    assert str(refused.value) == f"The database rejected the change: {why}. Nothing was changed."


def test_errors_of_the_work_itself_are_raised_unchanged(address: str) -> None:
    shared = SharedConnection(address)
    try:
        shared.use(lambda it: it.execute(_INSERT))
        with pytest.raises(psycopg.errors.UniqueViolation):
            shared.use(lambda it: it.execute(_INSERT))
    finally:
        shared.close()
