"""Groups of controllers: their virtual time, advanced together, and their snapshots."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from hashlib import sha256
from heapq import heapify, heappop, heappush
from typing import Annotated, Any

from msgspec import Meta, Struct

from leverframe.core.profile import Profile
from leverframe.core.runtime.event_loop import bulk_turns
from leverframe.core.settings import Settings
from leverframe.core.tree import settings_from_leaves
from leverframe.fleet.bulk import NOT_SAVED, BulkReport, each
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.records import (
    OPERATOR,
    Moved,
    SnapshotRecord,
    is_seen,
    name_for_tenant,
    tenant_within,
    within_tenant,
)
from leverframe.host.controller import Controller
from leverframe.host.controller.snapshot import LiveSnapshot, go_back, start_again, take_snapshot
from leverframe.host.start_version import STORED_EDITION, profile_rows
from leverframe.interface.table.refusals import BadValue, Conflict
from leverframe.interface.version_change.entries import find_reversed_conditions
from leverframe.interface.version_change.limits import EDITION
from leverframe.storage.store import Changes, StoreUnavailable

# The virtual time of a group of controllers, advanced together.
#
# Controllers share no state, so the order in which they are served does not change what each does.
# They are served strictly in order of time, or one after the other within a window. With many
# controllers a window is twice as fast, because a controller that handles several deadlines in a
# row finds its memory in the processor's caches.

#: How far one controller may be ahead of the others during an advance.
WINDOW_S = 60.0


class MoveCancelled(asyncio.CancelledError):
    """An advance was cancelled; all controllers have advanced by the same time."""

    def __init__(self, moved_s: float) -> None:
        super().__init__()
        self.moved_s = moved_s


async def advance_together(
    controllers: Sequence[Controller], seconds: float, window_s: float = 0.0
) -> None:
    """Advance all controllers by `seconds`; their due tasks run before this returns.

    If the advance is cancelled, all have advanced by the same time, which `MoveCancelled` contains.
    """
    begins = [controller.clock.now() for controller in controllers]
    await _GroupMove(controllers, begins, window_s).move_all(seconds)


async def bring_together(
    controllers: Sequence[Controller], wall: float, window_s: float = 0.0
) -> None:
    """Advance each controller to one moment; controllers already past that moment do not move.

    If the advance is cancelled, the controllers that were behind are all at the same moment.
    """
    distances = [max(0.0, wall - controller.clock.wall()) for controller in controllers]
    longest = max(distances, default=0.0)
    begins = [
        controller.clock.now() - (longest - distance)
        for controller, distance in zip(controllers, distances, strict=True)
    ]
    await _GroupMove(controllers, begins, window_s).move_all(longest)


class _GroupMove:
    """An advance of controllers, each from its own start, which may lie in the past."""

    def __init__(
        self, controllers: Sequence[Controller], begins: Sequence[float], window_s: float
    ) -> None:
        self._controllers = controllers
        self._begins = begins
        self._window_s = window_s
        #: How far the foremost controller has advanced.
        self._reached_s = 0.0
        self._until_s = 0.0
        self._is_cancelled = False
        self._turns = bulk_turns()

    async def move_all(self, seconds: float) -> None:
        """Advance each controller by `seconds` from its start, or less if this is cancelled."""
        self._until_s = seconds
        due: list[tuple[float, int]] = []
        for number in range(len(self._controllers)):
            self._expect(due, number)
        heapify(due)
        while due and due[0][0] <= self._until_s:
            after_s, number = heappop(due)
            await self._move_within_window(number, after_s)
            self._expect(due, number)
        # Nothing more is due: a caller that cancels now still gets the whole advance.
        self._reached_s = self._until_s
        for number, controller in enumerate(self._controllers):
            for _ in controller.time.live_until(self._begins[number] + self._until_s):
                await self._give_way()
            await self._give_way()
        if self._is_cancelled:
            raise MoveCancelled(self._until_s)

    def _expect(self, due: list[tuple[float, int]], number: int) -> None:
        deadline = self._controllers[number].next_deadline()
        if deadline is not None:
            heappush(due, (deadline - self._begins[number], number))

    async def _move_within_window(self, number: int, after_s: float) -> None:
        """Serve a controller's deadline at `after_s`, and its later ones within the window."""
        controller, begin = self._controllers[number], self._begins[number]
        end_s, window_s = after_s, self._window_s
        if window_s:
            end_s = max(after_s, min((after_s // window_s + 1) * window_s, self._until_s))
        for _ in controller.time.live_until(begin + end_s):
            self._reached_s = max(self._reached_s, controller.clock.now() - begin)
            if await self._give_way():
                # The controller may be behind the others now; it is served again in its turn.
                return
        self._reached_s = max(self._reached_s, end_s)

    async def _give_way(self) -> bool:
        """Yield to the event loop; return True if the advance was cancelled just now.

        A cancelled advance ends soon. Controllers that are behind the foremost one catch up, by at
        most a window, so that all end at the same moment.
        """
        if not self._turns.is_over():
            return False
        try:
            await self._turns.wait()
        except asyncio.CancelledError:
            is_first, self._is_cancelled = not self._is_cancelled, True
            self._until_s = min(self._until_s, self._reached_s)
            return is_first
        return False


def next_step_s(controllers: Sequence[Controller]) -> float | None:
    """Return the time until the next deadline of any controller; None if there is none."""
    deadlines = [(one.next_deadline(), one.clock.now()) for one in controllers]
    return min((max(0.0, due - now) for due, now in deadlines if due is not None), default=None)


def due_within(controllers: Sequence[Controller], seconds: float) -> int:
    """Count the controllers whose next deadline is at most `seconds` away."""
    deadlines = [(one.next_deadline(), one.clock.now()) for one in controllers]
    return sum(due is not None and due - now <= seconds for due, now in deadlines)


def journal_digest(controllers: Sequence[Controller]) -> str:
    """Return a digest of the controllers' journals; equal runs have equal digests.

    The digest covers the entries that the journals still keep, and the number of all entries.
    """
    digest = sha256()
    for controller in controllers:
        journal = controller.engine.machine.journal
        digest.update(f"{journal.count}\n".encode())
        for entry in journal.entries():
            digest.update(f"{entry.wall!r} {entry.cause} {entry.text}\n".encode())
    return digest.hexdigest()


# Snapshots of a node's controllers: whole groups under a label, kept in the node's storage.
#
# A snapshot contains what survives a power cut: settings and remembered state. They are in a part
# of the storage like that of a controller, so their secrets are encrypted in the same way. In
# virtual time, a snapshot also contains the live state while the process runs. A controller that is
# restored then resumes exactly there. Otherwise it restarts with its settings and remembered state.

log = logging.getLogger(__name__)

MAX_LABELS = 20
#: Prefix of the labels of snapshots that jobs take; users cannot enter such a label.
OF_JOBS = "job/"
_HW, _SW = "profile.hw", "profile.sw"


class KeptSnapshot(Struct, frozen=True):
    """A snapshot stored under a label."""

    label: str
    at: Annotated[
        float,
        Meta(description="When it was taken, by the clock of the node, in seconds since 1970"),
    ]
    controllers: Annotated[int, Meta(description="The number of controllers in it.")]


def no_such_snapshot(label: str, known: Iterable[str]) -> BadValue:
    allowed = ", ".join(known) or "none: take one first"
    return BadValue(f"There is no snapshot {label[:40]!r}.", field="label", allowed=allowed)


class GroupSnapshots:
    """Snapshots by label, each of several controllers."""

    def __init__(self, node: FleetNode) -> None:
        self._node = node
        #: Live states, by the numbers of the stored parts.
        self._live: dict[int, LiveSnapshot] = {}

    def labels(self, tenant: str | None = None) -> list[str]:
        """List a tenant's labels; the operator (None) gets all."""
        return [one.label for one in self.list_kept(tenant)]

    def list_kept(self, tenant: str | None = None) -> list[KeptSnapshot]:
        """Return a tenant's snapshots; the operator (None) gets all."""
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
        """Remove a snapshot with all of its stored data; return its description."""
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
        """Take a snapshot of controllers for a job; refuse it if any of them cannot be included."""
        report = await self._take(members, OF_JOBS + label, with_live=False, adds=True)
        for result in report.results:
            if result.status == Moved.status:
                raise Moved(result.name)
            if result.status == NOT_SAVED:
                raise StoreUnavailable(result.detail)
            if result.detail is not None:
                raise Conflict(f"No snapshot of {result.name} could be taken. {result.detail}")

    async def settings_of(self, member: Member, label: str) -> Settings:
        """Return the settings that a controller had in a job's snapshot."""
        snapshot = self._node.registry.snapshots.get(OF_JOBS + label)
        part = None if snapshot is None else snapshot.parts.get(member.number)
        if part is None:
            raise _none_from_before(member)
        return (await self._read_part(member, part))[0]

    async def forget_of_job(self, job: str) -> None:
        """Delete the snapshots that a job has taken."""
        for label, record in tuple(self._node.registry.snapshots.items()):
            if label.startswith(f"{OF_JOBS}{job}/"):
                await self._node.registry.put_snapshot(label, None)
                await self._forget(list(record.parts.values()))

    async def _take(
        self, members: Sequence[Member], label: str, *, with_live: bool, adds: bool = False
    ) -> BulkReport:
        """Take a snapshot under a label; `adds` keeps the controllers that it already contains."""
        node, known = self._node, self._node.registry.snapshots
        parts: dict[int, int] = {}
        owners = {member.number: member.record.tenant for member in members}
        free = await node.registry.reserve(len(members))
        # A node that was killed may have left data under these numbers.
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

        # Other requests may add, remove and reassign controllers during this long work.
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
            # If all controllers are restored, so is the common time: new controllers start there.
            self._node.clock.set_wall(snapshot.at)
        return report

    async def _start_again(self, member: Member, part: int) -> None:
        await start_again(member.controller, *await self._read_part(member, part))

    async def _read_part(self, member: Member, part: int) -> tuple[Settings, dict[str, Any]]:
        """Read settings and remembered state of a part, for a controller of the same version."""
        controller = member.controller
        stored = (await self._node.lane.fetch([part]))[part]
        if _HW not in stored.kept:
            # The snapshot was removed or taken again since it was looked up.
            raise _none_from_before(member)
        profile = Profile(stored.kept.pop(_HW), stored.kept.pop(_SW))
        if profile != controller.profile:
            raise Conflict(
                f"{member.name} is {controller.profile} now but was {profile} when the snapshot"
                f" was taken, so its settings cannot be restored."
            )
        settings, _ = settings_from_leaves(profile, stored.settings)
        if stored.kept.pop(STORED_EDITION, None) != EDITION:
            for one in find_reversed_conditions(settings.rules):
                log.warning("%s: %s", member.name, one.reason)
        return settings, stored.kept


def _none_from_before(member: Member) -> Conflict:
    return Conflict(f"There is no snapshot of {member.name} from before the change.")
