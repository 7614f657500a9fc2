"""Every decision in the ledger of gaps names existing tests."""

import re
from pathlib import Path

PROJECT = Path(__file__).parent.parent
LEDGER = PROJECT / "docs" / "gaps.md"


def test_every_decision_names_an_existing_test() -> None:
    sources = "".join(path.read_text() for path in (PROJECT / "tests").rglob("test_*.py"))
    existing = set(re.findall(r"def (test_\w+)", sources))
    decisions = [line for line in LEDGER.read_text().splitlines() if line.startswith("| ")]
    decisions = [line for line in decisions if not line.startswith("| point |")]
    without = [line for line in decisions if not re.findall(r"`(test_\w+)`", line)]
    named = {name for line in decisions for name in re.findall(r"`(test_\w+)`", line)}
    assert not without
    assert named <= existing, named - existing
    assert len(decisions) > 100
