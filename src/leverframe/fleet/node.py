"""A node: many controllers in one process, created, found, renamed and removed together.

The node finds its controllers by name and tags, keeps their records in a store of its own, and
registers each at the front door. The node does not know how a controller works.
"""

import asyncio
import gc
from collections.abc import (
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec

from leverframe.core.engine.findings import Finding
from leverframe.core.runtime.clock import Clock
from leverframe.core.runtime.event_loop import End, close_all
from leverframe.fleet.batch_start import BatchStart, ReadyMember
from leverframe.fleet.door import Door
from leverframe.fleet.lifecycle import Starting
from leverframe.fleet.member import (
    PLAIN,
    Member,
    NewController,
    check_that_all_are_here,
    select_members,
    why_not_started,
)
from leverframe.fleet.member_start import (
    NORMALLY,
    FirstPasswords,
    MemberOptions,
    MemberStarter,
    ShowPassword,
)
from leverframe.fleet.other_nodes import CallHandler, OtherNodes
from leverframe.fleet.progress import count_done
from leverframe.fleet.records import (
    MAX_CONTROLLERS,
    OPERATOR,
    MemberRecord,
    Registry,
    TakenPlaces,
    TenantRecord,
    check_name,
    check_tag_count,
    is_seen,
    no_such_tenant,
)
from leverframe.fleet.roster import Roster
from leverframe.fleet.shared_ports import SharedTcpPort, SharedUdpPort
from leverframe.host.configuration import Config
from leverframe.host.controller.hand_over import SavedLive, hand_over
from leverframe.host.controller.hooks import SettingsWatcher
from leverframe.host.services import NodeServices
from leverframe.host.start_version import profile_rows
from leverframe.interface.table.refusals import Conflict, Refusal
from leverframe.server.http.certificate import Certificate
from leverframe.server.passwords import Passwords
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.lanes.lane import OF_NODE, Lane
from leverframe.storage.store import Changes, Stored

#: Prefix of problems with controllers that start without their address and port.
WITHOUT_PLACE = "place "
#: Number of controllers that are read and started in one batch.
READ_AT_A_TIME = 200
#: Number of controllers that are stopped together.
STOPPED_AT_A_TIME = 50
#: Number of new controllers whose first rows share transactions; then other requests have their
#: turn.
MADE_AT_A_TIME = 10


class FleetNode:
    """Many controllers that share a process, a front door and, in virtual time, the time."""

    def __init__(
        self,
        door: Door,
        lane: Lane,
        clock: Clock,
        options: MemberOptions = NORMALLY,
        history: SharedHistory | None = None,
        registry: Registry | None = None,
    ) -> None:
        self.door = door
        self.lane = lane
        self.options = options
        #: Without a shared history, each controller has a short history in memory.
        self._history = history
        self.registry = registry or Registry(self.lane.store(OF_NODE))
        #: All controllers and their states.
        self.roster = door.roster = Roster()
        #: The common time; new controllers start there.
        self.clock = clock
        #: Settings of the fleet file by name, which apply at every start.
        self.in_file: Mapping[str, NewController] = {}
        #: Problems of parts of the node itself, a sentence each.
        self.troubles: dict[str, str] = {}
        #: The certificate and key for TLS.
        self.certificate: Certificate | None = None
        #: Called for every controller with its old and new settings.
        self.settings_watchers: list[SettingsWatcher] = []
        #: The ports other than HTTP, shared by all controllers with an address of their own.
        self.modbus = SharedTcpPort(
            options.ports.host,
            options.ports.modbus_port,
            door.descriptors,
            lambda address: self.roster.is_starting and self.roster.idle_at(address) is not None,
        )
        self.snmp = SharedUdpPort(options.ports.host, options.ports.snmp_port)
        #: Called when controllers were created, removed, renamed or tagged.
        self.watchers: set[Callable[[], None]] = set()
        #: The shared parts of all controllers.
        self.services = NodeServices()
        #: The other nodes, if there are any.
        self.cluster: OtherNodes | None = None
        #: Calls that other nodes may make here, by their names.
        self.calls: dict[str, CallHandler] = {}
        #: Called when this node takes over jobs of other nodes, and when it has lost its own.
        self.jobs_taken: Callable[[], Coroutine[Any, Any, None]] = _nothing_to_do
        self.jobs_lost: Callable[[], Coroutine[Any, Any, None]] = _nothing_to_do
        #: Called when another node may have changed an account of the nodes.
        self.look_at_accounts: Callable[[], Coroutine[Any, Any, None]] = _nothing_to_do
        #: Called in this order when the node closes.
        self.endings: list[Callable[[], None]] = []
        #: Held during each change of the fleet.
        self.changing = asyncio.Lock()
        self._starter = MemberStarter(
            *(door, lane, clock, options, history),
            *(self.services, self.modbus, self.snmp, self.settings_watchers),
        )

    @property
    def members(self) -> dict[str, Member]:
        """The controllers that run, by name, in the order in which they were created."""
        return self.roster.running

    @property
    def is_virtual(self) -> bool:
        return self.clock.is_virtual

    # --- creating and removing --------------------------------------------------------------------

    async def start_some(
        self,
        numbers: Sequence[int],
        live: Mapping[int, SavedLive] = MappingProxyType({}),
        show_password: ShowPassword | None = None,
    ) -> dict[int, str]:
        """Start stored controllers, as the fleet file says; return the reason for each failure.

        Controllers with a saved live state resume from it, if they can. If strangers can reach the
        node, controllers without an account get an administrator first; the password is shown to
        the user who started the node, or passed to `show_password`.
        """
        hashes = Passwords(self.services.hashing)
        with FirstPasswords(hashes, show_password or self.options.show_password) as first:
            for begin in range(0, len(numbers), READ_AT_A_TIME):
                await self._start_batch(numbers[begin : begin + READ_AT_A_TIME], live, first)
        self.notify_watchers()
        return self.roster.reasons_by_number(numbers)

    async def start_stored(self) -> dict[int, str]:
        """Start all stored controllers; return the reason for each failure."""
        return await self.start_some(sorted(self.registry.records))

    async def _start_batch(
        self, numbers: Sequence[int], live: Mapping[int, SavedLive], first: FirstPasswords
    ) -> None:
        async with self.changing:
            members = self._expect_stored(numbers)
            must_sign_in = self.options.must_sign_in
            passwords = first if must_sign_in else None
            batch = BatchStart(self.lane, self.clock, passwords, self.registry.unreadable)
            await batch.read(members)
            # Another node may have taken some of them since then.
            members = [member for member in members if not member.has_left]
            with self._note_failures(members):
                for member in members:
                    member.start()
                for ready in await batch.prepare(members):
                    with self._note_failures([ready.member]):
                        await self._start_stored(ready, live.get(ready.member.number))
                    count_done()
                    await asyncio.sleep(0)
                for member in members:
                    if (fault := batch.faults.get(member.number)) is not None:
                        self._note_failed(member, fault)
                        count_done()
            gc.freeze()

    def _expect_stored(self, numbers: Sequence[int]) -> list[Member]:
        """Return the members of stored controllers that do not run."""
        records = [(one, self.registry.records.get(one)) for one in numbers]
        running = {member.number for member in self.members.values()}
        # Some may have been started, or removed, since they were chosen.
        self.roster.forget_stored(one for one, record in records if record is None)
        return [
            self.roster.expect(record, number)
            for number, record in records
            if record is not None and number not in running
        ]

    @contextmanager
    def _note_failures(self, members: Iterable[Member]) -> Iterator[None]:
        """Record why controllers that are being started fail; other controllers still start."""
        try:
            yield
        except BaseException as error:
            for member in members:
                if isinstance(member.state, Starting):
                    self._note_failed(member, error)
            if not isinstance(error, Exception):
                raise

    def _note_failed(self, member: Member, error: BaseException) -> None:
        said = self.in_file.get(member.name)
        self.roster.note_failed(member, why_not_started(member.name, error, said))

    async def start_failed(
        self, numbers: Sequence[int], show_password: ShowPassword | None = None
    ) -> dict[int, str]:
        """Retry controllers that failed to start here; return the reason for each failure."""
        if self.cluster is not None:
            return await self.cluster.start_now(numbers)
        return await self.start_some(numbers, show_password=show_password)

    def begin_start(self, written: Iterable[MemberRecord]) -> None:
        """Record which controllers are to start, stored or from a file, before the door listens."""
        self.roster.begin_start(self.registry.records, written)

    async def end_start(self) -> None:
        """Complete the startup of the node: all controllers run, or failed to start."""
        self.roster.end_start()
        await self.door.end_start()

    async def drop(self, members: Sequence[Member]) -> None:
        """Stop controllers that another node starts; their stored data stays."""
        async with self.changing:
            await self._stop(members)
        self.notify_watchers()

    async def hand_over(self, members: Sequence[Member]) -> dict[int, SavedLive]:
        """Stop controllers that another node resumes; return their live states, if any."""
        async with self.changing:
            # Some may have been removed while this waited for other changes.
            members = [member for member in members if not member.has_left]
            # Hand them over concurrently: each has to wait for the thread of the history several
            # times.
            found = await asyncio.gather(*map(self._hand_over_one, members))
        self.notify_watchers()
        handed = zip(members, found, strict=True)
        return {member.number: live for member, live in handed if live is not None}

    async def _hand_over_one(self, member: Member) -> SavedLive | None:
        self.roster.forget(member)
        await self.door.close(member.entrance)
        await member.controller.writer.flush()
        live = hand_over(member.controller)
        await member.end()
        return live

    async def _start_stored(self, ready: ReadyMember, live: SavedLive | None) -> None:
        member, profile, stored, identity = ready
        config = self._config_of(member.record)
        running = await self._starter.start(member, profile, config, stored, live, identity)
        self.roster.note_running(member, running)

    def _config_of(self, record: MemberRecord) -> Config:
        """Return the fleet file's keys for a controller; refuse if the file names another tenant.

        Otherwise a tenant could take a name of the file, and with it a device of the machine.
        """
        said = self.in_file.get(record.name)
        if said is None:
            return PLAIN
        if said.config is not PLAIN and said.record.tenant != record.tenant:
            raise Conflict(
                f"The table of {record.name} in the fleet file assigns resources of the machine"
                f" but does not name the tenant. "
                f'Write tenant = "{record.tenant}" there, or remove those keys,'
                " and restart the node.",
                field="tenant",
            )
        return said.config

    async def take_over(self, records: Sequence[MemberRecord]) -> dict[str, Conflict]:
        """Adopt a file's keys for known controllers: tags, version, address, port and tenant.

        If the file names no tenant, the controller keeps its tenant. If a controller outside the
        file already has the address or the port, the controller gets neither of them; these
        conflicts are returned by name.
        """
        by_name = {record.name: record for record in records}
        known = self.registry.records
        taken = TakenPlaces(one for one in known.values() if one.name not in by_name)
        contradictions: dict[str, Conflict] = {}
        changed: dict[int, MemberRecord] = {}
        for number, before in known.items():
            said = by_name.get(before.name)
            if said is None:
                continue
            record = msgspec.structs.replace(said, tenant=said.tenant or before.tenant)
            try:
                taken.add(record)
            except Conflict as conflict:
                contradictions[record.name] = conflict
                record = msgspec.structs.replace(record, address=None, port=None)
                taken.add(record)
            if record != before:
                changed[number] = record
        if changed:
            await self._put(changed)
        return contradictions

    async def _put(self, records: dict[int, MemberRecord]) -> None:
        """Write changed records; controllers that changed their tenant leave all snapshots."""
        known = self.registry.records
        given = [n for n, one in records.items() if one.tenant != known[n].tenant]
        parts = await self.registry.remove_from_snapshots(given)
        await self.registry.put(records)
        await self.lane.forget(parts)

    def check_new(self, new: Sequence[MemberRecord]) -> None:
        """Refuse new records if one of them conflicts with another controller."""
        if len(self.members) + len(new) > MAX_CONTROLLERS:
            raise Conflict(f"A node has at most {MAX_CONTROLLERS} controllers.")
        taken = TakenPlaces(self.registry.records.values())
        for record in new:
            self._check_one(record, taken)

    def _check_one(self, record: MemberRecord, taken: TakenPlaces) -> None:
        if record.tenant and record.tenant not in self.registry.tenants:
            raise no_such_tenant(record.tenant)
        taken.add(record)

    async def refusals_of(self, new: Sequence[NewController]) -> dict[str, Refusal]:
        """Return refusals of new controllers by name; the others can be created together."""
        taken = TakenPlaces(self.registry.records.values())
        refusals: dict[str, Refusal] = {}
        for one in new:
            record = one.record
            try:
                await self.door.check_place(record.name, record.address, record.port)
                self._check_one(record, taken)
            except Refusal as refusal:
                refusals[record.name] = refusal
        return refusals

    async def check_room(self, count: int, within: TenantRecord | None) -> None:
        """Refuse more controllers than a tenant may create."""
        if within is None:
            return
        if await self.registry.count_of(within.name) + count > within.max_controllers:
            raise Conflict(
                f"{within.name} may have {within.max_controllers} controllers; the operator of the"
                " fleet can allow more."
            )

    async def add(
        self, new: Sequence[NewController], within: TenantRecord | None = None
    ) -> list[Member]:
        """Create controllers, all or none; a tenant may not exceed its limit."""
        async with self.changing:
            self.check_new([one.record for one in new])
            await self.check_room(len(new), within)
            numbers = await self.registry.reserve(len(new))
            # A node that was killed may have left data under these numbers.
            await self.lane.forget(numbers)
            made: list[Member] = []
            try:
                for begin in range(0, len(new), MADE_AT_A_TIME):
                    end = begin + MADE_AT_A_TIME
                    made += await self._make_all(numbers[begin:end], new[begin:end])
                    # Existing objects stay, so the garbage collector need not visit them again.
                    gc.freeze()
                await self.registry.put({member.number: member.record for member in made})
            except BaseException:
                await self._stop(made)
                await self.lane.forget(numbers)
                raise
        self.roster.forget_unmade([member.name for member in made])
        self.notify_watchers()
        return made

    async def _make_all(self, numbers: Sequence[int], new: Sequence[NewController]) -> list[Member]:
        """Create controllers whose first rows share transactions."""
        making = [self._make(number, one) for number, one in zip(numbers, new, strict=True)]
        results = await asyncio.gather(*making, return_exceptions=True)
        made = [one for one in results if isinstance(one, Member)]
        for failed in results:
            if isinstance(failed, BaseException):
                await self._stop(made)
                raise failed
        return made

    async def _make(self, number: int, new: NewController) -> Member:
        profile = new.profile
        kept = profile_rows(profile) | {"profile.configured_sw": new.record.sw}
        await self.lane.store(number).commit(
            Changes(settings=new.leaves, kept={**new.kept, **kept})
        )
        stored = Stored(new.leaves.copy(), {**new.kept, **kept}, [])
        member = Member(new.record, number)
        member.start()
        running = await self._starter.start(member, profile, new.config, stored)
        self.roster.note_running(member, running)
        return member

    async def remove(self, members: Sequence[Member], not_running: Sequence[int] = ()) -> None:
        """Remove controllers from the records, then stop them and delete their stored data.

        If the records cannot be written, the controllers keep running as if nothing had been
        requested.
        """
        async with self.changing:
            check_that_all_are_here(members)
            # Some may have been started in the meantime.
            running = [*members, *self.by_number(not_running)]
            numbers = [*(member.number for member in members), *not_running]
            parts = await self.registry.remove(numbers)
            self.roster.forget_stored(not_running)
            await self._clear_away(running, numbers, parts)
        self.notify_watchers()

    async def _clear_away(
        self, running: Sequence[Member], numbers: Sequence[int], parts: Sequence[int]
    ) -> None:
        """Stop removed controllers, then erase everything that they have written.

        The removal holds even if data cannot be erased: it no longer belongs to any controller.
        """
        await self._stop(running)
        erasing: list[End] = [partial(self.lane.forget, [*numbers, *parts])]
        if self._history is not None:
            erasing.append(partial(self._history.forget, numbers))
        await close_all(erasing)

    async def _stop(self, members: Sequence[Member]) -> None:
        """Stop controllers, many together: each waits for the history and for its clients."""
        members = [member for member in members if not member.has_left]
        for begin in range(0, len(members), STOPPED_AT_A_TIME):
            await asyncio.gather(*map(self._stop_one, members[begin : begin + STOPPED_AT_A_TIME]))

    async def _stop_one(self, member: Member) -> None:
        self.roster.forget(member)
        await close_all([partial(self.door.close, member.entrance), member.end])
        count_done()

    async def close(self) -> None:
        """Stop all controllers, each independently; all remembered state is then on disk."""
        for end in self.endings:
            end()
        if self._history is not None:
            self._history.hurry()
        await self._stop(tuple(self.members.values()))
        shared = [] if self._history is None else [self._history.close]
        await close_all([*shared, self.services.close, self.lane.close])

    # --- names and tags ---------------------------------------------------------------------------

    def name_of(self, number: int, tenant: str = OPERATOR) -> str | None:
        """Return the name of a controller of this or another node, if the tenant may see it."""
        record = self.registry.records.get(number)
        if record is None:
            return None if self.cluster is None else self.cluster.name_of(number, tenant)
        return record.name if is_seen(tenant or None, record.tenant) else None

    def by_number(self, numbers: Collection[int]) -> list[Member]:
        """Find the controllers with these numbers that run here."""
        return [member for member in self.members.values() if member.number in numbers]

    def visible_to(self, tenant: str | None) -> dict[str, Member]:
        """Return a tenant's controllers by name; the operator (None) gets all."""
        if tenant is None:
            return self.members
        return {
            name: member
            for name, member in self.members.items()
            if is_seen(tenant, member.record.tenant)
        }

    def select(
        self,
        names: Sequence[str] = (),
        tags: Sequence[str] = (),
        tenant: str | None = None,
    ) -> list[Member]:
        """Find the named controllers, or all, that have all of the tags.

        Refuse unknown names and tags, and controllers of other tenants.
        """
        seen = self.visible_to(tenant)
        for name in names:
            if name not in seen:
                raise self.roster.refusal_of(name, tenant)
        return select_members(seen, names, tags)

    async def rename(self, member: Member, name: str) -> None:
        async with self.changing:
            check_that_all_are_here([member])
            renamed = msgspec.structs.replace(member.record, name=check_name(name, "to"))
            if any(one.name == name for one in self.registry.records.values()):
                raise Conflict(
                    f"A controller named {name} exists already; choose another name.", field="to"
                )
            await self.registry.put({member.number: renamed})
            members = list(self.members.values())
            member.record = renamed
            self.roster.running = {one.name: one for one in members}
            self.door.rename(member.entrance, name)
            member.controller.take_name(name)
            member.built.mqtt.pages_are_at(self.door.pages_of(name))
        self.notify_watchers()

    async def place(self, member: Member, address: str | None, port: int | None) -> None:
        """Move a controller to another address and another port of its own."""
        async with self.changing:
            check_that_all_are_here([member])
            before = member.record
            record = self.with_place(before, address, port)
            keeps_port = port == before.port
            sockets = await self.door.sockets_for(
                record.name, address, None if keeps_port else port
            )
            try:
                await self.registry.put({member.number: record})
            except BaseException:
                for listening in sockets:
                    listening.close()
                raise
            member.record = record
            await self.door.move(member.entrance, address, None if keeps_port else sockets)
            if address != before.address:
                await member.parts.move_ports(address)
        self.notify_watchers()

    def with_place(
        self, before: MemberRecord, address: str | None, port: int | None
    ) -> MemberRecord:
        """Return a record with another address and port; refuse if the fleet file sets them."""
        if before.name in self.in_file:
            raise Conflict(
                f"The fleet file sets the place of {before.name}. Change address or port there,"
                " and restart the node."
            )
        record = msgspec.structs.replace(before, address=address, port=port)
        others = [one for one in self.registry.records.values() if one.name != before.name]
        TakenPlaces(others).add(record)
        return record

    async def tag(
        self, members: Sequence[Member], added: Sequence[str], removed: Sequence[str]
    ) -> None:
        async with self.changing:
            check_that_all_are_here(members)
            records = {
                member.number: _change_tags(member.record, added, removed) for member in members
            }
            await self.registry.put(records)
            for member in members:
                member.record = records[member.number]
        self.notify_watchers()

    async def give(self, members: Sequence[Member], tenant: str) -> None:
        """Assign controllers to a tenant, with all that they hold, or to the operator alone."""
        async with self.changing:
            if self.cluster is not None:
                # Another node may have created the tenant, or have the controller by now.
                await self.registry.load_accounts()
                check_that_all_are_here(members)
            if tenant != OPERATOR and tenant not in self.registry.tenants:
                raise no_such_tenant(tenant)
            # Some may have been removed in the meantime.
            there = [member for member in members if self.members.get(member.name) is member]
            records = {
                member.number: msgspec.structs.replace(member.record, tenant=tenant)
                for member in there
            }
            for record in records.values():
                self._config_of(record)
            await self._put(records)
            for member in there:
                member.record = records[member.number]
        self.notify_watchers()

    def findings(self) -> list[Finding]:
        """Return findings about the node itself that break nothing yet."""
        known = self.certificate
        return [] if known is None else list(known.findings(self.clock.wall()))

    def notify_watchers(self) -> None:
        for watcher in tuple(self.watchers):
            watcher()


async def _nothing_to_do() -> None:
    """Do nothing: there are no other nodes."""


def _change_tags(
    record: MemberRecord, added: Sequence[str], removed: Sequence[str]
) -> MemberRecord:
    """Return a record with other tags; refuse more than a controller may have."""
    tags = tuple(sorted({*record.tags, *added} - set(removed)))
    # A record of an earlier version may have more tags; it can then only lose tags.
    return msgspec.structs.replace(
        record, tags=tags if len(tags) <= len(record.tags) else check_tag_count(tags)
    )
