"""Carries out the steps of a job on the controllers of its own node, by a call.

A job knows controllers by their numbers, which stay when they are renamed.
"""

import asyncio
from collections.abc import Mapping, Sequence

from leverframe.commands.table.refusals import Refusal
from leverframe.fleet.bulk import MemberResult, refused
from leverframe.fleet.group_snapshots import GroupSnapshots
from leverframe.fleet.jobs.job_work import TAKE_SETTINGS, JobWork
from leverframe.fleet.jobs.steps import JobStep, MemberSteps, gone
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.tenants import is_seen, tenant_within
from leverframe.loop_shares import in_turns

Findings = dict[str, str] | None


class LocalExecutor:
    """Controllers of this node."""

    def __init__(self, node: FleetNode, steps: MemberSteps, snapshots: GroupSnapshots) -> None:
        self._node = node
        self._steps = steps
        self._snapshots = snapshots

    def member(self, number: int) -> Member | None:
        record = self._node.registry.records.get(number)
        return None if record is None else self._node.members.get(record.name)

    async def send(self, steps: Mapping[int, JobStep], work: JobWork) -> Mapping[int, MemberResult]:
        results = await asyncio.gather(
            *(self._send(number, work, step) for number, step in steps.items())
        )
        return dict(zip(steps, results, strict=True))

    async def _send(self, number: int, work: JobWork, step: JobStep) -> MemberResult:
        member = self.member(number)
        if member is None:
            return gone(str(number))
        return await self._steps.carry_out(member, step, work.calls)

    async def undo(self, labels: Mapping[int, str], step: JobStep) -> Mapping[int, MemberResult]:
        results = await asyncio.gather(
            *(self._undo(number, label, step) for number, label in labels.items())
        )
        return dict(zip(labels, results, strict=True))

    async def _undo(self, number: int, label: str, step: JobStep) -> MemberResult:
        member = self.member(number)
        if member is None:
            return gone(str(number))
        try:
            settings = await self._snapshots.settings_of(member, label)
        except Refusal as refusal:
            return refused(member, refusal)
        return await self._steps.carry_out(member, step, lambda _: [(TAKE_SETTINGS, settings)])

    async def keep(self, numbers: Sequence[int], label: str) -> None:
        members = [one for one in map(self.member, numbers) if one is not None]
        tenant = tenant_within(label) or None
        there = [one for one in members if is_seen(tenant, one.record.tenant)]
        await self._snapshots.keep(there, label)

    async def forget(self, job: str) -> None:
        await self._snapshots.forget_of_job(job)

    async def findings(self, numbers: Sequence[int], tenant: str) -> Mapping[int, Findings]:
        return {number: self._findings(number, tenant) async for number in in_turns(numbers)}

    def _findings(self, number: int, tenant: str) -> Findings:
        member = self.member(number)
        if member is None or not is_seen(tenant or None, member.record.tenant):
            return None
        if member.controller.bootloader_until is not None:
            return None
        return {one.id: one.text for one in member.controller.findings.report()}
