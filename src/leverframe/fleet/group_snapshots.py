"""Snapshots of controllers of a node, whole groups under one label, kept in the node's storage.

What is kept of a controller is what survives a power cut: settings and remembered state, in a part
of the storage like a controller's own, so that its secrets are sealed alike. On virtual time a live
picture lives beside it as long as the process: then a controller goes on exactly from where it was,
otherwise it starts anew with what it had.
"""

from collections.abc import Sequence

from leverframe.commands.table.refusals import BadValue, Conflict
from leverframe.controller.live_snapshot import (
    LiveSnapshot,
    go_back,
    start_again,
    take_snapshot,
)
from leverframe.engine.tree import settings_from_leaves
from leverframe.fleet.bulk import BulkReport, each
from leverframe.fleet.node import FleetNode, Member
from leverframe.fleet.records import SnapshotRecord
from leverframe.profile import Profile
from leverframe.storage.store import Changes

MAX_LABELS = 20
_HW, _SW = "profile.hw", "profile.sw"


class GroupSnapshots:
    """Snapshots by label, each with the controllers that it was taken of."""

    def __init__(self, node: FleetNode) -> None:
        self._node = node
        #: By the numbers of the parts that are kept.
        self._live: dict[int, LiveSnapshot] = {}

    @property
    def labels(self) -> list[str]:
        return list(self._node.registry.snapshots)

    async def take(self, members: Sequence[Member], label: str) -> BulkReport:
        node, known = self._node, self._node.registry.snapshots
        if label not in known and len(known) >= MAX_LABELS:
            raise Conflict(f"There are {MAX_LABELS} snapshots already; use one of their labels.")
        parts: dict[int, int] = {}
        free = await node.registry.reserve(len(members))

        async def take(member: Member) -> None:
            controller, part = member.controller, free.pop()
            live = await take_snapshot(controller) if node.is_virtual else None
            await controller.writer.settled()
            stored = (await node.lane.fetch([member.number]))[member.number]
            remembered = controller.persistent.of_engine().items()
            kept = {name: value for name, value in remembered if value is not None}
            kept |= {_HW: controller.profile.hw, _SW: controller.profile.sw}
            # A node that was killed may have left something under this number.
            await node.lane.forget([part])
            await node.lane.store(part).commit(Changes(settings=stored.settings, kept=kept))
            parts[member.number] = part
            if live is not None:
                self._live[part] = live

        async with node.changing:
            report = await each(members, take)
            if parts:
                before = known.get(label)
                await node.registry.put_snapshot(label, SnapshotRecord(node.clock.wall(), parts))
                await self._forget([] if before is None else list(before.parts.values()))
        return report

    async def _forget(self, parts: Sequence[int]) -> None:
        for part in parts:
            self._live.pop(part, None)
        await self._node.lane.forget(parts)

    async def restore(self, members: Sequence[Member], label: str) -> BulkReport:
        snapshot = self._node.registry.snapshots.get(label)
        if snapshot is None:
            known = ", ".join(self.labels) or "none: take one first"
            raise BadValue(f"There is no snapshot {label[:40]!r}.", field="label", allowed=known)

        async def restore(member: Member) -> None:
            part = snapshot.parts.get(member.number)
            if part is None:
                raise Conflict(f"{member.name} is not in the snapshot {label}.")
            live = self._live.get(part)
            if live is not None:
                await go_back(member.controller, live)
            else:
                await self._start_again(member, part)

        return await each(members, restore)

    async def _start_again(self, member: Member, part: int) -> None:
        controller = member.controller
        stored = (await self._node.lane.fetch([part]))[part]
        profile = Profile(stored.kept.pop(_HW), stored.kept.pop(_SW))
        if profile != controller.profile:
            raise Conflict(
                f"{member.name} is {controller.profile} now, and was {profile} then: its settings"
                " cannot be taken back as they are."
            )
        settings, _ = settings_from_leaves(profile, stored.settings)
        await start_again(controller, settings, stored.kept)
