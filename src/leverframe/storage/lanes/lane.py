"""Storage for many controllers ("lanes"): the interface, a lane in memory, and group commit."""

import asyncio
import time
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field

from leverframe.storage.encryption import KeyFile, Sealer, needs_sealing
from leverframe.storage.sqlite import not_saved
from leverframe.storage.store import MemoryStore, Rows, Store, Stored, StoreUnavailable
from leverframe.storage.writer import Faults, GroupCommit

# The interface of storage for many controllers, and the one in memory.
#
# A lane writes for all controllers of a node; each controller uses its own part of the lane as a
# `Store`. Changes of a controller are written in their order, and a failed change of one controller
# does not affect the others.

#: The number of the part that belongs to the node itself.
OF_NODE = 0


class Lane(Protocol):
    def store(self, controller: int) -> Store:
        """Return the part of a controller, empty for a new one; closing it leaves the lane open."""

    async def fetch(self, controllers: Sequence[int]) -> dict[int, Stored]:
        """Read the data that many controllers need to resume, in one query."""

    async def forget(self, controllers: Iterable[int]) -> None:
        """Remove all stored data of controllers."""

    async def close(self) -> None:
        """Write all waiting changes, then release all resources."""


class MemoryLane(Lane):
    """A lane in memory, which lasts as long as the process."""

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
        """Do nothing, because there is nothing to release."""


# Counters of a lane's writes since startup, for `/metrics` and the report of a node.

#: Upper limits of the classes in which batches are counted by their number of changes.
SIZES = {1: "1", 8: "2-8", 64: "9-64"}
LARGEST = "65 and more"


class LaneFigures(Struct):
    """The number of changes by result, and of batches by size class."""

    durable: int = 0
    refused: int = 0
    in_doubt: int = 0
    #: Wall time when it was last unknown whether a change was stored.
    last_doubt: float | None = None
    batches: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((*SIZES.values(), LARGEST), 0)
    )

    def count(self, changes: int, faults: Collection[BaseException]) -> None:
        """Count a batch of changes and the faults of some of them."""
        size = next((word for most, word in SIZES.items() if changes <= most), LARGEST)
        self.batches[size] += 1
        in_doubt = sum(getattr(fault, "is_in_doubt", False) for fault in faults)
        self.durable += changes - len(faults)
        self.refused += len(faults) - in_doubt
        self.in_doubt += in_doubt
        if in_doubt:
            self.last_doubt = time.time()


# Lanes that one thread writes: all waiting changes share a transaction (group commit).
#
# Waiting changes of all controllers go into the next transaction. If a transaction fails, the part
# of each controller is tried in a transaction of its own, so that only controllers whose part
# cannot be written fail. Their `Writer` also fails the changes that depend on that part.

#: The maximum number of parts in a transaction; further parts wait for the next one.
BATCH_SIZE = 512


class GroupCommitLane(Lane):
    """The common code of lanes that write in a separate thread."""

    def __init__(self, key_path: Path) -> None:
        self._key_file = KeyFile(key_path)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lane")
        self.queue = GroupCommit(self._write_batch, BATCH_SIZE, self._thread)
        self.figures = LaneFigures()

    def store(self, controller: int) -> "LaneStore":
        return LaneStore(self, controller, self.sealer(controller))

    def sealer(self, controller: int) -> Sealer:
        """Return the object that encrypts and decrypts the secrets of a controller."""
        return Sealer(self._key_file, controller)

    # --- methods of each kind of lane
    # --------------------------------------------------------------

    @abstractmethod
    def write_parts(self, parts: Mapping[int, Rows]) -> None:
        """Write the rows of all controllers in one transaction, in the lane's thread."""

    @abstractmethod
    def erase(self, controllers: Sequence[int]) -> None:
        """Remove all rows of controllers, in the lane's thread."""

    @abstractmethod
    def read(self, controllers: Sequence[int]) -> dict[int, Stored]:
        """Read settings and remembered state, without decrypting them."""

    @abstractmethod
    def read_audit(self, controller: int, prefix: str) -> dict[str, str]:
        """Read the rows of the audit trail whose names begin with the prefix."""

    @abstractmethod
    def read_messages(self, controller: int) -> dict[int, Any]:
        """Read the messages of the outbox by number, without decrypting them."""

    @abstractmethod
    def read_blob(self, controller: int, name: str) -> bytes | None:
        """Read one upload; None if there is none with that name."""

    @abstractmethod
    def release(self) -> None:
        """Close all resources, after the last write."""

    # --- writing ----------------------------------------------------------------------------------

    def _write_batch(self, parts: Mapping[int, Rows]) -> Faults:
        """Write parts in the lane's thread; return the errors by controller."""
        faults = self.write(parts)
        self.figures.count(len(parts), faults.values())
        return faults

    def write(self, parts: Mapping[int, Rows]) -> Faults:
        """Write parts in one transaction, or each separately if it fails; return the errors."""
        try:
            self.write_parts(
                {
                    one: self.sealer(one).seal(rows) if needs_sealing(rows) else rows
                    for one, rows in parts.items()
                }
            )
        except BaseException as error:
            if len(parts) == 1 or isinstance(error, LaneUnavailable):
                return dict.fromkeys(parts, _refusal(error))
            faults: Faults = {}
            for controller, rows in parts.items():
                faults |= self.write({controller: rows})
            return faults
        return {}

    async def forget(self, controllers: Iterable[int]) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self.erase, list(controllers))
        except StoreUnavailable:
            raise
        except Exception as error:
            raise not_saved(error) from error

    async def close(self) -> None:
        if self.queue.is_closed:
            return
        await self.queue.flush()
        self.queue.is_closed = True
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self._thread.shutdown()
        self.release()

    # --- reading ----------------------------------------------------------------------------------

    async def fetch(self, controllers: Sequence[int]) -> dict[int, Stored]:
        return await asyncio.to_thread(self._fetch_opened, controllers)

    def _fetch_opened(self, controllers: Sequence[int]) -> dict[int, Stored]:
        stored = self.read(controllers)
        return {one: self.store(one).open_secrets(stored[one]) for one in controllers}


class LaneUnavailable(StoreUnavailable):
    """Nothing can be written for any controller; the message is one sentence."""


class LaneStore(Store):
    """The part of a controller in a lane; secrets are encrypted in the lane's thread."""

    __slots__ = ("_lane", "_sealer", "number", "shared_queue")

    def __init__(self, lane: GroupCommitLane, controller: int, sealer: Sealer) -> None:
        self._lane = lane
        self._sealer = sealer
        self.shared_queue = lane.queue
        self.number = controller

    def load(self) -> Stored:
        return self.open_secrets(self._lane.read([self.number])[self.number])

    def open_secrets(self, stored: Stored) -> Stored:
        """Decrypt the secrets in the data of the lane."""
        return self._sealer.open_secrets(stored)

    async def audit(self, prefix: str = "") -> dict[str, str]:
        return await asyncio.to_thread(self._lane.read_audit, self.number, prefix)

    async def blob(self, name: str) -> bytes | None:
        return await asyncio.to_thread(self._open_blob, name)

    def _open_blob(self, name: str) -> bytes | None:
        return self._sealer.open_blob(name, self._lane.read_blob(self.number, name))

    def messages(self) -> dict[int, Any]:
        return self._sealer.open_messages(self._lane.read_messages(self.number))

    async def write(self, rows: Rows) -> None:
        await self._lane.queue.write_one(self.number, rows)

    async def close(self) -> None:
        """Leave the lane open, because other controllers use it."""


def _refusal(error: BaseException) -> BaseException:
    if isinstance(error, StoreUnavailable) or not isinstance(error, Exception):
        return error
    refusal = not_saved(error)
    refusal.__cause__ = error
    return refusal
