"""The thread that records the history, and the recorder that feeds it from a controller.

On the event loop, a changed value is only appended to a list, which the recorder passes to the
thread from time to time. The thread opens the file, and reads and writes one job after the other,
so a query includes all earlier writes. Errors on the thread do not affect the controller: writing
values is retried, the oldest values are dropped and counted if necessary, a damaged file is moved
aside, and `/health` shows the problem.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from leverframe.core.engine.machine import Samples, Traced
from leverframe.core.runtime.clock import Clock
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds, Compactor, UnreadEntries
from leverframe.storage.history.rows import TIERS
from leverframe.storage.private_files import keep_report
from leverframe.storage.snapshots import set_aside
from leverframe.storage.sqlite_file import StoreDamaged, StoreTooNew, is_damage, reason
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

Result = TypeVar("Result")

#: Real seconds that a value may wait before it is written; a killed process loses these values.
GATHER_S = 5.0
#: The number of values at which they are passed to the thread immediately.
BATCH = 4096
#: Maximum number of values that wait for the thread; further values are dropped. In virtual time,
#: the controller waits instead.
MAX_WAITING = 200_000
#: Maximum number of values that are retried after a failed write; older ones are dropped.
MAX_UNWRITTEN = 20_000
#: Real seconds until a retry, and the number of consecutive failures at which the problem is
#: reported.
RETRY_S = 10.0
WORTH_A_WORD = 2
#: The limits of a controller without a data folder.
IN_MEMORY = Bounds(max_bytes=1024 * 1024)

#: The errors that a file can cause.
TROUBLES = (sqlite3.Error, OSError, StoreDamaged, StoreTooNew, StoreUnavailable)

#: A function that is called on the event loop with a sentence, or with None after a recovery.
OnTrouble = Callable[[str | None], None]


class BacklogLimits(Struct, frozen=True):
    """Limits of the data that waits in memory to be written."""

    #: Values that the thread has not processed yet, and values that could not be written.
    handed_over: int = MAX_WAITING
    unwritten: int = MAX_UNWRITTEN
    #: Entries of the journal.
    entries: int = 5000


ALONE = BacklogLimits()


class Figures(Struct):
    points: int = 0
    bytes: int = 0
    #: Values dropped because there were too many at a time, and because they could not be written.
    overrun: int = 0
    lost: int = 0

    @property
    def dropped(self) -> int:
        return self.overrun + self.lost

    def update(self, chunk_store: ChunkStore) -> None:
        self.points = sum(chunk_store.points(tier) for tier in TIERS)
        self.bytes = chunk_store.bytes_in_use()


class HistoryWorker(Protocol):
    #: Whether the history can still be read after the controller has ended.
    is_durable: bool
    #: Real seconds that a value may wait before it is added.
    gather_s: float
    figures: Figures
    on_trouble: OnTrouble

    @property
    def max_entries(self) -> int:
        """Return the maximum number of journal entries that wait to be written."""

    def add(self, samples: Sequence[Traced]) -> None:
        """Record samples after a short delay."""

    async def ask(self, work: Callable[[Compactor], Result], *, is_awaited: bool = True) -> Result:
        """Run a query on all data added so far; raise StoreUnavailable if that fails.

        Work that is not awaited runs after queries.
        """

    async def add_entries(self, new: UnreadEntries, *, is_awaited: bool = True) -> int:
        """Store journal entries; return the offset of their numbers."""

    def forget(self) -> None:
        """Discard everything, unless the history is durable."""

    def begin_close(self) -> None:
        """From now on, postpone all recording that can still be done after the end of the run."""

    async def close(self, at: float) -> None:
        """Record that values are unknown from this time on, and release all resources."""


class MemoryHistory:
    """A history on the event loop that exists as long as the process."""

    is_durable = False
    gather_s = GATHER_S
    max_entries = ALONE.entries

    __slots__ = ("_opened", "figures", "on_trouble")

    def __init__(self) -> None:
        self.figures = Figures()
        self.on_trouble: OnTrouble = _ignore_trouble
        self._opened: Compactor | None = None

    def add(self, samples: Sequence[Traced]) -> None:
        self._compactor.add(samples)
        self.figures.update(self._compactor.chunk_store)

    async def ask(self, work: Callable[[Compactor], Result], *, is_awaited: bool = True) -> Result:
        return work(self._compactor)

    async def add_entries(self, new: UnreadEntries, *, is_awaited: bool = True) -> int:
        return await self.ask(new.add_to)

    def forget(self) -> None:
        self._opened = None

    def begin_close(self) -> None:
        """Do nothing, because no values wait here."""

    async def close(self, at: float) -> None:
        """Do nothing, because the memory is freed with the controller."""

    @property
    def _compactor(self) -> Compactor:
        # Opened at the first sample, because tests create many controllers whose history is never
        # read.
        if self._opened is None:
            self._opened = Compactor(ChunkStore(None, IN_MEMORY.max_bytes), IN_MEMORY)
        return self._opened


class NullHistory(MemoryHistory):
    """A history that records nothing, for a controller whose history is never read."""

    def add(self, samples: Sequence[Traced]) -> None:
        """Discard the samples."""


class ThreadHistoryWorker:
    """A history on its own thread; without a path, in memory."""

    is_durable = True
    gather_s = GATHER_S

    __slots__ = (
        "_asked",
        "_bounds",
        "_compactor",
        "_done",
        "_executor",
        "_failures",
        "_handed_over",
        "_has_reported_loss",
        "_is_closed",
        "_may_wait",
        "_newest_job",
        "_path",
        "_retry",
        "_retry_s",
        "_unwritten",
        "figures",
        "on_trouble",
    )

    def __init__(
        self,
        path: Path | None,
        bounds: Bounds,
        *,
        may_wait: bool = False,
        retry_s: float = RETRY_S,
        executor: Executor | None = None,
    ) -> None:
        self.figures = Figures()
        self.on_trouble: OnTrouble = _ignore_trouble
        self._path = path
        self._bounds = bounds
        self._may_wait = may_wait
        self._retry_s = retry_s
        self._retry: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._executor = executor or ThreadPoolExecutor(1, "history")
        #: The executor of awaited jobs.
        self._asked = self._executor
        self._handed_over = 0
        self._done = 0
        self._newest_job: Future[None] | None = None
        # Only the thread uses these attributes.
        self._compactor: Compactor | None = None
        self._unwritten: list[Traced] = []
        self._failures = 0
        self._has_reported_loss = False

    @property
    def max_entries(self) -> int:
        return self._room().entries

    def _room(self) -> BacklogLimits:
        """Return the limits of waiting data in memory."""
        return ALONE

    def add(self, samples: Sequence[Traced]) -> None:
        if self._handed_over - self._done > self._room().handed_over:
            if not self._may_wait or self._newest_job is None:
                self.figures.overrun += len(samples)
                return
            wait([self._newest_job])
        self._handed_over += len(samples)
        loop = asyncio.get_running_loop()
        self._newest_job = self._executor.submit(self._add, samples, loop)

    async def ask(self, work: Callable[[Compactor], Result], *, is_awaited: bool = True) -> Result:
        executor = self._asked if is_awaited else self._executor
        return await asyncio.get_running_loop().run_in_executor(executor, self._ask, work)

    async def add_entries(self, new: UnreadEntries, *, is_awaited: bool = True) -> int:
        return await self.ask(new.add_to, is_awaited=is_awaited)

    def forget(self) -> None:
        """Do nothing, because the file is kept for years."""

    def begin_close(self) -> None:
        """Do nothing, because waiting values are recorded before the end."""

    async def close(self, at: float) -> None:
        self._is_closed = True
        if self._retry is not None:
            self._retry.cancel()
        try:
            await asyncio.get_running_loop().run_in_executor(self._asked, self._end, at)
        finally:
            self._leave()

    def _leave(self) -> None:
        """Release the thread."""
        self._executor.shutdown(wait=False)

    # --- on the thread ----------------------------------------------------------------------------

    def _add(self, samples: Sequence[Traced], loop: asyncio.AbstractEventLoop) -> None:
        try:
            compactor = self._current_compactor()
            compactor.add([*self._unwritten, *samples])
            self._unwritten = []
            self.figures.update(compactor.chunk_store)
            self._note_success(loop)
        except TROUBLES as error:
            self._give_up(error)
            waiting, most = [*self._unwritten, *samples], self._room().unwritten
            lost = max(0, len(waiting) - most)
            self.figures.lost += lost
            self._unwritten = waiting[-most:]
            self._note_failure(error, loop, lost)
        except Exception:
            # A bug would recur with the same values, so they are dropped.
            lost = len(self._unwritten) + len(samples)
            log.exception("%d values of the history were lost because of an error", lost)
            self.figures.lost += lost
            self._unwritten = []
        finally:
            self._done += len(samples)

    def _ask(self, work: Callable[[Compactor], Result]) -> Result:
        try:
            return work(self._current_compactor())
        except TROUBLES as error:
            self._give_up(error)
            raise StoreUnavailable(_sentence(error, is_read=True)) from error

    def _end(self, at: float) -> None:
        try:
            self._record_end(at)
        except TROUBLES as error:
            self._log(_sentence(error))

    def _record_end(self, at: float) -> None:
        """Record that values are unknown from this time on, if the history was opened at all."""
        if self._compactor is not None:
            self._compactor.silence(at)
            self._compactor.chunk_store.close()

    def _current_compactor(self) -> Compactor:
        if self._compactor is None:
            try:
                self._compactor = self._open()
            except (StoreDamaged, sqlite3.DatabaseError) as error:
                if not _is_damaged(error):
                    raise
                self._give_up(error)
                self._compactor = self._open()
        return self._compactor

    def _open(self) -> Compactor:
        chunk_store = ChunkStore(self._path, self._bounds.max_bytes)
        try:
            compactor = Compactor(chunk_store, self._bounds)
            # The controller was off, or was killed, since the last record.
            compactor.silence()
        except BaseException:
            chunk_store.close()
            raise
        return compactor

    def _give_up(self, error: Exception) -> None:
        """Close the file, so that the next job opens it again; set a damaged one aside."""
        if self._compactor is not None:
            self._compactor.chunk_store.close()
            self._compactor = None
        set_aside_if_damaged(self._path, error)

    def _note_failure(self, error: Exception, loop: asyncio.AbstractEventLoop, lost: int) -> None:
        """Schedule a retry; report repeated failures and the loss of values."""
        self._failures += 1
        is_first_loss = bool(lost) and not self._has_reported_loss
        # The content of a damaged file is lost, even though the retry creates a new one.
        if self._failures == WORTH_A_WORD or is_first_loss or _is_damaged(error):
            sentence = _sentence(error)
            if lost:
                self._has_reported_loss = True
                sentence += " The buffer is full: the oldest values are lost."
            self._log(sentence)
            call_soon(loop, self.on_trouble, sentence)
        call_soon(loop, self._try_again_later, loop)

    def _log(self, sentence: str) -> None:
        log.error("%s", sentence)

    def _note_success(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._failures >= WORTH_A_WORD or self._has_reported_loss:
            call_soon(loop, self.on_trouble, None)
        self._failures, self._has_reported_loss = 0, False

    # --- on the loop ------------------------------------------------------------------------------

    def _try_again_later(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._retry is None and not self._is_closed:
            self._retry = loop.call_later(self._retry_s, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        if not self._is_closed:
            self.add([])


class HistoryRecorder:
    """Collects the samples of a controller's engine and passes them to a worker.

    A timer runs only while samples wait, so an idle controller needs no computing time. In virtual
    time there is no timer: samples are passed on in batches, and before each query.
    """

    __slots__ = ("__weakref__", "_clock", "_has_timer", "_timer", "_worker", "gather_s", "samples")

    def __init__(self, worker: HistoryWorker, clock: Clock, gather_s: float | None = None) -> None:
        #: The list to which the engine appends.
        self.samples = Samples()
        self._worker = worker
        self._clock = clock
        self.gather_s = worker.gather_s if gather_s is None else gather_s
        self._has_timer = not clock.is_virtual
        self._timer: asyncio.TimerHandle | None = None

    @property
    def figures(self) -> Figures:
        return self._worker.figures

    @property
    def is_durable(self) -> bool:
        return self._worker.is_durable

    @property
    def max_entries(self) -> int:
        return self._worker.max_entries

    def flush_if_due(self) -> None:
        """Pass samples to the worker: immediately if there are many, otherwise after a while."""
        if len(self.samples) >= BATCH:
            self.flush()
        elif self._has_timer and self._timer is None and (self.samples or self.samples.waiting):
            self._timer = asyncio.get_running_loop().call_later(self.gather_s, self.flush)

    def flush(self) -> None:
        """Pass the samples collected so far to the worker."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.samples.waiting:
            self._worker.add(self.samples.take())

    async def ask(self, work: Callable[[Compactor], Result], *, is_awaited: bool = True) -> Result:
        """Run a query on all data recorded until now."""
        self.flush()
        return await self._worker.ask(work, is_awaited=is_awaited)

    async def add_entries(self, new: UnreadEntries, *, is_awaited: bool = True) -> int:
        """Store journal entries; return the offset of their numbers."""
        return await self._worker.add_entries(new, is_awaited=is_awaited)

    def forget(self) -> None:
        """Discard all samples of a history that ends with its controller."""
        self.samples.clear()
        self._worker.forget()

    def begin_close(self) -> None:
        """From now on, postpone all recording that can still be done after the end of the run."""
        self._worker.begin_close()

    async def close(self) -> None:
        # Later events of the controller are not recorded, and must not start a timer.
        self._has_timer = False
        self.begin_close()
        if self._worker.is_durable:
            self.flush()
        await self._worker.close(self._clock.read().wall)


def call_soon(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *values: Any) -> None:
    """Call a function on an event loop from another thread."""
    # If the loop is closed, no one needs the result.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *values)


def _ignore_trouble(_: str | None) -> None:
    """Ignore a problem, because no function to report it is set yet."""


def set_aside_if_damaged(path: Path | None, error: Exception) -> None:
    """Move a damaged file aside, so that the next opening creates a new one."""
    if path is None or not _is_damaged(error):
        return
    try:
        aside = set_aside(path)
    except OSError as trouble:
        log.error("%s It cannot be set aside: %s.", error, trouble.strerror)
    else:
        report = f"{error} It was set aside in {aside}, and a new history was started."
        keep_report(aside, report)
        log.error("%s", report)


def _is_damaged(error: Exception) -> bool:
    return isinstance(error, StoreDamaged) or is_damage(error)


def _sentence(error: Exception, *, is_read: bool = False) -> str:
    if isinstance(error, StoreDamaged | StoreTooNew | StoreUnavailable):
        return str(error)
    if is_read:
        return (
            f"Recorded values cannot be read: {reason(error)}. The controller keeps running without"
            " history."
        )
    return (
        f"Values cannot be recorded: {reason(error)}. The controller keeps running without history."
    )
