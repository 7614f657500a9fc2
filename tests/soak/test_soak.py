"""The soak in short: see `tests/soak/__init__.py`."""

from pathlib import Path

import pytest

from tests.soak.__main__ import soak

SECONDS = 12.0
#: Beside a hostile neighbour, at least; it continues until that one has reached every limit.
SWITCHES = 4


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
    assert attacked.counts["switches"] >= SWITCHES
    assert all(ledger.counts["checks"] > 0 for ledger in ledgers)
