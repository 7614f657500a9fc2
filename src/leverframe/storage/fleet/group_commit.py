"""Lanes that are written by one thread: whatever waits goes to the disk together.

Group commit: what waits, of whichever controllers, goes into the next transaction. A transaction
that fails is tried again with the part of each controller alone, so that only those fail whose part
cannot be written; their `Writer` takes along what they have built on it.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from msgspec import Struct

from leverframe.storage.encrypting import EncryptingStore, KeyFile
from leverframe.storage.fleet.lane import Lane
from leverframe.storage.fleet.lane_figures import LaneFigures
from leverframe.storage.sqlite import CLOSED, not_saved
from leverframe.storage.store import Rows, Store, Stored, StoreUnavailable
from leverframe.storage.writer import see_through

#: Parts of a transaction at most; what waits longer shares the next one.
BATCH_SIZE = 512


class WaitingPart(Struct, eq=False):
    """What a controller wants written, and who waits for it."""

    controller: int
    rows: Rows
    done: asyncio.Future[None]


class GroupCommitLane(Lane):
    """What lanes have in common that write in a thread of their own."""

    def __init__(self, key_path: Path) -> None:
        self._key_file = KeyFile(key_path)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lane")
        self._waiting: list[WaitingPart] = []
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self.figures = LaneFigures()

    def store(self, controller: int) -> EncryptingStore:
        return EncryptingStore(LaneStore(self, controller), self._key_file, controller)

    # --- what each does in its own way ------------------------------------------------------------

    @abstractmethod
    def write_parts(self, parts: Mapping[int, Rows]) -> None:
        """Write the rows of each controller in one transaction, in the lane's thread."""

    @abstractmethod
    def erase(self, controllers: Sequence[int]) -> None:
        """Remove all rows of controllers, in the lane's thread."""

    @abstractmethod
    def read(self, controllers: Sequence[int]) -> dict[int, Stored]:
        """Read settings and remembered state; secrets are sealed."""

    @abstractmethod
    def read_audit(self, controller: int, prefix: str) -> dict[str, str]:
        """Read the rows of the audit trail whose names begin like this."""

    @abstractmethod
    def read_messages(self, controller: int) -> dict[int, Any]:
        """Read the messages of the outbox by number."""

    @abstractmethod
    def read_blob(self, controller: int, name: str) -> bytes | None:
        """Read one upload; None when there is none of that name."""

    @abstractmethod
    def release(self) -> None:
        """Close what is open, when nothing is written any more."""

    # --- writing ----------------------------------------------------------------------------------

    async def write(self, controller: int, rows: Rows) -> None:
        """Make the rows of a controller durable with what others have, all of them or none."""
        if self._is_closed:
            raise StoreUnavailable(CLOSED)
        loop = asyncio.get_running_loop()
        part = WaitingPart(controller, rows, loop.create_future())
        self._waiting.append(part)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())
        await part.done

    async def _run(self) -> None:
        while self._waiting:
            await self._collect_batch()
            batch, self._waiting = self._waiting[:BATCH_SIZE], self._waiting[BATCH_SIZE:]
            faults = await self.written(_merged(batch))
            self.figures.count_batch(len(batch))
            for part in batch:
                _resolve(part, faults.get(part.controller))

    async def written(self, parts: Mapping[int, Rows]) -> dict[int, BaseException]:
        """Write parts in the lane's thread; return what went wrong by controller."""
        loop = asyncio.get_running_loop()
        return await see_through(loop.run_in_executor(self._thread, self._write, parts))

    async def _collect_batch(self) -> None:
        """Wait while rounds of the loop bring something more."""
        before = 0
        while before < len(self._waiting) < BATCH_SIZE:
            before = len(self._waiting)
            await asyncio.sleep(0)

    def _write(self, parts: Mapping[int, Rows]) -> dict[int, BaseException]:
        """Write parts in one transaction, or else each by itself; return what went wrong."""
        try:
            self.write_parts(parts)
        except BaseException as error:
            if len(parts) == 1 or isinstance(error, ConcernsAll):
                return dict.fromkeys(parts, error)
            faults: dict[int, BaseException] = {}
            for controller, rows in parts.items():
                faults |= self._write({controller: rows})
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
        if self._is_closed:
            return
        self._is_closed = True
        if self._task is not None:
            await asyncio.wait([self._task])
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self._thread.shutdown()
        self.release()

    # --- reading ----------------------------------------------------------------------------------

    async def fetch(self, controllers: Sequence[int]) -> dict[int, Stored]:
        return await asyncio.to_thread(self._fetch_opened, controllers)

    def _fetch_opened(self, controllers: Sequence[int]) -> dict[int, Stored]:
        stored = self.read(controllers)
        return {one: self.store(one).opened(stored[one]) for one in controllers}


class ConcernsAll(StoreUnavailable):
    """What cannot be written cannot be written for any controller: one sentence."""


class LaneStore(Store):
    """One controller's part of a lane."""

    def __init__(self, lane: GroupCommitLane, controller: int) -> None:
        self._lane = lane
        self._controller = controller

    def load(self) -> Stored:
        return self._lane.read([self._controller])[self._controller]

    async def audit(self, prefix: str = "") -> dict[str, str]:
        return await asyncio.to_thread(self._lane.read_audit, self._controller, prefix)

    async def blob(self, name: str) -> bytes | None:
        return await asyncio.to_thread(self._lane.read_blob, self._controller, name)

    def messages(self) -> dict[int, Any]:
        return self._lane.read_messages(self._controller)

    async def write(self, rows: Rows) -> None:
        try:
            await self._lane.write(self._controller, rows)
        except StoreUnavailable as error:
            self._lane.figures.count_failed(error)
            raise
        self._lane.figures.durable += 1

    async def close(self) -> None:
        """Leave the lane open, which others use, too."""


def _merged(batch: Sequence[WaitingPart]) -> dict[int, Rows]:
    """Merge parts of the same controller into the rows that result from writing them in order."""
    parts: dict[int, Rows] = {}
    merged: set[int] = set()
    for part in batch:
        former = parts.get(part.controller)
        if former is None:
            parts[part.controller] = part.rows
            continue
        if part.controller not in merged:
            merged.add(part.controller)
            parts[part.controller] = Rows()
            parts[part.controller].add(former)
        parts[part.controller].add(part.rows)
    return parts


def _resolve(part: WaitingPart, error: BaseException | None) -> None:
    if part.done.done():
        # The waiting task has given up.
        return
    if error is None:
        part.done.set_result(None)
    elif isinstance(error, StoreUnavailable) or not isinstance(error, Exception):
        part.done.set_exception(error)
    else:
        refusal = not_saved(error)
        refusal.__cause__ = error
        part.done.set_exception(refusal)
