"""One thread that the histories of many controllers take turns at.

The jobs of a controller are done in the order in which they came. Between controllers, awaited jobs
come first: after a takeover thousands of histories are opened and written, which takes a while, and
a chart that is opened then does not wait for all of them. Awaited jobs alternate between tenants,
and within a tenant between controllers, so that many questions of some delay others by one job. Now
and then a job that is not awaited has a turn, so that a flood of questions holds up no recording.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, ParamSpec, TypeVar

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
