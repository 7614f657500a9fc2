"""Nodes on a real database: lives, deaths, and who has which controller."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from leverframe import __version__
from leverframe.fleet.cluster import membership
from leverframe.storage.lanes.postgres_lane import Claim
from tests.clients.served_twin import eventually
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres.new_fleet(), autocommit=True) as connection:
        yield connection


def add(database: psycopg.Connection[Any], count: int) -> None:
    for number in range(count):
        database.execute("INSERT INTO controller (name, record) VALUES (%s, '{}')", (f"c{number}",))


def live(database: psycopg.Connection[Any], *names: str) -> list[Claim]:
    return [membership.register(database, name, f"{name}:80", 1) for name in names]


def owners(database: psycopg.Connection[Any]) -> dict[str, str | None]:
    return {one.name: one.node for one in membership.read_places(database)}


def test_free_controllers_are_distributed(database: psycopg.Connection[Any]) -> None:
    a, b = live(database, "a", "b")
    add(database, 7)
    nodes = membership.read_nodes(database)
    assert len(membership.claim_free(database, a, nodes)) == 4
    assert len(membership.claim_free(database, b, nodes)) == 3
    assert membership.claim_free(database, a, nodes) == []
    assert None not in owners(database).values()


def test_dead_node_loses_all_and_its_beats_are_ignored(
    database: psycopg.Connection[Any],
) -> None:
    a, b = live(database, "a", "b")
    add(database, 4)
    membership.claim_free(database, a, membership.read_nodes(database))
    seen = next(one for one in membership.read_nodes(database) if one.name == "a")
    assert membership.declare_dead(database, seen)
    assert not membership.declare_dead(database, seen)
    assert not membership.beat(database, a)
    assert membership.beat(database, b)
    nodes = membership.read_nodes(database)
    assert len(membership.claim_free(database, b, nodes)) == 4
    assert membership.claim_free(database, a, nodes) == []
    assert set(owners(database).values()) == {"b"}


def test_job_of_a_dead_node_is_taken_by_one_node(
    database: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = live(database, "a", "b")
    nodes = membership.read_nodes(database)
    database.execute("INSERT INTO job (number, id, node, epoch) VALUES (1, 'once', 'dead', 1)")
    # Each job that b looks at makes it wait; a takes it in that time.
    waits = f"{membership._IS_FREE} AND pg_advisory_lock_shared(7) IS NOT NULL"
    monkeypatch.setattr(membership, "_IS_FREE", waits)
    database.execute("SELECT pg_advisory_lock(7)")
    with (
        psycopg.connect(database.info.dsn, autocommit=True) as other,
        ThreadPoolExecutor(1) as thread,
    ):
        claiming = thread.submit(membership.claim_jobs, other, b, nodes)
        query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        eventually(lambda: database.execute(query).fetchone(), (1,))
        membership.claim_jobs(database, a, nodes)
        database.execute("SELECT pg_advisory_unlock_all()")
        claiming.result(PATIENCE_S)
    assert membership.holder_of(database, "once") == "a"


def test_controller_taken_at_the_moment_of_death_is_free(
    database: psycopg.Connection[Any],
) -> None:
    a, b = live(database, "a", "b")
    add(database, 2)
    nodes = membership.read_nodes(database)
    with psycopg.connect(database.info.dsn, autocommit=True) as other, other.transaction():
        # It has looked that it lives, and commits after it was declared dead.
        membership.claim_free(other, a, nodes)
        assert membership.declare_dead(database, nodes[0])
    assert "a" in owners(database).values()
    assert len(membership.claim_free(database, b, membership.read_nodes(database))) == 2


def test_node_with_a_new_beat_is_not_declared_dead(database: psycopg.Connection[Any]) -> None:
    (a,) = live(database, "a")
    seen = membership.read_nodes(database)[0]
    assert membership.beat(database, a)
    assert not membership.declare_dead(database, seen)
    assert membership.beat(database, a)


def test_second_life_of_a_name_ends_the_first(database: psycopg.Connection[Any]) -> None:
    first, second = live(database, "a", "a")
    assert (first.epoch, second.epoch) == (1, 2)
    assert not membership.beat(database, first)
    assert membership.beat(database, second)


def test_node_restarted_within_its_lease_keeps_its_controllers(
    database: psycopg.Connection[Any],
) -> None:
    add(database, 4)
    a, b = live(database, "a", "b")
    for one in (a, b):
        membership.claim_free(database, one, membership.read_nodes(database))
    before = owners(database)
    (again,) = live(database, "a")
    assert again.epoch == a.epoch + 1
    assert owners(database) == before
    # Its peers leave them alone, and its former life may not release them.
    assert membership.claim_free(database, b, membership.read_nodes(database)) == []
    membership.release(database, a, [1, 2, 3, 4])
    assert owners(database) == before


def test_released_controller_goes_to_the_requested_node(database: psycopg.Connection[Any]) -> None:
    a, b, c = live(database, "a", "b", "c")
    add(database, 3)
    nodes = membership.read_nodes(database)
    for claim in (a, b, c):
        membership.claim_free(database, claim, nodes)
    moved = next(one for one in membership.read_places(database) if one.node == "a")
    assert membership.want(database, [moved.name, "missing"], "c") == "missing"
    assert membership.want(database, [moved.name], "b") is None
    membership.release(database, a, [moved.number])
    assert membership.claim_free(database, c, nodes) == []
    assert membership.claim_free(database, b, nodes) == [moved.number]


def test_resigning_node_frees_everything_immediately(database: psycopg.Connection[Any]) -> None:
    (a,) = live(database, "a")
    add(database, 2)
    membership.claim_free(database, a, membership.read_nodes(database))
    membership.resign(database, a)
    assert set(owners(database).values()) == {None}
    assert not membership.beat(database, a)


def test_resigned_node_differs_from_one_declared_dead(database: psycopg.Connection[Any]) -> None:
    a, b, c = live(database, "a", "b", "c")
    for claim in (a, b, c):
        membership.beat(database, claim)
    membership.resign(database, a)
    seen = next(one for one in membership.read_nodes(database) if one.name == "b")
    assert membership.declare_dead(database, seen)
    # Fenced, it can no longer say that it has ended in order.
    membership.resign(database, b)
    assert read_lives(database) == {"a": (False, True), "b": (False, False), "c": (True, False)}


def read_lives(database: psycopg.Connection[Any]) -> dict[str, tuple[bool, bool]]:
    """Return of each node whether it lives, and whether it has ended in order."""
    return {one.name: (one.is_alive, one.has_resigned) for one in membership.read_nodes(database)}


def test_node_that_dies_before_its_first_beat_is_dead_not_stopped(
    database: psycopg.Connection[Any],
) -> None:
    a, _ = live(database, "a", "b")
    for seen in membership.read_nodes(database):
        assert seen.has_session
        assert membership.declare_dead(database, seen)
    assert read_lives(database) == {"a": (False, False), "b": (False, False)}
    # It is as any other in its next life, and may end that before a beat in order.
    (a,) = live(database, "a")
    assert next(one for one in membership.read_nodes(database) if one.name == "a").has_session
    membership.resign(database, a)
    assert read_lives(database) == {"a": (False, True), "b": (False, False)}


def test_report_shows_the_database_and_the_versions(
    database: psycopg.Connection[Any],
) -> None:
    (claim,) = live(database, "a")
    membership.name_session(database)
    membership.beat(database, claim)
    (seen,) = membership.read_nodes(database)
    assert (seen.version, seen.batch, seen.has_session) == (__version__, 0, True)
    assert membership.version_in("psql") == ""
    report = membership.about_database(database)
    assert (
        report.server == f"{database.info.server_version // 10_000}." + report.server.split(".")[1]
    )
    assert report.schema >= 1
    assert (report.standby, report.standbys) == ("", 0)
