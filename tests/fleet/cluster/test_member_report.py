"""What a node tells of itself and of the others: to `/api/fleet/nodes`, and as figures."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from leverframe import __version__
from leverframe.fleet.cluster import member as member_module
from leverframe.fleet.records import NoSuchController
from tests.fleet.cluster.nodes import Cluster, cluster_on, new
from tests.hardware.waiting import until
from tests.postgres_server import PostgresServer


@pytest.fixture
async def cluster(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster_on(postgres.new_fleet(), tmp_path) as cluster:
        yield cluster


async def test_a_node_tells_of_all_nodes_of_the_database_and_of_what_it_has_done(
    cluster: Cluster,
) -> None:
    for name in ("a", "b"):
        member = await cluster.join(name)
        # What is told of silence is about the nodes, not about how busy the machine is.
        member.lease.now = partial(float, member.lease.now())
    await cluster.nodes["a"].add(new("one", "two"))
    await cluster.settled(1, 1)
    (here,) = cluster.nodes["a"].members.values()
    await here.controller.persistent.persist({"note": 1})
    member = cluster.members["a"]
    await until(lambda: member.report().database.batches_s > 0)
    await until(lambda: [one.controllers for one in member.report().nodes] == [1, 1])
    await until(lambda: all(one.batch and one.version for one in member.report().nodes))
    told = member.report()
    assert {one.version for one in told.nodes} == {__version__}
    assert [one.silent_s for one in told.nodes] == [0, 0]
    assert (told.database.is_reachable, told.database.standby) == (True, "")
    figures = {family.name: list(family.samples) for family in member.families()}
    assert ({"state": "alive"}, 2) in figures["leverframe_cluster_nodes"]
    assert figures["leverframe_cluster_owned"] == [({}, 1)]
    assert figures["leverframe_cluster_releases_total"] == [({}, 1)]
    assert figures["leverframe_cluster_database_up"] == [({}, 1)]
    ((_, age),) = figures["leverframe_cluster_lease_age_seconds"]
    assert age is not None
    assert 0 <= age < 3
    assert cluster.members["b"].figures.claims == 1
    with pytest.raises(NoSuchController, match="no controller 'three'"):
        await member.move(["one", "three"], "b")


async def test_a_database_that_hangs_is_told_as_one_that_is_away(
    cluster: Cluster, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member_module, "LEASE_S", 0.2)
    await cluster.join("a")
    node, member = cluster.nodes["a"], cluster.members["a"]
    with postgres.frozen():
        await until(lambda: "database" in node.troubles)
        assert not member.report().database.is_reachable
        assert b"degraded" in (await cluster.asked["a"].ask("/health", b"", "GET")).body
    await until(lambda: not node.troubles and member.report().database.is_reachable)
