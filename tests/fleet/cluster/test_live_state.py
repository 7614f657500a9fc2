"""Nodes on a real database: controllers that change hands resume where they were."""

import asyncio
import logging
import time
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from leverframe.core.engine.calls import Action, Pulse, Switch
from leverframe.core.engine.journal import Cause
from leverframe.fleet.cluster import membership, own_controllers
from leverframe.fleet.cluster.membership import put_live, take_live
from leverframe.fleet.cluster.own_controllers import LiveSaver
from leverframe.host.controller import Controller
from leverframe.host.controller.hand_over import SavedLive
from leverframe.server.http.messages import Request
from leverframe.storage.lanes.postgres_connection import Connection
from leverframe.storage.lanes.postgres_lane import Claim
from leverframe.storage.lanes.postgres_schema import open_database
from tests.devices.waiting import until
from tests.fleet.cluster.nodes import HOME, Cluster, cluster_on, new
from tests.postgres_server import PostgresServer

TEST = Cause("command", "test")
SAVED = "SELECT data FROM live"


@pytest.fixture
async def cluster(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster_on(postgres.new_fleet(), tmp_path) as cluster:
        yield cluster


def controller_of(cluster: Cluster, node: str, name: str = "one") -> Controller:
    return cluster.nodes[node].members[name].controller


def act(controller: Controller, *actions: Action) -> None:
    controller.carry_out(
        controller.engine.apply(controller.engine.settings, actions, controller.clock.read(), TEST)
    )


def let_run(controller: Controller) -> None:
    """Switch on what no start would restore."""
    assert controller.board.bench is not None
    controller.board.bench.set_readings({"DS1": 21.5})
    act(controller, Pulse(0, 600), Switch("OUT1", 1), Switch("EVENT1", 1))


def runs_on(controller: Controller) -> bool:
    values = controller.engine.values
    return [values[one] for one in ("OUT0", "OUT1", "EVENT1", "DS1")] == [1, 1, 1, 21.5]


def remaining_s(controller: Controller) -> float:
    left = controller.engine.outputs.returns_in(0, controller.clock.now())
    assert left is not None
    return left


def query(cluster: Cluster, text: str) -> list[Any]:
    with open_database(cluster.database) as connection:
        return connection.execute(text).fetchall()  # type: ignore[arg-type]


async def test_moved_controller_resumes_and_its_live_state_is_deleted(
    cluster: Cluster,
) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    await cluster.join("b")
    first = controller_of(cluster, "a")
    let_run(first)
    began = time.monotonic()
    left, started = remaining_s(first), first.engine.machine.started
    await cluster.members["b"].move(["one"], "b")
    await until(lambda: "one" in cluster.names("b"))
    second = controller_of(cluster, "b")
    assert runs_on(second)
    remaining = remaining_s(second)
    assert left - (time.monotonic() - began) - 0.05 <= remaining < left
    assert second.engine.machine.started == started
    assert second.board.bench is not None
    assert second.board.bench.outputs[:2] == [True, True]
    assert query(cluster, SAVED) == []


async def test_reading_under_way_during_a_move_is_not_acknowledged(
    cluster: Cluster,
) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    await cluster.join("b")
    request = Request("GET", "/sim.cgi", "DS1=21.5", {}, b"", HOME)
    # Work that is not done immediately has its turn after what the node is at.
    on_its_way: Any = cluster.member("one").entrance.handler(request)
    await cluster.members["b"].move(["one"], "b")
    await until(lambda: "one" in cluster.names("b"))
    answer = await on_its_way
    is_sensed = controller_of(cluster, "b").engine.values["DS1"] == 21.5
    assert answer.status == (200 if is_sensed else 503)


async def test_updated_node_resumes_its_controllers_or_logs_why_not(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    let_run(controller_of(cluster, "a"))
    await cluster.leave("a")
    await cluster.join("a")
    assert runs_on(controller_of(cluster, "a"))
    await cluster.leave("a")
    with open_database(cluster.database) as connection:
        other = zlib.compress(b'{"format":77}')
        connection.execute("UPDATE live SET data = %s", (other,))
    with caplog.at_level(logging.WARNING):
        await cluster.join("a")
    assert not runs_on(controller_of(cluster, "a"))
    assert "format 77, of another program version" in caplog.text
    assert "The controller starts as after a power cut." in caplog.text


async def dies(cluster: Cluster, name: str) -> None:
    """Halt a node as if it had been killed, until the others notice."""
    for task in cluster.members[name]._tasks:
        task.cancel()
    with open_database(cluster.database) as connection:

        def is_declared_dead() -> bool:
            # The last beat may still be on its way.
            (seen,) = [one for one in membership.read_nodes(connection) if one.name == name]
            return membership.declare_dead(connection, seen)

        await until(is_declared_dead)


@pytest.mark.thorough
async def test_state_saved_every_second_survives_a_dead_node(cluster: Cluster) -> None:
    await cluster.join("a", live_state_every=1)
    await cluster.nodes["a"].add(new("one"))
    await cluster.join("b")
    began = time.monotonic()
    let_run(controller_of(cluster, "a"))
    await until(lambda: any(b'"pulse"' in zlib.decompress(row[0]) for row in query(cluster, SAVED)))
    await dies(cluster, "a")
    await until(lambda: "one" in cluster.names("b"))
    assert runs_on(controller_of(cluster, "b"))
    left = remaining_s(controller_of(cluster, "b"))
    assert 599 - (time.monotonic() - began) < left < 600


async def test_owner_saves_changed_state_and_the_rest_at_intervals(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one", "two"))
    saver = cluster.members["a"]._saver
    assert await saver.save() == 2
    assert await saver.save() == 0
    act(controller_of(cluster, "a"), Switch("OUT1", 1))
    assert await saver.save() == 1
    assert len(query(cluster, SAVED)) == 2
    monkeypatch.setattr(own_controllers, "SAVE_AGAIN_S", 0.0)
    assert await saver.save() == 2
    await cluster.nodes["a"].remove([cluster.nodes["a"].members["two"]])
    assert len(query(cluster, SAVED)) == 1
    with open_database(cluster.database) as connection:
        check_live_is_fenced(connection, cluster.nodes["a"].members["one"].number)
    controller_of(cluster, "a").lose_power()
    await saver.save()
    assert query(cluster, SAVED) == []
    await check_failed_save_is_logged_once(saver, monkeypatch, caplog)


def check_live_is_fenced(connection: Connection, number: int) -> None:
    """A node that has lost a controller neither saves nor takes its live state."""
    own = Claim("a", 1)
    assert len(take_live(connection, own, [number])) == 1
    live = {number: SavedLive(b"{}", 2.0, time.monotonic())}
    others = (Claim("a", 0), Claim("b", 1))
    for claim in others:
        put_live(connection, claim, live)
        assert take_live(connection, own, [number]) == {}
    put_live(connection, own, live)
    for claim in others:
        assert take_live(connection, claim, [number]) == {}
    (taken,) = take_live(connection, own, [number]).values()
    assert taken.data == b"{}"
    assert 2.0 <= taken.seconds_old() < 10.0
    assert take_live(connection, own, [number]) == {}


async def check_failed_save_is_logged_once(
    saver: LiveSaver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A database that is away is logged once."""
    tried = 0

    async def fails() -> int:
        nonlocal tried
        tried += 1
        raise OSError("no way")

    monkeypatch.setattr(saver, "save", fails)
    with caplog.at_level(logging.WARNING):
        task = asyncio.create_task(saver.run(0.01))
        await until(lambda: tried > 3)
        task.cancel()
    assert (
        caplog.text.count("live state could not be saved; next attempt with the next save: no way")
        == 1
    )


async def test_controller_that_cannot_be_released_keeps_running(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cluster.join("a")
    (member,) = await cluster.nodes["a"].add(new("one"))
    let_run(controller_of(cluster, "a"))
    # The same task releases and starts controllers: here it is done by hand.
    node = cluster.members["a"]
    await until(lambda: bool(node._placed))
    acting = node._tasks[1]
    acting.cancel()
    await asyncio.wait([acting])

    def away(*_: Any, **__: Any) -> None:
        raise psycopg.OperationalError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(membership, "release", away)
        with pytest.raises(psycopg.OperationalError):
            await node._give_up([member])
    await node._settle()
    assert runs_on(controller_of(cluster, "a"))
