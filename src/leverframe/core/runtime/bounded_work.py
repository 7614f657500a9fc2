"""Long work in separate processes, with limits on time and memory."""

import asyncio
import logging
import os
import pickle
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from copyreg import dispatch_table
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

import leverframe
from leverframe.core.errors import ErrorForPeople
from leverframe.core.runtime.bounded_child import (
    BOOTSTRAP,
    FAULT,
    OUT_OF_MEMORY,
    PIECE_LENGTH,
    REFUSED,
    RESULT,
    read_only_mapping,
)

# The parent process of bounded work: runs one function in a separate process, with a budget.
#
# The function is in a module of this program and returns bytes: nothing that the child sends is
# ever unpickled. The process ends when the task that waits for it ends, when its time is over, or
# when this process ends.

log = logging.getLogger(__name__)

#: Where only twins run: Windows, and a browser tab.
WITHOUT_PROCESSES = ("win32", "emscripten")
MIB = 1024 * 1024
_NO_MORE = PIECE_LENGTH.pack(0)


class WorkBudget(Struct, frozen=True):
    """The limits of a piece of work."""

    #: Seconds from start to result, including time in which the machine is busy with other work.
    wall_s: float = 60.0
    #: Seconds of processor time.
    cpu_s: int = 20
    #: Address space; an interpreter with its modules uses about 40 MiB.
    memory_bytes: int = 256 * MIB
    result_bytes: int = 16 * MIB


class OverBudget(ErrorForPeople):
    """The work exceeds its budget; the message is one sentence."""


class WorkRefused(ErrorForPeople):
    """The function rejects its input; the message is the function's sentence."""


class NoProcess(ErrorForPeople):
    """No process can be started now; the message is one sentence."""


class WorkFailed(Exception):
    """The function failed because of a bug in this program; the log has its traceback."""


async def run_bounded(
    function: Callable[..., bytes],
    *values: Any,
    budget: WorkBudget,
    fed: AsyncIterator[Any] | None = None,
) -> bytes:
    """Return the result of a function that runs in a separate process.

    The pieces of `fed` are sent to the process while the function runs; its last argument is an
    iterator over them. So a large input is never completely in the memory of this process.

    Raise OverBudget, WorkRefused or NoProcess, or WorkFailed if the function has a bug.
    """
    if sys.platform in WITHOUT_PROCESSES:
        return await _run_in_thread(function, values, fed)
    process = await _start(budget)
    task = (function, values, fed is not None)
    sending = asyncio.get_running_loop().create_task(_send(process, task, fed))
    try:
        async with asyncio.timeout(budget.wall_s):
            answer = await _read(process, budget.result_bytes)
            status = await process.wait()
    except TimeoutError:
        raise OverBudget(f"This takes longer than {budget.wall_s:g} s.") from None
    finally:
        await asyncio.shield(_end(process, sending))
    if not sending.cancelled() and (error := sending.exception()) is not None:
        raise error
    return _result(answer, status, function, budget)


async def _run_in_thread(
    function: Callable[..., bytes], values: tuple[Any, ...], fed: AsyncIterator[Any] | None
) -> bytes:
    """Run the function in a thread, without limits; in a browser, in the only thread."""
    function, values = pickle.loads(pickle_value((function, values)))  # noqa: S301 - our own bytes
    pieces = () if fed is None else (iter([piece async for piece in fed]),)
    try:
        return await asyncio.to_thread(function, *values, *pieces)
    except ErrorForPeople as error:
        raise WorkRefused(str(error)) from None


async def _start(budget: WorkBudget) -> Process:
    limits = (os.getpid(), budget.cpu_s, budget.memory_bytes)
    # Skip `site`, which takes time: the child uses the search path of this process.
    command = (sys.executable, "-S", "-P", "-c", BOOTSTRAP, *map(str, limits), *_search_path())
    try:
        return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    except OSError as error:
        log.warning("no process can be started: %s", error)
        raise NoProcess(
            "No process can be started now, because the machine has no resources left. Try again "
            "later."
        ) from error


def _search_path() -> list[str]:
    """Return the search path of this process without its working directory."""
    home = str(Path(leverframe.__file__).parent.parent)
    return [*(path for path in sys.path if path not in ("", home)), home]


async def _send(process: Process, task: Any, fed: AsyncIterator[Any] | None) -> None:
    """Send the task and its pieces; the child ends if this fails halfway."""
    stdin = process.stdin
    assert stdin is not None
    try:
        _write(stdin, task)
        if fed is not None:
            async for piece in fed:
                _write(stdin, piece)
                await stdin.drain()
        stdin.write(_NO_MORE)
        await stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the child has ended; its answer or exit status shows why
    finally:
        stdin.close()


def _write(stdin: asyncio.StreamWriter, piece: Any) -> None:
    data = pickle_value(piece)
    stdin.write(PIECE_LENGTH.pack(len(data)) + data)


class _Pickler(pickle.Pickler):
    #: A pickler that also supports read-only mappings.
    dispatch_table = dispatch_table | {
        MappingProxyType: lambda mapping: (read_only_mapping, (dict(mapping),))
    }


def pickle_value(value: Any) -> bytes:
    data = BytesIO()
    _Pickler(data, pickle.HIGHEST_PROTOCOL).dump(value)
    return data.getvalue()


async def _read(process: Process, most: int) -> bytes:
    """Read the answer to its end, or until it is too long."""
    assert process.stdout is not None
    parts: list[bytes] = []
    length = 0
    while length <= most + 1 and (part := await process.stdout.read(MIB)):
        parts.append(part)
        length += len(part)
    if length > most + 1:
        raise OverBudget(f"The result is larger than {most // MIB} MiB.")
    return b"".join(parts)


async def _end(process: Process, sending: asyncio.Task[None]) -> None:
    """Kill the process if it is still running, and wait for its end."""
    with suppress(ProcessLookupError):
        process.kill()
    sending.cancel()
    await asyncio.wait([sending])
    assert process.stdout is not None
    while await process.stdout.read(MIB):
        pass
    await process.wait()


def _result(
    answer: bytes, status: int, function: Callable[..., bytes], budget: WorkBudget
) -> bytes:
    kind, content = answer[:1], answer[1:]
    if status == -signal.SIGXCPU:
        raise OverBudget(f"This takes more than {budget.cpu_s} s of computing time.")
    # If there is no memory even for the error, the interpreter aborts, or the kernel kills it.
    if kind == OUT_OF_MEMORY or status in (-signal.SIGABRT, -signal.SIGKILL):
        raise OverBudget(f"This takes more than {budget.memory_bytes // MIB} MiB of memory.")
    if kind == REFUSED:
        raise WorkRefused(content.decode())
    if kind == RESULT and status == 0:
        return content
    reason = content.decode() if kind == FAULT else f"the process ended with status {status}"
    log.error("%s failed in its process: %s", function.__qualname__, reason)
    raise WorkFailed(function.__qualname__)


# Places for bounded work: a total limit of processes, at most one per controller, shared fairly
# between tenants.
#
# If no place is free, work waits for a while in a queue. The next free place goes to the tenant
# with the fewest places; among its work, to the work that has waited longest. One tenant cannot use
# all places, so the work of another tenant never has to wait until long work ends.

#: The maximum time, in real seconds, that work waits for a place.
WAIT_S = 15.0
#: The maximum number of waiting jobs of one controller, and of one tenant.
MAX_WAITING_OF_OWNER = 4
MAX_WAITING_OF_TENANT = 16
#: The maximum number of processes at a time, regardless of the number of processors.
MAX_PLACES = 4


class NoPlace(ErrorForPeople):
    """No place became free for the work; the message is one sentence."""

    retry_after_s = 10


class _Waiting(Struct, frozen=True, eq=False):
    owner: Hashable
    tenant: Hashable
    admitted: asyncio.Future[None]


def usual_places() -> int:
    """Return the maximum number of processes: processors plus one, between 2 and 4."""
    return max(2, min(MAX_PLACES, (os.cpu_count() or 1) + 1))


class WorkPlaces:
    """The places of one process; all of its controllers share them."""

    def __init__(self, most: int | None = None, wait_s: float = WAIT_S) -> None:
        self._most = usual_places() if most is None else most
        self.wait_s = wait_s
        #: The owners of occupied places, with their tenants.
        self.running: dict[Hashable, Hashable] = {}
        #: In the order of arrival.
        self._waiting: list[_Waiting] = []

    @asynccontextmanager
    async def place(self, owner: Hashable, tenant: Hashable = None) -> AsyncIterator[None]:
        """Hold a place for the work of an owner, such as a controller; raise NoPlace."""
        await self.take(owner, tenant)
        try:
            yield
        finally:
            self.give_back(owner)

    def give_back(self, owner: Hashable) -> None:
        """Free the place that an owner has taken."""
        del self.running[owner]
        self._admit()

    async def take(self, owner: Hashable, tenant: Hashable = None) -> None:
        """Take a place, which the caller must free; raise NoPlace if none becomes free in time."""
        self._require_room_in_line(owner, tenant)
        waiting = _Waiting(owner, tenant, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._admit()
        try:
            async with asyncio.timeout(self.wait_s):
                await waiting.admitted
        except BaseException as error:
            self._leave_line(waiting)
            if isinstance(error, TimeoutError):
                raise NoPlace(
                    f"This task has waited {self.wait_s:g} s for other long tasks. Try "
                    f"again in {NoPlace.retry_after_s} s."
                ) from None
            raise

    def _require_room_in_line(self, owner: Hashable, tenant: Hashable) -> None:
        of_owner = sum(one.owner == owner for one in self._waiting)
        of_tenant = sum(one.tenant == tenant for one in self._waiting)
        if of_owner >= MAX_WAITING_OF_OWNER or of_tenant >= MAX_WAITING_OF_TENANT:
            raise NoPlace(
                "Too many long tasks are waiting: a controller runs one at a time. Try again in "
                f"{NoPlace.retry_after_s} s."
            )

    def _leave_line(self, waiting: _Waiting) -> None:
        """Leave the queue; if a place was assigned at the same moment, pass it to the next."""
        if waiting in self._waiting:
            self._waiting.remove(waiting)
        elif waiting.admitted.done() and not waiting.admitted.cancelled():
            self.give_back(waiting.owner)

    def _admit(self) -> None:
        """Assign free places to waiting work."""
        while len(self.running) < self._most and (chosen := self._next()) is not None:
            self._waiting.remove(chosen)
            self.running[chosen.owner] = chosen.tenant
            chosen.admitted.set_result(None)

    def _next(self) -> _Waiting | None:
        held = Counter(self.running.values())
        eligible = [
            one
            for one in self._waiting
            if one.owner not in self.running
            and held[one.tenant] < max(1, self._most - 1)
            and not one.admitted.done()
        ]
        return min(eligible, key=lambda one: held[one.tenant], default=None)
