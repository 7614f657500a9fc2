"""Remembered machine state on its way to the disk: counters, states of outputs.

The engine says once what is to be remembered. Where the disk does not take it, it goes with the
next change that is written, is tried again after growing pauses, and once more at the stop.
"""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any

from leverframe.controller.on_disk import log_failure
from leverframe.storage.store import DELETED, Changes, Store, StoreUnavailable, Then

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0


class Remembered:
    def __init__(self, store: Store, values: dict[str, Any], told: Then) -> None:
        self._store = store
        #: By name; None is nothing any more.
        self.values = values
        self._told = told
        #: Names whose newest value did not reach the disk.
        self._missing: set[str] = set()
        self._pause_s = FIRST_PAUSE_S
        self._again: asyncio.TimerHandle | None = None
        self._has_ended = False

    def keep(self, values: dict[str, Any]) -> asyncio.Future[None]:
        """Remember these; what is returned is done when they are on disk."""
        self.values.update(values)
        return self._write(self._missing.union(values))

    def missing(self) -> dict[str, Any]:
        """The rows that a change should take along."""
        return self._rows(self._missing) if self._missing else {}

    def are_on_disk(self, names: Iterable[str]) -> None:
        self._missing.difference_update(names)

    def write_missing(self) -> None:
        """Try now what did not reach the disk."""
        if self._again is not None:
            self._again.cancel()
            self._again = None
        if self._missing:
            self._write(self._missing)

    def end(self) -> None:
        """The last try: nobody is there later for another one."""
        self._has_ended = True
        self.write_missing()

    def _write(self, names: set[str]) -> asyncio.Future[None]:
        rows = self._rows(names)
        future = self._store.commit(Changes(kept=rows), partial(self._hear, tuple(rows)))
        future.add_done_callback(log_failure)
        return future

    def _rows(self, names: Iterable[str]) -> dict[str, Any]:
        values = {name: self.values[name] for name in names}
        return {name: DELETED if value is None else value for name, value in values.items()}

    def _hear(self, names: Iterable[str], error: StoreUnavailable | None) -> None:
        self._told(error)
        if error is None:
            self.are_on_disk(names)
            self._pause_s = FIRST_PAUSE_S
            return
        self._missing.update(names)
        if self._again is None and not self._has_ended:
            loop = asyncio.get_running_loop()
            self._again = loop.call_later(self._pause_s, self.write_missing)
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
