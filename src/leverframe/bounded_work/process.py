"""The parent's side of bounded work: one function in a process of its own, with a budget.

The function is one of this program's modules, and gives bytes: what comes back from the child is
never unpickled. The process ends with the task that waits for it, when its time is over, and when
this process dies.
"""

import asyncio
import logging
import os
import pickle
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from copyreg import dispatch_table
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

import leverframe
from leverframe.bounded_work.child import (
    BOOTSTRAP,
    FAULT,
    OUT_OF_MEMORY,
    PIECE_LENGTH,
    REFUSED,
    RESULT,
    read_only_mapping,
)
from leverframe.errors import ErrorForPeople

log = logging.getLogger(__name__)

MIB = 1024 * 1024
_NO_MORE = PIECE_LENGTH.pack(0)


class WorkBudget(Struct, frozen=True):
    """The limits of one piece of work."""

    #: Seconds from the start to the result, also where the machine is busy with other things.
    wall_s: float = 60.0
    #: Seconds of the processor.
    cpu_s: int = 20
    #: Address space, of which an interpreter with its modules takes some 40 MiB.
    memory_bytes: int = 256 * MIB
    result_bytes: int = 16 * MIB


class OverBudget(ErrorForPeople):
    """The work needs more than its budget: one sentence."""


class WorkRefused(ErrorForPeople):
    """The function refuses what it was given: its sentence."""


class NoProcess(ErrorForPeople):
    """No process can be started now: one sentence."""


class WorkFailed(Exception):
    """The function failed by a fault of this program; the log has its traceback."""


async def run_bounded(
    function: Callable[..., bytes],
    *values: Any,
    budget: WorkBudget,
    fed: AsyncIterator[Any] | None = None,
) -> bytes:
    """Return what a function makes of values, in a process of its own.

    What is `fed` goes to the process piece by piece while the function runs, whose last argument is
    an iterator of the pieces. So a large input is never in the memory of this process as a whole.

    Raises OverBudget, WorkRefused, NoProcess, and WorkFailed for a fault.
    """
    if sys.platform == "win32":
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
    """Run the function without limits, on copies: Windows limits no process, and serves twins."""
    function, values = pickle.loads(pickle_value((function, values)))  # noqa: S301 - our own bytes
    pieces = () if fed is None else (_iterate(fed, asyncio.get_running_loop()),)
    try:
        return await asyncio.to_thread(function, *values, *pieces)
    except ErrorForPeople as error:
        raise WorkRefused(str(error)) from None


def _iterate(fed: AsyncIterator[Any], loop: asyncio.AbstractEventLoop) -> Iterator[Any]:
    """Yield in a thread what the loop feeds."""

    async def take_one() -> tuple[Any, ...]:
        async for piece in fed:
            return (piece,)
        return ()

    while taken := asyncio.run_coroutine_threadsafe(take_one(), loop).result():
        yield taken[0]


async def _start(budget: WorkBudget) -> Process:
    limits = (os.getpid(), budget.cpu_s, budget.memory_bytes)
    # `site` is left out, which takes time: the search path is that of this process.
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
    """Return where this process finds its modules, without the folder it happens to run in."""
    home = str(Path(leverframe.__file__).parent.parent)
    return [*(path for path in sys.path if path not in ("", home)), home]


async def _send(process: Process, task: Any, fed: AsyncIterator[Any] | None) -> None:
    """Send the task and what is fed; the child ends where this fails on the way."""
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
        pass  # the child has ended, and says why by its answer or its status
    finally:
        stdin.close()


def _write(stdin: asyncio.StreamWriter, piece: Any) -> None:
    data = pickle_value(piece)
    stdin.write(PIECE_LENGTH.pack(len(data)) + data)


class _Pickler(pickle.Pickler):
    #: Read-only mappings go as well, which pickle refuses.
    dispatch_table = dispatch_table | {
        MappingProxyType: lambda mapping: (read_only_mapping, (dict(mapping),))
    }


def pickle_value(value: Any) -> bytes:
    data = BytesIO()
    _Pickler(data, pickle.HIGHEST_PROTOCOL).dump(value)
    return data.getvalue()


async def _read(process: Process, most: int) -> bytes:
    """Read the answer to its end, or as much of it as shows that it is too long."""
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
    """Kill the process unless it has ended, and wait until nothing of it is left."""
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
    # Where not even the error can be built, the interpreter aborts; the kernel kills.
    if kind == OUT_OF_MEMORY or status in (-signal.SIGABRT, -signal.SIGKILL):
        raise OverBudget(f"This takes more than {budget.memory_bytes // MIB} MiB of memory.")
    if kind == REFUSED:
        raise WorkRefused(content.decode())
    if kind == RESULT and status == 0:
        return content
    reason = content.decode() if kind == FAULT else f"the process ended with status {status}"
    log.error("%s failed in its process: %s", function.__qualname__, reason)
    raise WorkFailed(function.__qualname__)
