"""Records, snapshots, jobs and live state of a life that is over, on a real database.

The node of the same name lives again and has the same controllers: the name alone proves nothing.
"""

import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster import registry as registry_module
from leverframe.fleet.cluster.membership import put_live
from leverframe.fleet.cluster.registry import ClusterRegistry
from leverframe.fleet.records import MemberRecord, Moved, SnapshotRecord
from leverframe.host.controller.hand_over import SavedLive
from leverframe.storage.lanes.postgres_connection import connect
from leverframe.storage.lanes.postgres_lane import Claim, Fenced, PostgresLane
from leverframe.storage.store import Changes, StoreUnavailable
from tests.devices.waiting import until
from tests.postgres_server import PostgresServer

ONE = 1


class TwoLives:
    """A node with one controller, which was declared dead and has it again."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.database = connect(address)
        self.former = membership.register(self.database, "a", "", 1)
        self.database.execute(
            "INSERT INTO controller (number, name, record, node) VALUES (1, 'one', '{}', 'a')"
        )
        self.database.execute("INSERT INTO snapshot VALUES ('before', 1, 0, 7)")
        self.registry = ClusterRegistry(address, self.former)
        self.registry.records = {ONE: MemberRecord("one")}

    def begin_again(self) -> Claim:
        (seen,) = membership.read_nodes(self.database)
        assert membership.declare_dead(self.database, seen)
        latter = membership.register(self.database, "a", "", 1)
        taken = membership.claim_free(self.database, latter, membership.read_nodes(self.database))
        assert taken == [ONE]
        self.database.execute("INSERT INTO job VALUES (5, 'roll', 'a', %s)", (latter.epoch,))
        put_live(self.database, latter, {ONE: SavedLive(b"x", 0.0, time.monotonic())})
        return latter

    def rows(self) -> list[Any]:
        tables = ("controller", "snapshot", "job", "live")
        return [self.database.execute(f"SELECT * FROM {one}").fetchall() for one in tables]


@pytest.fixture
def lives(postgres: PostgresServer) -> Iterator[TwoLives]:
    lives = TwoLives(postgres.new_fleet())
    with closing(lives.database), closing(lives.registry):
        yield lives


Write = Callable[[TwoLives], Awaitable[Any]]
RENAMED = {ONE: MemberRecord("other", ("tag",))}
WRITES: dict[str, tuple[Write, type[Exception] | None]] = {
    "rename": (lambda it: it.registry.put(RENAMED), Moved),
    "add": (lambda it: it.registry.put({2: MemberRecord("two")}), Moved),
    "remove": (lambda it: it.registry.remove([ONE]), Moved),
    "snapshot": (lambda it: it.registry.put_snapshot("new", SnapshotRecord(1.0, {ONE: 8})), Moved),
    "forget a snapshot": (lambda it: it.registry.put_snapshot("before", None), Moved),
    "begin a job": (lambda it: it.registry.put_job(6, "other"), StoreUnavailable),
    "forget a job": (lambda it: it.registry.remove_job(5), StoreUnavailable),
    "take live state": (lambda it: it.registry.take_live([ONE]), None),
}


async def test_ended_life_writes_no_records(lives: TwoLives) -> None:
    lives.begin_again()
    before = lives.rows()
    for name, (write, refusal) in WRITES.items():
        if refusal is None:
            assert not await write(lives)
        else:
            with pytest.raises(refusal):
                await write(lives)
        assert lives.rows() == before, name


async def test_present_life_writes_records(lives: TwoLives) -> None:
    lives.registry.renew(lives.begin_again())
    assert set(await lives.registry.take_live([ONE])) == {ONE}
    for name in ("snapshot", "forget a snapshot", "begin a job", "forget a job", "rename"):
        await WRITES[name][0](lives)
    controllers, snapshots, jobs, _ = lives.rows()
    assert controllers[0][1] == "other"
    assert snapshots == [("new", ONE, 1.0, 8)]
    assert [job[0] for job in jobs] == [6]
    # What is gone already, as after a broken connection, is ignored.
    await lives.registry.remove_job(5)
    await lives.registry.remove([ONE])
    assert lives.rows()[:2] == [[], []]
    await lives.registry.remove([ONE])


async def test_ended_life_releases_and_erases_nothing(lives: TwoLives, tmp_path: Path) -> None:
    lane = PostgresLane(lives.address, lives.former, tmp_path / "fleet.key")
    await lane.store(ONE).commit(Changes({"a": 1}))
    lives.begin_again()
    membership.release(lives.database, lives.former, [ONE])
    assert lives.rows()[0][0][3] == "a"
    with pytest.raises(Fenced):
        await lane.forget([ONE])
    assert lane.store(ONE).load().settings == {"a": 1}
    await lane.close()


async def test_death_waits_for_a_record_being_written_and_beats_do_not(
    lives: TwoLives,
) -> None:
    with psycopg.connect(lives.address) as writing:
        given = {"numbers": [ONE], "names": ["other"], "records": ["{}"], "tenants": [None]}
        writing.execute(registry_module._PUT, {"node": "a", "epoch": lives.former.epoch, **given})
        assert membership.beat(lives.database, lives.former)
        (seen,) = membership.read_nodes(lives.database)
        ended: list[bool] = []

        def end() -> None:
            with connect(lives.address) as other:
                ended.append(membership.declare_dead(other, seen))

        thread = threading.Thread(target=end)
        thread.start()
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        await until(lambda: lives.database.execute(query).fetchone() != (0,))
        # A node that waits to end a life does not delay the beats of that life either.
        lives.database.execute("SET lock_timeout = 1000")
        assert membership.beat(lives.database, lives.former)
        writing.commit()
    thread.join()
    assert ended == [False]
