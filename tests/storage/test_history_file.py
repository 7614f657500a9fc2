"""The history in a file and on its thread: bounded, set aside when damaged, never in the way."""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from math import nan
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from leverframe.core.engine.machine import Traced
from leverframe.core.runtime.clock import SystemClock, VirtualClock
from leverframe.storage.history.chunks import ChunkStore, check_file
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.queries import TimeSpan, raw
from leverframe.storage.history.rows import RAW
from leverframe.storage.history.worker import (
    BATCH,
    MAX_UNWRITTEN,
    MAX_WAITING,
    HistoryRecorder,
    MemoryHistory,
    ThreadHistoryWorker,
)
from leverframe.storage.sqlite_file import StoreDamaged, StoreTooNew, connect
from leverframe.storage.store import StoreUnavailable
from tests.patience import PATIENCE_S
from tests.storage.history_model import START, answer, fill, span

BOUNDS = Bounds()


# --- the file -------------------------------------------------------------------------------------


def test_file_stays_within_its_bound(tmp_path: Path) -> None:
    bounds = Bounds(max_bytes=256 * 1024)
    path = tmp_path / "history.db"
    with closing(ChunkStore(path, bounds.max_bytes)) as chunk_store:
        compactor = Compactor(chunk_store, bounds)
        random = Random(1)
        for second in range(0, 16_000, 400):
            compactor.add(
                [
                    (START + second + n, f"DS{label}", random.random())
                    for n in range(0, 400, 2)
                    for label in range(1, 9)
                ]
            )
        assert compactor.chunk_store.since(RAW) != START
    assert path.stat().st_size <= bounds.max_bytes


def test_file_written_by_an_earlier_release_opens_unchanged(tmp_path: Path) -> None:
    """The dump is of a file to which release 0.1.0 wrote the same samples."""
    dump = Path(__file__).parent.parent / "fixtures" / "databases" / "history-1.sql"
    path = tmp_path / "history.db"
    with closing(connect(path)) as connection:
        connection.executescript(dump.read_text())
    assert check_file(path) == dump.read_text().count('INSERT INTO "chunk"')
    both = TimeSpan(("DS1", "OUT0"), START, START + 3600, 100_000, START + 3600)
    with closing(ChunkStore(path, BOUNDS.max_bytes)) as chunk_store:
        earlier = Compactor(chunk_store, BOUNDS)
        now_written = Compactor(ChunkStore(None, BOUNDS.max_bytes), BOUNDS)
        for n in range(0, 120, 10):
            values = ((k, None if k % 50 == 7 else k % 9 / 2) for k in range(n, n + 10))
            samples: list[Traced] = [(START + 30 * k, "DS1", value) for k, value in values]
            now_written.add([*samples, (START + 30 * (n + 9), "OUT0", n % 20 // 10)])
        for points in (2, 60, 100_000):
            asked = replace(both, points=points)
            assert str(answer(earlier, asked)) == str(answer(now_written, asked))


def test_file_of_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    ChunkStore(path, BOUNDS.max_bytes).close()
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreTooNew, match="format 99"):
        ChunkStore(path, BOUNDS.max_bytes)


def test_damaged_chunk_is_found_and_the_rest_is_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "history.db"
    with closing(ChunkStore(path, BOUNDS.max_bytes)) as chunk_store:
        compactor = Compactor(chunk_store, BOUNDS)
        fill(compactor, [(START + n, float(n % 9)) for n in range(30)], batch=10)
    assert check_file(path) == 3
    with closing(connect(path)) as connection:
        connection.execute("UPDATE chunk SET data = x'0102' WHERE id = 2")
    with pytest.raises(StoreDamaged, match="chunk 2"):
        check_file(path)
    with closing(ChunkStore(path, BOUNDS.max_bytes)) as chunk_store:
        times, _ = raw(Compactor(chunk_store, BOUNDS), span(START, START + 60), "DS1")
        assert len(times) == 20


def values_kept(worker: ThreadHistoryWorker) -> "asyncio.Future[list[float]]":
    return asyncio.ensure_future(
        worker.ask(lambda compactor: raw(compactor, span(0, 9e9), "DS1")[1])
    )


async def test_damaged_history_file_is_set_aside_and_recording_continues(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(b"no database at all, but as long as a page of one would be" * 100)
    worker = ThreadHistoryWorker(path, BOUNDS)
    worker.add([(START, "DS1", 20.0)])
    assert await values_kept(worker) == [20.0]
    assert (tmp_path / "damaged-1" / "history.db").exists()
    assert worker.figures.dropped == 0
    await worker.close(START + 1)


async def test_file_that_is_spoilt_while_it_is_used_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    worker = ThreadHistoryWorker(path, BOUNDS)
    worker.add([(START, "DS1", 20.0)])
    await worker.close(START + 1)
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    worker = ThreadHistoryWorker(path, BOUNDS)
    worker.add([(START + 10, "DS1", 21.0)])
    worker.add([(START + 11, "DS1", 22.0)])
    assert (await values_kept(worker))[-1] == 22.0
    assert (tmp_path / "damaged-1" / "history.db").exists()
    await worker.close(START + 12)


async def test_unwritable_history_file_is_reported_and_retried(tmp_path: Path) -> None:
    sentences: asyncio.Queue[str | None] = asyncio.Queue()
    worker = ThreadHistoryWorker(tmp_path / "missing" / "history.db", BOUNDS, retry_s=0.01)
    worker.on_trouble = sentences.put_nowait
    worker.add([(START, "DS1", 20.0)])
    with pytest.raises(StoreUnavailable):
        await values_kept(worker)
    assert "cannot be used" in str(await asyncio.wait_for(sentences.get(), PATIENCE_S))
    (tmp_path / "missing").mkdir()
    assert await asyncio.wait_for(sentences.get(), PATIENCE_S) is None
    worker.add([(START + 1, "DS1", 21.0)])
    assert await values_kept(worker) == [20.0, 21.0]
    assert worker.figures.dropped == 0
    await worker.close(START + 2)


async def test_values_unwritable_for_long_are_dropped_and_counted(tmp_path: Path) -> None:
    worker = ThreadHistoryWorker(tmp_path / "missing" / "history.db", BOUNDS)
    for number in range(3):
        worker.add([(START + number, "DS1", number)] * MAX_UNWRITTEN)
    await worker.close(START + 3)
    assert worker.figures.dropped == 2 * MAX_UNWRITTEN


async def test_fault_loses_its_values_with_a_word_and_a_count_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    worker = ThreadHistoryWorker(tmp_path / "history.db", BOUNDS)
    no_number: Any = object()
    worker.add([(START, "DS1", 20.0)])
    worker.add([(START + 1, "DS1", no_number), (START + 2, "DS1", 21.0)])
    worker.add([(START + 3, "DS1", 22.0)])
    assert await values_kept(worker) == [20.0, 22.0]
    assert worker.figures.lost == 2
    assert "2 values of the history were lost because of an error" in caplog.text
    await worker.close(START + 4)


async def test_caller_that_waits_for_the_thread_survives_its_failure() -> None:
    worker = ThreadHistoryWorker(None, BOUNDS, may_wait=True)
    no_number: Any = object()
    # Enough that the thread is still busy with them when the next one comes.
    worker.add([*[(START, "DS1", 19.0)] * MAX_WAITING, (START, "DS1", no_number)])
    worker.add([(START + 1, "DS1", 20.0)])
    assert await values_kept(worker) == [20.0]
    await worker.close(START + 2)


def fill_up(compactor: Compactor) -> Iterator[int]:
    """How many values of each label were kept so far."""
    for second in range(10_000):
        compactor.add([(START + second, f"m{n}", second * n / 7) for n in range(1, 31)])
        yield second + 1


def test_full_disk_loses_what_came_and_nothing_else(tmp_path: Path) -> None:
    pages = 24
    with closing(ChunkStore(tmp_path / "history.db", pages * 4096)) as chunk_store:
        compactor = Compactor(chunk_store, BOUNDS)
        kept: deque[int] = deque(maxlen=1)
        with pytest.raises(sqlite3.OperationalError, match="full"):
            kept.extend(fill_up(compactor))
        times, _ = raw(compactor, span(START, START + 10_000), "m1")
        assert len(times) == kept[0]
        assert chunk_store.points(RAW) == 30 * kept[0]


async def test_history_of_a_clean_stop_ends_with_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    worker = ThreadHistoryWorker(path, BOUNDS)
    worker.add([(START, "DS1", 20.0)])
    await worker.close(START + 60)
    again = ThreadHistoryWorker(path, BOUNDS)
    again.add([(START + 300, "DS1", 20.0)])
    found = await again.ask(lambda compactor: raw(compactor, span(0, 9e9), "DS1"))
    assert found[0] == [START, START + 60, START + 300]
    assert str(found[1]) == str([20.0, nan, 20.0])
    await again.close(START + 400)


# --- following a controller -----------------------------------------------------------------------


class WatchedHistory(MemoryHistory):
    """Records when something was handed over."""

    def __init__(self) -> None:
        super().__init__()
        self.handed_over = asyncio.Event()
        self.times = 0

    def add(self, samples: Sequence[Traced]) -> None:
        super().add(samples)
        self.times += 1
        self.handed_over.set()


async def test_values_are_handed_over_together_without_a_request() -> None:
    worker = WatchedHistory()
    recorder = HistoryRecorder(worker, SystemClock(), gather_s=0.01)
    for second in range(10):
        recorder.samples.append((START + second, "DS1", second))
        recorder.flush_if_due()
    assert worker.times == 0
    await asyncio.wait_for(worker.handed_over.wait(), PATIENCE_S)
    assert (worker.times, worker.figures.points, recorder.samples) == (1, 10, [])


async def test_sample_after_the_end_wakes_nothing() -> None:
    worker = WatchedHistory()
    recorder = HistoryRecorder(worker, SystemClock(), gather_s=0.0)
    await recorder.close()
    recorder.samples.append((START, "DS1", 1))
    recorder.flush_if_due()
    for _ in range(3):
        await asyncio.sleep(0)
    assert worker.times == 0


async def test_many_values_are_handed_over_together() -> None:
    worker = WatchedHistory()
    recorder = HistoryRecorder(worker, VirtualClock())
    for second in range(3 * BATCH):
        recorder.samples.append((START + second, "DS1", second))
        recorder.flush_if_due()
    assert worker.times == 3


async def test_on_virtual_time_the_thread_is_waited_for_and_nothing_is_lost() -> None:
    worker = ThreadHistoryWorker(None, BOUNDS, may_wait=True)
    batches = MAX_WAITING // 50_000 + 3
    for number in range(batches):
        worker.add([(START + number, "DS1", number)] * 50_000)
    times, _ = await worker.ask(lambda compactor: raw(compactor, span(0, 9e9), "DS1"))
    assert (len(times), worker.figures.dropped) == (batches, 0)
    await worker.close(START + batches)
