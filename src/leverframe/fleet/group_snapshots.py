"""Snapshots of controllers of a node, whole groups under one label, kept in the node's storage.

A snapshot holds what survives a power cut: settings and remembered state, in a part of the storage
like a controller's own, so that its secrets are sealed alike. On virtual time it also holds the
live state while the process runs: then a controller resumes exactly there, otherwise it restarts
with its settings and remembered state.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from leverframe.commands.table.refusals import BadValue, Conflict
from leverframe.commands.version_change.backup_content import EDITION
from leverframe.commands.version_change.carried_entries import find_reversed_conditions
from leverframe.controller.live_snapshot import (
    LiveSnapshot,
    go_back,
    start_again,
    take_snapshot,
)
from leverframe.engine.settings import Settings
from leverframe.engine.tree import settings_from_leaves
from leverframe.fleet.bulk import NOT_SAVED, BulkReport, each
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.records import Moved, SnapshotRecord
from leverframe.fleet.tenants import (
    OPERATOR,
    is_seen,
    name_for_tenant,
    tenant_within,
    within_tenant,
)
from leverframe.process.stored_profile import STORED_EDITION, profile_rows
from leverframe.profile import Profile
from leverframe.storage.store import Changes, StoreUnavailable

log = logging.getLogger(__name__)

MAX_LABELS = 20
#: Labels of snapshots that jobs take; users cannot write such a label.
OF_JOBS = "job/"
_HW, _SW = "profile.hw", "profile.sw"


class KeptSnapshot(Struct, frozen=True):
    """A snapshot that is kept under a label."""

    label: str
    at: Annotated[
        float, Meta(description="When it was taken, by the time of the node, in seconds since 1970")
    ]
    controllers: Annotated[int, Meta(description="The number of controllers in it.")]


def no_such_snapshot(label: str, known: Iterable[str]) -> BadValue:
    allowed = ", ".join(known) or "none: take one first"
    return BadValue(f"There is no snapshot {label[:40]!r}.", field="label", allowed=allowed)


class GroupSnapshots:
    """Snapshots by label, each with its controllers."""

    def __init__(self, node: FleetNode) -> None:
        self._node = node
        #: By the numbers of the stored parts.
        self._live: dict[int, LiveSnapshot] = {}

    def labels(self, tenant: str | None = None) -> list[str]:
        """List the labels of a tenant; all for None, the operator."""
        return [one.label for one in self.list_kept(tenant)]

    def list_kept(self, tenant: str | None = None) -> list[KeptSnapshot]:
        """Return the snapshots that a tenant has taken; all for None, the operator."""
        return [
            KeptSnapshot(name_for_tenant(tenant, label), record.at, len(record.parts))
            for label, record in self._node.registry.snapshots.items()
            if not label.startswith(OF_JOBS) and is_seen(tenant, tenant_within(label))
        ]

    async def take(
        self, members: Sequence[Member], label: str, tenant: str | None = None
    ) -> BulkReport:
        of_whom = tenant or OPERATOR
        own = [one for one in self.labels() if tenant_within(one) == of_whom]
        kept_as = within_tenant(tenant, label)
        if kept_as not in own and len(own) >= MAX_LABELS:
            raise Conflict(
                f"There are {MAX_LABELS} snapshots already. Reuse a label, or remove a snapshot"
                " on the fleet page or with `leverframe fleet remove-snapshot`."
            )
        return await self._take(members, kept_as, with_live=self._node.is_virtual)

    async def remove(self, label: str, tenant: str | None = None) -> KeptSnapshot:
        """Remove a snapshot with all that is stored of it; return what it was."""
        async with self._node.changing:
            record = self._record(label, tenant)
            await self._node.registry.put_snapshot(within_tenant(tenant, label), None)
            await self._forget(list(record.parts.values()))
        return KeptSnapshot(label, record.at, len(record.parts))

    def _record(self, label: str, tenant: str | None) -> SnapshotRecord:
        record = self._node.registry.snapshots.get(within_tenant(tenant, label))
        if record is None:
            raise no_such_snapshot(label, self.labels(tenant))
        return record

    async def keep(self, members: Sequence[Member], label: str) -> None:
        """Take a snapshot of all of these for a job, or refuse it."""
        report = await self._take(members, OF_JOBS + label, with_live=False, adds=True)
        for result in report.results:
            if result.status == Moved.status:
                raise Moved(result.name)
            if result.status == NOT_SAVED:
                raise StoreUnavailable(result.detail)
            if result.detail is not None:
                raise Conflict(f"No snapshot of {result.name} could be taken. {result.detail}")

    async def settings_of(self, member: Member, label: str) -> Settings:
        """Return the settings that a controller had when a job took a snapshot."""
        snapshot = self._node.registry.snapshots.get(OF_JOBS + label)
        part = None if snapshot is None else snapshot.parts.get(member.number)
        if part is None:
            raise _none_from_before(member)
        return (await self._read_part(member, part))[0]

    async def forget_of_job(self, job: str) -> None:
        """Forget the snapshots that a job has taken."""
        for label, record in tuple(self._node.registry.snapshots.items()):
            if label.startswith(f"{OF_JOBS}{job}/"):
                await self._node.registry.put_snapshot(label, None)
                await self._forget(list(record.parts.values()))

    async def _take(
        self, members: Sequence[Member], label: str, *, with_live: bool, adds: bool = False
    ) -> BulkReport:
        """Take a snapshot, replacing that of this label; `adds` keeps the controllers in it."""
        node, known = self._node, self._node.registry.snapshots
        parts: dict[int, int] = {}
        owners = {member.number: member.record.tenant for member in members}
        free = await node.registry.reserve(len(members))
        # A node that was killed may have left something under these numbers.
        await node.lane.forget(free)

        async def take(member: Member) -> None:
            controller, part = member.controller, free.pop()
            live = await take_snapshot(controller) if with_live else None
            await controller.writer.flush()
            stored = (await node.lane.fetch([member.number]))[member.number]
            remembered = controller.persistent.of_engine().items()
            kept = {name: value for name, value in remembered if value is not None}
            kept |= profile_rows(controller.profile)
            await node.lane.store(part).commit(Changes(settings=stored.settings, kept=kept))
            parts[member.number] = part
            if live is not None:
                self._live[part] = live

        # Others may add, remove and give away controllers while this takes long.
        report = await each(members, take)
        async with node.changing:
            taken = {
                number: part
                for number, part in parts.items()
                if (record := node.registry.records.get(number)) is not None
                and record.tenant == owners[number]
            }
            before = known.get(label, SnapshotRecord(0.0))
            if taken or (before.parts and not members):
                others = {one: part for one, part in before.parts.items() if adds}
                whole = SnapshotRecord(node.clock.wall(), {**others, **taken})
                await node.registry.put_snapshot(label, whole if whole.parts else None)
                await self._forget(sorted({*before.parts.values()} - {*whole.parts.values()}))
            await self._forget(sorted({*parts.values()} - {*taken.values()}))
        return report

    async def _forget(self, parts: Sequence[int]) -> None:
        for part in parts:
            self._live.pop(part, None)
        await self._node.lane.forget(parts)

    async def restore(
        self, members: Sequence[Member], label: str, tenant: str | None = None
    ) -> BulkReport:
        snapshot = self._record(label, tenant)
        went_back: list[Member] = []

        async def restore(member: Member) -> None:
            part = snapshot.parts.get(member.number)
            if part is None:
                raise Conflict(f"{member.name} is not in the snapshot {label}.")
            live = self._live.get(part)
            if live is not None:
                await go_back(member.controller, live)
                went_back.append(member)
            else:
                await self._start_again(member, part)

        report = await each(members, restore)
        if went_back and tenant is None and len(went_back) == len(self._node.members):
            # The common time goes back with all of them: new controllers start there.
            self._node.clock.set_wall(snapshot.at)
        return report

    async def _start_again(self, member: Member, part: int) -> None:
        await start_again(member.controller, *await self._read_part(member, part))

    async def _read_part(self, member: Member, part: int) -> tuple[Settings, dict[str, Any]]:
        """Read settings and remembered state of a part, for a controller of the same version."""
        controller = member.controller
        stored = (await self._node.lane.fetch([part]))[part]
        if _HW not in stored.kept:
            # It was removed, or taken again, since it was looked up.
            raise _none_from_before(member)
        profile = Profile(stored.kept.pop(_HW), stored.kept.pop(_SW))
        if profile != controller.profile:
            raise Conflict(
                f"{member.name} is {controller.profile} now, and was {profile} then, so its"
                " settings cannot be restored."
            )
        settings, _ = settings_from_leaves(profile, stored.settings)
        if stored.kept.pop(STORED_EDITION, None) != EDITION:
            for one in find_reversed_conditions(settings.rules):
                log.warning("%s: %s", member.name, one.reason)
        return settings, stored.kept


def _none_from_before(member: Member) -> Conflict:
    return Conflict(f"There is no snapshot of {member.name} from before the change.")
