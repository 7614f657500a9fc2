"""A lane whose node dies at one of its writes: what comes later never reaches the disk."""

import asyncio
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from leverframe.storage.lanes.lane import MemoryLane
from leverframe.storage.store import MemoryStore, Rows, StoreUnavailable


class Disk(MemoryLane):
    """What is left when a node is dead."""

    def copy(self) -> "Disk":
        other = Disk()
        other._stores = deepcopy(self._stores)
        return other


class MortalLane(MemoryLane):
    def __init__(self, disk: Disk, writes: int, *, is_last_stored: bool) -> None:
        """Die at the write after this number; the disk has that write, or not."""
        super().__init__()
        self._disk = disk
        self._left = writes
        self._is_last_stored = is_last_stored
        self.died = asyncio.Event()

    def store(self, controller: int) -> Any:
        return MortalStore(self, self._disk.store(controller))

    async def forget(self, controllers: Iterable[int]) -> None:
        if self.count():
            await self._disk.forget(controllers)
        self.check()

    def count(self) -> bool:
        """Count a write; return whether the disk has it."""
        self._left -= 1
        if self._left == -1:
            self.died.set()
            return self._is_last_stored
        return self._left >= 0

    def check(self) -> None:
        if self._left < 0:
            raise StoreUnavailable("The node is dead.")


class MortalStore(MemoryStore):
    def __init__(self, lane: MortalLane, below: MemoryStore) -> None:
        super().__init__()
        self._lane = lane
        self._rows = below._rows

    async def write(self, rows: Rows) -> None:
        if self._lane.count():
            await super().write(rows)
        self._lane.check()
