"""What a lane reports of its batches: the number of changes, and their outcomes."""

from leverframe.storage.lanes.lane import LARGEST, LaneFigures
from leverframe.storage.lanes.postgres_lane import InDoubt
from leverframe.storage.store import StoreUnavailable


def test_lane_figures_count_changes_by_outcome_and_batches_by_size() -> None:
    figures = LaneFigures()
    for changes in (1, 2, 8, 64, 65, 512):
        figures.count(changes, [])
    assert figures.batches == {"1": 1, "2-8": 2, "9-64": 1, LARGEST: 2}
    figures = LaneFigures()
    figures.count(3, [StoreUnavailable("It is full.")])
    assert (figures.durable, figures.refused, figures.in_doubt) == (2, 1, 0)
    assert figures.last_doubt is None
    figures.count(2, [InDoubt("It is away."), OSError(28, "No space left on device")])
    assert (figures.durable, figures.refused, figures.in_doubt) == (2, 2, 1)
    assert figures.last_doubt is not None
