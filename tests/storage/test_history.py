"""The history: raw values are what came, reduced ones say the truth about them, all is bounded."""

from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from math import inf, isnan, nan
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import DAY_S, Bounds, Compactor
from leverframe.storage.history.queries import (
    Resolution,
    TimeSpan,
    axis,
    csv_pieces,
    on_axis,
    raw,
    resolution_of,
)
from leverframe.storage.history.rows import (
    COUNT,
    HIGH,
    LOW,
    MEAN,
    MINUTES,
    QUARTERS,
    RAW,
    REDUCED,
    TIERS,
    TIME,
    Tier,
    UnreadableChunk,
    columns_from_rows,
    pack,
    unpack,
)
from tests.effort import examples
from tests.storage.history_model import START, Point, answer, changes, fill, reduce_points, span
from tests.storage.lanes.postgres_histories import HistoryDatabase, chunks_in

BOUNDS = Bounds()

values = st.one_of(st.none(), st.integers(-500, 500).map(lambda tenths: tenths / 10))
#: Seconds between two values, a second apart at least.
gaps_s = st.one_of(st.integers(4, 400), st.integers(400, 30_000)).map(lambda n: n / 4)
forward = st.lists(st.tuples(gaps_s, values), max_size=60)
anyhow = st.lists(st.tuples(st.integers(-8_000, 8_000).map(lambda n: n / 4), values), max_size=60)
Steps = list[tuple[float, float | None]]


def in_memory() -> ChunkStore:
    return ChunkStore(None, BOUNDS.max_bytes)


def points_of(steps: Steps) -> list[Point]:
    times = accumulate((gap for gap, _ in steps), initial=START)
    numbers = [nan if value is None else value for _, value in steps]
    return list(zip(list(times)[1:], numbers, strict=True))


@pytest.fixture(params=["memory", "file", "database"])
def open_store(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[], ChunkStore]]:
    """Opens one and the same chunk_store again and again."""
    if request.param == "memory":
        chunk_store = in_memory()
        yield lambda: chunk_store
        return
    if request.param == "database":
        session = HistoryDatabase().session()
        yield lambda: chunks_in(session)
        session.close()
        return
    opened: list[ChunkStore] = []

    def open_file() -> ChunkStore:
        for other in opened:
            other.close()
        opened.append(ChunkStore(tmp_path / "history.db", BOUNDS.max_bytes))
        return opened[-1]

    yield open_file
    for store_of_file in opened:
        store_of_file.close()


# --- rules that hold for every sequence -----------------------------------------------------------


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.floats()), min_size=1))
def test_packed_columns_come_back_as_they_were(rows: list[Point]) -> None:
    columns = columns_from_rows(rows)
    back = unpack(pack(columns), 2)
    assert [column.tobytes() for column in back] == [column.tobytes() for column in columns]


@given(st.binary(max_size=200))
def test_bytes_that_were_not_packed_are_refused_or_columns(data: bytes) -> None:
    try:
        columns = unpack(data, 2)
    except UnreadableChunk:
        return
    assert len(columns[0]) == len(columns[1])


@given(forward)
def test_raw_values_are_those_that_came(steps: Steps) -> None:
    points = points_of(steps)
    compactor = Compactor(in_memory(), BOUNDS)
    fill(compactor, points)
    end = points[-1][0] + 10 if points else START + 10
    times, numbers = raw(compactor, span(START, end), "DS1")
    expected = changes(points)
    assert times == [at for at, _ in expected]
    assert str(numbers) == str([value for _, value in expected])


@pytest.mark.parametrize(
    ("tier", "step"),
    [(RAW, 5), (RAW, 60), (MINUTES, 60), (MINUTES, 300), (QUARTERS, 900), (QUARTERS, 7200)],
)
@examples(40)
@given(steps=forward, later_s=st.integers(1, 4000))
def test_reduced_values_say_what_held(tier: Tier, step: int, steps: Steps, later_s: int) -> None:
    points = points_of(steps)
    compactor = Compactor(in_memory(), BOUNDS)
    fill(compactor, points)
    now = (points[-1][0] if points else START) + later_s
    asked = span(max(START - 600, now - 300 * step), now)
    found = on_axis(compactor, asked, "DS1", Resolution(tier, step))
    times = axis(asked, step)
    expected = reduce_points(changes(points), times, step, now)
    for low, mean, high, (lowest, average, highest) in zip(*found, expected, strict=True):
        assert (str(low), str(high)) == (str(lowest), str(highest))
        if not isnan(average):
            assert mean == pytest.approx(average, abs=1e-5)


@given(anyhow)
def test_clock_that_steps_back_corrupts_nothing(steps: Steps) -> None:
    points = points_of(steps)
    compactor = Compactor(in_memory(), BOUNDS)
    # Of a state no value is left out, however many there are in a second.
    fill(compactor, points, "OUT0")
    latest = max((at for at, _ in points), default=START)
    times, numbers = raw(compactor, span(0, latest), "OUT0")
    assert times == sorted(times)
    assert sorted(map(str, numbers)) == sorted(str(value) for _, value in changes(points))
    for tier in REDUCED:
        rows = compactor.rows(tier, "OUT0", 0, inf, latest)
        assert sum(rows[COUNT]) == len(times)
        for low, mean, high in zip(rows[LOW], rows[MEAN], rows[HIGH], strict=True):
            assert low <= mean <= high or (isnan(low) and isnan(mean) and isnan(high))
        present = [number for number in numbers if not isnan(number)]
        lows = [low for low in rows[LOW] if not isnan(low)]
        highs = [high for high in rows[HIGH] if not isnan(high)]
        assert (min(lows, default=0), max(highs, default=0)) == (
            (min(present), max(present)) if present else (0, 0)
        )


@given(forward, st.integers(1, 3000))
def test_restarted_compactor_continues_where_the_last_one_stopped(
    steps: Steps, later_s: int
) -> None:
    points = points_of(steps)
    chunk_store = in_memory()
    former = Compactor(chunk_store, BOUNDS)
    fill(former, points)
    now = (points[-1][0] if points else START) + later_s
    latter = Compactor(chunk_store, BOUNDS)
    for count in (1, 50, 100_000):
        asked = span(max(START, now - 7200), now, points=count)
        assert str(answer(latter, asked)) == str(answer(former, asked))


@given(
    st.lists(st.tuples(st.integers(0, 999), st.integers(-50, 50)), min_size=1, max_size=200),
    st.sampled_from(["DS1", "OUT0"]),
)
def test_second_keeps_its_extremes_and_its_last_value(
    within: list[tuple[int, int]], label: str
) -> None:
    points = [(START + at / 1000, float(value)) for at, value in sorted(within, key=lambda p: p[0])]
    compactor = Compactor(in_memory(), BOUNDS)
    fill(compactor, points, label, batch=1000)
    came = [value for _, value in changes(points)]
    _, kept = raw(compactor, replace(span(START, START + 2), labels=(label,)), label)
    if label == "OUT0":
        assert kept == came
    else:
        assert len(kept) <= 3
        assert (min(kept), max(kept), kept[-1]) == (min(came), max(came), came[-1])


@examples(20)
@given(st.lists(st.integers(1, 5000), min_size=20, max_size=400), st.integers())
def test_bytes_are_bounded_whatever_comes(gaps: list[int], seed: int) -> None:
    random = Random(seed)
    bounds = Bounds(max_bytes=128 * 1024)
    compactor = Compactor(ChunkStore(None, bounds.max_bytes), bounds)
    at = START
    for gap in gaps:
        at += gap
        compactor.add([(at + n, f"DS{n % 4 + 1}", random.random()) for n in range(8)])
        for tier in TIERS[:2]:
            assert compactor.chunk_store.cost(tier) <= bounds.share(tier)
    assert sum(compactor.chunk_store.cost(tier) for tier in TIERS) <= bounds.max_bytes


# --- rules by example -----------------------------------------------------------------------------


def test_memory_and_file_answer_the_same(open_store: Callable[[], ChunkStore]) -> None:
    compactor = Compactor(open_store(), BOUNDS)
    model = Compactor(in_memory(), BOUNDS)
    points = [(START + 7 * n, float(n * n % 17) if n % 50 else nan) for n in range(2000)]
    fill(compactor, points, batch=7)
    fill(model, points, batch=2000)
    now = points[-1][0] + 5
    for count in (1, 10, 400, 100_000):
        asked = span(START, now, count)
        assert str(answer(compactor, asked)) == str(answer(model, asked))


def test_history_is_there_after_reopening(open_store: Callable[[], ChunkStore]) -> None:
    compactor = Compactor(open_store(), BOUNDS)
    fill(compactor, [(START + n, float(n % 9)) for n in range(500)])
    asked = span(START, START + 600)
    before = answer(compactor, asked)
    assert answer(Compactor(open_store(), BOUNDS), asked) == before


def test_many_small_chunks_become_few(open_store: Callable[[], ChunkStore]) -> None:
    compactor = Compactor(open_store(), BOUNDS)
    fill(compactor, [(START + n, float(n % 9)) for n in range(400)], batch=1)
    for tier in TIERS:
        assert compactor.chunk_store.chunks(tier, "DS1", 0, 10**9) < 40
    assert compactor.chunk_store.points(RAW) == 400


def test_old_raw_values_go_and_reduced_ones_stay(open_store: Callable[[], ChunkStore]) -> None:
    compactor = Compactor(open_store(), Bounds(raw_days=1))
    fill(compactor, [(START + 600 * n, float(n % 9)) for n in range(144 * 4)])
    now = START + 4 * DAY_S
    oldest = compactor.chunk_store.since(RAW)
    assert oldest is not None
    assert oldest > START + 2 * DAY_S
    first_day = answer(compactor, span(START, START + DAY_S, 10_000, now))
    assert first_day["step"] == 60
    assert first_day["since"] == START
    assert not any(map(isnan, first_day["series"]["DS1"]["mean"]))


def test_value_that_never_changes_is_known_after_years(
    open_store: Callable[[], ChunkStore],
) -> None:
    compactor = Compactor(open_store(), BOUNDS)
    compactor.add([(START, "OUT0", 1), (START, "DS1", 20.0)])
    for day in range(1, 400, 3):
        compactor.add([(START + day * DAY_S, "DS1", 20.0 + day % 5)])
    now = START + 400 * DAY_S
    again = Compactor(open_store(), BOUNDS)
    asked = TimeSpan(("OUT0",), now - 3600, now, 100, now)
    assert answer(again, asked)["series"]["OUT0"]["values"] == [1.0]


def test_clock_that_is_far_ahead_for_a_moment_does_not_cost_everything(
    open_store: Callable[[], ChunkStore],
) -> None:
    compactor = Compactor(open_store(), BOUNDS)
    labels = [f"m{n}" for n in range(1, 6)]
    for hour in range(100):
        compactor.add([(START + 3600 * hour + n, label, hour) for n, label in enumerate(labels)])
    before = compactor.chunk_store.points(RAW)
    compactor.add([(START + 20_000 * DAY_S, "DS1", 1.0)])
    assert compactor.chunk_store.points(RAW) == before + 1


def test_years_without_a_change_take_no_room() -> None:
    compactor = Compactor(in_memory(), BOUNDS)
    compactor.add([(START, "DS1", 20.0)])
    compactor.add([(START + 3000 * DAY_S, "DS1", 21.0)])
    assert compactor.chunk_store.points(RAW) == 1 + 1
    year = answer(compactor, span(START + 365 * DAY_S, START + 730 * DAY_S, 300))
    assert set(year["series"]["DS1"].get("mean", year["series"]["DS1"].get("values"))) == {20.0}


def test_finest_resolution_that_fits_is_chosen() -> None:
    compactor = Compactor(in_memory(), BOUNDS)
    fill(compactor, [(START + n, float(n % 9)) for n in range(7200)], batch=500)
    now = START + 7200
    steps = [
        resolution_of(compactor, span(START, now, count)).step for count in (7200, 7199, 120, 8)
    ]
    assert steps == [0, 2, 60, 900]


def test_silence_is_a_gap() -> None:
    chunk_store = in_memory()
    compactor = Compactor(chunk_store, BOUNDS)
    compactor.add([(START, "DS1", 20.0), (START + 100, "T1", 5.0)])
    started_again = Compactor(chunk_store, BOUNDS)
    started_again.silence()
    started_again.add([(START + 900, "DS1", 21.0)])
    times, numbers = raw(started_again, span(START, START + 1000), "DS1")
    assert times == [START, START + 100, START + 900]
    assert str(numbers) == str([20.0, nan, 21.0])


def test_csv_has_a_line_for_every_change_and_nothing_twice() -> None:
    compactor = Compactor(in_memory(), BOUNDS)
    points = [(START + n * 97, float(n % 9)) for n in range(900)]
    fill(compactor, points)
    compactor.add([(START + 97 * 899, "OUT0", 1)])
    both = TimeSpan(("DS1", "OUT0"), START, START + DAY_S * 2, 10**9, START + DAY_S * 2)
    lines = b"".join(csv_pieces(compactor, both)).decode().splitlines()
    assert lines[0] == "time,DS1,OUT0"
    assert lines[1:3] == ["2026-01-05T00:00:00.000Z,0,", "2026-01-05T00:01:37.000Z,1,"]
    assert lines[-1] == "2026-01-06T00:13:23.000Z,8,1"
    assert len(lines) == 1 + len(points)


def test_reduced_csv_has_one_line_for_each_interval() -> None:
    compactor = Compactor(in_memory(), BOUNDS)
    fill(compactor, [(START + n * 30, float(n % 9)) for n in range(20_000)], batch=1000)
    asked = span(START, START + 600_000, 8000)
    lines = b"".join(csv_pieces(compactor, asked)).decode().splitlines()
    times = [line.partition(",")[0] for line in lines[1:]]
    assert lines[0] == "time,DS1 min,DS1 mean,DS1 max"
    assert len(times) == 600_000 / resolution_of(compactor, asked).step
    assert all(earlier < later for earlier, later in pairwise(times))


@pytest.mark.parametrize("every_s", [97, pytest.param(7200, marks=pytest.mark.thorough)])
def test_csv_of_all_time_begins_with_the_first_value(every_s: int) -> None:
    compactor = Compactor(in_memory(), BOUNDS)
    assert len(b"".join(csv_pieces(compactor, span(0, START)))) < 100
    fill(compactor, [(START + n * every_s, float(n % 9)) for n in range(900)])
    end = START + 900 * every_s
    of_all_time = b"".join(csv_pieces(compactor, span(0, end, 10**9)))
    assert of_all_time == b"".join(csv_pieces(compactor, span(START, end, 10**9)))


def test_times_of_chunks_come_in_order() -> None:
    compactor = Compactor(in_memory(), BOUNDS)
    fill(compactor, [(START + n, float(n % 3)) for n in (5, 6, 1, 2, 9)], batch=2)
    assert list(compactor.chunk_store.rows(RAW, "DS1", 0, inf)[TIME]) == sorted(
        START + n for n in (1, 2, 5, 6, 9)
    )
