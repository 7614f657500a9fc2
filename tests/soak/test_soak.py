"""The soak in short: see `tests/soak/__init__.py`."""

from pathlib import Path

import pytest

from tests.soak.__main__ import soak
from tests.soak.neighbours import neighbours

SECONDS = 12.0
#: Until every limit has been reached.
ATTACK_SECONDS = 8.0


@pytest.mark.thorough
@pytest.mark.needs_program("mosquitto")
@pytest.mark.needs_program("mosquitto_sub")
async def test_busy_controllers_keep_their_promises_through_faults_and_kills(
    tmp_path: Path,
) -> None:
    ledgers = await soak(tmp_path, SECONDS, seed=3, progress=False)
    assert [violation for ledger in ledgers for violation in ledger.violations] == []
    *others, attacked = ledgers
    assert all(ledger.counts["changes confirmed"] > 0 for ledger in others)
    assert attacked.counts["switches"] > 0
    assert all(ledger.counts["checks"] > 0 for ledger in ledgers)


@pytest.mark.thorough
async def test_a_hostile_neighbour_keeps_nobody_from_switching(tmp_path: Path) -> None:
    async with neighbours(tmp_path, "hostile neighbour") as story:
        await story.run(ATTACK_SECONDS)
    assert story.ledger.violations == []
    assert story.ledger.counts["switches"] >= ATTACK_SECONDS / 2
