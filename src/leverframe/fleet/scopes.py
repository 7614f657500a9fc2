"""The scopes of operations: which nodes take part, and how their answers become one.

The node that receives a request finds the owners of the chosen controllers or of a job, calls all
of them together, and merges their answers. Parts of nodes that did not answer are reported as
missing.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from types import CoroutineType
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.fleet.accounts import Asking
from leverframe.fleet.bulk import BulkReport, MemberResult, report_of
from leverframe.fleet.jobs.jobs import NoSuchJob
from leverframe.fleet.member import no_such_name, select_members
from leverframe.fleet.operation import Operation
from leverframe.fleet.operations.context import FleetContext
from leverframe.fleet.other_nodes import (
    AnswerNotUnderstood,
    LocatedController,
    OtherNodes,
    SilentNode,
    read_answer,
)
from leverframe.fleet.owners import (
    DEADLINES,
    Located,
    OwnerPart,
    ask_nodes,
    ask_owners,
    wait_for_news,
)
from leverframe.fleet.progress import count_done, expect
from leverframe.fleet.records import Moved, NotRunning, is_seen, name_for_tenant, within_tenant
from leverframe.interface.table.refusals import Refusal
from leverframe.storage.store import StoreUnavailable

Reply = TypeVar("Reply")
Numbers = Sequence[int] | None
#: A node's answer for some controllers.
NodePart = OwnerPart[LocatedController]

# --- calls between nodes --------------------------------------------------------------------------


class ApiCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A user's request that one node passes to another."""

    path: str
    given: dict[str, Any]
    body: bytes
    asking: Asking
    source: str
    #: The controllers that the node is to handle; None if the request chooses no controllers.
    numbers: list[int] | None = None


class ApiAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    #: The endpoint's answer as JSON.
    value: bytes
    #: Controllers that this node does not have.
    missing: list[int]
    #: Whether the node does not know for certain that it still has its controllers.
    is_stale: bool = False
    #: Controllers of this node that failed to start, and why.
    not_started: dict[int, str] = {}


class NoJobOwner(SilentNode):
    sentence = "No node runs this job at present. Nothing was done. Try again."


#: Controllers that a node does not have, and why they do not run if they failed to start there.
Missing = dict[int, str | None]


async def run_here(
    context: FleetContext, operation: Operation[Reply], numbers: Numbers
) -> tuple[Reply, Missing]:
    """Run the part of this node; return the answer and the controllers that are not here."""
    missing: Missing = {}
    if numbers is not None:
        node = context.node
        here = {member.number for member in node.by_number(set(numbers))}
        if operation.with_failed:
            here |= set(numbers) & set(context.not_running_of_names().values())
        why = node.roster.sentences_of(context.tenant)
        missing = {number: why.get(number) for number in numbers if number not in here}
        context = replace(context, numbers=frozenset(here))
    value = operation.run(context)
    return (await value if isinstance(value, CoroutineType) else value), missing


def others_of(context: FleetContext) -> OtherNodes:
    assert context.node.cluster is not None
    return context.node.cluster


async def ask_node_for(
    context: FleetContext, operation: Operation[Any], node: str, numbers: Numbers = None
) -> tuple[Any, Missing]:
    """Let this or another node run its part; raise its refusal, or SilentNode."""
    others = others_of(context)
    if node == others.name:
        return await run_here(context, operation, numbers)
    chosen = None if numbers is None else list(numbers)
    request = context.request
    path, deadline = operation.path, operation.deadline
    call = ApiCall(path, context.given, request.body, context.asking, request.peer, chosen)
    content = await others.ask(node, "api", msgspec.msgpack.encode(call), deadline.answer_s)
    count_done(len(chosen or ()))
    answer: ApiAnswer = read_answer(node, content, ApiAnswer)
    if answer.is_stale:
        context.stale.add(node)
    try:
        missing = {number: answer.not_started.get(number) for number in answer.missing}
        return msgspec.json.decode(answer.value, type=operation.reply), missing
    except msgspec.MsgspecError as error:
        raise AnswerNotUnderstood(node) from error


# --- scopes ---------------------------------------------------------------------------------------


async def at_every_node(context: FleetContext, operation: Operation[Any]) -> Any:
    """Ask every living node; record the silent ones."""
    assert operation.merge is not None
    return operation.merge(context, await ask_every_node(context, operation))


async def at_each(context: FleetContext, operation: Operation[Reply]) -> Reply:
    """Ask the owners of the chosen controllers."""
    targets = await find_targets(context)
    if not targets:
        return (await run_here(context, operation, []))[0]
    found = await ask_parts(context, operation, targets)
    merge: Callable[[FleetContext, Parts], Any] = operation.merge or merge_results
    merged: Reply = merge(context, found)
    return merged


async def at_each_and_all(context: FleetContext, operation: Operation[Any]) -> Any:
    """Ask the owners of the chosen controllers, and also all other nodes."""
    targets, also = await find_targets(context), others_of(context).living()
    found = await ask_parts(context, operation, targets, also)
    merged = (operation.merge or merge_results)(context, found)
    return await merged if isinstance(merged, CoroutineType) else merged


async def at_owner(context: FleetContext, operation: Operation[Any]) -> Any:
    """Ask the owner of the single chosen controller."""
    name = context.require("name", "the name of a controller")
    targets = [one for one in await find_targets(replace(context, given={})) if one.name == name]
    # There are no parts if the controller was removed in the meantime.
    parts = (await ask_parts(context, operation, targets)).parts if targets else []
    if not parts:
        raise no_such_name(name)
    return values_of(parts)[0]


async def at_job(context: FleetContext, operation: Operation[Any]) -> Any:
    """Ask the node that runs the job."""
    id = within_tenant(context.tenant, context.require("id", "the id of a job"))

    async def ask(node: str) -> Any:
        return (await ask_node_for(context, operation, node))[0]

    return await ask_job_owner(context, id, ask, may_repeat=not operation.takes_form)


async def ask_every_node(context: FleetContext, operation: Operation[Reply]) -> dict[str, Reply]:
    """Return the answers of all nodes by name; record the silent ones."""
    others = others_of(context)

    async def ask(node: str) -> Reply:
        value: Reply = (await ask_node_for(context, operation, node))[0]
        return value

    answers, silent = await ask_nodes(sorted({others.name, *others.living()}), ask)
    context.silent.update(silent)
    return answers


async def ask_job_owner(
    context: FleetContext,
    id: str,
    ask: Callable[[str], Coroutine[Any, Any, Any]],
    *,
    may_repeat: bool,
) -> Any:
    """Ask the node that runs a job, even if another node takes it over in the meantime."""
    others = others_of(context)

    async def find(ids: list[str]) -> Located[str, str]:
        node = await others.holder_of(id)
        if node is None:
            shown = name_for_tenant(context.tenant, id)
            raise NoSuchJob(f"There is no job {shown[:40]!r}.", field="id")
        return [(id, node or None)]

    async def ask_owner(node: str, ids: list[str]) -> list[OwnerPart[str]]:
        try:
            return [OwnerPart(node, ids, await ask(node))]
        except SilentNode as silent:
            is_open = may_repeat or not silent.has_taken_it
            return [OwnerPart(node, ids, refusal=silent, is_open=is_open)]
        except Refusal as refusal:
            # A node that has just taken over the job may still be loading it.
            is_open = refusal.status == NoSuchJob.status
            return [OwnerPart(node, ids, refusal=refusal, is_open=is_open)]

    hold_s, wait = DEADLINES["job"].hold_s, wait_for_news(others)
    located = await find([id])
    parts = await ask_owners(located, find, ask_owner, wait, hold_s, no_owner=NoJobOwner)
    return values_of(parts)[0]


# --- the owners of controllers --------------------------------------------------------------------


class Parts(Struct, frozen=True):
    """The answers of nodes for the chosen controllers."""

    targets: Sequence[LocatedController]
    parts: list[NodePart]


async def find_targets(context: FleetContext) -> list[LocatedController]:
    """Find the chosen controllers of all nodes, by name and tag; refuse unknown ones.

    While the database is unreachable, the names are those of the last look.
    """
    others, names, tags = others_of(context), context.texts("name"), context.texts("tag")
    try:
        controllers = await others.locate()
    except StoreUnavailable:
        if tags:
            raise
        controllers = others.last_known()
    by_name = {one.name: one for one in controllers if is_seen(context.tenant, one.record.tenant)}
    for name in names:
        if name not in by_name:
            raise no_such_name(name)
    found = select_members(by_name, names, tags)
    expect(len(found))
    return found


async def ask_parts(
    context: FleetContext,
    operation: Operation[Any],
    targets: Sequence[LocatedController],
    also: Iterable[str] = (),
) -> Parts:
    """Let every owner run its part; raise the refusal if all of them refuse.

    Nodes in `also` are asked even if they have none of the controllers.
    """
    others = others_of(context)

    async def find(left: list[LocatedController]) -> Located[LocatedController, str]:
        with suppress(StoreUnavailable):
            # Controllers that were removed in the meantime are omitted.
            left = await others.locate([one.number for one in left])
        return [(one, one.node) for one in left]

    async def ask(node: str, some: list[LocatedController]) -> list[NodePart]:
        return await _ask_owner(context, operation, node, some)

    located, hold_s = [(one, one.node) for one in targets], operation.deadline.hold_s
    parts = await ask_owners(located, find, ask, wait_for_news(others), hold_s, also)
    context.silent.update(
        part.node for part in parts if isinstance(part.refusal, SilentNode) and part.node
    )
    of_one = (SilentNode, NotRunning)
    refusals = [part.refusal for part in parts if part.refusal is not None]
    spoken = [refusal for refusal in refusals if not isinstance(refusal, of_one)]
    if spoken and len(spoken) == len(parts):
        raise spoken[0]
    return Parts(targets, parts)


async def _ask_owner(
    context: FleetContext,
    operation: Operation[Any],
    node: str,
    targets: Sequence[LocatedController],
) -> list[NodePart]:
    """Ask a node; return controllers that it does not have, or has released, as separate parts."""
    numbers = [one.number for one in targets]
    try:
        value, missing = await ask_node_for(context, operation, node, numbers)
    except Refusal as refusal:
        if isinstance(refusal, SilentNode):
            is_open = not (operation.takes_form and refusal.has_taken_it)
        else:
            is_open = refusal.status == Moved.status
        return [OwnerPart(node, list(targets), refusal=refusal, is_open=bool(targets) and is_open)]
    except StoreUnavailable as error:
        # This is treated like another node's refusal: the other nodes have run their parts.
        return [OwnerPart(node, list(targets), refusal=operation.refusal(error))]
    left = set(missing)
    if isinstance(value, BulkReport):
        moved = {one.name for one in value.results if one.status == Moved.status}
        left |= {one.number for one in targets if one.name in moved}
        names = {one.name for one in targets if one.number in left}
        value = replace(value, results=[one for one in value.results if one.name not in names])
    there = [one for one in targets if one.number not in left]
    failed = {one.number: why for one in targets if (why := missing.get(one.number))}
    gone = [one for one in targets if one.number in left and one.number not in failed]
    parts = [OwnerPart(node, there, value)] if there or not left else []
    parts += [
        OwnerPart(node, [one], refusal=NotRunning(failed[one.number]))
        for one in targets
        if one.number in failed
    ]
    return [*parts, OwnerPart(node, gone, refusal=Moved("It"), is_open=True)] if gone else parts


# --- merging --------------------------------------------------------------------------------------


def values_of(parts: Iterable[OwnerPart[Any]]) -> list[Any]:
    """Return the answers of nodes; raise the refusal if a node did not answer."""
    found = []
    for part in parts:
        if part.refusal is not None:
            raise part.refusal
        found.append(part.value)
    return found


def rows_of(found: Parts, refused: Callable[[LocatedController, Refusal], Any]) -> list[Any]:
    """Return the nodes' rows, in the order of the controllers; `refused` creates missing rows."""
    rows: list[Any] = []
    for part in found.parts:
        if part.refusal is None:
            rows += part.value
        else:
            rows += [refused(one, part.refusal) for one in part.targets]
    return in_order(rows, found.targets)


def merge_results(_: FleetContext, found: Parts) -> BulkReport:
    """Return a result for each controller."""
    return merge_bulk(found, lambda report: report)


def merge_bulk(found: Parts, bulk_in: Callable[[Any], BulkReport]) -> BulkReport:
    merged = [
        one if one.refusal else replace(one, value=bulk_in(one.value).results)
        for one in found.parts
    ]
    dry_run = any(bulk_in(one.value).dry_run for one in found.parts if one.refusal is None)
    return report_of(rows_of(replace(found, parts=merged), refusal_for), dry_run=dry_run)


def refusal_for(target: LocatedController, refusal: Refusal) -> MemberResult:
    return MemberResult(target.name, refusal.status, str(refusal.as_problem()["detail"]))


def in_order(
    found: list[Any],
    targets: Sequence[LocatedController],
    name_of: Callable[[Any], str] = lambda one: str(one.name),
) -> list[Any]:
    """Sort results of controllers into the order in which the controllers were chosen."""
    places: Mapping[str, int] = {one.name: place for place, one in enumerate(targets)}
    return sorted(found, key=lambda one: places.get(name_of(one), len(places)))
