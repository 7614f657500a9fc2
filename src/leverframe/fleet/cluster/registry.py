"""The records of controllers in the database: those of this node, and numbers for new ones.

This registry replaces the one that a single node keeps in its store. The database keeps names
unique across all nodes. Addresses and ports are those of this machine.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
import psycopg

from leverframe.fleet.cluster.membership import ClaimedJob, holder_of, notify_nodes, take_live
from leverframe.fleet.other_nodes import LocatedController
from leverframe.fleet.records import (
    OPERATOR,
    FleetAccount,
    JobTaken,
    MemberRecord,
    Moved,
    Registry,
    SnapshotRecord,
    TenantRecord,
    no_such_tenant,
)
from leverframe.host.controller.hand_over import SavedLive
from leverframe.interface.table.refusals import Conflict
from leverframe.storage.lanes.postgres_connection import Connection, SharedConnection
from leverframe.storage.lanes.postgres_lane import Claim
from leverframe.storage.lanes.postgres_schema import ALIVE
from leverframe.storage.store import StoreUnavailable, UnreadableRow

Result = TypeVar("Result")

# A node that has lost a controller, or was declared dead, must not write data of that controller.
# So each statement finds the node's row in its current life and locks that row, as a batch of
# changes locks the row of the lane.
_ALIVE = f"WITH alive AS ({ALIVE})"
_PUT = (
    f"{_ALIVE} INSERT INTO controller (number, name, record, tenant, node)"  # noqa: S608
    " SELECT given.*, alive.name FROM alive, unnest(%(numbers)s::integer[], %(names)s::text[],"
    " %(records)s::text[], %(tenants)s::text[]) AS given"
    " ON CONFLICT (number) DO UPDATE SET name = EXCLUDED.name, record = EXCLUDED.record,"
    " tenant = EXCLUDED.tenant WHERE controller.node = EXCLUDED.node"
)
_REMOVE = (
    f"{_ALIVE} DELETE FROM controller USING alive"  # noqa: S608
    " WHERE number = ANY(%(numbers)s) AND node = alive.name"
)
_LEFT = "SELECT 1 FROM controller WHERE number = ANY(%(numbers)s)"
_REMOVE_FROM_SNAPSHOTS = (
    f"{_ALIVE} DELETE FROM snapshot USING alive, controller AS own"  # noqa: S608
    " WHERE controller = ANY(%(numbers)s) AND own.number = controller AND own.node = alive.name"
)
_FORGET_SNAPSHOT = (
    f"{_ALIVE} DELETE FROM snapshot USING alive, controller AS own"  # noqa: S608
    " WHERE label = %(label)s AND own.number = snapshot.controller AND own.node = alive.name"
)
_PUT_SNAPSHOT = (
    f"{_ALIVE} INSERT INTO snapshot (label, controller, at, part)"  # noqa: S608
    " SELECT %(label)s, given.number, %(at)s, given.part FROM alive"
    " JOIN controller AS own ON own.node = alive.name"
    " JOIN unnest(%(numbers)s::integer[], %(parts)s::integer[]) AS given (number, part)"
    " ON given.number = own.number"
)
_PUT_JOB = (
    f"{_ALIVE} INSERT INTO job (number, id, node, epoch)"  # noqa: S608
    " SELECT %(number)s, %(id)s, alive.name, %(epoch)s FROM alive"
)
_REMOVE_JOB = (
    f"{_ALIVE} DELETE FROM job USING alive WHERE number = %(number)s"  # noqa: S608
    " AND node = alive.name AND epoch IN (0, %(epoch)s)"
)
_NO_LIFE = (
    "This node was declared dead, and is restarting. Nothing was done; try again in a few seconds."
)


class ClusterRegistry(Registry):
    """The part of the records that belongs to the controllers of this node."""

    def __init__(self, address: str, claim: Claim) -> None:
        self.records: dict[int, MemberRecord] = {}
        self.unreadable: dict[int, UnreadableRow] = {}
        self.snapshots: dict[str, SnapshotRecord] = {}
        #: The ids of the jobs that this node runs, by number.
        self.jobs: dict[int, str] = {}
        self.tenants: dict[str, TenantRecord] = {}
        self.accounts: dict[str, FleetAccount] = {}
        #: The ids of the jobs of all nodes.
        self._all_jobs: set[str] = set()
        #: Jobs that have run steps on controllers here, and that were not read from the database
        #: yet.
        self._stepped: set[str] = set()
        self._claim = claim
        self._node = claim.node
        self._database = SharedConnection(address)

    async def reserve(self, count: int) -> list[int]:
        query = "SELECT nextval('controller_number') FROM generate_series(1, %s)"
        rows = await self._ask(lambda it: it.execute(query, (count,)).fetchall())
        return [int(number) for (number,) in rows]

    def take_jobs(self, jobs: Sequence[ClaimedJob]) -> None:
        """Record which node runs which job, as read from the database."""
        claim = self._claim
        self.jobs |= {
            one.number: one.id
            for one in jobs
            if one.node == claim.node and one.epoch in (0, claim.epoch)
        }
        self._all_jobs = {one.id for one in jobs}
        # Jobs that were read from the database need not be remembered separately.
        self._stepped -= self._all_jobs

    def renew(self, claim: Claim) -> None:
        """Start another life, without the jobs of the last one."""
        self._claim = claim
        self.jobs.clear()

    def job_ids_in_use(self) -> Collection[str]:
        return self._all_jobs | self._stepped | set(self.jobs.values())

    def note_step(self, job: str) -> None:
        if job not in self._all_jobs:
            self._stepped.add(job)

    async def put_job(self, number: int, id: str) -> None:
        given = self._with_fence(number=number, id=id)

        def write(connection: Connection) -> None:
            with connection.transaction():
                if not connection.execute(_PUT_JOB, given).rowcount:
                    raise StoreUnavailable(_NO_LIFE)
                notify_nodes(connection)

        try:
            await self._ask(write)
        except psycopg.errors.UniqueViolation as error:
            raise JobTaken(id) from error
        self.jobs[number] = id

    async def remove_job(self, number: int) -> None:
        given = self._with_fence(number=number)

        def write(connection: Connection) -> None:
            if connection.execute(_REMOVE_JOB, given).rowcount:
                return
            # Another node may run the job by now, or the job is already gone.
            query = "SELECT 1 FROM job WHERE number = %(number)s"
            if connection.execute(query, given).fetchone() is not None:
                raise StoreUnavailable(_NO_LIFE)

        await self._ask(write)
        self.jobs.pop(number, None)

    async def locate(self, numbers: Collection[int] | None) -> list[LocatedController]:
        """Read the records of controllers of any node: all, or those with these numbers."""
        query = "SELECT number, node, name, record, tenant FROM controller"
        if numbers is not None:
            query += " WHERE number = ANY(%s)"
        given = () if numbers is None else (list(numbers),)

        def read(connection: Connection) -> list[LocatedController]:
            rows = connection.execute(f"{query} ORDER BY number", given)
            return [
                LocatedController(one, node, _record(name, text, tenant)[0])
                for one, node, name, text, tenant in rows
            ]

        return await self._ask(read)

    async def holder_of(self, job: str) -> str | None:
        return await self._ask(lambda it: holder_of(it, job))

    async def take(self, numbers: Sequence[int]) -> None:
        """Read the records of those controllers that this node has now."""
        chosen = list(numbers)
        query = (
            "SELECT number, name, record, tenant FROM controller"
            " WHERE number = ANY(%s) AND node = %s"
        )
        rows = await self._ask(lambda it: it.execute(query, (chosen, self._node)).fetchall())
        for number, name, text, tenant in rows:
            record, error = _record(name, text, tenant)
            self.note_put({number: record})
            if error is not None:
                self.note_unreadable(number, record, error)
        query = "SELECT label, controller, at, part FROM snapshot WHERE controller = ANY(%s)"
        for label, number, at, part in await self._ask(
            lambda it: it.execute(query, (chosen,)).fetchall()
        ):
            known = self.snapshots.get(label)
            parts = {} if known is None else known.parts
            self.snapshots[label] = SnapshotRecord(at, {**parts, number: part})

    async def take_live(self, numbers: Sequence[int]) -> dict[int, SavedLive]:
        """Read and delete the live state of controllers that this node has now."""
        claim = self._claim
        return await self._ask(lambda it: take_live(it, claim, numbers))

    def let_go(self, numbers: Iterable[int]) -> None:
        """Forget controllers that this node no longer has."""
        gone = set(numbers)
        for number in gone:
            self.records.pop(number, None)
            self.unreadable.pop(number, None)
        for label, record in tuple(self.snapshots.items()):
            parts = {one: part for one, part in record.parts.items() if one not in gone}
            if parts:
                self.snapshots[label] = SnapshotRecord(record.at, parts)
            else:
                del self.snapshots[label]

    async def put(self, records: dict[int, MemberRecord]) -> None:
        names = [one.name for one in records.values()]
        texts = [_text(one) for one in records.values()]
        tenants = [one.tenant or None for one in records.values()]
        numbers = list(records)
        given = self._with_fence(numbers=numbers, names=names, records=texts, tenants=tenants)

        def write(connection: Connection) -> None:
            with connection.transaction():
                if connection.execute(_PUT, given).rowcount < len(names):
                    raise Moved(names[0] if len(names) == 1 else "One of them")
                notify_nodes(connection)

        try:
            await self._ask(write)
        except psycopg.errors.UniqueViolation as error:
            raise Conflict(
                "One of these names belongs to a controller already, perhaps on another node.",
                field="name",
            ) from error
        except psycopg.errors.ForeignKeyViolation as error:
            raise Conflict("This tenant no longer exists.", field="tenant") from error
        self.note_put(records)

    async def remove(self, numbers: Collection[int]) -> list[int]:
        changed, parts = self.snapshots_without(numbers)
        given = self._with_fence(numbers=list(numbers))

        def write(connection: Connection) -> None:
            with connection.transaction():
                connection.execute(_REMOVE_FROM_SNAPSHOTS, given)
                connection.execute(_REMOVE, given)
                # Only rows that are left belong to another node. A missing row is no error: this
                # node may have removed it before a connection broke.
                if connection.execute(_LEFT, given).fetchone() is not None:
                    raise Moved("One of them")
                notify_nodes(connection)

        await self._ask(write)
        self.note_removed(numbers, changed)
        return parts

    async def put_snapshot(self, label: str, record: SnapshotRecord | None) -> None:
        new = record or SnapshotRecord(0.0)
        numbers, parts = list(new.parts), list(new.parts.values())
        given = self._with_fence(label=label, at=new.at, numbers=numbers, parts=parts)

        def write(connection: Connection) -> None:
            with connection.transaction():
                if connection.execute(ALIVE, given).fetchone() is None:
                    raise Moved("One of them")
                connection.execute(_FORGET_SNAPSHOT, given)
                if connection.execute(_PUT_SNAPSHOT, given).rowcount < len(parts):
                    raise Moved("One of them")

        await self._ask(write)
        self._take_snapshot(label, record)

    # --- tenants ----------------------------------------------------------------------------------

    async def load_accounts(self) -> None:
        """Read tenants and accounts, which other nodes may have changed."""

        def read(connection: Connection) -> tuple[list[Any], list[Any]]:
            tenants = connection.execute("SELECT record FROM tenant ORDER BY name").fetchall()
            accounts = connection.execute("SELECT record FROM account ORDER BY name").fetchall()
            return tenants, accounts

        rows, of_people = await self._ask(read)
        tenants = [msgspec.json.decode(text, type=TenantRecord) for (text,) in rows]
        people = [msgspec.json.decode(text, type=FleetAccount) for (text,) in of_people]
        self.tenants = {one.name: one for one in tenants}
        accounts = {one.name: one for one in people}
        if accounts != self.accounts:
            self.accounts = accounts

    async def count_of(self, tenant: str) -> int:
        query = "SELECT count(*) FROM controller WHERE tenant = %s"
        ((count,),) = await self._ask(lambda it: it.execute(query, (tenant,)).fetchall())
        return int(count)

    async def put_tenant(self, record: TenantRecord) -> None:
        await self._change(
            "INSERT INTO tenant (name, record) VALUES (%s, %s)"
            " ON CONFLICT (name) DO UPDATE SET record = EXCLUDED.record",
            record.name,
            msgspec.json.encode(record).decode(),
        )

    async def remove_tenant(self, name: str) -> None:
        try:
            await self._change("DELETE FROM tenant WHERE name = %s", name)
        except psycopg.errors.ForeignKeyViolation as error:
            raise Conflict(
                f"{name} has controllers or accounts. Remove them first, or assign the "
                "controllers to another tenant.",
                field="tenant",
            ) from error

    async def put_account(self, account: FleetAccount) -> None:
        text = msgspec.json.encode(account).decode()
        try:
            if account.name in self.accounts:
                query = "UPDATE account SET record = %s WHERE name = %s"
                await self._change(query, text, account.name)
                return
            query = "INSERT INTO account (name, tenant, record) VALUES (%s, %s, %s)"
            await self._change(query, account.name, account.tenant or None, text)
        except psycopg.errors.UniqueViolation as error:
            sentence = f"There is an account {account.name} already."
            raise Conflict(sentence, field="name") from error
        except psycopg.errors.ForeignKeyViolation as error:
            raise no_such_tenant(account.tenant) from error

    async def remove_account(self, name: str) -> None:
        await self._change("DELETE FROM account WHERE name = %s", name)

    async def _change(self, query: str, *values: str | None) -> None:
        """Change tenants or accounts, and notify all nodes, which read them again."""

        def write(connection: Connection) -> None:
            with connection.transaction():
                connection.execute(query, values)
                notify_nodes(connection)

        await self._ask(write)
        await self.load_accounts()

    def _with_fence(self, **values: Any) -> dict[str, Any]:
        """Return parameters for a statement that does nothing if this life is over."""
        return {**msgspec.structs.asdict(self._claim), **values}

    async def _ask(self, work: Callable[[Connection], Result]) -> Result:
        return await asyncio.to_thread(self._database.use, work)

    def close(self) -> None:
        self._database.close()


def _text(record: MemberRecord) -> str:
    """Encode a record without its tenant, which is in a column that the database checks."""
    return msgspec.json.encode(msgspec.structs.replace(record, tenant=OPERATOR)).decode()


def _record(name: str, text: str, tenant: str | None) -> tuple[MemberRecord, Exception | None]:
    """Return a record; if it is unreadable, build it from its columns and return the error."""
    error: Exception | None = None
    try:
        record = msgspec.json.decode(text, type=MemberRecord)
    except msgspec.DecodeError as broken:
        record, error = MemberRecord(name), broken
    return msgspec.structs.replace(record, tenant=tenant or OPERATOR), error
