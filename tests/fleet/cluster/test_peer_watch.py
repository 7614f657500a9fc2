"""Deaths are noticed by a counter that stands still or a session that is gone, not by clocks."""

import socket

from hypothesis import given
from hypothesis import strategies as st

from leverframe.fleet.cluster.lease import (
    BEAT_S,
    LEASE_S,
    PeerWatch,
    SeenNode,
    refuses_connections,
)


def names(watch: PeerWatch, now: float, *nodes: SeenNode) -> list[str]:
    return [one.name for one in watch.look(nodes, now)]


def test_beating_node_is_alive() -> None:
    watch = PeerWatch("a")
    for look in range(100):
        assert names(watch, look * BEAT_S, SeenNode("b", 1, look)) == []


def test_silent_node_is_dead_after_a_lease_and_a_quarter() -> None:
    watch = PeerWatch("a")
    found = {}
    for look in range(20):
        found[look * BEAT_S] = names(watch, look * BEAT_S, SeenNode("b", 1, 7))
    assert [at for at, dead in found.items() if dead][0] == 4.0


def test_node_without_a_session_is_dead_after_three_looks() -> None:
    watch = PeerWatch("a")
    for look in range(8):
        assert names(watch, look * BEAT_S, SeenNode("b", 1, look)) == []
    gone = SeenNode("b", 1, 7, has_session=False)
    assert names(watch, 4.0, gone) == []
    assert names(watch, 4.5, gone) == []
    assert names(watch, 5.0, gone) == ["b"]


def test_node_that_only_lost_its_session_may_act_until_it_is_silent() -> None:
    watch = PeerWatch("a", refuses=lambda _: False)
    for look in range(8):
        assert names(watch, look * BEAT_S, SeenNode("b", 1, look)) == []
    gone, found = SeenNode("b", 1, 7, has_session=False), {}
    for look in range(8, 20):
        found[look * BEAT_S] = names(watch, look * BEAT_S, gone)
    assert [at for at, dead in found.items() if dead][0] - 7 * BEAT_S > LEASE_S


def test_only_a_refused_connection_shows_that_a_process_is_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        node = SeenNode("b", 1, 7, address=f"127.0.0.1:{listener.getsockname()[1]}")
        assert not refuses_connections(node)
    assert refuses_connections(node)
    assert not refuses_connections(SeenNode("b", 1, 7, address="nowhere.invalid:1"))


def test_looks_in_immediate_succession_count_as_one() -> None:
    watch = PeerWatch("a")
    for look in range(8):
        assert names(watch, look * BEAT_S, SeenNode("b", 1, look)) == []
    gone = SeenNode("b", 1, 7, has_session=False)
    for moment in (4.0, 4.01, 4.02, 4.49):
        assert names(watch, moment, gone) == []
    assert names(watch, 4.5, SeenNode("b", 1, 8)) == []
    assert names(watch, 5.0, gone) == []


def test_returning_watcher_declares_no_node_dead() -> None:
    watch = PeerWatch("a")
    gone = SeenNode("b", 1, 7, has_session=False)
    assert names(watch, 0.0, gone) == []
    assert names(watch, 0.5, gone) == []
    # Its own process stood still for a while.
    assert names(watch, 10.0, gone) == []
    assert names(watch, 10.5, gone) == []


def test_watcher_ignores_itself_and_dead_nodes() -> None:
    watch = PeerWatch("a")
    for look in range(20):
        rows = [SeenNode("a", 1, 7), SeenNode("c", 1, 7, is_alive=False)]
        assert names(watch, look * BEAT_S, *rows) == []


@given(st.lists(st.floats(0.01, LEASE_S), min_size=1, max_size=50))
def test_node_that_beats_within_a_lease_is_never_declared_dead(pauses: list[float]) -> None:
    watch, now = PeerWatch("a"), 0.0
    for beat, pause in enumerate(pauses):
        assert names(watch, now, SeenNode("b", 1, beat)) == []
        now += pause
