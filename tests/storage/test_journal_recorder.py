"""The journal beside the history: it outlives the process, and its numbers continue."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leverframe.core.engine.journal import KEPT_ENTRIES, Cause, Decided, Fact, Journal
from leverframe.core.runtime.clock import SystemClock, VirtualClock
from leverframe.storage.history import journal_recorder
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.journal_recorder import BATCH, JournalRecorder
from leverframe.storage.history.rows import EntryQuestion
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.history.worker import HistoryRecorder, MemoryHistory, ThreadHistoryWorker
from leverframe.storage.store import StoreUnavailable
from tests.devices.waiting import until
from tests.patience import PATIENCE_S

ON = Fact("on", "OUT0", 0, 1)
EVERYTHING = EntryQuestion(0.0, 9e9)
BY_HAND, START = Cause("command", "test"), 1_748_822_400.0


class Run:
    """One run of a process that keeps its journal."""

    def __init__(self, worker: Any, clock: Any = None, gather_s: float = 5.0) -> None:
        self.journal = Journal()
        self.clock = clock or VirtualClock()
        self.history = HistoryRecorder(worker, self.clock)
        self.recorder = JournalRecorder(
            self.history, lambda: self.journal, self.clock, lambda: "1.2", gather_s
        )

    def happen(self, fact: Fact = ON, cause: Cause = BY_HAND, wall: float = START) -> int:
        number = self.journal.add(wall, cause, fact)
        self.recorder.record_if_due()
        return number

    async def entries(self, question: EntryQuestion = EVERYTHING) -> list[dict[str, Any]]:
        return [msgspec.json.decode(entry) for entry in await self.recorder.ask(question)]

    async def end(self) -> None:
        await self.recorder.close()
        await self.history.close()


def run_on(path: Path) -> Run:
    return Run(ThreadHistoryWorker(path, Bounds()))


async def test_entries_outlive_the_process_and_continue_their_numbers(tmp_path: Path) -> None:
    first = run_on(tmp_path / "history")
    first.happen()
    await first.end()
    second = run_on(tmp_path / "history")
    led = second.happen()
    decided = (Decided("OUT0", 1, "=", 1, True, led),)
    second.happen(cause=Cause("rule", "1", number=1, conditions=decided, after=led))
    entries = await second.entries()
    await second.end()
    assert [entry["what"] for entry in entries] == ["started", "on", "started", "on", "on"]
    assert entries[0]["figures"] == {"version": "1.2"}
    numbers = [entry["number"] for entry in entries]
    assert numbers == sorted(set(numbers))
    consequence, reason = entries[-1], entries[-2]
    assert consequence["after"] == reason["number"]
    assert consequence["by"]["after"] == reason["number"]
    assert consequence["by"]["conditions"][0]["after"] == reason["number"]


async def test_questions_are_answered_by_time_number_label_and_cause() -> None:
    run = Run(MemoryHistory())
    run.happen(wall=START)
    run.happen(Fact("off", "OUT1", 1, 0), Cause("rule", "1"), wall=START + 10)
    run.happen(wall=START + 20)
    everything = await run.entries()
    assert [entry["which"] for entry in everything] == [None, "OUT0", "OUT1", "OUT0"]
    assert len(await run.entries(EntryQuestion(START + 5, START + 15))) == 1
    assert len(await run.entries(EVERYTHING._replace(which="OUT0"))) == 2
    assert len(await run.entries(EVERYTHING._replace(cause="rule"))) == 1
    assert await run.entries(EVERYTHING._replace(most=1)) == everything[-1:]
    assert await run.entries(EVERYTHING._replace(after=everything[1]["number"])) == everything[2:]


async def test_entries_displaced_by_a_flood_before_saving_are_counted() -> None:
    run = Run(MemoryHistory())
    run.happen()
    await run.entries()
    for _ in range(KEPT_ENTRIES + 7):
        run.happen()
    gap = (await run.entries())[2]
    assert (gap["what"], gap["figures"]) == ("journal_gap", {"count": 7})


async def test_on_virtual_time_nothing_is_lost_between_two_questions() -> None:
    run = Run(ThreadHistoryWorker(None, Bounds()))
    for _ in range(3 * KEPT_ENTRIES):
        run.happen()
    assert len(await run.entries()) == 3 * KEPT_ENTRIES + 1
    await run.end()


async def test_few_entries_are_written_after_a_while_without_being_asked_for() -> None:
    worker = ThreadHistoryWorker(None, Bounds())
    run = Run(worker, SystemClock(), gather_s=0.01)
    run.happen()

    def newest(compactor: Compactor) -> int:
        return compactor.chunk_store.entries.newest()

    async with asyncio.timeout(PATIENCE_S):
        while await worker.ask(newest) < 2:
            pass
    await run.end()


async def test_entry_after_the_end_wakes_nothing() -> None:
    run = Run(ThreadHistoryWorker(None, Bounds()), SystemClock(), gather_s=0.0)
    await run.end()
    before = asyncio.all_tasks()
    run.happen()
    for _ in range(5):
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before


async def test_small_file_keeps_the_newest(tmp_path: Path) -> None:
    run = Run(ThreadHistoryWorker(tmp_path / "history", Bounds(max_bytes=1024 * 1024)))
    for _ in range(BATCH * 6):
        run.happen()
    entries = await run.entries()
    await run.end()
    assert len(entries) == 512
    assert entries[-1]["number"] - entries[0]["number"] == 511


class RefusingHistory(MemoryHistory):
    refuses = True

    async def ask(self, work: Any, *, is_awaited: bool = True) -> Any:
        if self.refuses:
            raise StoreUnavailable("The disk is full.")
        return await super().ask(work)


async def test_refused_entries_are_written_when_the_disk_recovers() -> None:
    worker = RefusingHistory()
    run = Run(worker)
    run.happen()
    with pytest.raises(StoreUnavailable):
        await run.entries()
    worker.refuses = False
    run.happen()
    assert [entry["what"] for entry in await run.entries()] == ["started", "on", "on"]
    run.recorder.forget()
    worker.forget()
    assert [entry["what"] for entry in await run.entries()] == ["started", "on", "on"]


async def test_entries_refused_for_long_are_dropped_oldest_first_and_counted() -> None:
    worker = RefusingHistory()
    worker.max_entries = 5
    run = Run(worker)
    for count in (7, 1):
        for _ in range(count):
            run.happen()
        with pytest.raises(StoreUnavailable):
            await run.entries()
    worker.refuses = False
    entries = await run.entries()
    assert [entry["what"] for entry in entries] == ["started", "journal_gap", *["on"] * 4]
    assert entries[1]["figures"] == {"count": 4}


async def test_entries_gathered_for_long_are_taken_before_the_journal_drops_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal_recorder, "GATHER_S", 0.01)
    run = Run(ThreadHistoryWorker(None, Bounds()), SystemClock(), gather_s=60.0)
    for _ in range(3):
        for _ in range(KEPT_ENTRIES - 1):
            run.happen()
        await until(lambda: run.recorder.live_state() == run.recorder._number)
    entries = await run.entries()
    await run.end()
    assert [entry["what"] for entry in entries] == ["started", *["on"] * 3 * (KEPT_ENTRIES - 1)]


async def test_journal_continues_from_a_restored_snapshot() -> None:
    run = Run(MemoryHistory())
    run.happen()
    before, state = run.journal.copy(), run.recorder.live_state()
    run.happen(Fact("off", "OUT0", 1, 0))
    await run.entries()
    run.journal = before
    run.recorder.resume_from(state)
    run.happen(Fact("on", "OUT3", 0, 1))
    assert [entry["which"] for entry in await run.entries()] == [None, "OUT0", "OUT3"]


async def test_continued_journal_keeps_its_numbers_and_records_no_start(
    tmp_path: Path,
) -> None:
    first = run_on(tmp_path / "history")
    led = first.happen()
    await first.end()
    second = run_on(tmp_path / "history")
    second.journal = Journal.resume(first.journal.count, ())
    second.recorder.resume_after(first.journal.count)
    second.happen(cause=Cause("rule", "1", number=1, after=led))
    entries = await second.entries()
    await second.end()
    assert [entry["what"] for entry in entries] == ["started", "on", "on"]
    assert entries[2]["after"] == entries[1]["number"]
    elsewhere = run_on(tmp_path / "another")
    elsewhere.journal = Journal.resume(600, ())
    elsewhere.recorder.resume_after(600)
    elsewhere.happen()
    assert [entry["number"] for entry in await elsewhere.entries()] == [601]
    await elsewhere.end()


async def test_query_writes_pending_entries_first() -> None:
    histories = SharedHistory(None, Bounds())
    mine, other = Run(histories.worker(1)), histories.worker(2)
    entries = await mine.history.ask(lambda compactor: compactor.chunk_store.entries)
    may_begin, seen = threading.Event(), []
    tasks = [asyncio.create_task(other.ask(lambda _: may_begin.wait(PATIENCE_S)))]
    await asyncio.sleep(0)
    # Before the turn of this one comes that of another.
    look = other.ask(lambda _: seen.append(entries.newest()), is_awaited=False)
    tasks.append(asyncio.create_task(look))
    await asyncio.sleep(0)
    for _ in range(BATCH):
        mine.happen()
    await asyncio.sleep(0)
    asking = asyncio.create_task(mine.entries())
    await asyncio.sleep(0)
    may_begin.set()
    assert len(await asking) == BATCH + 1
    await asyncio.gather(*tasks)
    assert seen == [BATCH + 1]
    await mine.end()
    await other.close(START)
    await histories.close()
