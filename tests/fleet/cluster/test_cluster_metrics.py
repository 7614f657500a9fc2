"""The figures of a node among others, and how quickly all of them write."""

from leverframe.devices.wire.prometheus import prometheus_text
from leverframe.fleet.cluster.directory import DoorFigures
from leverframe.fleet.cluster.lease import PeerWatch, SeenNode
from leverframe.fleet.metrics import BatchRate, MemberFigures, cluster_families
from leverframe.fleet.other_nodes import ClusterReport, DatabaseReport, PeerReport


def peer(name: str, **more: object) -> PeerReport:
    given = {
        **{"is_alive": True, "inner": "", "capacity": 1, "controllers": 3, "epoch": 1},
        **{"is_this": name == "a", "is_drained": False, "version": "1.0", **more},
    }
    return PeerReport(name, **given)  # type: ignore[arg-type]


def test_nodes_are_counted_by_state_and_unknown_metrics_are_omitted() -> None:
    nodes = [peer("a"), peer("b", capacity=0), peer("c", is_alive=False), peer("d")]
    report = ClusterReport(nodes, 2, 1.0, True, 9, DatabaseReport(is_reachable=False))
    text = prometheus_text(
        cluster_families(report, MemberFigures(takeovers=1), DoorFigures(held=4), 2.5)
    ).decode()
    for line in (
        'leverframe_cluster_nodes{state="alive"} 2',
        'leverframe_cluster_nodes{state="draining"} 1',
        'leverframe_cluster_nodes{state="gone"} 1',
        'leverframe_cluster_node_info{node="a",version="1.0"} 1',
        "leverframe_cluster_owned 3",
        "leverframe_cluster_free 2",
        "leverframe_cluster_lease_age_seconds 2.5",
        "leverframe_cluster_lease_in_doubt 1",
        "leverframe_cluster_database_up 0",
        "leverframe_cluster_takeovers_total 1",
        'leverframe_cluster_door_requests_total{outcome="held"} 4',
    ):
        assert line in text.splitlines()
    assert "standbys" not in text
    assert "last_doubt" not in text


def test_batch_rate_covers_the_last_seconds_and_restarts_with_the_counter() -> None:
    rate = BatchRate()
    assert rate.per_second == 0
    for second in range(30):
        rate.note(second * 4, second)
    assert rate.per_second == 4
    rate.note(3, 30)
    assert rate.per_second == 0
    rate.note(13, 35)
    assert rate.per_second == 2


def test_watcher_reports_how_long_a_counter_stood_still() -> None:
    watch = PeerWatch("a")
    assert watch.silence_s("b", 0) == 0
    for now in (10.0, 10.5, 11.5):
        watch.look([SeenNode("b", 1, 7)], now)
    assert watch.silence_s("b", 12.0) == 2.0
    watch.look([SeenNode("b", 1, 8)], 12.5)
    assert watch.silence_s("b", 12.5) == 0
