"""Controllers that failed to start at one of several nodes are removed, placed and moved."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.devices.waiting import until
from tests.fleet.cluster.nodes import HOME, Cluster, cluster_on
from tests.ports import free_port
from tests.postgres_server import PostgresServer

NAMES = ("one", "two", "three", "four")


@pytest.fixture
async def cluster(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster_on(postgres.new_fleet(), tmp_path) as cluster:
        for name in ("a", "b"):
            await cluster.join(name)
        await cluster.add("a", *NAMES, tags=("all",))
        yield cluster


@asynccontextmanager
async def fail_at_b(cluster: Cluster) -> AsyncIterator[str]:
    """Occupy the port of a controller of b, and let b restart that controller."""
    b, name, port = cluster.nodes["b"], min(cluster.names("b")), free_port()
    b.roster.retry_s = 1000.0
    await b.door.listen(HOME, 0)
    await cluster.asked["b"].post("place", name=name, port=port)
    await b.drop([b.members[name]])
    with socket.create_server((HOME, port)):
        cluster.members["b"]._changed.set()
        await until(lambda: [one.name for one in b.roster.list_failed()] == [name])
        yield name
    await b.door.stop()


async def test_failed_controller_is_removed_through_any_node(cluster: Cluster) -> None:
    a, here = cluster.asked["a"], min(cluster.names("a"))
    async with fail_at_b(cluster) as name:
        answer = await a.post("remove", name=f"{here},{name}")
        assert {(one["name"], one["status"]) for one in answer["results"]} == {
            (here, 200),
            (name, 200),
        }
        left = sorted({*NAMES} - {here, name})
        assert sorted(one["name"] for one in await a.get("list")) == left
        assert cluster.nodes["b"].roster.list_failed() == []
        assert (await a.get(""))["not_started"] == []
        # Its name is free.
        assert (await a.post("add", name=name))["names"] == [name]


async def test_failed_controller_is_not_removed_by_its_tag(cluster: Cluster) -> None:
    async with fail_at_b(cluster) as name:
        answer = await cluster.asked["a"].post("remove", tag="all")
        assert (answer["done"], answer["refused"]) == (len(NAMES) - 1, 1)
        (refused,) = [one for one in answer["results"] if one["status"] != 200]
        assert (refused["name"], refused["status"]) == (name, 503)
        assert [one["name"] for one in await cluster.asked["a"].get("list")] == [name]


async def test_failed_controller_is_placed_through_any_node(cluster: Cluster) -> None:
    async with fail_at_b(cluster) as name:
        port = free_port()
        answer = await cluster.asked["a"].post("place", name=name, port=port)
        assert (answer["node"], answer["port"]) == ("b", port)
        assert cluster.nodes["b"].members[name].record.port == port
        assert (await cluster.asked["a"].get(""))["can_start"] == []


async def test_failed_controller_moves_to_another_node(cluster: Cluster) -> None:
    async with fail_at_b(cluster) as name:
        await cluster.members["b"].move([name], "a")
        await until(lambda: name in cluster.names("a"))
        assert cluster.nodes["b"].roster.list_failed() == []


async def test_drained_node_releases_failed_controllers(cluster: Cluster) -> None:
    async with fail_at_b(cluster):
        await cluster.members["a"].drain("b", undo=False)
        await until(lambda: sorted(cluster.names("a")) == sorted(NAMES))
        assert cluster.nodes["b"].roster.list_failed() == []
