"""What the look at the locked dependencies finds, from lists and pages as they come."""

from pathlib import Path
from typing import Any

import pytest

from tools.audit_dependencies import LOCKED, OutOfReach, Pin, faults, is_page_of, page_of, pins_in

REQUIREMENTS = Path(__file__).parents[2] / "requirements"
PIN = Pin("lamp", "1.2")
WEAKNESS = {"id": "PYSEC-1", "aliases": ["CVE-1", "PYSEC-1"], "fixed_in": ["1.3"]}


def page(*weaknesses: dict[str, Any], newest: str = "1.2", **of_file: Any) -> dict[str, Any]:
    file = {"yanked": False, "yanked_reason": None} | of_file
    return {
        "info": {"version": newest},
        "releases": {"1.2": [file]},
        "vulnerabilities": list(weaknesses),
    }


@pytest.mark.parametrize("name", LOCKED)
def test_everything_locked_is_pinned_to_a_version_and_its_hashes(name: str) -> None:
    pins, mistakes = pins_in((REQUIREMENTS / name).read_text())
    assert mistakes == []
    assert len(pins) > 10


def test_unpinned_dependency_is_named() -> None:
    text = "lamp==1.2 \\\n    --hash=sha256:00\npump==2\nfan>=3 \\\n    --hash=sha256:00\n# end\n"
    pins, mistakes = pins_in(text)
    assert pins == {PIN}
    assert mistakes == ["pump 2 has no hash.", "fan>=3 is not pinned to one version."]


def test_published_weakness_is_reported_with_its_names_and_fix() -> None:
    (sentence,) = faults(PIN, page(WEAKNESS))
    assert sentence == "lamp 1.2 has a published weakness: PYSEC-1, CVE-1; fixed in 1.3."


def test_weakness_that_was_withdrawn_counts_no_more() -> None:
    assert list(faults(PIN, page(WEAKNESS | {"withdrawn": "2024-01-01T00:00:00Z"}))) == []


def test_weaknesses_of_another_release_are_not_ours_and_that_is_known() -> None:
    newer = page(WEAKNESS, newest="1.3")
    assert list(faults(PIN, newer)) == []
    assert not is_page_of(PIN, newer)
    assert is_page_of(PIN, page())


def test_withdrawn_release_is_reported_from_the_project_page_too() -> None:
    (sentence,) = faults(PIN, page(newest="1.3", yanked=True, yanked_reason="It burns."))
    assert sentence == "lamp 1.2 was withdrawn by its makers. It burns."


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/pypi", "file:///nowhere/pypi"])
def test_index_out_of_reach_is_a_reason_and_no_fault(address: str) -> None:
    with pytest.raises(OutOfReach, match="index"):
        page_of(address, PIN)
