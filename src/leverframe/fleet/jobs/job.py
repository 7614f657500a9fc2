"""A job: its task, its progress, and how another process resumes it.

Like a controller, a job has its own part of the lane. That part has rows for the plan, the work and
the state, and a row for each controller that has answered. The node that owns the part runs the
job.

A step without a recorded result is sent again with the same id. A controller that has already run
the step only returns its result.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from leverframe.fleet.bulk import NOT_SAVED, MemberResult
from leverframe.fleet.jobs.executor import FleetExecutor
from leverframe.fleet.jobs.job_state import (
    ALLOWED,
    UNDER_WAY,
    JobAction,
    JobOutcome,
    JobOutcomes,
    JobPlan,
    JobReport,
    JobState,
    JobWork,
    report_of_job,
)
from leverframe.fleet.jobs.steps import UNDECIDED, JobStep
from leverframe.fleet.progress import count_done
from leverframe.fleet.records import name_for_tenant
from leverframe.interface.table.lookup import Account
from leverframe.interface.table.refusals import Conflict, Refusal
from leverframe.interface.table.row import ADMIN
from leverframe.server.problems import StoreFailed
from leverframe.storage.encryption import JOB_WORK
from leverframe.storage.store import Changes, Store, Stored, StoreUnavailable

log = logging.getLogger(__name__)

_PLAN, _STATE, _RESULT, _BEFORE = "plan", "state", "result.", "before."
_PERCENT = 100
#: Number of controllers whose results are written together.
AT_A_TIME = 50
#: Retry interval of a job that cannot write its progress.
AGAIN_S = 5.0

#: Returns the current name of a tenant's controller by its number; None if it no longer exists.
NameOf = Callable[[int, str], str | None]


class FleetJob:
    """A job that can be run, stopped, and resumed by another process."""

    def __init__(
        self,
        number: int,
        store: Store,
        plan: JobPlan,
        work: JobWork | None,
        executor: FleetExecutor,
        name_of: NameOf,
    ) -> None:
        self.number = number
        self.plan = plan
        #: None if the key that decrypts it is missing.
        self.work = work
        self.state = JobState()
        self.outcomes = JobOutcomes()
        #: Findings of a group's controllers before the group was started.
        self._before: dict[int, list[str]] = {}
        self._store = store
        self._executor = executor
        self._name_of = name_of
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        #: Why the job waits for the storage.
        self.trouble = ""
        self._held_up = asyncio.Event()
        #: The current state has not been written yet.
        self._is_unsaved = False
        #: Another node resumes the job, now or later.
        self._is_lost = False

    @classmethod
    def load(
        cls,
        number: int,
        store: Store,
        rows: Stored,
        executor: FleetExecutor,
        name_of: NameOf,
    ) -> "FleetJob":
        """Restore a job from its rows."""
        kept = rows.kept
        plan = msgspec.convert(kept[_PLAN], JobPlan, strict=False)
        work = rows.settings.get(JOB_WORK)
        job = cls(
            number,
            store,
            plan,
            None if work is None else msgspec.convert(work, JobWork),
            executor,
            name_of,
        )
        job.state = msgspec.convert(kept[_STATE], JobState)
        for name, row in kept.items():
            if name.startswith(_RESULT):
                job.outcomes[_number(name)] = msgspec.convert(row, JobOutcome)
            elif name.startswith(_BEFORE):
                job._before[_number(name)] = row
        return job

    async def save_new(self) -> None:
        rows = {
            _PLAN: msgspec.to_builtins(self.plan, str_keys=True),
            _STATE: msgspec.to_builtins(self.state),
        }
        work = {JOB_WORK: msgspec.to_builtins(self.work)}
        await self._store.commit(Changes(settings=work, kept=rows))

    async def _save(self, rows: dict[str, Any] | None = None) -> None:
        self._check_that_it_is_ours()
        self._is_unsaved = True
        await self._store.commit(
            Changes(kept={**(rows or {}), _STATE: msgspec.to_builtins(self.state)})
        )
        self._is_unsaved = False
        self._held_up.clear()

    def _check_that_it_is_ours(self) -> None:
        if self._is_lost:
            raise StoreUnavailable("Another node is resuming this job. Try again.")

    async def lose(self) -> None:
        """Stop without writing anything more: another node resumes the job."""
        self._is_lost = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    # --- requests of users ------------------------------------------------------------------------

    def can(self) -> list[JobAction]:
        status = self.state.status
        found: list[JobAction] = [one for one, among in ALLOWED.items() if status in among]
        if "retry" in found and not self.outcomes.list_failed():
            found.remove("retry")
        if "undo" in found and not (self.plan.takes_snapshots and self.outcomes.to_undo()):
            found.remove("undo")
        if any(one.undone for one in self.outcomes.values()):
            return [one for one in found if one in ("stop", "undo")]
        return found

    def _is_behind(self) -> bool:
        return self.state.group >= len(self.plan.groups)

    async def operate(self, what: JobAction, requester: str) -> None:
        """Start, stop, resume, retry or undo; refuse an action that the current state forbids."""
        before = replace(self.state)
        try:
            await self._operate(what, requester)
        except StoreUnavailable:
            # Nothing was changed: continue the work.
            self.state = before
            self.resume_work()
            raise

    async def _operate(self, what: JobAction, requester: str) -> None:
        if what not in self.can():
            allowed = ", ".join(self.can()) or "nothing"
            raise Conflict(
                f"This job is {self.state.status}, so {what} is not possible.", allowed=allowed
            )
        if what == "stop":
            await self.stop(f"Stopped by {requester}." if requester else "Stopped by hand.")
            return
        # This ends a pause early. In the other cases nothing is running that could be stopped.
        await self.stop("")
        state = self.state
        again = self.outcomes.again() if what == "retry" else {}
        if what == "undo":
            state.status = "undoing"
        elif state.status == "waiting":
            state.go_on_at = None
        else:
            state.status = "running"
            accepts = what == "resume"
            state.accepted = len(self.outcomes.list_failed()) if accepts else 0
            state.accepted_group = state.group if accepts else -1
        if what == "retry":
            state.group = 0
        state.why = None
        # Later changes to controllers get a separate snapshot.
        state.round += 1
        await self._note(again)
        self.resume_work()

    async def stop(self, why: str) -> None:
        """Stop the work after the current requests.

        Without a reason, the job keeps its status, and another node or the next start resumes it.
        """
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        self._stop.clear()
        if why and self.state.status in UNDER_WAY:
            self.state.status, self.state.why = "stopped", why
            self.state.go_on_at = None
            await self._save()

    # --- work -------------------------------------------------------------------------------------

    def resume_work(self) -> None:
        """Do the remaining work in a new task."""
        if self.state.status in UNDER_WAY and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def wait_until_ended(self) -> None:
        """Wait until the work has ended; raise a refusal if it waits for the storage."""
        if self._task is None:
            return
        held_up = asyncio.ensure_future(self._held_up.wait())
        await asyncio.wait([self._task, held_up], return_when=asyncio.FIRST_COMPLETED)
        held_up.cancel()
        if self._is_lost:
            raise StoreFailed(
                "Another node resumes the job; query its result with"
                f" id={name_for_tenant(self.plan.tenant, self.plan.id)}."
            )
        if not self._task.done():
            raise StoreFailed(
                f"{self.trouble} The job resumes automatically; query its result with"
                f" id={name_for_tenant(self.plan.tenant, self.plan.id)}."
            )
        if self.state.status in UNDER_WAY:
            raise StoreFailed(
                "The job was stopped before its end; query its result with"
                f" id={name_for_tenant(self.plan.tenant, self.plan.id)}."
            )

    async def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if self._is_unsaved:
                    await self._save()
                if self.state.status in UNDER_WAY:
                    await self._work()
                return
            except StoreUnavailable as error:
                # Nothing can be written; finished steps are sent again afterwards.
                self._held_up.set()
                self.trouble = str(error)
                await self._sleep(AGAIN_S)

    async def _work(self) -> None:
        try:
            await (self._undo() if self.state.status == "undoing" else self._roll_out())
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("job %s failed", self.plan.id)
            await self._end("An internal error stopped the job; see the log.")

    async def _roll_out(self) -> None:
        """Change one group after another.

        While the job is `waiting`, `state.group` is the group that has just finished.
        """
        state, plan = self.state, self.plan
        while not self._is_behind():
            group = plan.groups[state.group]
            if state.status == "running":
                left = [number for number in group if self.outcomes.is_left(number)]
                if left and not (await self._prepare(left) and await self._each(left)):
                    return
                if await self._has_failed(group):
                    return
                if left and plan.pause_s and group is not plan.groups[-1]:
                    state.status, state.go_on_at = "waiting", time.time() + plan.pause_s
                    await self._save()
            if state.status == "waiting" and not await self._went_well(group):
                return
            state.group += 1
            state.status, state.go_on_at = "running", None
            await self._save()
        state.status = "finished"
        await self._save()

    async def _went_well(self, group: Sequence[int]) -> bool:
        """Wait for the end of the pause; return whether the group is healthy."""
        if self.state.go_on_at is not None:
            await self._sleep(self.state.go_on_at - time.time())
        return not self._stop.is_set() and not await self._has_failed(group)

    async def _sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                await self._stop.wait()

    async def _prepare(self, left: Sequence[int]) -> bool:
        """Take a snapshot, and record the current findings."""
        label = f"{self.plan.id}/{self.state.group}.{self.state.round}"
        if self.state.snapshot == label:
            return True
        if self.plan.takes_snapshots:
            try:
                await self._executor.keep(left, label)
            except Refusal as refusal:
                await self._end(str(refusal.detail))
                return False
        before: dict[int, list[str]] = {}
        if self.plan.checks_health:
            found = await self._executor.findings(left, self.plan.tenant)
            before = {number: list(found[number] or ()) for number in left}
        self.state.snapshot = label
        await self._save({f"{_BEFORE}{number}": ids for number, ids in before.items()})
        self._before |= before
        return True

    async def _each(self, left: Sequence[int]) -> bool:
        """Send the steps, several at a time; return False if the job is to stop."""
        for begin in range(0, len(left), AT_A_TIME):
            if self._stop.is_set():
                return False
            some = left[begin : begin + AT_A_TIME]
            results = await self._send(some)
            outcome = partial(self.outcomes.after, snapshot=self.state.snapshot)
            await self._note_results(results, outcome)
            count_done(len(some))
            if await self._has_too_many_errors():
                return False
        return True

    async def _send(self, numbers: Sequence[int]) -> Mapping[int, MemberResult]:
        if self.work is None:
            nothing = MemberResult("", UNDECIDED, "The key that decrypts this job is missing.")
            return dict.fromkeys(numbers, nothing)
        before = {number: self.outcomes.get(number) for number in numbers}
        steps = {
            number: self._step(str(0 if one is None else one.tries))
            for number, one in before.items()
        }
        return await self._executor.send(steps, self.work)

    def _step(self, part: str) -> JobStep:
        plan = self.plan
        by = Account(plan.by or "fleet", plan.role, joins_commands=plan.role == ADMIN)
        return JobStep(plan.id, part, by, plan.source)

    async def _note_results(
        self,
        results: Mapping[int, MemberResult],
        outcome: Callable[[int, MemberResult], JobOutcome],
    ) -> None:
        """Record the results of controllers.

        If a controller could not save its change, a roll-out waits for the storage. A bulk change
        counts the controller as failed.
        """
        unsaved = {
            number: result.detail
            for number, result in results.items()
            if result.status == NOT_SAVED and self.plan.kind == "rollout"
        }
        if decided := results.keys() - unsaved.keys():
            await self._note(
                {one: outcome(one, result) for one, result in results.items() if one in decided}
            )
        for why in unsaved.values():
            raise StoreUnavailable(why)

    async def _note(self, new: Mapping[int, JobOutcome]) -> None:
        await self._save(_result_rows(new))
        self.outcomes |= new

    # --- thresholds -------------------------------------------------------------------------------

    async def _has_failed(self, group: Sequence[int]) -> bool:
        """Check the health of a group; stop the job if too few controllers have succeeded."""
        if self.plan.checks_health:
            await self._check_health(group)
            if await self._has_too_many_errors():
                return True
        if self.state.group == self.state.accepted_group:
            return False
        done = sum(self.outcomes.is_done(number) for number in group)
        if done * _PERCENT >= self.plan.success_percent * len(group):
            return False
        await self._end(
            f"{done} of {len(group)} controllers in group {self.state.group + 1} succeeded;"
            f" {self.plan.success_percent:g} % are required."
        )
        return True

    async def _check_health(self, group: Sequence[int]) -> None:
        done = [one for one in group if self.outcomes.is_done(one)]
        found = await self._executor.findings(done, self.plan.tenant)
        if worse := self.outcomes.worse(found, self._before):
            await self._note(worse)

    async def _has_too_many_errors(self) -> bool:
        errors = len(self.outcomes.list_failed()) - self.state.accepted
        if self.plan.max_errors is None or errors < self.plan.max_errors:
            return False
        await self._end(f"Failures: {errors}; the limit is {self.plan.max_errors}.")
        return True

    async def _end(self, why: str) -> None:
        self.state.status, self.state.why, self.state.go_on_at = "stopped", why, None
        await self._save()

    # --- undoing ----------------------------------------------------------------------------------

    async def _undo(self) -> None:
        left = self.outcomes.to_undo()
        for begin in range(0, len(left), AT_A_TIME):
            if self._stop.is_set():
                return
            some = left[begin : begin + AT_A_TIME]
            step = self._step(f"undo{self.state.round}")
            labels = {number: self.outcomes[number].snapshot for number in some}
            results = await self._executor.undo(labels, step)
            await self._note_results(results, self.outcomes.mark_restored)
        count = len(self.outcomes.to_undo())
        self.state.status = "undone"
        self.state.why = f"{count} could not be restored." if count else None
        await self._save()

    # --- reporting --------------------------------------------------------------------------------

    def results(self) -> list[MemberResult]:
        """List the results of controllers that have answered, in the order of the plan."""
        return [
            MemberResult(self.name(number), one.status, one.detail)
            for group in self.plan.groups
            for number in group
            if (one := self.outcomes.get(number)) is not None and not one.again
        ]

    def name(self, number: int) -> str:
        return self._name_of(number, self.plan.tenant) or self.plan.names[number]

    def report(self, *, with_results: bool = False) -> JobReport:
        results = self.results() if with_results else []
        report = report_of_job(self.plan, self.state, self.outcomes, self.can(), results)
        return replace(report, why=self.trouble) if self._held_up.is_set() else report


def _number(row: str) -> int:
    return int(row.rpartition(".")[2])


def _result_rows(outcomes: Mapping[int, JobOutcome]) -> dict[str, Any]:
    return {f"{_RESULT}{n}": msgspec.to_builtins(one) for n, one in outcomes.items()}
