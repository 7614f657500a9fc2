"""Where a compactor works: on the event loop for a chunk_store in memory, on a thread for a file.

The thread opens the file, writes and reads, one job after the other, so whoever asks sees all that
came before. Nothing that goes wrong there reaches the controller: values that cannot be written are
tried again, the oldest are lost and counted, a damaged file is set aside, and `/health` tells what
is wrong.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from leverframe.engine.machine import Traced
from leverframe.storage.history.chunk_store import ChunkStore, MemoryChunkStore
from leverframe.storage.history.columns import TIERS
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.sqlite_chunk_store import SqliteChunkStore
from leverframe.storage.snapshots import set_aside
from leverframe.storage.sqlite_file import StoreDamaged, StoreTooNew, is_damage, reason
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

Result = TypeVar("Result")

#: Values that wait for the thread at most; more of them are lost, or waited for on virtual time.
MAX_WAITING = 200_000
#: Values that are tried again when they could not be written; older ones are lost.
MAX_UNWRITTEN = 20_000
#: Real seconds until then, and how many failures in a row are told.
RETRY_S = 10.0
WORTH_A_WORD = 2
#: A controller without a data folder remembers so much at most.
IN_MEMORY = Bounds(max_bytes=1024 * 1024)

#: What can be wrong with a file.
_TROUBLES = (sqlite3.Error, OSError, StoreDamaged, StoreTooNew, StoreUnavailable)

#: Called on the loop with a sentence, or with None when all is well again.
Tell = Callable[[str | None], None]


@dataclass(slots=True)
class Figures:
    points: int = 0
    bytes: int = 0
    #: Values that came faster than they could be written, and that could not be written.
    overrun: int = 0
    lost: int = 0

    @property
    def dropped(self) -> int:
        return self.overrun + self.lost

    def look_at(self, chunk_store: ChunkStore) -> None:
        self.points = sum(chunk_store.points(tier) for tier in TIERS)
        self.bytes = chunk_store.used()


class HistoryWorker(Protocol):
    figures: Figures
    tell: Tell

    def add(self, samples: Sequence[Traced]) -> None: ...

    async def ask(self, work: Callable[[Compactor], Result]) -> Result:
        """What the work finds; raises StoreUnavailable if nothing can be read."""

    async def close(self, at: float) -> None:
        """Nothing is known from this moment on; keep that and let go of everything."""


class MemoryHistoryWorker:
    """Works at once. Costs next to nothing until something has come."""

    def __init__(self, bounds: Bounds = IN_MEMORY) -> None:
        self.figures = Figures()
        self.tell: Tell = _nobody_hears
        self._bounds = bounds
        self._kept: Compactor | None = None

    def add(self, samples: Sequence[Traced]) -> None:
        compactor = self._compactor()
        compactor.add(samples)
        self.figures.look_at(compactor.chunk_store)

    async def ask(self, work: Callable[[Compactor], Result]) -> Result:
        return work(self._compactor())

    async def close(self, at: float) -> None:
        """It is gone with the process."""

    def _compactor(self) -> Compactor:
        if self._kept is None:
            self._kept = Compactor(MemoryChunkStore(), self._bounds)
        return self._kept


class NullHistory:
    """Keeps nothing, for a controller that nobody will ask."""

    def __init__(self) -> None:
        self.figures = Figures()
        self.tell: Tell = _nobody_hears

    def add(self, samples: Sequence[Traced]) -> None:
        """Forgotten."""

    async def ask(self, work: Callable[[Compactor], Result]) -> Result:
        return work(Compactor(MemoryChunkStore(), IN_MEMORY))

    async def close(self, at: float) -> None:
        """Nothing to let go of."""


class ThreadHistoryWorker:
    """Works on a thread of its own; without a path, on a chunk_store in memory."""

    def __init__(
        self,
        path: Path | None,
        bounds: Bounds,
        *,
        may_wait: bool = False,
        retry_s: float = RETRY_S,
    ) -> None:
        self.figures = Figures()
        self.tell: Tell = _nobody_hears
        self._path = path
        self._bounds = bounds
        self._may_wait = may_wait
        self._retry_s = retry_s
        self._retry: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._executor = ThreadPoolExecutor(1, "history")
        self._handed_over = 0
        self._done = 0
        self._newest_job: Future[None] | None = None
        # Only the thread touches these, and what is done.
        self._compactor: Compactor | None = None
        self._unwritten: list[Traced] = []
        self._failures = 0

    def add(self, samples: Sequence[Traced]) -> None:
        if self._handed_over - self._done > MAX_WAITING:
            if not self._may_wait or self._newest_job is None:
                self.figures.overrun += len(samples)
                return
            wait([self._newest_job])
        self._handed_over += len(samples)
        loop = asyncio.get_running_loop()
        self._newest_job = self._executor.submit(self._add, samples, loop)

    async def ask(self, work: Callable[[Compactor], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._ask, work)

    async def close(self, at: float) -> None:
        self._is_closed = True
        if self._retry is not None:
            self._retry.cancel()
        try:
            await asyncio.get_running_loop().run_in_executor(self._executor, self._end, at)
        finally:
            self._executor.shutdown(wait=False)

    # --- on the thread ----------------------------------------------------------------------------

    def _add(self, samples: Sequence[Traced], loop: asyncio.AbstractEventLoop) -> None:
        waiting = [*self._unwritten, *samples]
        self._unwritten = []
        try:
            self._write(waiting, loop)
        except Exception:
            # A fault of ours: it would be the same with the same values, so they are given up.
            log.exception("%d values of the history are lost by a fault", len(waiting))
            self.figures.lost += len(waiting)
        finally:
            self._done += len(samples)

    def _write(self, waiting: list[Traced], loop: asyncio.AbstractEventLoop) -> None:
        try:
            compactor = self._opened()
            compactor.add(waiting)
            self.figures.look_at(compactor.chunk_store)
        except _TROUBLES as error:
            self._give_up(error)
            self._keep_for_later(waiting)
            self._tell_of_failure(error, loop)
        else:
            self._tell_of_success(loop)

    def _keep_for_later(self, samples: list[Traced]) -> None:
        lost = max(0, len(samples) - MAX_UNWRITTEN)
        self.figures.lost += lost
        self._unwritten = samples[lost:]

    def _ask(self, work: Callable[[Compactor], Result]) -> Result:
        try:
            return work(self._opened())
        except _TROUBLES as error:
            self._give_up(error)
            raise StoreUnavailable(_sentence(error, "read")) from error

    def _end(self, at: float) -> None:
        if self._compactor is None:
            return
        try:
            self._compactor.silence(at)
            self._compactor.chunk_store.close()
        except _TROUBLES as error:
            log.error("%s", _sentence(error, "recorded"))

    def _opened(self) -> Compactor:
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
        if self._path is None:
            return Compactor(MemoryChunkStore(), self._bounds)
        chunk_store = SqliteChunkStore(self._path, self._bounds.max_bytes)
        try:
            compactor = Compactor(chunk_store, self._bounds)
            # The controller was off, or killed, since something was recorded last.
            compactor.silence()
        except BaseException:
            chunk_store.close()
            raise
        return compactor

    def _give_up(self, error: Exception) -> None:
        """Close the file, so that the next job tries afresh; a damaged one is set aside."""
        if self._compactor is not None:
            self._compactor.chunk_store.close()
            self._compactor = None
        if self._path is None or not _is_damaged(error):
            return
        try:
            aside = set_aside(self._path)
        except OSError as trouble:
            log.error("%s It cannot be set aside: %s.", error, trouble.strerror)
        else:
            log.error("%s It was set aside in %s; recording begins anew.", error, aside)

    def _tell_of_failure(self, error: Exception, loop: asyncio.AbstractEventLoop) -> None:
        """What has failed once is tried again soon; only then it is worth a word."""
        self._failures += 1
        if self._failures == WORTH_A_WORD:
            sentence = _sentence(error, "recorded")
            log.error("%s", sentence)
            _call(loop, self.tell, sentence)
        _call(loop, self._try_again_later, loop)

    def _tell_of_success(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._failures >= WORTH_A_WORD:
            _call(loop, self.tell, None)
        self._failures = 0

    # --- on the loop ------------------------------------------------------------------------------

    def _try_again_later(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._retry is None and not self._is_closed:
            self._retry = loop.call_later(self._retry_s, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        if not self._is_closed:
            self.add([])


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *values: Any) -> None:
    # A closed loop has nobody left who wants to know.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *values)


def _nobody_hears(_: str | None) -> None:
    """Nobody wants to know of troubles yet."""


def _is_damaged(error: Exception) -> bool:
    return isinstance(error, StoreDamaged) or is_damage(error)


def _sentence(error: Exception, what: str) -> str:
    if isinstance(error, StoreDamaged | StoreTooNew | StoreUnavailable):
        return str(error)
    return f"History cannot be {what}: {reason(error)}. The controller goes on without it."
