"""Orderly shutdown, even if a part fails.

Several parts are closed one by one, so that a failing part does not keep the rest open. And a task
that continues after every fault must end when it is cancelled: a fault during the cancellation
replaces the `CancelledError`.
"""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Iterable

log = logging.getLogger(__name__)

End = Callable[[], Awaitable[None]]


def stop_by_signal() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def is_being_cancelled() -> bool:
    """Return whether the running task was cancelled, whatever it has caught since."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def close_all(ends: Iterable[End]) -> None:
    """Close one after the other, in this order; log what failed, and why."""
    for end in ends:
        try:
            await end()
        except Exception:
            name = getattr(end, "__qualname__", end)
            log.exception("%s failed to stop; the remaining parts are stopped anyway", name)
