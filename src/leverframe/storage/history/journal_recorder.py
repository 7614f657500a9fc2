"""Records the journal in the file of the history, so that it outlasts the process.

Entries are numbered on from those that are stored, so that numbers link causes and effects there as
well. The journal in memory holds the newest few hundred; under a flood of switching some of them
are gone before they could be kept, and an entry records their number.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

from leverframe.core.engine.journal import KEPT_ENTRIES, Cause, Entry, Fact, Journal
from leverframe.core.runtime.clock import Clock
from leverframe.storage.history.compactor import Compactor, NewEntries
from leverframe.storage.history.rows import EntryQuestion
from leverframe.storage.history.worker import GATHER_S, HistoryRecorder
from leverframe.storage.store import StoreUnavailable

#: The number recorded together in virtual time, where no timer runs.
BATCH = KEPT_ENTRIES // 2
_BY_START = Cause("start")


class JournalRecorder:
    live_name: ClassVar[str] = "journal"
    live_type: ClassVar[Any] = int

    __slots__ = (
        "__weakref__",
        "_base",
        "_clock",
        "_gather_s",
        "_history",
        "_is_recording",
        "_journal",
        "_number",
        "_order",
        "_recorded_elsewhere",
        "_timer",
        "_version",
        "_waiting",
        "_writing",
    )

    def __init__(
        self,
        history: HistoryRecorder,
        journal: Callable[[], Journal],
        clock: Clock,
        version: Callable[[], str],
        gather_s: float | None = None,
    ) -> None:
        self._history = history
        self._journal = journal
        self._clock = clock
        self._version = version
        self._gather_s = history.gather_s if gather_s is None else gather_s
        self._timer: asyncio.TimerHandle | None = None
        #: New entries are recorded: where they outlast the process, until `close`.
        self._is_recording = history.is_durable
        self._writing: asyncio.Task[None] | None = None
        #: The newest entry that was collected, and what is not written yet.
        self._number = 0
        self._waiting: list[Entry] = []
        #: What is added to numbers; None until the file was asked for its newest.
        self._base: int | None = None
        #: The number of entries of a journal that is continued here.
        self._recorded_elsewhere: int | None = None
        #: One after the other: the first finds the number that the others count from.
        self._order = asyncio.Lock()

    def record_if_due(self) -> None:
        """Record new entries: many immediately, a few after a while."""
        if self._timer is not None or not self._is_recording:
            return
        new = self._journal().count - self._number
        if new == 0:
            return
        if self._clock.is_virtual:
            if new >= BATCH:
                self._write_soon()
        else:
            self._collect_after(self._gather_s)

    async def ask(self, question: EntryQuestion) -> list[bytes]:
        """Return stored entries as JSON, with all that happened until now."""
        await self._write()
        return await self._history.ask(
            lambda compactor: compactor.chunk_store.entries.ask(question)
        )

    def live_state(self) -> int:
        return self._journal().count

    def resume_from(self, state: int) -> None:
        """Record again from the number that a snapshot was taken at."""
        self._number = min(self._number, state)
        self._waiting = [entry for entry in self._waiting if entry.number <= state]

    def resume_after(self, count: int) -> None:
        """Resume after this number of entries, which were recorded elsewhere."""
        self._number = self._recorded_elsewhere = count

    def forget(self) -> None:
        """Start again with an empty history."""
        self._number, self._base, self._recorded_elsewhere = 0, None, None
        self._waiting.clear()

    async def close(self) -> None:
        self._is_recording = False
        if self._timer is not None:
            self._timer.cancel()
        if self._history.is_durable:
            self._history.begin_close()
            # What cannot be written now is lost with the process; the history reports its problem.
            with suppress(StoreUnavailable):
                await self._write()

    def _collect_after(self, seconds: float) -> None:
        """Collect new entries before the journal drops them, and then write."""
        now = min(seconds, GATHER_S)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(now, self._collect_for, seconds - now)

    def _collect_for(self, seconds: float) -> None:
        self._collect()
        if seconds > 0 and len(self._waiting) < self._history.max_entries:
            self._collect_after(seconds)
        else:
            self._timer = None
            self._write_soon()

    def _write_soon(self) -> None:
        self._collect()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._try_to_write())

    async def _try_to_write(self) -> None:
        # They wait and are written with the next ones.
        with suppress(StoreUnavailable):
            await self._write(is_awaited=False)

    def _collect(self) -> None:
        journal = self._journal()
        new = journal.since(self._number)
        lost = journal.count - self._number - len(new)
        if lost and self._number:
            self._waiting.append(_gap(lost, new[0].number - 1, new[0].wall))
        self._waiting += new
        self._number = journal.count

    def _limit_waiting(self) -> None:
        """Drop the oldest entries if too many wait, and record their number."""
        over = len(self._waiting) - self._history.max_entries
        if over > 0:
            gone = self._waiting[: over + 1]
            count = sum(_entries_in(entry) for entry in gone)
            self._waiting[: over + 1] = [_gap(count, gone[-1].number, gone[-1].wall)]

    async def _write(self, *, is_awaited: bool = True) -> None:
        if is_awaited and self._order.locked():
            # Its turn may be far off; a question takes along what came before it.
            with suppress(StoreUnavailable):
                await self._history.ask(_nothing)
        async with self._order:
            await self._write_all(is_awaited)

    async def _write_all(self, is_awaited: bool) -> None:
        self._collect()
        if self._base is None and self._recorded_elsewhere is None:
            started = Fact("started", figures={"version": self._version()})
            wall = self._waiting[0].wall if self._waiting else self._clock.read().wall
            self._waiting.insert(0, Entry(0, wall, _BY_START, str(started), started))
        entries, self._waiting = self._waiting, []
        if not entries:
            return
        base, before = self._base, self._recorded_elsewhere
        try:
            self._base = await self._history.add_entries(
                NewEntries(entries, base, before), is_awaited=is_awaited
            )
        except StoreUnavailable:
            has_start = base is None and before is None
            kept = entries[1:] if has_start else entries
            self._waiting = [*kept, *self._waiting]
            self._limit_waiting()
            raise


def _nothing(_: Compactor) -> None:
    """Ask nothing."""


def _gap(count: int, number: int, wall: float) -> Entry:
    gap = Fact("journal_gap", figures={"count": count})
    return Entry(number, wall, _BY_START, str(gap), gap)


def _entries_in(entry: Entry) -> int:
    """Return for how many entries one stands."""
    return int(entry.fact.figures["count"]) if entry.fact.what == "journal_gap" else 1
