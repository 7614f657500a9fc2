"""Order tests for several workers, so that all of them are busy to the end.

pytest-xdist gives each worker an equal part of the list, in its order. Left as they are found, all
tests that wait long would be in one part and begin late, when nothing is left to do meanwhile.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby, islice

import pytest

from tools.checks import LONGEST


def dealt(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """Begin the part of each worker with its share of the longest tests, and fill it with others.

    Every second worker takes its share from the end: what waits runs beside what takes a core.
    """
    shares = _shares([item for item in items if _turn(item) < len(LONGEST)], workers)
    others = iter([item for item in items if _turn(item) == len(LONGEST)])
    sizes = list(_sizes(len(items), workers))
    parts = [
        [*share, *islice(others, max(size - len(share), 0))]
        for share, size in zip(shares, sizes, strict=True)
    ]
    return [*chain.from_iterable(parts), *others]


def _shares(longest: list[pytest.Item], workers: int) -> Iterator[list[pytest.Item]]:
    """Deal out the tests; those of a file stay together, as far as they are written one by one."""
    groups = [list(group) for _, group in groupby(sorted(longest, key=_turn), key=_group)]
    for worker in range(workers):
        share = groups[worker::workers]
        yield list(chain.from_iterable(reversed(share) if worker % 2 else share))


def _turn(item: pytest.Item) -> int:
    """Tell which of the longest places the test is from; their number if from none."""
    turns = (turn for turn, place in enumerate(LONGEST) if item.nodeid.startswith(place))
    return next(turns, len(LONGEST))


def _group(item: pytest.Item) -> str:
    """Name what stays together: tests of a file may share what takes long to prepare."""
    return item.nodeid if hasattr(item, "callspec") else item.nodeid.partition("::")[0]


def _sizes(count: int, workers: int) -> Iterator[int]:
    """Divide as pytest-xdist does."""
    for left in range(workers, 0, -1):
        yield count // left
        count -= count // left
