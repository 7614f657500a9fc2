"""How a job reaches controllers: those of its own node here, by a call.

A job knows controllers by their numbers, which stay when they are renamed.
"""

from collections.abc import Sequence
from typing import Protocol

from leverframe.commands.table.refusals import Refusal
from leverframe.fleet.bulk import MemberResult, refused
from leverframe.fleet.group_snapshots import GroupSnapshots
from leverframe.fleet.jobs.job_work import TAKE_SETTINGS, JobWork
from leverframe.fleet.jobs.steps import JobStep, MemberSteps, gone
from leverframe.fleet.node import FleetNode, Member


class Reaching(Protocol):
    async def send(self, number: int, work: JobWork, step: JobStep) -> MemberResult:
        """Have a controller do its part, once by the id of the step."""

    async def undo(self, number: int, label: str, step: JobStep) -> MemberResult:
        """Have a controller take the settings of a snapshot again, once likewise."""

    async def keep(self, numbers: Sequence[int], label: str) -> None:
        """Take a snapshot of controllers, by which each can go back."""

    async def findings(self, number: int) -> dict[str, str] | None:
        """Tell what is wrong with a controller, sentences by id; None where it does not answer."""


class LocalReaching(Reaching):
    """Controllers of this node."""

    def __init__(self, node: FleetNode, steps: MemberSteps, snapshots: GroupSnapshots) -> None:
        self._node = node
        self._steps = steps
        self._snapshots = snapshots

    def _member(self, number: int) -> Member | None:
        record = self._node.registry.records.get(number)
        return None if record is None else self._node.members.get(record.name)

    async def send(self, number: int, work: JobWork, step: JobStep) -> MemberResult:
        member = self._member(number)
        if member is None:
            return gone(str(number))
        return await self._steps.carry_out(member, step, work.calls)

    async def undo(self, number: int, label: str, step: JobStep) -> MemberResult:
        member = self._member(number)
        if member is None:
            return gone(str(number))
        try:
            settings = await self._snapshots.settings_of(member, label)
        except Refusal as refusal:
            return refused(member, refusal)
        return await self._steps.carry_out(member, step, lambda _: [(TAKE_SETTINGS, settings)])

    async def keep(self, numbers: Sequence[int], label: str) -> None:
        members = [one for one in map(self._member, numbers) if one is not None]
        await self._snapshots.keep(members, label)

    async def findings(self, number: int) -> dict[str, str] | None:
        member = self._member(number)
        if member is None or member.controller.bootloader_until is not None:
            return None
        return {one.id: one.text for one in member.controller.findings.report()}
