"""The durable lane: one SQLite file for all controllers of a node, one thread that writes.

Group commit: whatever waits, of whichever controllers, goes into the next transaction together. A
transaction that fails is tried again with the part of each controller alone, so that only those
fail whose part cannot be written; their `Writer` takes along what they have built on it.
"""

import asyncio
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from msgspec import Struct

from leverframe.storage.encrypting import EncryptingStore, KeyFile
from leverframe.storage.fleet.lane import Lane
from leverframe.storage.fleet.statements import fleet_statements, forgetting
from leverframe.storage.sqlite import CLOSED, IS_AUDIT, not_saved
from leverframe.storage.sqlite_file import roll_back
from leverframe.storage.statements import removes
from leverframe.storage.store import (
    Rows,
    Store,
    Stored,
    StoreUnavailable,
    messages_from_texts,
    values_from_texts,
)
from leverframe.storage.watched_file import WatchedFile
from leverframe.storage.writer import see_through

MIGRATIONS = Path(__file__).parent / "migrations"
#: Parts of a transaction at most; what waits longer shares the next one.
BATCH_SIZE = 512
_CHOSEN = "controller IN (SELECT value FROM json_each(?))"


class WaitingPart(Struct, eq=False):
    """What a controller wants written, and who waits for it."""

    controller: int
    rows: Rows
    done: asyncio.Future[None]


class SqliteLane(Lane):
    """The lane in a file. Raises StoreTooNew, StoreDamaged or StoreUnavailable when opened."""

    def __init__(self, path: Path, key_path: Path) -> None:
        self._file = WatchedFile(path, MIGRATIONS)
        self._key_file = KeyFile(key_path)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lane")
        self._waiting: list[WaitingPart] = []
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def transactions(self) -> int:
        """Return the number of transactions written since opening."""
        return self._file.transactions

    def store(self, controller: int) -> EncryptingStore:
        return EncryptingStore(LaneStore(self, controller), self._key_file, controller)

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
        loop = asyncio.get_running_loop()
        while self._waiting:
            await self._collect_batch()
            batch, self._waiting = self._waiting[:BATCH_SIZE], self._waiting[BATCH_SIZE:]
            faults = await see_through(
                loop.run_in_executor(self._thread, self._write, _merged(batch))
            )
            for part in batch:
                _resolve(part, faults.get(part.controller))

    async def _collect_batch(self) -> None:
        """Wait while rounds of the loop bring something more."""
        before = 0
        while before < len(self._waiting) < BATCH_SIZE:
            before = len(self._waiting)
            await asyncio.sleep(0)

    def _write(self, parts: Mapping[int, Rows]) -> dict[int, BaseException]:
        """Write parts in one transaction, or else each by itself; return what went wrong."""
        try:
            statements = fleet_statements(parts)
            if statements:
                self._file.write(statements, erases=any(map(removes, parts.values())))
        except BaseException as error:
            if len(parts) == 1:
                return dict.fromkeys(parts, error)
            faults: dict[int, BaseException] = {}
            for controller, rows in parts.items():
                faults |= self._write({controller: rows})
            return faults
        return {}

    async def forget(self, controllers: Iterable[int]) -> None:
        statements = forgetting(controllers)
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._erase, statements)
        except StoreUnavailable:
            raise
        except Exception as error:
            raise not_saved(error) from error

    def _erase(self, statements: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        self._file.write(statements, erases=True)

    def settle(self) -> None:
        """Bring the main file up to date, on any thread; raise StoreUnavailable if it is lost."""
        self._file.settle()

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._task is not None:
            await asyncio.wait([self._task])
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self._thread.shutdown()
        self._file.close()

    # --- reading ----------------------------------------------------------------------------------

    async def fetch(self, controllers: Sequence[int]) -> dict[int, Stored]:
        return await asyncio.to_thread(self._fetch_opened, controllers)

    def _fetch_opened(self, controllers: Sequence[int]) -> dict[int, Stored]:
        stored = self.read(controllers)
        return {one: self.store(one).opened(stored[one]) for one in controllers}

    def read(self, controllers: Sequence[int]) -> dict[int, Stored]:
        """Read settings and remembered state; secrets are sealed."""
        settings: dict[int, dict[str, Any]] = {}
        kept: dict[int, dict[str, Any]] = {}
        audit: dict[int, list[str]] = {}
        chosen = str(list(controllers))
        with self._file.reading() as connection:
            # One transaction, so that no commit comes between the parts.
            connection.execute("BEGIN")
            try:
                for one, texts in _by_controller(connection, "setting", "path", "", chosen):
                    settings[one] = values_from_texts(texts)
                without = f" AND NOT {IS_AUDIT}"
                for one, texts in _by_controller(connection, "kept", "name", without, chosen):
                    kept[one] = values_from_texts(texts)
                query = f"SELECT controller, name FROM kept WHERE {_CHOSEN} AND {IS_AUDIT}"
                for one, name in connection.execute(query, (chosen,)):
                    audit.setdefault(one, []).append(name)
            finally:
                roll_back(connection)
        return {
            one: Stored(settings.get(one, {}), kept.get(one, {}), audit.get(one, []))
            for one in controllers
        }

    def rows_of(self, controller: int) -> Rows:
        """Read everything that is stored of a controller; secrets are sealed."""
        query = "SELECT name, data FROM blob WHERE controller = ?"
        with self._file.reading() as connection:
            blobs: dict[str, bytes | None] = dict(connection.execute(query, (controller,)))

        def texts(table: str, key: str) -> dict[str, str | None]:
            rows = self._read_own(controller, table, key, "")
            return {name: text.decode() for name, text in rows.items()}

        return Rows(
            settings=texts("setting", "path"),
            kept=texts("kept", "name"),
            blobs=blobs,
            messages=texts("message", "number"),
        )

    def read_audit(self, controller: int, prefix: str) -> dict[str, str]:
        """Read the rows of the audit trail whose names begin like this."""
        where = f" AND {IS_AUDIT} AND name GLOB ?"
        return values_from_texts(self._read_own(controller, "kept", "name", where, f"{prefix}*"))

    def read_messages(self, controller: int) -> dict[int, Any]:
        """Read the messages of the outbox by number."""
        return messages_from_texts(self._read_own(controller, "message", "number", ""))

    def _read_own(
        self, controller: int, table: str, key: str, where: str, *values: str
    ) -> dict[str, bytes]:
        with self._file.reading() as connection:
            chosen = f"[{controller}]"
            rows = _by_controller(connection, table, key, where, chosen, *values)
            return next((texts for _, texts in rows), {})

    def read_blob(self, controller: int, name: str) -> bytes | None:
        """Read one upload; None when there is none of that name."""
        query = "SELECT data FROM blob WHERE controller = ? AND name = ?"
        with self._file.reading() as connection:
            rows: list[tuple[bytes]] = connection.execute(query, (controller, name)).fetchall()
        return rows[0][0] if rows else None


class LaneStore(Store):
    """One controller's part of a lane."""

    def __init__(self, lane: SqliteLane, controller: int) -> None:
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
        await self._lane.write(self._controller, rows)

    async def close(self) -> None:
        """Leave the lane open, which others use, too."""


def _by_controller(
    connection: sqlite3.Connection, table: str, key: str, where: str, chosen: str, *values: str
) -> list[tuple[int, dict[str, bytes]]]:
    """Read values by controller and name, as bytes.

    In an error, sqlite3 would repeat a text that it cannot decode, which may be a password.
    """
    query = (
        f"SELECT controller, CAST({key} AS BLOB), CAST(value AS BLOB) FROM {table} "  # nosec B608
        f"WHERE {_CHOSEN}{where} ORDER BY controller"
    )
    found = connection.execute(query, (chosen, *values))
    return [
        (controller, {name.decode(): text for _, name, text in rows})
        for controller, rows in groupby(found, itemgetter(0))
    ]


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
