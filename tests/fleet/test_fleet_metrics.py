"""`/metrics` of a node, read by the parser that Prometheus' own client library has."""

from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from leverframe.server.routes.metrics import METRICS
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from tests.fleet.loop_node import LoopNode, loop_node


async def samples(node: LoopNode, query: str = "") -> list[Sample]:
    reply = await node.ask(f"/metrics{query}", b"", "GET")
    assert (reply.status, reply.content_type) == (200, METRICS)
    families = list(text_string_to_metric_families(reply.body.decode()))
    assert len({family.name for family in families}) == len(families)
    return [sample for family in families for sample in family.samples]


def value(found: list[Sample], name: str, **labels: str) -> float:
    (one,) = [x.value for x in found if x.name == name and labels.items() <= x.labels.items()]
    return one


async def test_figures_are_totals_of_the_node() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=25)
        await node.post("add", name="old", hw="3.5", sw="1.49")
        before = await samples(node)
        await node.post("send", command="outs.cgi?out0=1")
        name = "leverframe_fleet_log_entries_total"
        assert value(await samples(node), name) == value(before, name) + 26
        node.member("old").controller.troubles["history"] = "It cannot be kept."
        found = await samples(node)
        assert value(found, "leverframe_fleet_controllers", hw="3.9") == 25
        assert value(found, "leverframe_fleet_controllers", hw="3.5", sw="1.49") == 1
        assert value(found, "leverframe_fleet_degraded") == 1
        assert value(found, "leverframe_fleet_troubles") == 1
        assert not any("controller" in sample.labels for sample in found)
        await node.post("remove", name="gh-1,gh-2,gh-3")
        assert len(await samples(node)) == len(found)


async def test_metrics_by_tag_carry_controller_names() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3)
        await node.post("tag", name="gh-1,gh-2", add="critical")
        await node.post("send", command="outs.cgi?out0=1", name="gh-2")
        found = await samples(node, "?tag=critical")
        on = {
            sample.labels["controller"]: sample.value
            for sample in found
            if sample.name == "leverframe_state" and sample.labels["label"] == "OUT0"
        }
        assert on == {"gh-1": 0, "gh-2": 1}
        reply = await node.ask("/metrics?tag=none", b"", "GET")
        assert reply.status == 404


async def test_tag_of_too_many_controllers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leverframe.fleet.operations.nodes.MAX_SINGLE", 1)
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2, tags="all")
        reply = await node.ask("/metrics?tag=all", b"", "GET")
        assert "at most 1 controllers" in msgspec.json.decode(reply.body)["detail"]


async def test_metrics_cover_jobs_and_the_lane(tmp_path: Path) -> None:
    lane = SqliteLane(tmp_path / "fleet.sqlite", tmp_path / "fleet.key")
    async with loop_node(lane) as node:
        await node.post("add", name="gh-{n}", count=3)
        await node.post("rollout/plan", command="stm.cgi?oname=0Pump", id="names")
        await node.post("send", command="stm.cgi?oname=1Fan")
        found = await samples(node)
        kinds = {"kind": "rollout", "status": "planned"}
        assert value(found, "leverframe_fleet_jobs", **kinds) == 1
        assert value(found, "leverframe_lane_changes_total", outcome="durable") > 3
        assert value(found, "leverframe_lane_changes_total", outcome="in_doubt") == 0
        batches = [one.value for one in found if one.name == "leverframe_lane_batches_total"]
        assert sum(batches) > 0
