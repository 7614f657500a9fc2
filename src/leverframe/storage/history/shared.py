"""The history of many controllers: one thread and one file, or one database, for all of them.

Each has a worker as a single controller has. What the thread keeps in memory to reduce the values
of a controller is kept for those that recorded something last, and built again from the file for
others: a node may have ten thousand that are quiet.
"""

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, ParamSpec, TypeVar

from msgspec.structs import astuple, replace

from leverframe.core.engine.machine import Traced
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.shared_chunks import ChunksOfOne, SharedChunks
from leverframe.storage.history.worker import (
    ALONE,
    GATHER_S,
    RETRY_S,
    BacklogLimits,
    Result,
    ThreadHistoryWorker,
    call_soon,
    set_aside_if_damaged,
)
from leverframe.storage.store import StoreUnavailable

# One thread that the histories of many controllers take turns at.
#
# The jobs of a controller are done in the order in which they came. Between controllers, awaited
# jobs come first: after a takeover thousands of histories are opened and written, which takes a
# while, and a chart that is opened then does not wait for all of them. Awaited jobs alternate
# between tenants, and within a tenant between controllers, so that many questions of some delay
# others by one job. Now and then a job that is not awaited has a turn, so that a flood of
# questions holds up no recording.

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
Tenant = Callable[[], Hashable]

#: After this many awaited jobs in a row another one has a turn.
MAX_IN_A_ROW = 16


def no_tenant() -> None:
    """Return the tenant of a controller that has none."""


class QueuedJob(NamedTuple):
    future: Future[Any]
    work: Callable[[], Any]
    is_awaited: bool
    tenant: Hashable = None


class Turns:
    """The thread, and what waits for it."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._lock = Lock()
        #: The jobs of each controller, in the order of turns.
        self._waiting: OrderedDict[Hashable, deque[QueuedJob]] = OrderedDict()
        #: The number of awaited jobs of each controller, by tenant, in the order of turns.
        self._awaited: OrderedDict[Hashable, OrderedDict[Hashable, int]] = OrderedDict()
        self._in_a_row = 0

    def line(self, controller: Hashable, tenant: Tenant = no_tenant) -> "ControllerLine":
        """Return what takes the jobs of a controller, awaited or not."""
        return ControllerLine(
            ControllerExecutor(self, controller, tenant, is_awaited=True),
            ControllerExecutor(self, controller, tenant, is_awaited=False),
        )

    def put(self, controller: Hashable, job: QueuedJob) -> None:
        with self._lock:
            self._waiting.setdefault(controller, deque()).append(job)
            if job.is_awaited:
                controllers = self._awaited.setdefault(job.tenant, OrderedDict())
                controllers[controller] = controllers.get(controller, 0) + 1
            # As many rounds as there are jobs, whichever they do.
            self._thread.submit(self._do_next)

    def end(self) -> None:
        """End the thread after what waits."""
        self._thread.shutdown(wait=False)

    def _do_next(self) -> None:
        with self._lock:
            job = self._take()
        if not job.future.set_running_or_notify_cancel():
            return
        try:
            job.future.set_result(job.work())
        except BaseException as error:
            job.future.set_exception(error)

    def _take(self) -> QueuedJob:
        """Take a job off: of the next controller with an awaited one, in the order they came."""
        controller = self._next_controller()
        jobs = self._waiting[controller]
        job = jobs.popleft()
        if not jobs:
            del self._waiting[controller]
        if job.is_awaited:
            self._note_done(controller, job.tenant)
        return job

    def _next_controller(self) -> Hashable:
        if self._awaited and self._in_a_row < MAX_IN_A_ROW:
            self._in_a_row += 1
            controllers = next(iter(self._awaited.values()))
            controller: Hashable = next(iter(controllers))
            return controller
        controller = next(iter(self._waiting))
        if self._awaited:
            # The next such turn is another controller's.
            self._waiting.move_to_end(controller)
        self._in_a_row = 0
        return controller

    def _note_done(self, controller: Hashable, tenant: Hashable) -> None:
        """Let the other tenants, and the other controllers of this one, have their turns first."""
        controllers = self._awaited[tenant]
        controllers[controller] -= 1
        if controllers[controller]:
            controllers.move_to_end(controller)
        else:
            del controllers[controller]
        if controllers:
            self._awaited.move_to_end(tenant)
        else:
            del self._awaited[tenant]


class ControllerExecutor(Executor):
    """Takes jobs of one controller."""

    __slots__ = ("_controller", "_is_awaited", "_tenant", "_turns")

    def __init__(
        self, turns: Turns, controller: Hashable, tenant: Tenant, *, is_awaited: bool
    ) -> None:
        self._turns = turns
        self._controller = controller
        self._is_awaited = is_awaited
        self._tenant = tenant

    def submit(
        self,
        fn: Callable[_Given, _Result],
        /,
        *args: _Given.args,
        **kwargs: _Given.kwargs,
    ) -> Future[_Result]:
        future: Future[_Result] = Future()
        work = partial(fn, *args, **kwargs)
        job = QueuedJob(future, work, self._is_awaited, self._tenant())
        self._turns.put(self._controller, job)
        return future


class ControllerLine(NamedTuple):
    """Where the jobs of one controller wait, in one order."""

    awaited: ControllerExecutor
    unawaited: ControllerExecutor


log = logging.getLogger(__name__)

#: Controllers whose open intervals are in memory, some twenty kilobytes each.
MAX_OPEN = 1024
#: Those of a controller leave memory when nothing was recorded or asked for this many seconds. To
#: build them again takes 6 ms.
QUIET_S = 900.0
#: What a controller may keep, however many there are.
MIN_BYTES = 64 * 1024
#: What may wait in memory of all controllers together, some 100 MB of each, and what of one.
OF_ALL = BacklogLimits(1_000_000, 1_000_000, 100_000)
OF_ONE = BacklogLimits(500, 100, 50)


class SharedHistory:
    """The thread and the file; without a path, in memory."""

    #: Real seconds that a value of a controller may wait before it is handed over.
    gather_s = GATHER_S
    #: A question is refused after this number of seconds without an answer; None waits for it.
    answer_within_s: float | None = None

    def __init__(self, path: Path | None, bounds: Bounds, *, retry_s: float = RETRY_S) -> None:
        """Keep to the bounds with all controllers together; days are those of each."""
        self._path = path
        self._bounds = bounds
        self._retry_s = retry_s
        self._turns = Turns("history")
        #: For what concerns all of them.
        self._executor = self._turns.line(None).awaited
        self._controllers = 0
        self._look: asyncio.TimerHandle | None = None
        self._is_closed = False
        # Only the thread touches these.
        self._file: SharedChunks | None = None
        #: By when they were used last, oldest first.
        self._open: OrderedDict[WorkerOfOne, float] = OrderedDict()
        self._logged: set[str] = set()

    def worker(self, controller: int, tenant: Tenant = no_tenant) -> "WorkerOfOne":
        """Return the worker of a controller, which is closed with it."""
        self._controllers += 1
        return WorkerOfOne(self, controller, self._turns.line(controller, tenant), self._retry_s)

    def leave(self) -> None:
        """Note that a worker is closed; the others have more room."""
        self._controllers -= 1

    async def forget(self, controllers: Iterable[int]) -> None:
        """Remove the histories of controllers whose workers are closed."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, self._forget, list(controllers))

    async def close(self) -> None:
        """Close the file, after the workers have been closed."""
        self._is_closed = True
        if self._look is not None:
            self._look.cancel()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, self.give_up)
        self._turns.end()

    def room(self) -> BacklogLimits:
        """Return how much of one controller may wait in memory: its share."""
        count = max(1, self._controllers)
        return BacklogLimits(
            *(
                min(alone, max(least, most // count))
                for alone, least, most in zip(
                    astuple(ALONE), astuple(OF_ONE), astuple(OF_ALL), strict=True
                )
            )
        )

    def look_for_quiet(self) -> None:
        """Plan to free the intervals of controllers that are quiet by then."""
        if self._look is None and not self._is_closed:
            self._look = asyncio.get_running_loop().call_later(QUIET_S, self._begin_look)

    def _begin_look(self) -> None:
        self._look = None
        self._executor.submit(self.lay_down_quiet, asyncio.get_running_loop())

    def give_up_waiting(self) -> None:
        """Wake the thread that waits for what does not answer; a file always does."""

    # --- on the thread ----------------------------------------------------------------------------

    def bounds(self) -> Bounds:
        """Return the bounds of one controller: its share of the bytes."""
        share = self._bounds.max_bytes // max(1, self._sharing())
        return replace(self._bounds, max_bytes=max(share, MIN_BYTES))

    def _sharing(self) -> int:
        """Return how many controllers share the bytes."""
        return self._controllers

    def require(self) -> None:
        """Raise StoreUnavailable immediately if nothing can be reached at present."""

    def chunks_of(self, controller: int) -> ChunksOfOne:
        return self._chunks().of(controller, self.bounds().max_bytes)

    def note_stop(self, controller: int, at: float) -> None:
        """Note when a controller was stopped in order."""
        self._chunks().note_stop(controller, at)

    def note_use(self, worker: "WorkerOfOne") -> None:
        """Keep a worker's intervals in memory, and no longer those of who was quiet longest."""
        self._open[worker] = time.monotonic()
        self._open.move_to_end(worker)
        if len(self._open) > MAX_OPEN:
            quiet, _ = self._open.popitem(last=False)
            quiet.lay_down()

    def lay_down_quiet(self, loop: asyncio.AbstractEventLoop) -> None:
        """Free the intervals of controllers that are quiet, and look again while there are more."""
        quiet_since = time.monotonic() - QUIET_S
        while self._open and next(iter(self._open.values())) <= quiet_since:
            worker, _ = self._open.popitem(last=False)
            worker.lay_down()
        if self._open:
            call_soon(loop, self.look_for_quiet)

    def note_end(self, worker: "WorkerOfOne") -> None:
        """Forget a worker that has ended."""
        self._open.pop(worker, None)

    def give_up(self, error: Exception | None = None) -> None:
        """Close the file, so that the next job opens it again; set a damaged one aside."""
        for worker in self._open:
            worker.lay_down()
        self._open.clear()
        if self._file is not None:
            self._file.close()
            self._file = None
        if error is not None:
            set_aside_if_damaged(self._path, error)

    def give_up_on(self, worker: "WorkerOfOne", error: Exception) -> None:
        """Reopen the file after an operation of a worker failed."""
        self.give_up(error)

    def log(self, sentence: str | None) -> None:
        """Log a fault once for all controllers, until something could be recorded again."""
        if sentence is None:
            self._logged.clear()
        elif sentence not in self._logged:
            self._logged.add(sentence)
            log.error("%s", sentence)

    def _chunks(self) -> SharedChunks:
        if self._file is None:
            self._file = SharedChunks(self._path, self._bounds.max_bytes)
        return self._file

    def _forget(self, controllers: list[int]) -> None:
        try:
            self._chunks().forget(controllers)
        except Exception as error:
            # It is never read again; the file stays larger than it needs to be.
            log.warning("the history of removed controllers could not be deleted: %s", error)
            self.give_up(error)


class WorkerOfOne(ThreadHistoryWorker):
    """The worker of one controller of several."""

    __slots__ = ("_controller", "_shared", "_was_opened", "gather_s")

    def __init__(
        self, shared: SharedHistory, controller: int, line: ControllerLine, retry_s: float
    ) -> None:
        super().__init__(None, shared.bounds(), retry_s=retry_s, executor=line.unawaited)
        self._asked = line.awaited
        self.gather_s = shared.gather_s
        self._shared = shared
        self._controller = controller
        self._was_opened = False

    def add(self, samples: Sequence[Traced]) -> None:
        super().add(samples)
        self._shared.look_for_quiet()

    def lay_down(self) -> None:
        """Free the memory; the file has all that is needed to resume."""
        self._compactor = None

    async def ask(self, work: Callable[[Compactor], Result], *, is_awaited: bool = True) -> Result:
        self._shared.look_for_quiet()
        if not is_awaited:
            return await super().ask(work, is_awaited=False)
        try:
            async with asyncio.timeout(self._shared.answer_within_s):
                return await super().ask(work)
        except TimeoutError:
            self._shared.give_up_waiting()
            raise StoreUnavailable("The history is not available now; try again later.") from None

    def _room(self) -> BacklogLimits:
        return self._shared.room()

    def _leave(self) -> None:
        self._shared.leave()

    def _current_compactor(self) -> Compactor:
        self._shared.require()
        compactor = super()._current_compactor()
        self._shared.note_use(self)
        return compactor

    def _open(self) -> Compactor:
        chunks = self._shared.chunks_of(self._controller)
        compactor = Compactor(chunks, self._shared.bounds())
        if not self._was_opened:
            self._record_gap(compactor, chunks)
            self._was_opened = True
        return compactor

    def _record_gap(self, compactor: Compactor, chunks: ChunksOfOne) -> None:
        """Record that the controller was off, or killed, since something was recorded last."""
        compactor.silence(chunks.stop_time())

    def _end(self, at: float) -> None:
        super()._end(at)
        self._shared.note_end(self)

    def _record_end(self, at: float) -> None:
        if self._unwritten:
            self._current_compactor().add(self._unwritten)
        if self._was_opened:
            # The next worker records the gap: opening thousands would delay the stop.
            self._shared.note_stop(self._controller, at)

    def _note_success(self, loop: asyncio.AbstractEventLoop) -> None:
        super()._note_success(loop)
        self._shared.log(None)

    def _give_up(self, error: Exception) -> None:
        self._shared.give_up_on(self, error)

    def _log(self, sentence: str) -> None:
        self._shared.log(sentence)
