"""Records the journal in the history's file, so that it outlasts the process.

Numbers continue after those of stored entries, so that entries can refer to each other there as
well. The journal in memory has only the newest few hundred entries. If outputs are switched very
often, some entries are dropped before they can be stored; an entry then records how many.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

from leverframe.core.engine.journal import KEPT_ENTRIES, Cause, Fact, Journal, UnreadEntry
from leverframe.core.runtime.clock import Clock
from leverframe.storage.history.compactor import Compactor, UnreadEntries
from leverframe.storage.history.rows import EntryQuestion
from leverframe.storage.history.worker import GATHER_S, HistoryRecorder
from leverframe.storage.store import StoreUnavailable

#: In virtual time, where no timer runs, entries are recorded when there are this many new ones.
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
        #: New entries are recorded until `close`, if the history outlasts the process.
        self._is_recording = history.is_durable
        self._writing: asyncio.Task[None] | None = None
        #: The number of the newest collected entry, and the entries that are not written yet.
        self._number = 0
        self._waiting: list[UnreadEntry] = []
        #: The offset of entry numbers; None until the file's newest number has been read.
        self._base: int | None = None
        #: The number of entries of a journal that resumed here.
        self._recorded_elsewhere: int | None = None
        #: Ensures that one batch is written at a time, because the first batch determines the
        #: offset for all others.
        self._order = asyncio.Lock()

    def record_if_due(self) -> None:
        """Record new entries: immediately if there are many, otherwise after a while."""
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
        """Return stored entries as JSON, including all entries up to now."""
        await self._write()
        return await self._history.ask(
            lambda compactor: compactor.chunk_store.entries.ask(question)
        )

    def live_state(self) -> int:
        return self._journal().count

    def resume_from(self, state: int) -> None:
        """Continue recording after the entry number at which a snapshot was taken."""
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
            # Entries that cannot be written now are lost when the process ends; the history reports
            # the problem.
            with suppress(StoreUnavailable):
                await self._write()

    def _collect_after(self, seconds: float) -> None:
        """Collect new entries before the journal drops them, and write them later."""
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
        # These entries are kept, and written together with the next ones.
        with suppress(StoreUnavailable):
            await self._write(is_awaited=False)

    def _collect(self) -> None:
        journal = self._journal()
        new = journal.unread_since(self._number)
        lost = journal.count - self._number - len(new)
        if lost and self._number:
            self._waiting.append(_gap(lost, new[0].number - 1, new[0].wall))
        self._waiting += new
        self._number = journal.count

    def _limit_waiting(self) -> None:
        """Drop the oldest entries if too many are waiting, and record their number."""
        over = len(self._waiting) - self._history.max_entries
        if over > 0:
            gone = self._waiting[: over + 1]
            count = sum(_entries_in(entry) for entry in gone)
            self._waiting[: over + 1] = [_gap(count, gone[-1].number, gone[-1].wall)]

    async def _write(self, *, is_awaited: bool = True) -> None:
        if is_awaited and self._order.locked():
            # The job may wait long for its turn, but an awaited query moves all earlier jobs
            # forward.
            with suppress(StoreUnavailable):
                await self._history.ask(_nothing)
        async with self._order:
            await self._write_all(is_awaited)

    async def _write_all(self, is_awaited: bool) -> None:
        self._collect()
        if self._base is None and self._recorded_elsewhere is None:
            started = Fact("started", figures={"version": self._version()})
            wall = self._waiting[0].wall if self._waiting else self._clock.read().wall
            self._waiting.insert(0, UnreadEntry(0, wall, _BY_START, started))
        entries, self._waiting = self._waiting, []
        if not entries:
            return
        base, before = self._base, self._recorded_elsewhere
        try:
            self._base = await self._history.add_entries(
                UnreadEntries(entries, base, before), is_awaited=is_awaited
            )
        except StoreUnavailable:
            has_start = base is None and before is None
            kept = entries[1:] if has_start else entries
            self._waiting = [*kept, *self._waiting]
            self._limit_waiting()
            raise


def _nothing(_: Compactor) -> None:
    """Do nothing; the caller only waits until earlier jobs of the thread have run."""


def _gap(count: int, number: int, wall: float) -> UnreadEntry:
    gap = Fact("journal_gap", figures={"count": count})
    return UnreadEntry(number, wall, _BY_START, gap)


def _entries_in(entry: UnreadEntry) -> int:
    """Return the number of entries that an entry represents: more than 1 for a gap."""
    content = entry.content
    if isinstance(content, Fact) and content.what == "journal_gap":
        return int(content.figures["count"])
    return 1
