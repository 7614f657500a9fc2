"""The faults in short: see `tests/fleet/faults/__init__.py`. Times of the cluster are a third."""

import asyncio
from pathlib import Path

import pytest

from tests.fleet.faults.promotion import promote_standby_behind
from tests.fleet.faults.scene import Size, fault_scene
from tests.postgres_server import postgres_server
from tests.postgres_standby import standby_of
from tests.soak.fleet import FAULTS, short_fleet_story
from tests.soak.ledger import Ledger

SHORT = Size(nodes=2, controllers=8, untagged=2, pause_s=0.05, message_every=4, shorten=1 / 3)


#: On a machine too busy for leases of a second, a test fails before the whole run is ended.
LONGEST_S = 100.0
OF_DATABASE = {"restart", "crash", "away", "freeze", "promote"}
OF_WAY = {"cut", "break off"}
#: In parts, each of which takes a busy machine less than `LONGEST_S`.
PARTS = {"nodes": FAULTS.keys() - OF_DATABASE - OF_WAY, "way": OF_WAY, "database": OF_DATABASE}


@pytest.mark.thorough
@pytest.mark.parametrize("kinds", PARTS.values(), ids=PARTS.keys())
async def test_faults_lose_no_acknowledged_change(kinds: set[str], tmp_path: Path) -> None:
    async with asyncio.timeout(LONGEST_S), short_fleet_story(tmp_path, SHORT, kinds) as story:
        await story.run(0)
    ledger = story.ledger
    assert ledger.violations == []
    assert ledger.counts["in all: acknowledged"] > 50
    assert ledger.counts["in all: messages"] > 0


@pytest.mark.thorough
async def test_changes_missing_on_a_promoted_standby_are_reported(tmp_path: Path) -> None:
    ledger = Ledger("behind")
    with postgres_server() as server, standby_of(server, synchronous=False) as standby:
        async with (
            asyncio.timeout(LONGEST_S),
            fault_scene(server, tmp_path, ledger, SHORT, 1, standby) as scene,
        ):
            await promote_standby_behind(scene)
            verdict = await scene.end(may_lose=True)
    assert ledger.violations == []
    assert verdict.lost > 0
