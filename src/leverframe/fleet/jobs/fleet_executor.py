"""Carries out the steps of a job on controllers of any node: it asks each node for its own.

Who has a controller is looked up in the database each time. What was not decided, because the
controller is being moved or its node does not answer, is asked again of whoever has it then, with
the same id: the row of the step goes with the controller, so it is done once.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from leverframe.commands.table.refusals import Conflict, Refusal
from leverframe.fleet.bulk import NOT_SAVED, MemberResult
from leverframe.fleet.jobs.job_work import JobWork
from leverframe.fleet.jobs.local_executor import Findings, LocalExecutor
from leverframe.fleet.jobs.steps import JobStep, gone
from leverframe.fleet.node import FleetNode
from leverframe.fleet.other_nodes import (
    OtherNodes,
    OtherProgram,
    SilentNode,
    answering,
    ask_node,
)
from leverframe.fleet.records import Moved, NotRunning
from leverframe.fleet.tenants import tenant_within
from leverframe.storage.store import StoreUnavailable

Result = TypeVar("Result")
#: Asks a node for some of its controllers.
_Asking = Callable[[str, Sequence[int]], Coroutine[Any, Any, Mapping[int, Result]]]

#: How long a node may take for one question, and all of them together for a step.
ASK_S = 5.0
STEP_S = 20.0
#: Before somebody is asked again.
AGAIN_S = 0.2
_UNDECIDED = (Moved.status, NOT_SAVED)


class NothingIsKnown(SilentNode):
    """A controller that no node has, or whose node says nothing about it."""

    sentence = "No node has it at present, or its node does not answer; nothing more is known."


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


class FleetExecutor:
    """Controllers of this node and, where there are others, of those."""

    def __init__(self, node: FleetNode, local: LocalExecutor) -> None:
        self._node = node
        self._local = local
        node.calls |= {
            "job.send": answering(StepsCall, self._send_here),
            "job.undo": answering(UndoCall, self._undo_here),
            "job.keep": answering(SnapshotCall, self._keep_here),
            "job.forget": answering(str, local.forget),
            "job.findings": answering(FindingsCall, self._findings_here),
        }

    # --- asking -----------------------------------------------------------------------------------

    async def send(self, steps: Mapping[int, JobStep], work: JobWork) -> Mapping[int, MemberResult]:
        """Send their part to controllers, each once by the id of its step."""
        if self._node.cluster is None:
            return await self._local.send(steps, work)

        def part(numbers: Sequence[int]) -> StepsCall:
            return StepsCall({number: steps[number] for number in numbers}, work)

        return await self._results(self._node.cluster, steps, "job.send", part)

    async def undo(self, labels: Mapping[int, str], step: JobStep) -> Mapping[int, MemberResult]:
        """Restore the settings of a snapshot on controllers, once likewise."""
        if self._node.cluster is None:
            return await self._local.undo(labels, step)

        def part(numbers: Sequence[int]) -> UndoCall:
            return UndoCall({number: labels[number] for number in numbers}, step)

        return await self._results(self._node.cluster, labels, "job.undo", part)

    async def keep(self, numbers: Sequence[int], label: str) -> None:
        """Take a snapshot of controllers, by which each can go back."""
        if self._node.cluster is None:
            await self._local.keep(numbers, label)
            return

        async def ask(node: str, some: Sequence[int]) -> dict[int, bool]:
            call = SnapshotCall(list(some), label)
            return dict.fromkeys(await self._asked(node, "job.keep", call, list[int]), True)

        kept = await self._each(self._node.cluster, numbers, ask)
        for number, result in kept.items():
            if isinstance(result, Refusal):
                if result.status == NOT_SAVED:
                    raise StoreUnavailable(result.detail)
                name = self._node.name_of(number)
                raise Conflict(f"No snapshot of {name} could be taken. {result.detail}")

    async def forget(self, job: str) -> None:
        """Forget the snapshots that a job has taken."""
        others = self._node.cluster
        if others is None:
            await self._local.forget(job)
            return
        for node in others.living():
            try:
                await self._asked(node, "job.forget", job, None)
            except SilentNode:
                # Its part stays until the controllers are removed.
                continue

    async def findings(self, numbers: Sequence[int], tenant: str) -> Mapping[int, Findings]:
        """Return what is wrong with controllers of a tenant; None for one that does not answer."""
        if self._node.cluster is None:
            return await self._local.findings(numbers, tenant)

        async def ask(node: str, some: Sequence[int]) -> dict[int, Findings]:
            call = FindingsCall(list(some), tenant)
            result: dict[int, Findings] = await self._asked(
                node, "job.findings", call, dict[int, Findings]
            )
            return result

        found = await self._each(self._node.cluster, numbers, ask)
        return {
            number: None if isinstance(result := found.get(number), Refusal) else result
            for number in numbers
        }

    async def _results(
        self,
        others: OtherNodes,
        numbers: Collection[int],
        what: str,
        part: Callable[[Sequence[int]], Struct],
    ) -> dict[int, MemberResult]:
        """Ask each node to do its part, the content of a call; return what became of all."""
        undecided: dict[int, MemberResult] = {}

        async def decided(node: str, some: Sequence[int]) -> dict[int, MemberResult]:
            result = await self._asked(node, what, part(some), dict[int, MemberResult])
            undecided.update(result)
            return {n: one for n, one in result.items() if one.status not in _UNDECIDED}

        found = await self._each(others, numbers, decided)
        results: dict[int, MemberResult] = {}
        for number in numbers:
            name = self._node.name_of(number) or str(number)
            result = found.get(number, gone(name))
            if isinstance(result, Refusal):
                result = undecided.get(number) or MemberResult(name, result.status, result.detail)
            results[number] = result
        return results

    async def _each(
        self, others: OtherNodes, numbers: Collection[int], ask: _Asking[Result]
    ) -> dict[int, Result | Refusal]:
        """Ask for controllers until all have answered, or the time is up: then why they have not.

        Controllers that are not there any more are left out.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + STEP_S
        found: dict[int, Result | Refusal] = dict.fromkeys(numbers, NothingIsKnown())
        left = set(numbers)
        while left:
            if (reason := others.why_not()) is not None:
                raise StoreUnavailable(reason)
            where = {one.number: one.node for one in await others.locate(left)}
            for number in left - where.keys():
                del found[number]
            by_node: dict[str, list[int]] = {}
            for number, node in where.items():
                if node is not None:
                    by_node.setdefault(node, []).append(number)
            for answer in await asyncio.gather(
                *(_or_undecided(ask, node, some) for node, some in by_node.items())
            ):
                found |= answer
            left = {number for number in where if _may_answer_later(found[number])}
            if loop.time() >= until:
                break
            if left:
                await others.news(AGAIN_S)
        return found

    async def _asked(self, node: str, what: str, content: Any, answer: Any) -> Any:
        others = self._node.cluster
        assert others is not None
        return await ask_node(others, self._node.calls, node, what, content, answer, ASK_S)

    # --- asked by another node --------------------------------------------------------------------

    async def _send_here(self, call: StepsCall) -> Mapping[int, MemberResult]:
        here = {number: call.steps[number] for number in self._here(call.steps)}
        sent = await self._local.send(here, call.work)
        # All steps of a call are of one job.
        return {**self._not_started_here(call.steps, next(iter(call.steps.values())).job), **sent}

    async def _undo_here(self, call: UndoCall) -> Mapping[int, MemberResult]:
        here = {number: call.labels[number] for number in self._here(call.labels)}
        undone = await self._local.undo(here, call.step)
        return {**self._not_started_here(call.labels, call.step.job), **undone}

    async def _keep_here(self, call: SnapshotCall) -> list[int]:
        here = self._here(call.numbers)
        await self._local.keep(here, call.label)
        return here

    async def _findings_here(self, call: FindingsCall) -> Mapping[int, Findings]:
        return await self._local.findings(self._here(call.numbers), call.tenant)

    def _not_started_here(self, numbers: Collection[int], job: str) -> dict[int, MemberResult]:
        """Return those that this node fails to start: nobody needs to wait for them."""
        sentences = self._node.roster.sentences_of(tenant_within(job) or None)
        return {
            number: MemberResult(self._node.name_of(number) or str(number), NotRunning.status, why)
            for number, why in sentences.items()
            if number in numbers
        }

    def _here(self, numbers: Collection[int]) -> list[int]:
        return [number for number in numbers if self._local.member(number) is not None]


async def _or_undecided(
    ask: _Asking[Result], node: str, numbers: Sequence[int]
) -> dict[int, Result | Refusal]:
    """Ask a node; where that has decided nothing, return why for each."""
    try:
        return {**await ask(node, numbers)}
    except Refusal as refusal:
        if isinstance(refusal, SilentNode) or refusal.status in _UNDECIDED:
            return dict.fromkeys(numbers, refusal)
        raise


def _may_answer_later(result: object) -> bool:
    """Return whether it is worth asking again: a program does not learn what it does not know."""
    return isinstance(result, Refusal) and not isinstance(result, OtherProgram)
