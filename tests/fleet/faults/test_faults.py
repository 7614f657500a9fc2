"""The faults in short: see `tests/fleet/faults/__init__.py`. Times of the cluster are a third."""

import asyncio
from pathlib import Path

import pytest

from tests.fleet.faults.promotion import promoted, promoted_behind, scene_with_standby
from tests.fleet.faults.scene import Size
from tests.soak.fleet import FAULTS, short_fleet_story
from tests.soak.ledger import Ledger

SHORT = Size(nodes=2, controllers=8, untagged=2, pause_s=0.05, message_every=4, shorten=1 / 3)


#: On a machine that is too busy for leases of a second a test fails before the whole run is ended.
LONGEST_S = 100.0
OF_DATABASE = {"restart", "crash", "away", "freeze"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kinds", [FAULTS.keys() - OF_DATABASE, OF_DATABASE], ids=["nodes", "database"]
)
async def test_nothing_acknowledged_is_lost_through_faults(kinds: set[str], tmp_path: Path) -> None:
    async with asyncio.timeout(LONGEST_S), short_fleet_story(tmp_path, SHORT, kinds) as story:
        await story.run(0)
    ledger = story.ledger
    assert ledger.violations == []
    assert ledger.counts["in all: acknowledged"] > 50
    assert ledger.counts["in all: messages"] > 0


@pytest.mark.thorough
async def test_a_promoted_standby_has_everything_or_what_is_missing_is_told(tmp_path: Path) -> None:
    async with asyncio.timeout(LONGEST_S), asyncio.TaskGroup() as both:
        synchronous = both.create_task(_lost_by_promotion(tmp_path, synchronous=True))
        behind = both.create_task(_lost_by_promotion(tmp_path, synchronous=False))
    assert synchronous.result() == 0
    assert behind.result() > 0


async def _lost_by_promotion(folder: Path, *, synchronous: bool) -> int:
    ledger = Ledger("synchronous" if synchronous else "behind")
    own = folder / ledger.name
    own.mkdir()
    async with scene_with_standby(own, ledger, SHORT, 1, synchronous=synchronous) as (scene, other):
        await (promoted if synchronous else promoted_behind)(scene, other)
        verdict = await scene.end(may_lose=not synchronous)
    assert ledger.violations == []
    return verdict.lost
