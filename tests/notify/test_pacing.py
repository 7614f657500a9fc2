"""Pauses after failures, and the limit of the rate."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.notify.channel_queue import AttemptPace, pause_after


@given(st.integers(1, 10_000), st.integers())
def test_pause_doubles_up_to_the_longest_and_is_shortened_by_half_at_most(
    failures: int, seed: int
) -> None:
    full = min(2.0 ** min(failures - 1, 60), 120.0)
    assert full / 2 <= pause_after(failures, 1.0, 120.0, Random(seed)) <= full


def test_two_controllers_do_not_come_back_in_the_same_moment() -> None:
    pauses = {pause_after(5, 1.0, 120.0, Random(seed)) for seed in range(50)}
    assert len(pauses) == 50


def test_same_chance_gives_the_same_pauses() -> None:
    first, second = Random(3), Random(3)
    assert [pause_after(n, 1.0, 60.0, first) for n in range(1, 9)] == [
        pause_after(n, 1.0, 60.0, second) for n in range(1, 9)
    ]


def test_burst_is_sent_immediately_and_the_rest_at_the_rate() -> None:
    pace = AttemptPace(per_s=2.0, burst=3)
    assert [pace.take(0.0) for _ in range(5)] == [0.0, 0.0, 0.0, 0.5, 1.0]
    assert pace.take(100.0) == 0.0


@given(
    st.floats(0.1, 100.0),
    st.integers(1, 50),
    st.lists(st.floats(0.0, 10.0), min_size=1, max_size=100),
)
def test_pacing_never_passes_more_than_the_burst_and_the_rate(
    per_s: float, burst: int, gaps: list[float]
) -> None:
    pace = AttemptPace(per_s, burst)
    now = 0.0
    turns = []
    for gap in gaps:
        now += gap
        now += pace.take(now)
        turns.append(now)
    for begin in range(len(turns)):
        for end in range(begin, len(turns)):
            most = burst + (turns[end] - turns[begin]) * per_s
            assert end - begin + 1 <= most + 1e-6 or end - begin + 1 == pytest.approx(most)
