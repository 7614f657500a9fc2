"""Run the steps of a job on controllers of any node: each node does its own part.

The owner of a controller is looked up in the database each time. A step stays undecided if the
controller is being moved or its node does not answer. An undecided step is then sent, with the same
id, to the next owner of the controller. The row of the step moves with the controller, so the step
is done only once.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import Struct

from leverframe.core.runtime.event_loop import in_turns
from leverframe.fleet.bulk import NOT_SAVED, MemberResult, refusal_result
from leverframe.fleet.groups import GroupSnapshots
from leverframe.fleet.jobs.job_state import TAKE_SETTINGS, JobWork
from leverframe.fleet.jobs.steps import JobStep, MemberSteps, missing_result
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.other_nodes import OtherProgram, SilentNode, answering, ask_node
from leverframe.fleet.owners import DEADLINES, Located, OwnerPart, ask_owners, wait_for_news
from leverframe.fleet.records import Moved, NotRunning, is_seen, tenant_within
from leverframe.interface.table.refusals import Conflict, Refusal
from leverframe.storage.store import StoreUnavailable

Result = TypeVar("Result")
#: Findings of a controller, by id; None if unknown.
Findings = dict[str, str] | None
#: Asks a node to do its part for these controllers.
_Ask = Callable[[str, list[int]], Coroutine[Any, Any, Mapping[int, Result]]]

#: The name of a node that shares no database.
ALONE = ""
_UNDECIDED = (Moved.status, NOT_SAVED)


class NothingIsKnown(SilentNode):
    """A controller that no node has, or whose node reports nothing about it."""

    sentence = (
        "No node has this controller at present, or its node does not answer. The result"
        " is unknown."
    )


class StepsCall(Struct, frozen=True, forbid_unknown_fields=True):
    steps: dict[int, JobStep]
    work: JobWork


class UndoCall(Struct, frozen=True, forbid_unknown_fields=True):
    labels: dict[int, str]
    step: JobStep


class SnapshotCall(Struct, frozen=True, forbid_unknown_fields=True):
    numbers: list[int]
    label: str


class FindingsCall(Struct, frozen=True, forbid_unknown_fields=True):
    numbers: list[int]
    tenant: str


class LocalExecutor:
    """Runs steps on controllers of this node."""

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
            return missing_result(str(number))
        return await self._steps.carry_out(member, step, work.calls)

    async def undo(self, labels: Mapping[int, str], step: JobStep) -> Mapping[int, MemberResult]:
        results = await asyncio.gather(
            *(self._undo(number, label, step) for number, label in labels.items())
        )
        return dict(zip(labels, results, strict=True))

    async def _undo(self, number: int, label: str, step: JobStep) -> MemberResult:
        member = self.member(number)
        if member is None:
            return missing_result(str(number))
        try:
            settings = await self._snapshots.settings_of(member, label)
        except Refusal as refusal:
            return refusal_result(member, refusal)
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


class FleetExecutor:
    """Runs steps on controllers of this node and of all others."""

    def __init__(self, node: FleetNode, local: LocalExecutor) -> None:
        self._node = node
        self._local = local
        #: The calls that this node handles, its own and those of other nodes, with the type of each
        #: call's content.
        self._here: dict[str, tuple[Any, Callable[[Any], Coroutine[Any, Any, Any]]]] = {
            "job.send": (StepsCall, self._send_here),
            "job.undo": (UndoCall, self._undo_here),
            "job.keep": (SnapshotCall, self._keep_here),
            "job.forget": (str, local.forget),
            "job.findings": (FindingsCall, self._findings_here),
        }
        node.calls |= {what: answering(kind, do) for what, (kind, do) in self._here.items()}

    # --- calling nodes ----------------------------------------------------------------------------

    async def send(self, steps: Mapping[int, JobStep], work: JobWork) -> Mapping[int, MemberResult]:
        """Send each controller its step; a controller runs a step with the same id only once."""
        return await self._results(
            steps, "job.send", lambda some: StepsCall({n: steps[n] for n in some}, work)
        )

    async def undo(self, labels: Mapping[int, str], step: JobStep) -> Mapping[int, MemberResult]:
        """Restore the settings of a snapshot on controllers, each of them only once."""
        return await self._results(
            labels, "job.undo", lambda some: UndoCall({n: labels[n] for n in some}, step)
        )

    async def keep(self, numbers: Sequence[int], label: str) -> None:
        """Take a snapshot of controllers, from which each can be restored."""

        async def ask(node: str, some: list[int]) -> dict[int, bool]:
            kept = await self._ask(node, "job.keep", SnapshotCall(some, label), list[int])
            return dict.fromkeys(kept, True)

        for number, result in (await self._ask_owners(numbers, ask)).items():
            if isinstance(result, Refusal):
                if result.status == NOT_SAVED:
                    raise StoreUnavailable(result.detail)
                name = self._node.name_of(number)
                raise Conflict(f"No snapshot of {name} could be taken. {result.detail}")

    async def forget(self, job: str) -> None:
        """Delete the snapshots that a job has taken."""
        others = self._node.cluster
        for node in [ALONE] if others is None else others.living():
            # A silent node keeps its part of the snapshots until their controllers are removed.
            with suppress(SilentNode):
                await self._ask(node, "job.forget", job, None)

    async def findings(self, numbers: Sequence[int], tenant: str) -> Mapping[int, Findings]:
        """Return the findings of a tenant's controllers; None for those that do not answer."""

        async def ask(node: str, some: list[int]) -> dict[int, Findings]:
            call = FindingsCall(some, tenant)
            found: dict[int, Findings] = await self._ask(
                node, "job.findings", call, dict[int, Findings]
            )
            return found

        found = await self._ask_owners(numbers, ask)
        return {
            number: None if isinstance(result := found.get(number), Refusal) else result
            for number in numbers
        }

    async def _results(
        self, numbers: Collection[int], what: str, part: Callable[[list[int]], Struct]
    ) -> dict[int, MemberResult]:
        """Call the owner of each controller; return all results.

        `part` creates the content of the call from the numbers of the controllers.
        """

        async def ask(node: str, some: list[int]) -> dict[int, MemberResult]:
            result: dict[int, MemberResult] = await self._ask(
                node, what, part(some), dict[int, MemberResult]
            )
            return result

        found = await self._ask_owners(numbers, ask)
        return {number: self._result(number, found.get(number)) for number in numbers}

    def _result(self, number: int, result: MemberResult | Refusal | None) -> MemberResult:
        if isinstance(result, MemberResult):
            return result
        name = self._node.name_of(number) or str(number)
        return (
            missing_result(name)
            if result is None
            else MemberResult(name, result.status, result.detail)
        )

    async def _ask_owners(
        self, numbers: Collection[int], ask: _Ask[Result]
    ) -> dict[int, Result | Refusal]:
        """Return each controller's result, or a refusal if its owner did not decide in time.

        Removed controllers are omitted.
        """
        others = self._node.cluster
        if others is None:
            return {**await ask(ALONE, list(numbers))}
        undecided: dict[int, Result] = {}

        async def find(left: list[int]) -> Located[int, str]:
            if (reason := others.why_not()) is not None:
                raise StoreUnavailable(reason)
            return [(one.number, one.node) for one in await others.locate(left)]

        async def ask_owner(node: str, some: list[int]) -> list[OwnerPart[int]]:
            refusal: Refusal = NothingIsKnown()
            decided: dict[int, Result] = {}
            try:
                for number, one in (await ask(node, some)).items():
                    is_decided = getattr(one, "status", None) not in _UNDECIDED
                    (decided if is_decided else undecided)[number] = one
            except Refusal as error:
                if not (isinstance(error, SilentNode) or error.status in _UNDECIDED):
                    raise
                refusal = error
            # A node of another version would not understand the next call either.
            is_open = not isinstance(refusal, OtherProgram)
            left = [number for number in some if number not in decided]
            return [
                OwnerPart(node, list(decided), decided),
                OwnerPart(node, left, refusal=refusal, is_open=is_open and bool(left)),
            ]

        wait, hold_s = wait_for_news(others), DEADLINES["step"].hold_s
        located = await find(list(numbers)) if numbers else ()
        parts = await ask_owners(located, find, ask_owner, wait, hold_s, no_owner=NothingIsKnown)
        found: dict[int, Result | Refusal] = {}
        for part in parts:
            if part.refusal is None:
                found |= part.value
            else:
                found |= {number: undecided.get(number, part.refusal) for number in part.targets}
        return found

    async def _ask(self, node: str, what: str, content: Any, answer: Any) -> Any:
        others, seconds = self._node.cluster, DEADLINES["step"].answer_s
        if others is None or node == others.name:
            return await self._here[what][1](content)
        return await ask_node(others, self._node.calls, node, what, content, answer, seconds)

    # --- calls from another node ------------------------------------------------------------------

    async def _send_here(self, call: StepsCall) -> Mapping[int, MemberResult]:
        here = {number: call.steps[number] for number in self._those_here(call.steps)}
        sent = await self._local.send(here, call.work)
        # All steps of a call belong to one job.
        return {**self._not_started_here(call.steps, next(iter(call.steps.values())).job), **sent}

    async def _undo_here(self, call: UndoCall) -> Mapping[int, MemberResult]:
        here = {number: call.labels[number] for number in self._those_here(call.labels)}
        undone = await self._local.undo(here, call.step)
        return {**self._not_started_here(call.labels, call.step.job), **undone}

    async def _keep_here(self, call: SnapshotCall) -> list[int]:
        here = self._those_here(call.numbers)
        await self._local.keep(here, call.label)
        return here

    async def _findings_here(self, call: FindingsCall) -> Mapping[int, Findings]:
        return await self._local.findings(self._those_here(call.numbers), call.tenant)

    def _not_started_here(self, numbers: Collection[int], job: str) -> dict[int, MemberResult]:
        """Return a result for each controller that failed to start on this node.

        Without these results, the job would wait for the controllers.
        """
        sentences = self._node.roster.sentences_of(tenant_within(job) or None)
        return {
            number: MemberResult(self._node.name_of(number) or str(number), NotRunning.status, why)
            for number, why in sentences.items()
            if number in numbers
        }

    def _those_here(self, numbers: Collection[int]) -> list[int]:
        return [number for number in numbers if self._local.member(number) is not None]
