"""The history of many controllers, with one thread and one file or database for all of them.

Each controller has a worker. Since a node may have ten thousand idle controllers, the thread keeps
open intervals in memory only for controllers that recorded recently. Those of other controllers are
restored from the file when necessary.
"""

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, ParamSpec, TypeVar

from msgspec.structs import astuple, replace

from leverframe.core.engine.machine import Traced
from leverframe.storage.history.compactor import Bounds, Compactor, UnreadEntries
from leverframe.storage.history.last_moments import RunEnd, gather_last_moments
from leverframe.storage.history.shared_chunks import ChunksOfOne, SharedChunks, record_gap
from leverframe.storage.history.worker import (
    ALONE,
    GATHER_S,
    RETRY_S,
    TROUBLES,
    BacklogLimits,
    Result,
    ThreadHistoryWorker,
    call_soon,
    set_aside_if_damaged,
)
from leverframe.storage.store import StoreUnavailable

# One thread that the histories of many controllers use in turn.
#
# The jobs of a controller run in order. Among controllers, jobs that a caller awaits have priority.
# For example, after a takeover thousands of histories are opened and written, which takes a while,
# but a chart that a user opens at that time does not wait for them. Awaited jobs alternate between
# tenants, and within a tenant between controllers, so that many queries of one tenant delay other
# tenants by only one job. After several awaited jobs another job runs, so that many queries do not
# stop the recording.

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
Tenant = Callable[[], Hashable]

#: After this number of consecutive awaited jobs, another job runs.
MAX_IN_A_ROW = 16


def no_tenant() -> None:
    """Return None, the tenant of a controller that belongs to no tenant."""


class QueuedJob(NamedTuple):
    future: Future[Any]
    work: Callable[[], Any]
    is_awaited: bool
    tenant: Hashable = None


class Turns:
    """The thread and the jobs that wait for it."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._lock = Lock()
        #: The jobs of each controller, in the order of the controllers' turns.
        self._waiting: OrderedDict[Hashable, deque[QueuedJob]] = OrderedDict()
        #: The number of awaited jobs by tenant and controller, in the order of turns.
        self._awaited: OrderedDict[Hashable, OrderedDict[Hashable, int]] = OrderedDict()
        self._in_a_row = 0
        self.are_only_for_awaited = False

    def line(self, controller: Hashable, tenant: Tenant = no_tenant) -> "ControllerLine":
        """Return the executors for the jobs of a controller, awaited and others."""
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
            # One round for each job; each round determines which job it runs.
            self._thread.submit(self._do_next)

    def end(self) -> None:
        """End the thread after all waiting jobs."""
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
        """Remove and return the next job: the first of the controller whose turn it is."""
        controller = self._next_controller()
        jobs = self._waiting[controller]
        job = jobs.popleft()
        if not jobs:
            del self._waiting[controller]
        if job.is_awaited:
            self._note_done(controller, job.tenant)
        return job

    def _next_controller(self) -> Hashable:
        if self._awaited and (self._in_a_row < MAX_IN_A_ROW or self.are_only_for_awaited):
            self._in_a_row += 1
            controllers = next(iter(self._awaited.values()))
            controller: Hashable = next(iter(controllers))
            return controller
        controller = next(iter(self._waiting))
        if self._awaited:
            # The next job that is not awaited is that of another controller.
            self._waiting.move_to_end(controller)
        self._in_a_row = 0
        return controller

    def _note_done(self, controller: Hashable, tenant: Hashable) -> None:
        """Move a tenant and its controller to the end of the order of turns."""
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
    """Accepts the jobs of one controller."""

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
    """The executors of one controller's jobs, which run in one common order."""

    awaited: ControllerExecutor
    unawaited: ControllerExecutor


log = logging.getLogger(__name__)

#: Maximum number of controllers with open intervals in memory, about 20 KB each.
MAX_OPEN = 1024
#: Seconds without a value or a query after which a controller's intervals are removed from memory.
#: Restoring them takes 6 ms.
QUIET_S = 900.0
#: Minimum number of bytes for a controller's history, regardless of the number of controllers.
MIN_BYTES = 64 * 1024
#: Limits of waiting data in memory: for all controllers together, about 100 MB of each kind, and
#: the minimum for each controller.
OF_ALL = BacklogLimits(1_000_000, 1_000_000, 100_000)
OF_ONE = BacklogLimits(500, 100, 50)


class SharedHistory:
    """The thread and the file of all histories; without a path, in memory."""

    #: Real seconds that a controller's value may wait before it is handed over.
    gather_s = GATHER_S
    #: A query is rejected if it has no answer after this number of seconds; None waits forever.
    answer_within_s: float | None = None

    def __init__(self, path: Path | None, bounds: Bounds, *, retry_s: float = RETRY_S) -> None:
        """Apply the bytes of `bounds` to all controllers together, the days to each."""
        self._path = path
        self._bounds = bounds
        self._retry_s = retry_s
        self._turns = Turns("history")
        #: Runs jobs that concern all controllers.
        self._executor = self._turns.line(None).awaited
        self._controllers = 0
        self._look: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._will_write_ends = False
        self._writing_ends: asyncio.Future[None]
        # Only the thread uses the following attributes.
        self._file: SharedChunks | None = None
        #: Workers with the time of their last use, oldest first.
        self._open: OrderedDict[WorkerOfOne, float] = OrderedDict()
        self._logged: set[str] = set()
        self._ends: dict[int, RunEnd] = {}

    def worker(self, controller: int, tenant: Tenant = no_tenant) -> "WorkerOfOne":
        """Return the worker of a controller; it is closed with the controller."""
        self._controllers += 1
        return WorkerOfOne(self, controller, self._turns.line(controller, tenant), self._retry_s)

    def leave(self) -> None:
        """Record that a worker is closed, which increases the shares of the others."""
        self._controllers -= 1

    async def forget(self, controllers: Iterable[int]) -> None:
        """Remove the histories of controllers whose workers are closed."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, self._forget, list(controllers))

    async def write_ends(self) -> None:
        """Write the recorded end of a run, together with those of other controllers."""
        if not self._will_write_ends:
            # A job that has not begun yet also writes this end, because hundreds of runs end
            # together.
            self._will_write_ends = True
            loop = asyncio.get_running_loop()
            self._writing_ends = loop.run_in_executor(self._executor, self._write_ends)
        await asyncio.shield(self._writing_ends)

    def hurry(self) -> None:
        """Run only awaited jobs while there are any, because the node is stopping."""
        self._turns.are_only_for_awaited = True

    async def close(self) -> None:
        """Close the file, after the workers have been closed."""
        self._is_closed = True
        if self._look is not None:
            self._look.cancel()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, self.give_up)
        self._turns.end()

    def room(self) -> BacklogLimits:
        """Return the controller's share of the limits of waiting data in memory."""
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
        """Schedule freeing the intervals of idle controllers."""
        if self._look is None and not self._is_closed:
            self._look = asyncio.get_running_loop().call_later(QUIET_S, self._begin_look)

    def _begin_look(self) -> None:
        self._look = None
        self._executor.submit(self.lay_down_quiet, asyncio.get_running_loop())

    def give_up_waiting(self) -> None:
        """Wake the thread if it waits for an unresponsive database; a file always responds."""

    # --- on the thread ----------------------------------------------------------------------------

    def bounds(self) -> Bounds:
        """Return the bounds of one controller, with its share of the bytes."""
        share = self._bounds.max_bytes // max(1, self._sharing())
        return replace(self._bounds, max_bytes=max(share, MIN_BYTES))

    def _sharing(self) -> int:
        """Return the number of controllers that share the bytes."""
        return self._controllers

    def require(self) -> None:
        """Raise StoreUnavailable immediately if the history cannot be reached now."""

    def chunks_of(self, controller: int) -> ChunksOfOne:
        return self._chunks().of(controller, self.bounds().max_bytes)

    def note_end_of_run(self, controller: int, end: RunEnd) -> None:
        """Record the end of a run, to be written together with others."""
        self._ends[controller] = end

    def _write_ends(self) -> None:
        # Reset this before taking the ends, so that later ends start another job.
        self._will_write_ends = False
        ends, self._ends = self._ends, {}
        if not ends:
            return
        try:
            self._leave(ends)
        except TROUBLES as error:
            self.log(str(error))

    def _leave(self, ends: Mapping[int, RunEnd]) -> None:
        self._chunks().leave(ends)

    def note_use(self, worker: "WorkerOfOne") -> None:
        """Keep a worker's intervals in memory; if there are too many, free the oldest ones."""
        self._open[worker] = time.monotonic()
        self._open.move_to_end(worker)
        if len(self._open) > MAX_OPEN:
            quiet, _ = self._open.popitem(last=False)
            quiet.lay_down()

    def lay_down_quiet(self, loop: asyncio.AbstractEventLoop) -> None:
        """Free the intervals of idle controllers, and schedule the next check if others remain."""
        quiet_since = time.monotonic() - QUIET_S
        while self._open and next(iter(self._open.values())) <= quiet_since:
            worker, _ = self._open.popitem(last=False)
            worker.lay_down()
        if self._open:
            call_soon(loop, self.look_for_quiet)

    def note_end(self, worker: "WorkerOfOne") -> None:
        """Remove a worker that has ended."""
        self._open.pop(worker, None)

    def give_up(self, error: Exception | None = None) -> None:
        """Close the file, so that the next job opens it again; move a damaged file aside."""
        for worker in self._open:
            worker.lay_down()
        self._open.clear()
        if self._file is not None:
            self._file.close()
            self._file = None
        if error is not None:
            set_aside_if_damaged(self._path, error)

    def give_up_on(self, worker: "WorkerOfOne", error: Exception) -> None:
        """Reopen the file after a failed operation of a worker."""
        self.give_up(error)

    def log(self, sentence: str | None) -> None:
        """Log a fault once for all controllers, until recording works again."""
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
            # The rows that remain are never read; the file is only larger than necessary.
            log.warning("the history of removed controllers could not be deleted: %s", error)
            self.give_up(error)


class WorkerOfOne(ThreadHistoryWorker):
    """The worker of one of several controllers."""

    __slots__ = (
        "_controller",
        "_has_noted_end",
        "_last_entries",
        "_shared",
        "_was_opened",
        "gather_s",
    )

    def __init__(
        self, shared: SharedHistory, controller: int, line: ControllerLine, retry_s: float
    ) -> None:
        super().__init__(None, shared.bounds(), retry_s=retry_s, executor=line.unawaited)
        self._asked = line.awaited
        self.gather_s = shared.gather_s
        self._shared = shared
        self._controller = controller
        self._was_opened = False
        self._last_entries: list[UnreadEntries] = []
        self._has_noted_end = False

    def begin_close(self) -> None:
        self._is_closed = True

    async def add_entries(self, new: UnreadEntries, *, is_awaited: bool = True) -> int:
        if not self._is_closed:
            return await super().add_entries(new, is_awaited=is_awaited)
        self._last_entries.append(new)
        return 0

    async def close(self, at: float) -> None:
        await super().close(at)
        if self._has_noted_end:
            await self._shared.write_ends()

    def add(self, samples: Sequence[Traced]) -> None:
        super().add(samples)
        self._shared.look_for_quiet()

    def lay_down(self) -> None:
        """Free the memory; the file contains all data that is needed to resume."""
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

    def _add(self, samples: Sequence[Traced], loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_closed:
            super()._add(samples, loop)
            return
        self._unwritten += samples
        self._done += len(samples)

    def _ask(self, work: Callable[[Compactor], Result]) -> Result:
        if self._is_closed:
            raise StoreUnavailable(
                "The controller is stopping on this node; try again in a moment."
            )
        return super()._ask(work)

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
            record_gap(compactor, chunks)
            self._was_opened = True
        return compactor

    def _end(self, at: float) -> None:
        super()._end(at)
        self._shared.note_end(self)

    def _record_end(self, at: float) -> None:
        unrecorded = None
        if self._unwritten or self._last_entries:
            entries = [one.read() for one in self._last_entries]
            left = gather_last_moments(at, self._unwritten, entries, continues=self._was_opened)
            unrecorded = left.pack()
        elif not self._was_opened:
            return
        self._shared.note_end_of_run(self._controller, RunEnd(at, unrecorded))
        self._has_noted_end = True

    def _note_success(self, loop: asyncio.AbstractEventLoop) -> None:
        super()._note_success(loop)
        self._shared.log(None)

    def _give_up(self, error: Exception) -> None:
        self._shared.give_up_on(self, error)

    def _log(self, sentence: str) -> None:
        self._shared.log(sentence)
