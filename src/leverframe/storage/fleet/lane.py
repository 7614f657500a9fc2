"""The interface of storage for many controllers, and the one in memory.

A lane writes for all controllers of a node; each sees its own part of it as a `Store`. What a
controller writes is written in its order, and what one cannot write is no matter of the others.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from leverframe.storage.store import MemoryStore, Store, Stored

#: The number of the node's own part.
OF_NODE = 0


class Lane(Protocol):
    def store(self, controller: int) -> Store:
        """Return the part of one controller, empty for a new one; closing it closes nothing."""

    async def fetch(self, controllers: Sequence[int]) -> dict[int, Stored]:
        """Read what many controllers need to resume, in one query."""

    async def forget(self, controllers: Iterable[int]) -> None:
        """Remove all that is stored of controllers."""

    async def close(self) -> None:
        """Write what waits, then release all resources."""


class MemoryLane(Lane):
    """A lane that lasts as long as the process."""

    def __init__(self) -> None:
        self._stores: dict[int, MemoryStore] = {}

    def store(self, controller: int) -> MemoryStore:
        return self._stores.setdefault(controller, MemoryStore())

    async def fetch(self, controllers: Sequence[int]) -> dict[int, Stored]:
        return {controller: self.store(controller).load() for controller in controllers}

    async def forget(self, controllers: Iterable[int]) -> None:
        for controller in controllers:
            self._stores.pop(controller, None)

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""
