"""The jobs of a node: create, find and resume jobs, and delete old ones."""

import asyncio
import secrets
import time
from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from leverframe.fleet.bulk import BulkReport, report_of
from leverframe.fleet.groups import GroupSnapshots
from leverframe.fleet.jobs.executor import FleetExecutor, LocalExecutor
from leverframe.fleet.jobs.job import FleetJob
from leverframe.fleet.jobs.job_state import (
    UNDER_WAY,
    JobKind,
    JobPlan,
    JobWork,
    error_count,
    form_groups,
)
from leverframe.fleet.jobs.steps import MemberSteps
from leverframe.fleet.node import FleetNode
from leverframe.fleet.other_nodes import answering
from leverframe.fleet.owners import DEADLINES
from leverframe.fleet.records import OPERATOR, JobTaken, is_seen, name_for_tenant, within_tenant
from leverframe.interface.table.lookup import Account
from leverframe.interface.table.refusals import Conflict, Refusal
from leverframe.server.passwords import Passwords

#: Number of jobs kept per tenant and kind, apart from running ones; older jobs are deleted.
MAX_ENDED = 20
MAX_UNDER_WAY = 50
#: How long a stop waits for running requests.
CLOSE_S = 3.0
_ID_BYTES = 5


class NoSuchJob(Refusal):
    status = 404
    title = "There is no such job"


class JobIncomplete(Refusal):
    """A bulk change that was stopped, or failed, before all controllers answered."""

    status = 504
    title = "The change is not complete"

    def __init__(self, job: FleetJob) -> None:
        report = job.report()
        id = name_for_tenant(job.plan.tenant, report.id)
        super().__init__(
            f"{report.why} Of {report.controllers} controllers, {report.done} carried out the"
            f" change and {report.failed} rejected it; the state of the others is unknown."
            f" /api/fleet/rollout?id={id} shows details, and /api/fleet/rollout/resume?id={id}"
            f" resumes the job; finished steps are not repeated."
        )


class Requester(Struct, frozen=True):
    """The account that requests a job, and its address."""

    account: Account
    source: str
    #: Its tenant; None is the operator.
    tenant: str | None = None


class ReportCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A request to another node for the result of the change with this id."""

    id: str
    work: JobWork


class JobTarget(Protocol):
    """A controller that a job concerns, on any node."""

    @property
    def number(self) -> int: ...

    @property
    def name(self) -> str: ...


class RolloutPolicy(Struct, frozen=True):
    """How a roll-out proceeds, according to the request."""

    groups: str = "rest"
    success_percent: float = 100.0
    errors: str = "none"
    pause_s: float = 0.0
    checks_health: bool = True
    takes_snapshots: bool = True


class FleetJobs:
    def __init__(
        self,
        node: FleetNode,
        snapshots: GroupSnapshots,
        passwords: Passwords,
    ) -> None:
        self._node = node
        local = LocalExecutor(node, MemberSteps(node.registry, passwords), snapshots)
        self.executor = FleetExecutor(node, local)
        #: Jobs by id, oldest first.
        self._jobs: dict[str, FleetJob] = {}
        self._making = asyncio.Lock()
        node.calls["job.told"] = answering(ReportCall, self._report_again_for)
        node.calls["job.forget_tenant"] = self._on_forget_tenant
        node.jobs_taken, node.jobs_lost = self.start_stored, self.lose_all

    # --- life -------------------------------------------------------------------------------------

    async def start_stored(self) -> None:
        """Load this node's jobs that are not loaded yet, and resume those that were running."""
        registry, lane = self._node.registry, self._node.lane
        async with self._making:
            running = {job.number for job in self._jobs.values()}
            new = [number for number in registry.jobs if number not in running]
            stored = await lane.fetch(new) if new else {}
            for number, rows in stored.items():
                if not rows.kept:
                    # The job was deleted in the meantime.
                    del registry.jobs[number]
                    continue
                job = FleetJob.load(
                    number, lane.store(number), rows, self.executor, self._node.name_of
                )
                self._jobs[job.plan.id] = job
                job.resume_work()

    async def lose_all(self) -> None:
        """Stop all jobs without writing: this node was declared dead, and its peers resume them."""
        async with self._making:
            jobs, self._jobs = self._jobs, {}
            for job in jobs.values():
                await job.lose()

    async def close(self) -> None:
        """Stop running jobs, which other nodes resume."""
        for job in self._jobs.values():
            try:
                async with asyncio.timeout(CLOSE_S):
                    await job.stop("")
            except TimeoutError:
                # The job waits for another node, which may be dead.
                await job.lose()

    # --- finding ----------------------------------------------------------------------------------

    def all(self, tenant: str | None = None) -> list[FleetJob]:
        """List a tenant's jobs, newest first; without a tenant, list all jobs for the operator."""
        return [one for one in reversed(self._jobs.values()) if is_seen(tenant, one.plan.tenant)]

    async def report_again(self, id: str, work: JobWork) -> BulkReport:
        """Wait until the bulk change with this id has ended or paused; report it."""
        job = self.find(id)
        if job.work != work:
            raise Conflict("This id belongs to another change.", field="id")
        await job.wait_until_ended()
        if job.state.status == "stopped":
            raise JobIncomplete(job)
        return report_of(job.results())

    async def _report_again_for(self, call: ReportCall) -> BulkReport:
        return await self.report_again(call.id, call.work)

    def find(self, id: str, tenant: str | None = None) -> FleetJob:
        job = self._jobs.get(within_tenant(tenant, id))
        if job is None:
            raise NoSuchJob(f"There is no job {id[:40]!r}.", field="id")
        return job

    # --- creating ---------------------------------------------------------------------------------

    async def send(
        self, members: Sequence[JobTarget], work: JobWork, requester: Requester, id: str | None
    ) -> BulkReport:
        """Run a bulk change, or report the earlier change with this id."""
        if not members:
            return report_of([])
        async with self._making:
            kept_as = None if id is None else within_tenant(requester.tenant, id)
            if kept_as is None or kept_as not in self._jobs:
                job = await self._make("bulk", members, work, requester, None, id)
                kept_as = job.plan.id
                job.resume_work()
        return await self.report_again(kept_as, work)

    async def plan(
        self,
        members: Sequence[JobTarget],
        work: JobWork,
        requester: Requester,
        policy: RolloutPolicy,
        id: str | None = None,
    ) -> FleetJob:
        """Plan a roll-out, which a user starts later."""
        if not members:
            raise Conflict("No controller matches.")
        async with self._making:
            if id is not None and within_tenant(requester.tenant, id) in self._jobs:
                raise Conflict(f"There is a job {id} already.", field="id")
            return await self._make("rollout", members, work, requester, policy, id)

    async def _make(
        self,
        kind: JobKind,
        members: Sequence[JobTarget],
        work: JobWork,
        requester: Requester,
        policy: RolloutPolicy | None,
        id: str | None,
    ) -> FleetJob:
        await self._forget_old(kind, requester.tenant or OPERATOR)
        plan = plan_of(kind, members, work, requester, policy, id)
        plan = msgspec.structs.replace(plan, at=self._node.clock.wall())
        registry, lane = self._node.registry, self._node.lane
        (number,) = await registry.reserve(1)
        # A node that was killed may have left data under this number.
        await lane.forget([number])
        job = FleetJob(number, lane.store(number), plan, work, self.executor, self._node.name_of)
        if kind == "bulk":
            # A bulk change starts when it is saved, without a separate request.
            job.state.status = "running"
        await job.save_new()
        try:
            await registry.put_job(number, plan.id)
        except JobTaken:
            await lane.forget([number])
            raise
        self._jobs[plan.id] = job
        return job

    # --- forgetting -------------------------------------------------------------------------------

    async def _forget_old(self, kind: JobKind, tenant: str) -> None:
        jobs = [job for job in self._jobs.values() if job.plan.tenant == tenant]
        if sum(job.state.status in UNDER_WAY for job in jobs) >= MAX_UNDER_WAY:
            raise Conflict(
                f"{MAX_UNDER_WAY} jobs are running. Wait for the end of a job, or stop it."
            )
        ended = [job for job in jobs if job.plan.kind == kind and job.state.status not in UNDER_WAY]
        for job in ended[: max(0, len(ended) + 1 - MAX_ENDED)]:
            await self._remove(job)

    async def forget_tenant(self, tenant: str) -> None:
        """Delete the jobs of a tenant, so that a later tenant with this name does not find them."""
        others = self._node.cluster
        for node in others.living() if others is not None else ():
            if others is not None and node != others.name:
                content = msgspec.msgpack.encode(tenant)
                seconds = DEADLINES["forget jobs"].answer_s
                await others.ask(node, "job.forget_tenant", content, seconds)
        await self._forget_own_of(tenant)

    async def _on_forget_tenant(self, content: bytes) -> bytes:
        await self._forget_own_of(msgspec.msgpack.decode(content, type=str))
        return b""

    async def _forget_own_of(self, tenant: str) -> None:
        for job in self.all(tenant):
            if job.state.status in UNDER_WAY:
                await job.stop("The tenant of the controller was removed.")
            await self.remove(job)

    async def remove(self, job: FleetJob) -> None:
        """Delete a job that is not running.

        Each controller deletes its rows of the job with its next change.
        """
        async with self._making:
            await self._remove(job)

    async def _remove(self, job: FleetJob) -> None:
        if job.state.status in UNDER_WAY:
            raise Conflict(f"The job {job.plan.id} is {job.state.status}; stop it first.")
        await self._node.registry.remove_job(job.number)
        del self._jobs[job.plan.id]
        await self.executor.forget(job.plan.id)
        await self._node.lane.forget([job.number])


def plan_of(
    kind: JobKind,
    members: Sequence[JobTarget],
    work: JobWork,
    requester: Requester,
    policy: RolloutPolicy | None,
    id: str | None = None,
) -> JobPlan:
    """Create the plan of a job for controllers; refuse invalid parameters."""
    numbers = [member.number for member in members]
    how = policy or RolloutPolicy(success_percent=0, checks_health=False, takes_snapshots=False)
    return JobPlan(
        within_tenant(requester.tenant, id or secrets.token_hex(_ID_BYTES)),
        kind,
        work.title(),
        time.time(),
        requester.account.name,
        requester.account.role,
        requester.source,
        form_groups(numbers, how.groups),
        {member.number: member.name for member in members},
        how.success_percent,
        error_count(how.errors, len(numbers)),
        how.pause_s,
        how.checks_health,
        how.takes_snapshots,
    )
