"""The faults in short: see `tests/fleet/faults/__init__.py`. Times of the cluster are a third."""

from pathlib import Path

import pytest

from tests.fleet.faults.promotion import promoted, promoted_behind, scene_with_standby
from tests.fleet.faults.scene import Size
from tests.soak.fleet import short_fleet_story
from tests.soak.ledger import Ledger

SHORT = Size(nodes=2, controllers=8, untagged=2, pause_s=0.05, message_every=4, shorten=1 / 3)


@pytest.mark.thorough
async def test_nothing_acknowledged_is_lost_through_faults_of_nodes_and_database(
    tmp_path: Path,
) -> None:
    async with short_fleet_story(tmp_path, SHORT) as story:
        await story.run(0)
    ledger = story.ledger
    assert ledger.violations == []
    assert ledger.counts["in all: acknowledged"] > 100
    assert ledger.counts["in all: messages"] > 0


@pytest.mark.thorough
async def test_a_synchronous_standby_has_all_that_was_acknowledged(tmp_path: Path) -> None:
    ledger = Ledger("synchronous")
    async with scene_with_standby(tmp_path, ledger, SHORT, 1, synchronous=True) as (scene, standby):
        await promoted(scene, standby)
        verdict = await scene.end()
    assert ledger.violations == []
    assert verdict.lost == 0


@pytest.mark.thorough
async def test_a_standby_that_was_behind_is_noticed_and_told(tmp_path: Path) -> None:
    ledger = Ledger("behind")
    async with scene_with_standby(tmp_path, ledger, SHORT, 1, synchronous=False) as (scene, other):
        await promoted_behind(scene, other)
        verdict = await scene.end(may_lose=True)
    assert ledger.violations == []
    assert verdict.lost > 0
