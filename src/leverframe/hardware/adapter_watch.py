"""A watch over adapters: what was pulled, or plugged in again, is noticed within a second.

The kernel removes the files of an adapter when it goes, but not every kernel wakes those who hold
one open, and the loss of an output that is not switched would go unnoticed for hours.
"""

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

WATCH_S = 1.0


class Watched(NamedTuple):
    #: What is another value when the adapter was pulled or plugged in; it must not block.
    identity: Callable[[], object]
    changed: Callable[[], None]


class AdapterWatch:
    def __init__(self, watched: Iterable[Watched]) -> None:
        self._seen = [(adapter, adapter.identity()) for adapter in watched]
        self._task = asyncio.get_running_loop().create_task(self._run()) if self._seen else None

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(WATCH_S)
            self._compare()

    def _compare(self) -> None:
        for at, (adapter, before) in enumerate(self._seen):
            now = adapter.identity()
            if now != before:
                self._seen[at] = adapter, now
                adapter.changed()


def file_identity(path: Path) -> int | None:
    """Return what distinguishes a file from a later one of the same name; None if it is missing.

    Files of devices are in memory, so that this takes microseconds, on the event loop, too.
    """
    try:
        return os.stat(path).st_ino
    except OSError:
        return None
