"""A server that is killed loses nothing it has confirmed."""

from pathlib import Path

import pytest

from tests.crash.damage_rounds import damage_rounds
from tests.crash.kill_rounds import kill_rounds
from tests.crash.node_kill import node_kills
from tests.crash.outbox_kill import outbox_kill
from tests.crash.update_kill import NEW, OLD, update_kill


@pytest.mark.parametrize("rounds", [2, pytest.param(8, marks=pytest.mark.thorough)])
def test_no_acknowledged_change_is_lost_when_the_process_is_killed(
    tmp_path: Path, rounds: int
) -> None:
    done = kill_rounds(tmp_path / "data", rounds, seed=7)
    assert done.requests > 0


@pytest.mark.thorough
def test_no_controller_of_a_node_loses_an_acknowledged_change_when_it_is_killed(
    tmp_path: Path,
) -> None:
    assert sum(node_kills(tmp_path, 2, seed=7)) > 0


@pytest.mark.parametrize("messages", [20, pytest.param(100, marks=pytest.mark.thorough)])
def test_no_waiting_message_is_lost_when_the_process_is_killed(
    tmp_path: Path, messages: int
) -> None:
    outbox_kill(tmp_path / "data", messages)


@pytest.mark.thorough
def test_controller_killed_during_an_update_starts_as_the_old_or_the_new_version(
    tmp_path: Path,
) -> None:
    *before, during, after = update_kill(tmp_path)
    assert set(before) == {OLD}
    assert during in (OLD, NEW)
    assert after == NEW


@pytest.mark.thorough
@pytest.mark.parametrize("is_node", [False, True])
def test_damaged_file_after_a_kill_loses_no_acknowledged_change_silently(
    tmp_path: Path, is_node: bool
) -> None:
    outcomes = damage_rounds(tmp_path, 6, seed=7, is_node=is_node)
    assert outcomes["whole"]
