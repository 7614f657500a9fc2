"""The records of controllers in the database: those of this node, and numbers for new ones.

It stands in for the registry that a single node keeps in its store. Names are unique over all
nodes, by the database; addresses and ports are those of this machine.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec
import psycopg

from leverframe.commands.table.refusals import Conflict
from leverframe.fleet.cluster.membership import tell
from leverframe.fleet.records import MemberRecord, Registry, SnapshotRecord
from leverframe.storage.fleet.postgres_connection import Connection, SharedConnection

Result = TypeVar("Result")

_PUT = (
    "INSERT INTO controller (number, name, record, node) VALUES (%s, %s, %s, %s)"
    " ON CONFLICT (number) DO UPDATE SET name = EXCLUDED.name, record = EXCLUDED.record"
)


class ClusterRegistry(Registry):
    """The part of the records that belongs to the controllers of this node."""

    def __init__(self, address: str, node: str) -> None:
        self.records: dict[int, MemberRecord] = {}
        self.snapshots: dict[str, SnapshotRecord] = {}
        self.jobs: dict[int, str] = {}
        self._node = node
        self._database = SharedConnection(address)

    async def reserve(self, count: int) -> list[int]:
        query = "SELECT nextval('controller_number') FROM generate_series(1, %s)"
        rows = await self._ask(lambda it: it.execute(query, (count,)).fetchall())
        return [int(number) for (number,) in rows]

    async def load_jobs(self) -> None:
        """Read the jobs of this node, which an earlier life of it may have left."""
        query = "SELECT number, id FROM job WHERE node = %s ORDER BY number"
        rows = await self._ask(lambda it: it.execute(query, (self._node,)).fetchall())
        self.jobs = dict(rows)

    async def put_job(self, number: int, id: str) -> None:
        query = "INSERT INTO job (number, id, node) VALUES (%s, %s, %s)"
        await self._ask(lambda it: it.execute(query, (number, id, self._node)))
        self.jobs[number] = id

    async def remove_job(self, number: int) -> None:
        await self._ask(lambda it: it.execute("DELETE FROM job WHERE number = %s", (number,)))
        del self.jobs[number]

    async def take(self, numbers: Sequence[int]) -> None:
        """Read the records of those controllers that this node has now."""
        chosen = list(numbers)
        query = "SELECT number, record FROM controller WHERE number = ANY(%s) AND node = %s"
        rows = await self._ask(lambda it: it.execute(query, (chosen, self._node)).fetchall())
        self.records |= {
            number: msgspec.json.decode(text, type=MemberRecord) for number, text in rows
        }
        query = "SELECT label, controller, at, part FROM snapshot WHERE controller = ANY(%s)"
        for label, number, at, part in await self._ask(
            lambda it: it.execute(query, (chosen,)).fetchall()
        ):
            known = self.snapshots.get(label)
            parts = {} if known is None else known.parts
            self.snapshots[label] = SnapshotRecord(at, {**parts, number: part})

    def let_go(self, numbers: Iterable[int]) -> None:
        """Forget controllers that this node no longer has."""
        gone = set(numbers)
        for number in gone:
            self.records.pop(number, None)
        for label, record in tuple(self.snapshots.items()):
            parts = {one: part for one, part in record.parts.items() if one not in gone}
            if parts:
                self.snapshots[label] = SnapshotRecord(record.at, parts)
            else:
                del self.snapshots[label]

    async def put(self, records: dict[int, MemberRecord]) -> None:
        rows = [
            (number, one.name, msgspec.json.encode(one).decode(), self._node)
            for number, one in records.items()
        ]

        def write(connection: Connection) -> None:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(_PUT, rows)
                tell(connection)

        try:
            await self._ask(write)
        except psycopg.errors.UniqueViolation as error:
            raise Conflict(
                "One of these names belongs to a controller already, perhaps on another node.",
                field="name",
            ) from error
        self.records |= records

    async def remove(self, numbers: Iterable[int]) -> None:
        chosen = list(numbers)

        def write(connection: Connection) -> None:
            with connection.transaction():
                connection.execute("DELETE FROM controller WHERE number = ANY(%s)", (chosen,))
                tell(connection)

        await self._ask(write)
        for number in chosen:
            del self.records[number]

    async def put_snapshot(self, label: str, record: SnapshotRecord | None) -> None:
        own = list(self.records)
        rows = [] if record is None else [(label, n, record.at, p) for n, p in record.parts.items()]

        def write(connection: Connection) -> None:
            with connection.transaction(), connection.cursor() as cursor:
                query = "DELETE FROM snapshot WHERE label = %s AND controller = ANY(%s)"
                cursor.execute(query, (label, own))
                cursor.executemany("INSERT INTO snapshot VALUES (%s, %s, %s, %s)", rows)

        await self._ask(write)
        self.snapshots.pop(label, None)
        if record is not None:
            self.snapshots[label] = record

    async def _ask(self, work: Callable[[Connection], Result]) -> Result:
        return await asyncio.to_thread(self._database.use, work)

    def close(self) -> None:
        self._database.close()
