"""The records of controllers at a node: names, tags and addresses, in the store of the node.

All other data of a controller is in the controller's own store. A name is a label of a host name,
so that every controller has its own URL; new names are built from a pattern.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from ipaddress import IPv4Address, ip_address
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from leverframe.host.configuration.fields import MAX_PORT
from leverframe.interface.table.accounts import MAX_LETTERS
from leverframe.interface.table.refusals import BadValue, Conflict, Refusal
from leverframe.storage.store import DELETED, Changes, Store, UnreadableRow

# Tenants and accounts of a fleet, which determine the controllers that a user may see and change.
#
# Every controller belongs to one tenant, or to the operator alone. An account of a tenant reaches
# only that tenant's controllers; all others look as if they did not exist. An account without a
# tenant belongs to the operator, who may do everything.

#: The tenant of the operator's own controllers.
OPERATOR = ""
NAME = "1 to 31 lower-case letters, digits and dashes, beginning and ending with a letter or digit"
ACCOUNT_NAME = f"1 to {MAX_LETTERS} letters, digits and . _ @ -"
#: Default for the number of controllers that a tenant may create itself.
USUAL_MAX = 100
MAX_ACCOUNTS = 1000
#: A separator that no name or label of a user contains.
_MARK = ":"
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,29}[a-z0-9])?")
_ACCOUNT_NAME = re.compile(rf"[\w.@-]{{1,{MAX_LETTERS}}}")

Role = Literal["administrator", "user"]


class NoSuchTenant(Refusal):
    status = 404
    title = "There is no such tenant"


class NoSuchFleetAccount(Refusal):
    status = 404
    title = "There is no such account"


class TenantRecord(Struct, frozen=True):
    name: str
    max_controllers: Annotated[
        int,
        Meta(
            description="The maximum number of controllers that administrators of the tenant may"
            " create."
        ),
    ] = USUAL_MAX


class FleetAccount(Struct, frozen=True):
    """An account at the node; controllers have their own."""

    name: str
    #: An Argon2id hash, never the password itself.
    password: str
    role: Role
    tenant: str = OPERATOR


def is_label(name: str) -> bool:
    """Return whether the name of a tenant, controller or node can be part of a host name."""
    return _NAME.fullmatch(name) is not None


def check_tenant_name(name: str) -> str:
    if not is_label(name):
        raise BadValue(
            f"{name[:40]!r} is not a valid name for a tenant.", field="tenant", allowed=NAME
        )
    return name


def check_account_name(name: str) -> str:
    if not _ACCOUNT_NAME.fullmatch(name):
        raise BadValue(
            f"{name[:40]!r} is not a valid name for an account.", field="name", allowed=ACCOUNT_NAME
        )
    return name


def no_such_tenant(name: str) -> NoSuchTenant:
    return NoSuchTenant(f"There is no tenant {name[:40]!r}.", field="tenant")


def within_tenant(tenant: str | None, name: str) -> str:
    """Return the stored name of a job or snapshot; names of different tenants never collide."""
    return f"{tenant}{_MARK}{name}" if tenant else name


def tenant_within(name: str) -> str:
    """Return the tenant of a job or a snapshot."""
    return name.rpartition(_MARK)[0]


def name_for_tenant(tenant: str | None, name: str) -> str:
    """Return a tenant's name for a job or a snapshot: its stored name without the tenant."""
    return name.rpartition(_MARK)[2] if tenant else name


def is_seen(tenant: str | None, owner: str) -> bool:
    """Return whether a requester may see what belongs to a tenant; the operator (None) sees all."""
    return tenant is None or tenant == owner


def check_unused(name: str, owners: Iterable[str], accounts: Iterable[FleetAccount]) -> None:
    """Refuse to remove a tenant that has controllers or accounts."""
    controllers = sum(owner == name for owner in owners)
    people = sum(one.tenant == name for one in accounts)
    if controllers or people:
        raise Conflict(
            f"{name} has {controllers} controllers and {people} accounts. Remove them first, or"
            " assign the controllers to another tenant.",
            field="tenant",
        )


MAX_TAGS, MAX_TAG_LETTERS = 32, 40
TAG = "1 to 40 lower-case letters, digits, dots, dashes and underscores"
#: More controllers than fit into the memory of most machines.
MAX_CONTROLLERS = 100_000
_TAG = re.compile(rf"[a-z0-9._-]{{1,{MAX_TAG_LETTERS}}}")
#: `{n}`, or `{n:03}` with leading zeros.
_NUMBER = re.compile(r"\{n(?::0([1-9]))?\}")
#: Names that reach the node itself.
_TAKEN = ("localhost",)
_ROW = "controller."
_SNAPSHOT_ROW = "snapshot."
_JOB_ROW = "job."
_TENANT_ROW = "tenant."
_ACCOUNT_ROW = "account."


class NoSuchController(Refusal):
    status = 404
    title = "There is no such controller"


class NotRunning(Refusal):
    status = 503
    title = "The controller does not run"


class Moved(Refusal):
    """The controller has moved to another node, which a repeated request reaches."""

    status = 421
    title = "The controller has moved"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has moved to another node. Nothing was done. Try again.")


class JobTaken(Conflict):
    """Another job, perhaps of another node, already has this id."""

    def __init__(self, id: str) -> None:
        super().__init__(f"There is a job {id} already.", field="id")


class MemberRecord(Struct, frozen=True, omit_defaults=True):
    """A controller in the records of the node."""

    name: str
    tags: tuple[str, ...] = ()
    #: The requested version; firmware may have changed it since.
    hw: str | None = None
    sw: str | None = None
    #: Its own address and port, if any.
    address: str | None = None
    port: int | None = None
    #: Its tenant.
    tenant: str = OPERATOR


class SnapshotRecord(Struct, frozen=True):
    """A snapshot of several controllers; each of them has its own part of the node's storage."""

    #: Wall time.
    at: float
    #: The number of each controller's part of the storage, by the number of the controller.
    parts: dict[int, int] = {}


def check_name(name: str, field: str = "name") -> str:
    if not is_label(name) or name in _TAKEN:
        raise BadValue(f"{name[:40]!r} is not a valid name.", field=field, allowed=NAME)
    return name


def check_tags(tags: Collection[str]) -> tuple[str, ...]:
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise BadValue(f"{tag[:40]!r} is not a valid tag.", field="tag", allowed=TAG)
    return check_tag_count(tuple(sorted(set(tags))))


def check_tag_count(tags: tuple[str, ...]) -> tuple[str, ...]:
    if len(tags) > MAX_TAGS:
        raise BadValue(
            f"There are {len(tags)} tags.", field="tag", allowed=f"up to {MAX_TAGS} of a controller"
        )
    return tags


def check_address(address: str | None) -> str | None:
    if address is None:
        return None
    try:
        parsed = ip_address(address)
    except ValueError:
        parsed = None
    if not isinstance(parsed, IPv4Address) or parsed.is_unspecified:
        raise BadValue(
            f"{address[:40]!r} is not a valid address for a controller.",
            field="address",
            allowed="an IPv4 address of this machine, such as 127.0.0.2",
        )
    return str(parsed)


def names_from(pattern: str, first: int, count: int, field: str = "name") -> list[str]:
    """Build the names of new controllers: `gh-{n}` becomes gh-1, gh-2 and so on."""
    if count > 1 and not _NUMBER.search(pattern):
        raise BadValue(
            f"{count} controllers cannot all be called {pattern[:40]!r}.",
            field=field,
            allowed="a name with {n}, or {n:03}, for the number",
        )

    def write_number(number: int) -> str:
        return _NUMBER.sub(lambda found: f"{number:0{found[1] or 1}}", pattern)

    return [check_name(write_number(number), field) for number in range(first, first + count)]


def number_places(records: Sequence[MemberRecord]) -> list[MemberRecord]:
    """Assign consecutive addresses and ports, beginning with those of the first record."""
    return [
        msgspec.structs.replace(
            record,
            address=None if record.address is None else str(ip_address(record.address) + place),
            port=None if record.port is None else _port(record.port + place),
        )
        for place, record in enumerate(records)
    ]


def _port(port: int) -> int:
    if not 0 < port <= MAX_PORT:
        raise BadValue(f"{port} is not a valid port.", field="port", allowed=f"1 to {MAX_PORT}")
    return port


class TakenPlaces:
    """The names, addresses and ports that are in use, so that no two controllers have the same."""

    def __init__(self, records: Iterable[MemberRecord]) -> None:
        self._names: set[str] = set()
        self._owners: dict[str | int, str] = {}
        for record in records:
            self.add(record)

    def add(self, record: MemberRecord) -> None:
        """Reserve a record's name, address and port; refuse the record if one of them is in use."""
        if record.name in self._names:
            raise Conflict(
                f"A controller named {record.name} exists already; choose another name.",
                field="name",
            )
        given = {"address": record.address, "port": record.port}
        wanted = {key: one for key, one in given.items() if one is not None}
        for key, one in wanted.items():
            if one in self._owners:
                raise Conflict(
                    f"{record.name} cannot use {one}: {self._owners[one]} already uses it.",
                    field=key,
                )
        self._names.add(record.name)
        self._owners |= dict.fromkeys(wanted.values(), record.name)


class Registry:
    """The records of a node, by controller number, in its store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        rows = store.load().kept

        def under(prefix: str, kind: Any) -> dict[str, Any]:
            """Return the rows with a prefix, by the rest of their names."""
            return {
                name.removeprefix(prefix): msgspec.convert(row, kind, strict=False)
                for name, row in rows.items()
                if name.startswith(prefix)
            }

        self.records: dict[int, MemberRecord] = {}
        #: Controllers whose record cannot be read; `records` has what is known about them.
        self.unreadable: dict[int, UnreadableRow] = {}
        for number, row in under(_ROW, Any).items():
            self._take_record(int(number), row)
        snapshots = under(_SNAPSHOT_ROW, SnapshotRecord)
        #: Snapshots by label, oldest first.
        self.snapshots: dict[str, SnapshotRecord] = dict(
            sorted(snapshots.items(), key=lambda one: one[1].at)
        )
        parts = [part for one in self.snapshots.values() for part in one.parts.values()]
        #: The ids of jobs by their numbers, oldest first; each has a part of the storage.
        self.jobs: dict[int, str] = dict(
            sorted((int(number), id) for number, id in under(_JOB_ROW, str).items())
        )
        self.tenants: dict[str, TenantRecord] = under(_TENANT_ROW, TenantRecord)
        #: Accounts by name; the mapping is replaced by another object whenever an account changes.
        self.accounts: dict[str, FleetAccount] = under(_ACCOUNT_ROW, FleetAccount)
        #: Numbers are not reused while the process runs.
        self._next = max((*self.records, *parts, *self.jobs), default=0) + 1

    def _take_record(self, number: int, row: Any) -> None:
        """Read a record; a broken record must not keep the other controllers from starting."""
        try:
            self.records[number] = msgspec.convert(row, MemberRecord, strict=False)
        except msgspec.ValidationError as error:
            name = row.get("name") if isinstance(row, dict) else None
            record = MemberRecord(name if isinstance(name, str) else f"controller-{number}")
            self.note_unreadable(number, record, error)

    def note_unreadable(self, number: int, record: MemberRecord, error: Exception) -> None:
        """Record why a controller cannot start, with the readable part of its record."""
        self.records[number] = record
        self.unreadable[number] = UnreadableRow(
            f"The record of the controller cannot be read: {error}."
        )

    async def reserve(self, count: int) -> list[int]:
        """Return unused numbers, for new controllers and snapshots."""
        self._next += count
        return list(range(self._next - count, self._next))

    async def put(self, records: dict[int, MemberRecord]) -> None:
        await self._store.commit(
            Changes(kept={f"{_ROW}{n}": msgspec.to_builtins(one) for n, one in records.items()})
        )
        self.note_put(records)

    def note_put(self, records: Mapping[int, MemberRecord]) -> None:
        self.records |= records
        for number in records:
            self.unreadable.pop(number, None)

    async def remove(self, numbers: Collection[int]) -> list[int]:
        """Delete controllers from the records and snapshots; return the numbers of their parts."""
        changed, parts = self.snapshots_without(numbers)
        rows = {f"{_ROW}{number}": DELETED for number in numbers}
        rows |= {f"{_SNAPSHOT_ROW}{label}": _snapshot_row(one) for label, one in changed.items()}
        await self._store.commit(Changes(kept=rows))
        self.note_removed(numbers, changed)
        return parts

    def note_removed(
        self, numbers: Iterable[int], changed: Mapping[str, SnapshotRecord | None]
    ) -> None:
        for number in numbers:
            self.records.pop(number, None)
            self.unreadable.pop(number, None)
        for label, record in changed.items():
            self._take_snapshot(label, record)

    async def count_of(self, tenant: str) -> int:
        """Count the controllers of a tenant, on all nodes."""
        return sum(record.tenant == tenant for record in self.records.values())

    async def put_tenant(self, record: TenantRecord) -> None:
        row = msgspec.to_builtins(record)
        await self._store.commit(Changes(kept={f"{_TENANT_ROW}{record.name}": row}))
        self.tenants = {**self.tenants, record.name: record}

    async def remove_tenant(self, name: str) -> None:
        """Delete a tenant; refuse if it has controllers or accounts."""
        owners = (record.tenant for record in self.records.values())
        check_unused(name, owners, self.accounts.values())
        await self._store.commit(Changes(kept={f"{_TENANT_ROW}{name}": DELETED}))
        self.tenants = {key: one for key, one in self.tenants.items() if key != name}

    async def put_account(self, account: FleetAccount) -> None:
        row = msgspec.to_builtins(account)
        await self._store.commit(Changes(kept={f"{_ACCOUNT_ROW}{account.name}": row}))
        self.accounts = {**self.accounts, account.name: account}

    async def remove_account(self, name: str) -> None:
        await self._store.commit(Changes(kept={f"{_ACCOUNT_ROW}{name}": DELETED}))
        self.accounts = {key: one for key, one in self.accounts.items() if key != name}

    async def put_job(self, number: int, id: str) -> None:
        await self._store.commit(Changes(kept={f"{_JOB_ROW}{number}": id}))
        self.jobs[number] = id

    async def remove_job(self, number: int) -> None:
        await self._store.commit(Changes(kept={f"{_JOB_ROW}{number}": DELETED}))
        del self.jobs[number]

    async def load_accounts(self) -> None:
        """Do nothing: there are no other nodes that could have changed tenants or accounts."""

    def job_ids_in_use(self) -> Collection[str]:
        """Return the ids of jobs whose rows at controllers are still needed."""
        return self.jobs.values()

    def note_step(self, job: str) -> None:
        """Record that a controller has a row of a job; here all jobs are known anyway."""

    async def put_snapshot(self, label: str, record: SnapshotRecord | None) -> None:
        """Store a snapshot under a label; None deletes it."""
        row = _snapshot_row(record)
        await self._store.commit(Changes(kept={f"{_SNAPSHOT_ROW}{label}": row}))
        self._take_snapshot(label, record)

    def _take_snapshot(self, label: str, record: SnapshotRecord | None) -> None:
        self.snapshots.pop(label, None)
        if record is not None:
            self.snapshots[label] = record

    def snapshots_without(
        self, numbers: Iterable[int]
    ) -> tuple[dict[str, SnapshotRecord | None], list[int]]:
        """Return the snapshots that lose some of these controllers, and the parts to delete."""
        removed = set(numbers)
        changed: dict[str, SnapshotRecord | None] = {}
        parts: list[int] = []
        for label, record in self.snapshots.items():
            left = {number: part for number, part in record.parts.items() if number not in removed}
            if len(left) < len(record.parts):
                parts += [part for number, part in record.parts.items() if number in removed]
                changed[label] = SnapshotRecord(record.at, left) if left else None
        return changed, parts

    async def remove_from_snapshots(self, numbers: Iterable[int]) -> list[int]:
        """Remove controllers from all snapshots; return the numbers of their parts."""
        changed, parts = self.snapshots_without(numbers)
        for label, record in changed.items():
            await self.put_snapshot(label, record)
        return parts


def _snapshot_row(record: SnapshotRecord | None) -> Any:
    return DELETED if record is None else msgspec.to_builtins(record, str_keys=True)
