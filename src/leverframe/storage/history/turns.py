"""One thread that the histories of many controllers take turns at.

The jobs of a controller are done in the order in which they came. Between controllers, those come
first whose jobs somebody waits for: after a takeover thousands of histories are opened and written,
which takes a while, and whoever looks at a chart meanwhile does not wait for all of them.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class QueuedJob(NamedTuple):
    future: Future[Any]
    work: Callable[[], Any]
    is_awaited: bool


class Turns:
    """The thread, and what waits for it."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._lock = Lock()
        #: The jobs of each controller, in the order of turns.
        self._waiting: OrderedDict[Hashable, deque[QueuedJob]] = OrderedDict()
        #: Of whom somebody waits for a job, as often as for one.
        self._awaited: deque[Hashable] = deque()

    def of(self, controller: Hashable, *, is_awaited: bool = False) -> "ControllerExecutor":
        """Return what takes the jobs of a controller, which somebody waits for or not."""
        return ControllerExecutor(self, controller, is_awaited=is_awaited)

    def put(self, controller: Hashable, job: QueuedJob) -> None:
        with self._lock:
            self._waiting.setdefault(controller, deque()).append(job)
            if job.is_awaited:
                self._awaited.append(controller)
            # As many rounds as there are jobs, whichever they do.
            self._thread.submit(self._do_next)

    def end(self) -> None:
        """End the thread after what waits."""
        self._thread.shutdown(wait=False)

    def _do_next(self) -> None:
        with self._lock:
            job = self._taken()
        if not job.future.set_running_or_notify_cancel():
            return
        try:
            job.future.set_result(job.work())
        except BaseException as error:
            job.future.set_exception(error)

    def _taken(self) -> QueuedJob:
        """Take a job off: of whom somebody waits for, up to what is awaited, else the next one."""
        controller = self._awaited[0] if self._awaited else next(iter(self._waiting))
        jobs = self._waiting[controller]
        job = jobs.popleft()
        if not jobs:
            del self._waiting[controller]
        if job.is_awaited:
            self._awaited.popleft()
        return job


class ControllerExecutor(Executor):
    """What takes the jobs of one controller."""

    def __init__(self, turns: Turns, controller: Hashable, *, is_awaited: bool) -> None:
        self._turns = turns
        self._controller = controller
        self._is_awaited = is_awaited

    def submit(
        self,
        fn: Callable[_Given, _Result],
        /,
        *args: _Given.args,
        **kwargs: _Given.kwargs,
    ) -> Future[_Result]:
        future: Future[_Result] = Future()
        work = partial(fn, *args, **kwargs)
        self._turns.put(self._controller, QueuedJob(future, work, self._is_awaited))
        return future
