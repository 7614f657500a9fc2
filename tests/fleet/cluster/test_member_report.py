"""What a node reports about itself and the others: in `/api/fleet/nodes`, and as figures."""

import re
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from leverframe import __version__
from leverframe.fleet.cluster import member as member_module
from leverframe.fleet.records import NoSuchController
from tests.devices.waiting import until
from tests.docs.blocks import PROJECT
from tests.fleet.cluster.nodes import Cluster, cluster_on, new
from tests.postgres_server import PostgresServer


@pytest.fixture
async def cluster(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster_on(postgres.new_fleet(), tmp_path) as cluster:
        yield cluster


async def test_node_reports_all_nodes_the_database_and_its_own_counters(
    cluster: Cluster,
) -> None:
    for name in ("a", "b"):
        member = await cluster.join(name)
        # Silence is reported about nodes, not about a busy machine.
        member.lease.now = partial(float, member.lease.now())
    await cluster.nodes["a"].add(new("one", "two"))
    await cluster.wait_for_counts(1, 1)
    (here,) = cluster.nodes["a"].members.values()
    await here.controller.persistent.persist({"note": 1})
    member = cluster.members["a"]
    await until(lambda: member.report().database.batches_s > 0)
    await until(lambda: [one.controllers for one in member.report().nodes] == [1, 1])
    await until(lambda: all(one.batch and one.version for one in member.report().nodes))
    report = member.report()
    assert {one.version for one in report.nodes} == {__version__}
    assert [one.silent_s for one in report.nodes] == [0, 0]
    assert (report.database.is_reachable, report.database.standby) == (True, "")
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


#: A figure in a query, and what is compared with one of its labels there.
QUERIED = re.compile(r"\b((?:leverframe|process)_\w+)(?:\{([^}]*)\})?")
COMPARED = re.compile(r'(\w+)=~?\\?"([^"\\]*)')


def list_queries() -> Iterator[tuple[str, str | None, str]]:
    """Name the figures, labels and values that the example dashboard and alarms ask for."""
    for file in ("grafana/leverframe-fleet.json", "prometheus/fleet-rules.yml"):
        text = (PROJECT / "examples" / file).read_text(encoding="utf-8")
        for query in re.findall(r'"?expr"?: (.*)', text):
            for name, labels in QUERIED.findall(query):
                yield name, None, ""
                for label, values in COMPARED.findall(labels):
                    # The scraper adds these, not the node.
                    if label not in ("instance", "job"):
                        yield from ((name, label, value) for value in values.split("|"))


async def test_node_reports_every_metric_of_the_dashboard_and_alarms(cluster: Cluster) -> None:
    await cluster.join("a")
    await cluster.nodes["a"].add(new("one"))
    node = cluster.asked["a"]
    # These appear only if there is something to report.
    await node.post("rollout/plan", command="stm.cgi?sname=other", id="names")
    node.web.jobs.find("names").state.status = "stopped"
    cluster.members["a"]._lane.figures.last_doubt = 1.0
    answer = (await node.ask("/metrics", method="GET")).body.decode()
    samples = [one for family in text_string_to_metric_families(answer) for one in family.samples]
    asked = set(list_queries())
    assert len(asked) > 25
    missing = [
        one
        for one in asked
        if not any(
            sample.name == one[0] and (one[1] is None or sample.labels.get(one[1]) == one[2])
            for sample in samples
        )
    ]
    assert missing == []


async def test_hanging_database_is_reported_as_unreachable(
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
