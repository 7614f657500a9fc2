"""Whether the client that a request came from is still there, for work that ends with it.

A request that changes something runs to its end, whatever becomes of its client. Work that only
takes time, such as hours of virtual time, says so with `ends_with_client`: when the client closes
its connection, the task of the request is cancelled. A client that closes only its sending side
counts as gone for such work, because the two look the same; it gets a 503.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

#: Tasks of requests that are cancelled when their client leaves, as often as they asked for it.
_ENDING_WITH_CLIENT: dict[asyncio.Task[object], int] = {}
#: Tasks of requests whose client has left.
_WITHOUT_CLIENT: WeakSet[asyncio.Task[object]] = WeakSet()


@contextmanager
def ends_with_client() -> Iterator[None]:
    """Cancel the current task when the client of its request leaves, or has left already.

    It has an effect only in the task of a request itself, not in one that the request started.
    """
    task = asyncio.current_task()
    assert task is not None
    if task in _WITHOUT_CLIENT:
        # What follows ends where it first waits; a coroutine that never begins would be a fault.
        task.cancel()
    _ENDING_WITH_CLIENT[task] = _ENDING_WITH_CLIENT.get(task, 0) + 1
    try:
        yield
    finally:
        _ENDING_WITH_CLIENT[task] -= 1
        if not _ENDING_WITH_CLIENT[task]:
            del _ENDING_WITH_CLIENT[task]


def note_client_left(task: asyncio.Task[None]) -> None:
    """Record that the client of a request has left, which its task answers."""
    _WITHOUT_CLIENT.add(task)
    if task in _ENDING_WITH_CLIENT:
        task.cancel()
