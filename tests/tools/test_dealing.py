"""Workers of a test run have the longest tests first, and equal parts."""

from types import SimpleNamespace
from typing import cast

import pytest

from tests.dealing import dealt
from tools.checks import LONGEST

FIRST, LAST = LONGEST[0], LONGEST[-1]


def items_of(*names: str) -> list[pytest.Item]:
    items = [
        SimpleNamespace(nodeid=name, **({"callspec": None} if "[" in name else {}))
        for name in names
    ]
    return cast(list[pytest.Item], items)


def names(items: list[pytest.Item]) -> list[str]:
    return [item.nodeid for item in items]


OTHERS = [f"tests/engine/test_x.py::test_{number}" for number in range(8)]
LONG = [f"{place}/test_y.py::test_a[{number}]" for place in (LAST, FIRST) for number in range(2)]


def test_each_worker_begins_with_its_share_of_the_longest() -> None:
    order = names(dealt(items_of(*OTHERS, *LONG), 2))
    one, two = order[:6], order[6:]
    assert one[:2] == [f"{FIRST}/test_y.py::test_a[0]", f"{LAST}/test_y.py::test_a[0]"]
    assert two[:2] == [f"{LAST}/test_y.py::test_a[1]", f"{FIRST}/test_y.py::test_a[1]"]
    assert one[2:] + two[2:] == OTHERS


def test_tests_of_a_file_that_may_share_what_takes_long_stay_together() -> None:
    shared = [f"{FIRST}/test_site.py::test_{number}" for number in range(4)]
    order = names(dealt(items_of(*OTHERS, *shared), 3))
    assert order[:4] == shared


@pytest.mark.parametrize("workers", range(2, 9))
@pytest.mark.parametrize("others", [slice(0), slice(1), slice(None)])
def test_none_is_lost_and_none_is_there_twice(workers: int, others: slice) -> None:
    given = [*LONG, *OTHERS[others]]
    assert sorted(names(dealt(items_of(*given), workers))) == sorted(given)
