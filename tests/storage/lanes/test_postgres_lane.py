"""A lane on a real database that goes away, comes back, is frozen, and has other masters."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from leverframe.fleet.cluster import membership
from leverframe.storage.lanes import postgres_lane as lane_module
from leverframe.storage.lanes.postgres_connection import connect
from leverframe.storage.lanes.postgres_lane import DatabaseWentBack, Fenced, InDoubt, PostgresLane
from leverframe.storage.lanes.postgres_schema import (
    CannotUseDatabase,
    check_tables,
    migrate,
    open_database,
)
from leverframe.storage.store import Changes, StoreUnavailable
from tests.devices.waiting import until
from tests.fleet.faults.database_proxy import DatabaseProxy
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer, postgres_server
from tests.postgres_standby import standby_of


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server that is stopped and frozen, which others must not share."""
    with postgres_server() as server:
        yield server


@pytest.fixture
async def lane(own_server: PostgresServer, tmp_path: Path) -> AsyncIterator[PostgresLane]:
    address = own_server.new_fleet()
    with connect(address) as connection:
        claim = membership.register(connection, "node", "", 1)
    opened_lane = PostgresLane(address, claim, tmp_path / "fleet.key")
    yield opened_lane
    await opened_lane.close()


@contextmanager
def short_patience() -> Iterator[None]:
    """Give up soon a database that is away; one that is there may be slow on a busy machine."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PATIENCE_S", "RETRY_S"):
            patch.setattr(lane_module, name, 0.2)
        patch.setattr(lane_module, "ANSWER_WITHIN_S", 0.5)
        yield


async def test_changes_continue_after_a_database_restart(
    lane: PostgresLane, own_server: PostgresServer
) -> None:
    await lane.store(1).commit(Changes({"a": 1}))
    own_server.stop("immediate")
    own_server.start()
    await lane.store(1).commit(Changes({"a": 2}))
    assert lane.store(1).load().settings == {"a": 2}
    # The number that was in doubt is void, and so is that by which it was made void.
    assert lane.batch == 4


async def test_while_the_database_is_away_changes_are_refused_and_nothing_is_lost(
    lane: PostgresLane, own_server: PostgresServer
) -> None:
    await lane.store(1).commit(Changes({"a": 1}))
    own_server.stop()
    with short_patience():
        with pytest.raises(StoreUnavailable, match="Whether it was stored is not known") as caught:
            await lane.store(1).commit(Changes({"a": 2}))
        assert caught.value.is_in_doubt
        with pytest.raises(StoreUnavailable, match="Nothing was changed"):
            await lane.store(2).commit(Changes({"a": 2}))
    own_server.start()
    await asyncio.sleep(0)
    await until_accepted(lane, 2)
    # The doubt is settled: what was in doubt is not stored, and the controller may write again.
    assert not lane.is_unclear
    await lane.store(1).commit(Changes({"b": 3}))
    assert lane.store(1).load().settings == {"a": 1, "b": 3}
    figures = lane.figures
    assert (figures.durable, figures.in_doubt) == (3, 1)
    assert figures.refused >= 1
    assert figures.last_doubt is not None


async def until_accepted(lane: PostgresLane, controller: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await lane.store(controller).commit(Changes({"a": 2}))
                return
            except StoreUnavailable:
                await asyncio.sleep(0.05)


async def test_late_write_of_a_frozen_database_is_reported(
    lane: PostgresLane, own_server: PostgresServer
) -> None:
    late: list[int] = []
    lane.on_stored_late = late.extend
    await lane.store(1).commit(Changes({"a": 1}))
    with own_server.frozen(), short_patience():
        with pytest.raises(InDoubt):
            await lane.store(1).commit(Changes({"a": 2}))
        with pytest.raises(StoreUnavailable, match="Nothing was changed"):
            await lane.store(2).commit(Changes({"a": 1}))
    await until(lambda: late == [1])
    with pytest.raises(StoreUnavailable, match="the previous change"):
        await lane.store(1).commit(Changes({"a": 3}))
    lane.clear(late)
    assert lane.store(1).load().settings == {"a": 2}
    await lane.store(1).commit(Changes({"a": 3}))


_WAITS = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


@pytest.mark.thorough
async def test_change_not_on_the_standby_is_not_acknowledged(
    lane: PostgresLane, own_server: PostgresServer
) -> None:
    late: list[int] = []
    lane.on_stored_late = late.extend
    with standby_of(own_server, synchronous=True) as standby, connect(own_server.address()) as asks:
        await lane.store(1).commit(Changes({"a": 1}))
        standby.stop()
        with short_patience():
            writing = asyncio.ensure_future(lane.store(1).commit(Changes({"a": 2})))
            await until(lambda: asks.execute(f"SELECT pid {_WAITS}").fetchone() is not None)
            # It is stored here from now on, and all connections can read it.
            asks.execute(f"SELECT pg_terminate_backend(pid) {_WAITS}")
            with pytest.raises(InDoubt):
                await writing
        assert late == []
        standby.start()
        await until(lambda: late == [1])
        asks.execute("ALTER SYSTEM RESET synchronous_standby_names")
        asks.execute("SELECT pg_reload_conf()")


@pytest.fixture
async def lane_through_proxy(
    own_server: PostgresServer, tmp_path: Path
) -> AsyncIterator[tuple[PostgresLane, DatabaseProxy, str]]:
    """A lane whose way to the database can be cut, and the way past that."""
    address = own_server.new_fleet()
    with connect(address) as connection:
        claim = membership.register(connection, "node", "", 1)
    proxy = DatabaseProxy(own_server)
    await proxy.start()
    way = proxy.address(address)
    lane = await asyncio.to_thread(PostgresLane, way, claim, tmp_path / "fleet.key")
    yield lane, proxy, address
    proxy.restore()
    await lane.close()
    await proxy.close()


async def cut_while_writing(lane: PostgresLane, proxy: DatabaseProxy) -> asyncio.Future[None]:
    """Break the connection off while a change of controller 1 is on its way."""
    await lane.store(1).commit(Changes({"a": 1}))
    proxy.cut()
    writing = asyncio.ensure_future(lane.store(1).commit(Changes({"a": 2})))
    await until(lambda: proxy.held > 0)
    proxy.is_refusing = True
    proxy.break_off()
    return writing


async def test_batch_that_arrives_after_it_was_settled_changes_nothing(
    lane_through_proxy: tuple[PostgresLane, DatabaseProxy, str],
) -> None:
    lane, proxy, _ = lane_through_proxy
    with short_patience(), pytest.raises(InDoubt):
        await (await cut_while_writing(lane, proxy))
    proxy.is_refusing = False
    async with asyncio.timeout(PATIENCE_S):
        while lane.is_unclear:
            await lane.look_again()
    proxy.restore()
    await until(lambda: not proxy.is_late)
    await lane.store(1).commit(Changes({"b": 3}))
    stored = await lane.fetch([1])
    assert stored[1].settings == {"a": 1, "b": 3}


async def test_pending_write_of_a_former_life_is_not_written_by_the_next(
    lane_through_proxy: tuple[PostgresLane, DatabaseProxy, str],
) -> None:
    lane, proxy, address = lane_through_proxy
    writing = await cut_while_writing(lane, proxy)
    with connect(address) as connection:
        claim = membership.register(connection, "node", "", 1)
    renewing = asyncio.ensure_future(lane.renew(claim))
    await asyncio.sleep(0)
    proxy.is_refusing = False
    with pytest.raises(InDoubt):
        await writing
    await renewing
    await lane.store(2).commit(Changes({"b": 3}))
    assert (await lane.fetch([1]))[1].settings == {"a": 1}


async def test_fetched_messages_need_no_database_at_the_start_of_the_controller(
    lane: PostgresLane, own_server: PostgresServer
) -> None:
    await lane.store(1).commit(Changes(messages={1: {"text": "x"}}))
    await lane.fetch([1])
    # A start writes something before it asks for them, on the loop of the node.
    await lane.store(1).commit(Changes(kept={"boots": 2}))
    with own_server.frozen():
        assert lane.store(1).messages() == {1: {"text": "x"}}


async def test_node_that_was_declared_dead_writes_nothing(
    lane: PostgresLane, own_server: PostgresServer
) -> None:
    ended: list[Exception] = []
    lane.on_end = ended.append
    await lane.store(1).commit(Changes({"a": 1}))
    with connect(lane._address) as connection:
        assert membership.declare_dead(connection, membership.read_nodes(connection)[0])
    for change in ({"a": 2}, {"a": 3}):
        with pytest.raises(Fenced, match="another node has taken over"):
            await lane.store(1).commit(Changes(change))
    with pytest.raises(Fenced):
        await lane.store(1).commit(Changes({"a": 4}, blobs={"site": b"x"}))
    assert lane.store(1).load().settings == {"a": 1}
    assert [type(one) for one in ended] == [Fenced]
    with connect(lane._address) as connection:
        claim = membership.register(connection, "node", "", 1)
    await lane.renew(claim)
    await lane.store(1).commit(Changes({"a": 5}))


async def test_database_that_went_back_in_time_is_noticed(lane: PostgresLane) -> None:
    for number in range(3):
        await lane.store(1).commit(Changes({"a": number}))
    with connect(lane._address) as connection:
        connection.execute("UPDATE lane SET batch = batch - 1")
    with pytest.raises(DatabaseWentBack, match="was rolled back"):
        await lane.store(1).commit(Changes({"a": 9}))
    refused = lane.figures.refused
    with pytest.raises(DatabaseWentBack):
        await lane.store(2).commit(Changes({"a": 9}))
    assert lane.figures.refused == refused + 1


async def test_refusal_by_the_database_affects_only_its_controller(lane: PostgresLane) -> None:
    done = await asyncio.gather(
        *(lane.store(n).commit(Changes({"a": "\0" if n == 2 else n})) for n in (1, 2, 3)),
        lane.store(4).commit(Changes(messages={2**70: 1})),
        return_exceptions=True,
    )
    # JSON writes a NUL as an escape, so it can be stored; a number that is too large cannot.
    assert [type(one).__name__ for one in done] == ["NoneType"] * 3 + ["StoreUnavailable"]
    assert lane.store(2).load().settings == {"a": "\0"}


def test_tables_are_created_once_and_missing_tables_reported(own_server: PostgresServer) -> None:
    address = own_server.new_database()
    with (
        open_database(address) as connection,
        pytest.raises(CannotUseDatabase, match="fleet migrate"),
    ):
        check_tables(connection)
    assert migrate(address)
    assert migrate(address) == []
    with open_database(address) as connection:
        check_tables(connection)
        connection.execute("DELETE FROM migration")
        with pytest.raises(CannotUseDatabase, match="version 0, and this program needs"):
            check_tables(connection)
    with pytest.raises(CannotUseDatabase, match="does not exist"), open_database(f"{address}x"):
        pass


def test_role_without_rights_on_the_tables_is_reported(own_server: PostgresServer) -> None:
    address = own_server.new_fleet()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE ROLE stranger LOGIN")
    stranger = address.replace("user=postgres", "user=stranger")
    with (
        open_database(stranger) as connection,
        pytest.raises(CannotUseDatabase, match="lacks rights"),
    ):
        check_tables(connection)
    with pytest.raises(CannotUseDatabase, match="Nothing was changed"):
        migrate(stranger)
