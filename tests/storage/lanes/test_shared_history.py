"""The history of many controllers: each gets the answers of a history of its own."""

import asyncio
import logging
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from functools import partial
from math import isnan
from pathlib import Path
from random import Random

import pytest

from leverframe.core.engine.machine import Traced
from leverframe.storage.history import shared
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.queries import TimeSpan, raw
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.history.shared_chunks import ChunksOfOne, SharedChunks
from leverframe.storage.history.worker import ThreadHistoryWorker
from leverframe.storage.store import StoreUnavailable
from tests.devices.waiting import until
from tests.patience import PATIENCE_S
from tests.storage.history_model import START, answer
from tests.storage.lanes.postgres_histories import HistoryDatabase

BOUNDS = Bounds()


@pytest.fixture(params=["file", "database"])
def open_history(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], SharedHistory]:
    """Opens one and the same history again and again."""
    if request.param == "file":
        return lambda: SharedHistory(tmp_path / "history.db", BOUNDS, retry_s=0.01)
    database = HistoryDatabase()
    return lambda: database.history(BOUNDS)


@pytest.fixture
async def history(open_history: Callable[[], SharedHistory]) -> AsyncIterator[SharedHistory]:
    history = open_history()
    yield history
    await history.close()


@pytest.fixture
async def in_file(tmp_path: Path) -> AsyncIterator[SharedHistory]:
    history = SharedHistory(tmp_path / "history.db", BOUNDS, retry_s=0.01)
    yield history
    await history.close()


def samples(seed: int, begin: int, count: int) -> list[Traced]:
    random = Random(seed * 1000 + begin)
    return [
        (START + 20 * (begin + n), label, round(random.uniform(0, 9), 1))
        for n in range(count)
        for label in ("DS1", "OUT0")
    ]


def answer_spans(compactor: Compactor) -> list[str]:
    spans = [
        TimeSpan(("DS1", "OUT0"), START, START + 6000, points, START + 6000)
        for points in (2, 60, 100_000)
    ]
    return [str(answer(compactor, span)) for span in spans]


async def test_shared_history_answers_like_one_of_its_own(
    history: SharedHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "MAX_OPEN", 2)
    workers = {number: history.worker(number) for number in (1, 2, 3, 4)}
    alone = {
        number: Compactor(ChunkStore(None, BOUNDS.max_bytes), BOUNDS) for number in (1, 2, 3, 4)
    }
    # Round after round, so that all but two are laid down in between.
    for begin in range(0, 300, 30):
        for number in workers:
            workers[number].add(samples(number, begin, 30))
            alone[number].add(samples(number, begin, 30))
    for number, worker in workers.items():
        assert await worker.ask(answer_spans) == answer_spans(alone[number])
        assert await worker.ask(Compactor.labels) == ["DS1", "OUT0"]
        assert worker.figures.points > 0
        await worker.close(START + 6000)


async def test_quiet_controller_leaves_memory_and_answers_as_before(
    history: SharedHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "QUIET_S", 0.0)
    worker, alone = history.worker(1), Compactor(ChunkStore(None, BOUNDS.max_bytes), BOUNDS)
    for begin in range(0, 300, 100):
        worker.add(samples(1, begin, 100))
        alone.add(samples(1, begin, 100))
        in_memory = await worker.ask(weakref.ref)
        await until(lambda kept=in_memory: kept() is None)
    assert await worker.ask(answer_spans) == answer_spans(alone)
    await worker.close(START + 6000)


async def test_shared_history_keeps_all_values_after_a_restart(
    open_history: Callable[[], SharedHistory],
) -> None:
    for begin in (0, 100):
        history = open_history()
        workers = [history.worker(number) for number in (1, 2)]
        for number, worker in enumerate(workers):
            worker.add(samples(number, begin, 50))
        at = START + 20 * (begin + 50)
        for number, worker in enumerate(workers):
            rows = await worker.ask(answer_spans)
            assert rows[2].count(str(samples(number, 0, 1)[0][2])) >= 1
            await worker.close(at)
        await history.close()
    # Both have noted that nothing is known of the time between.
    single = open_history()
    worker = single.worker(2)
    assert "None" in (await worker.ask(answer_spans))[2]
    await worker.close(START)
    await single.close()


async def test_starts_of_one_of_very_many_stay_in_the_little_room_it_has(
    open_history: Callable[[], SharedHistory], monkeypatch: pytest.MonkeyPatch
) -> None:
    little = Bounds(max_bytes=16 * 1024)
    monkeypatch.setattr(SharedHistory, "bounds", lambda self: little)
    labels, starts = [f"m{n}" for n in range(1, 15)], 8
    for start in range(starts):
        history = open_history()
        worker = history.worker(1)
        at = START + 3600 * start
        worker.add([(at, label, float(start)) for label in labels])
        asked = TimeSpan(("m7",), START, at, 100_000, at)
        _, kept = await worker.ask(partial(raw, span=asked, label="m7"))
        await worker.close(at)
        await history.close()
    assert [value for value in kept if not isnan(value)] == [*map(float, range(starts))]


async def test_stop_opens_no_history_again(
    history: SharedHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node may have ten thousand that are quiet; each would take milliseconds."""
    monkeypatch.setattr(shared, "MAX_OPEN", 1)
    workers = [history.worker(number) for number in (1, 2, 3)]
    for number, worker in enumerate(workers):
        worker.add(samples(number, 0, 5))
        await worker.ask(answer_spans)

    def refuse_to_open(*_: object) -> None:
        raise AssertionError("a history was opened for its end")

    monkeypatch.setattr(shared, "Compactor", refuse_to_open)
    for worker in workers:
        await worker.close(START + 200)


async def test_one_thread_serves_all_controllers(history: SharedHistory) -> None:
    before = set(threading.enumerate())
    workers = [history.worker(number) for number in range(1, 21)]
    for number, worker in enumerate(workers):
        worker.add(samples(number, 0, 2))
    for worker in workers:
        await worker.ask(answer_spans)
    assert len(set(threading.enumerate()) - before) == 1
    for worker in workers:
        await worker.close(START + 100)


async def test_forgetting_a_controller_removes_only_its_history(history: SharedHistory) -> None:
    workers = [history.worker(number) for number in (1, 2)]
    for number, worker in enumerate(workers):
        worker.add(samples(number, 0, 10))
        await worker.close(START + 300)
    await history.forget([1])
    again = [history.worker(number) for number in (1, 2)]
    assert [await worker.ask(Compactor.labels) for worker in again] == [[], ["DS1", "OUT0"]]
    for worker in again:
        await worker.close(START + 300)


async def test_damaged_shared_file_is_set_aside_and_reported_once(
    in_file: SharedHistory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "history.db").write_bytes(b"rubbish" * 3000)
    workers = [in_file.worker(number) for number in (1, 2)]
    for number, worker in enumerate(workers):
        worker.add(samples(number, 0, 10))
    assert [await worker.ask(Compactor.labels) for worker in workers] == [["DS1", "OUT0"]] * 2
    assert caplog.text.count("was set aside") == 1
    for worker in workers:
        await worker.close(START + 300)


async def test_fault_is_logged_once_and_nothing_is_lost_by_it(
    in_file: SharedHistory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shared, "SharedChunks", full)
    sentences = dict[int, str | None]()
    workers: dict[int, ThreadHistoryWorker] = {n: in_file.worker(n) for n in (1, 2, 3)}
    for number, worker in workers.items():
        worker.on_trouble = lambda sentence, number=number: sentences.update({number: sentence})
        worker.add(samples(number, 0, 10))
    await until(lambda: len(sentences) == 3 and None not in sentences.values())
    assert caplog.text.count("No space left on device") == 1
    with pytest.raises(StoreUnavailable, match="No space left"):
        await workers[1].ask(answer_spans)
    await in_file.forget([9])
    assert "could not be deleted" in caplog.text
    monkeypatch.undo()
    caplog.set_level(logging.CRITICAL)
    await until(lambda: set(sentences.values()) == {None})
    for number, worker in workers.items():
        assert str(samples(number, 0, 1)[0][2]) in (await worker.ask(answer_spans))[2]
        await worker.close(START + 300)


async def test_many_have_a_share_of_the_bytes_each(history: SharedHistory) -> None:
    first = history.worker(1)
    assert history.bounds() == BOUNDS
    rest = [history.worker(number) for number in range(2, 5)]
    assert history.bounds().max_bytes == BOUNDS.max_bytes // 4
    await asyncio.gather(*(worker.close(START) for worker in (first, *rest)))
    assert history.bounds() == BOUNDS


async def test_query_does_not_wait_for_recording_of_other_controllers(
    history: SharedHistory,
) -> None:
    workers = [history.worker(number) for number in range(1, 11)]
    may_continue, done = threading.Event(), []
    loop = asyncio.get_running_loop()
    busy = loop.create_task(workers[0].ask(lambda _: may_continue.wait(PATIENCE_S)))
    await asyncio.sleep(0)
    unread = [
        loop.create_task(one.ask(lambda _, n=n: done.append(n), is_awaited=False))
        for n, one in enumerate(workers)
    ]
    await asyncio.sleep(0)
    workers[-1].add(samples(9, 0, 3))
    asking = loop.create_task(workers[-1].ask(Compactor.labels))
    await asyncio.sleep(0)
    may_continue.set()
    # With all that came before it of the same controller, and nothing of others.
    assert await asking == ["DS1", "OUT0"]
    assert done[:1] == [9]
    await asyncio.gather(busy, *unread)
    assert sorted(done) == list(range(10))
    for worker in workers:
        await worker.close(START + 100)


async def test_end_of_a_run_is_left_to_the_next_one_and_no_history_is_opened_for_it(
    in_file: SharedHistory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = list[int]()
    chunks_of = SharedHistory.chunks_of

    def note(history: SharedHistory, controller: int) -> ChunksOfOne:
        opened.append(controller)
        return chunks_of(history, controller)

    monkeypatch.setattr(SharedHistory, "chunks_of", note)
    workers = [in_file.worker(number) for number in (1, 2)]
    for number, worker in enumerate(workers):
        worker.begin_close()
        worker.add(samples(number, 0, 50))
    await asyncio.gather(*(worker.close(START + 1000) for worker in workers))
    assert opened == []
    alone = Compactor(ChunkStore(None, BOUNDS.max_bytes), BOUNDS)
    alone.add(samples(0, 0, 50))
    alone.silence(START + 1000)
    again = in_file.worker(1)
    assert await again.ask(answer_spans) == answer_spans(alone)
    # Once: the next one finds it among the chunks.
    await again.close(START + 1000)
    once_more = in_file.worker(1)
    assert await once_more.ask(answer_spans) == answer_spans(alone)
    await once_more.close(START + 1000)


async def test_history_given_out_has_the_last_moments(tmp_path: Path) -> None:
    history = SharedHistory(tmp_path / "history.db", BOUNDS)
    worker = history.worker(1)
    worker.begin_close()
    worker.add(samples(0, 0, 50))
    await worker.close(START + 1000)
    await history.close()
    shared_file = SharedChunks(tmp_path / "history.db", BOUNDS.max_bytes)
    ChunkStore(tmp_path / "own.db", BOUNDS.max_bytes).close()
    shared_file.give_out(1, tmp_path / "own.db")
    shared_file.close()
    alone = Compactor(ChunkStore(None, BOUNDS.max_bytes), BOUNDS)
    alone.add(samples(0, 0, 50))
    alone.silence(START + 1000)
    given = Compactor(ChunkStore(tmp_path / "own.db", BOUNDS.max_bytes), BOUNDS)
    assert answer_spans(given) == answer_spans(alone)
    given.chunk_store.close()
