"""A server that is killed loses nothing it has confirmed."""

from pathlib import Path

from tests.crash.kill_rounds import kill_rounds


def test_no_acknowledged_change_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    done = kill_rounds(tmp_path / "data", rounds=6, seed=7)
    assert done.requests > 0
