"""What a lane tells of its batches: how many changes, and what became of each."""

from leverframe.storage.fleet.lane_figures import LARGEST, LaneFigures
from leverframe.storage.fleet.postgres_lane import InDoubt
from leverframe.storage.store import StoreUnavailable


def test_changes_are_counted_by_what_was_told_of_them_and_batches_by_their_size() -> None:
    figures = LaneFigures()
    for changes in (1, 2, 8, 64, 65, 512):
        figures.count_batch(changes)
    assert figures.batches == {"1": 1, "2-8": 2, "9-64": 1, LARGEST: 2}
    figures.count_failed(StoreUnavailable("It is full."))
    assert (figures.refused, figures.in_doubt, figures.last_doubt) == (1, 0, None)
    figures.count_failed(InDoubt("It is away."))
    assert (figures.refused, figures.in_doubt) == (1, 1)
    assert figures.last_doubt is not None
