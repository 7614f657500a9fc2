"""A request to one node that concerns controllers of several: each node does its own part.

The node that is asked looks up who has which of the chosen controllers, asks all of these at once,
and puts the parts together. A controller that has moved meanwhile is asked for again where it is
then, up to a deadline. What a node has not answered is missing, and said to be.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from types import CoroutineType
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.commands.table.refusals import Refusal
from leverframe.fleet.api.context import FleetContext, FleetEndpoint
from leverframe.fleet.bulk import BulkReport, MemberResult, report_of
from leverframe.fleet.jobs.jobs import NoSuchJob
from leverframe.fleet.members import no_such_name, no_such_tag
from leverframe.fleet.node_accounts import Asking
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
    Part,
    Purpose,
    ask_nodes,
    ask_owners,
    wait_for_news,
)
from leverframe.fleet.progress import count_done, expect
from leverframe.fleet.records import Moved, NotRunning
from leverframe.fleet.tenants import is_seen, name_for_tenant, within_tenant
from leverframe.storage.store import StoreUnavailable


class ApiCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A request of a person, as one node passes it to another."""

    path: str
    given: dict[str, Any]
    body: bytes
    asking: Asking
    source: str
    #: The controllers whose part it is; None where none are chosen.
    numbers: list[int] | None = None


class ApiAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    #: JSON, as the endpoint answers.
    value: bytes
    #: Controllers that are not at this node.
    missing: list[int]
    #: The node does not know whether it still has the others.
    is_stale: bool = False
    #: Why those of the missing ones do not run that this node has and that did not start.
    not_started: dict[int, str] = {}


class NoJobOwner(SilentNode):
    sentence = "No node goes on with this job at present. Nothing was done: ask again."


#: What a node has answered for some controllers.
NodePart = Part[LocatedController]

#: Controllers that are not at a node, and why they do not run where they did not start there.
Missing = dict[int, str | None]


async def done_here(
    context: FleetContext, endpoint: FleetEndpoint, numbers: Sequence[int] | None
) -> tuple[Any, Missing]:
    """Do the part of this node; return the answer, and controllers that are not here."""
    missing: Missing = {}
    if numbers is not None:
        node = context.node
        here = {member.number for member in node.by_number(set(numbers))}
        why = node.not_started.sentences_of(context.tenant)
        missing = {number: why.get(number) for number in numbers if number not in here}
        context = replace(context, numbers=frozenset(here))
    value = endpoint.function(context)
    return (await value if isinstance(value, CoroutineType) else value), missing


def others_of(context: FleetContext) -> OtherNodes:
    assert context.node.cluster is not None
    return context.node.cluster


async def asked(
    context: FleetContext,
    endpoint: FleetEndpoint,
    node: str,
    numbers: Sequence[int] | None,
) -> tuple[Any, Missing]:
    """Ask a node, this one or another, to do its part; raise its refusal, or SilentNode."""
    others = others_of(context)
    if node == others.name:
        return await done_here(context, endpoint, numbers)
    chosen = None if numbers is None else list(numbers)
    request = context.request
    call = ApiCall(endpoint.path, context.given, request.body, context.asking, request.peer, chosen)
    seconds = DEADLINES[purpose_of(endpoint)].answer_s
    content = await others.ask(node, "api", msgspec.msgpack.encode(call), seconds)
    count_done(len(chosen or ()))
    answer: ApiAnswer = read_answer(node, content, ApiAnswer)
    if answer.is_stale:
        context.stale.add(node)
    try:
        missing = {number: answer.not_started.get(number) for number in answer.missing}
        return msgspec.json.decode(answer.value, type=endpoint.reply), missing
    except msgspec.MsgspecError as error:
        raise AnswerNotUnderstood(node) from error


def purpose_of(endpoint: FleetEndpoint) -> Purpose:
    return "read" if is_repeatable(endpoint) else "change"


def is_repeatable(endpoint: FleetEndpoint) -> bool:
    """Return whether it may be asked for twice: nothing is changed by it."""
    return "POST" not in endpoint.methods


# --- whom it concerns -----------------------------------------------------------------------------


async def targets_of(context: FleetContext) -> list[LocatedController]:
    """Find the chosen controllers wherever they are, by name and tag; refuse unknown ones.

    While the database is away, names are known by the last look.
    """
    others, names, tags = others_of(context), context.texts("name"), context.texts("tag")
    try:
        everybody = await others.locate()
    except StoreUnavailable:
        if tags:
            raise
        everybody = others.last_known()
    everybody = [one for one in everybody if is_seen(context.tenant, one.record.tenant)]
    by_name = {one.name: one for one in everybody}
    for name in names:
        if name not in by_name:
            raise no_such_name(name)
    known = {tag for one in everybody for tag in one.record.tags}
    for tag in tags:
        if tag not in known:
            raise no_such_tag(tag, known)
    chosen = [by_name[name] for name in dict.fromkeys(names)] or everybody
    found = [one for one in chosen if set(tags) <= set(one.record.tags)]
    expect(len(found))
    return found


# --- asking all of them ---------------------------------------------------------------------------


async def fan_out(
    context: FleetContext,
    endpoint: FleetEndpoint,
    targets: Sequence[LocatedController],
    also: Iterable[str] = (),
) -> list[NodePart]:
    """Ask every node to do its part; raise the refusal where all of them refuse.

    Nodes in `also` are asked even if they have none of the controllers.
    """
    others, deadline = others_of(context), DEADLINES[purpose_of(endpoint)]

    async def find(left: list[LocatedController]) -> Located[LocatedController, str]:
        try:
            # Those that were removed in the meantime are left out.
            return located(await others.locate([one.number for one in left]))
        except StoreUnavailable:
            return located(left)

    async def ask(node: str, some: list[LocatedController]) -> list[NodePart]:
        return await _part(context, endpoint, node, some)

    wait = wait_for_news(others)
    parts = await ask_owners(located(targets), find, ask, wait, deadline.hold_s, also)
    context.silent.update(
        part.node for part in parts if isinstance(part.refusal, SilentNode) and part.node
    )
    refusals = [part.refusal for part in parts]
    of_one = (SilentNode, NotRunning)
    spoken = [one for one in refusals if one is not None and not isinstance(one, of_one)]
    if spoken and len(spoken) == len(parts):
        raise spoken[0]
    return parts


def located(targets: Iterable[LocatedController]) -> Located[LocatedController, str]:
    return [(one, one.node) for one in targets]


async def _part(
    context: FleetContext, endpoint: FleetEndpoint, node: str, targets: Sequence[LocatedController]
) -> list[NodePart]:
    """Ask a node; what it does not have, or has let go meanwhile, is a part of its own."""
    numbers = [one.number for one in targets]
    try:
        value, missing = await asked(context, endpoint, node, numbers)
    except Refusal as refusal:
        if isinstance(refusal, SilentNode):
            is_open = is_repeatable(endpoint) or not refusal.has_taken_it
        else:
            is_open = refusal.status == Moved.status
        return [Part(node, list(targets), refusal=refusal, is_open=bool(targets) and is_open)]
    except StoreUnavailable as error:
        # As another node tells it, too: what the others have done is done.
        return [Part(node, list(targets), refusal=endpoint.refusal(error))]
    left = set(missing)
    if isinstance(value, BulkReport):
        moved = {one.name for one in value.results if one.status == Moved.status}
        left |= {one.number for one in targets if one.name in moved}
        names = {one.name for one in targets if one.number in left}
        value = replace(value, results=[one for one in value.results if one.name not in names])
    there = [one for one in targets if one.number not in left]
    failed = {one.number: why for one in targets if (why := missing.get(one.number))}
    gone = [one for one in targets if one.number in left and one.number not in failed]
    parts = [Part(node, there, value)] if there or not left else []
    parts += [
        Part(node, [one], refusal=NotRunning(failed[one.number]))
        for one in targets
        if one.number in failed
    ]
    return [*parts, Part(node, gone, refusal=Moved("It"), is_open=True)] if gone else parts


# --- putting parts together -----------------------------------------------------------------------


def all_of(parts: Iterable[Part[Any]]) -> list[Any]:
    """Return what nodes have answered; raise a refusal where one of them has not."""
    found = []
    for part in parts:
        if part.refusal is not None:
            raise part.refusal
        found.append(part.value)
    return found


def rows_of(
    parts: Iterable[NodePart],
    targets: Sequence[LocatedController],
    refused: Callable[[LocatedController, Refusal], Any],
) -> list[Any]:
    """Return the rows that nodes have for their controllers, in order; `refused` makes others."""
    rows: list[Any] = []
    for part in parts:
        if part.refusal is None:
            rows += part.value
        else:
            rows += [refused(one, part.refusal) for one in part.targets]
    return in_order(rows, targets)


async def fan_out_bulk(context: FleetContext, endpoint: FleetEndpoint) -> BulkReport:
    """Ask every node to do something to its controllers; return a result for each."""
    targets = await targets_of(context)
    if not targets:
        value: BulkReport = (await done_here(context, endpoint, []))[0]
        return value
    return bulk_of(await fan_out(context, endpoint, targets), targets)


def bulk_of(parts: Sequence[NodePart], targets: Sequence[LocatedController]) -> BulkReport:
    merged = [one if one.refusal else replace(one, value=one.value.results) for one in parts]
    dry_run = any(one.value.dry_run for one in parts if one.refusal is None)
    return report_of(rows_of(merged, targets, refused_for), dry_run=dry_run)


def refused_for(target: LocatedController, refusal: Refusal) -> MemberResult:
    return MemberResult(target.name, refusal.status, str(refusal.as_problem()["detail"]))


def in_order(found: list[Any], targets: Sequence[LocatedController]) -> list[Any]:
    """Put what was found of controllers in the order in which these were chosen."""
    places: Mapping[str, int] = {one.name: place for place, one in enumerate(targets)}
    return sorted(found, key=lambda one: places.get(one.name, len(places)))


async def each_node(context: FleetContext, endpoint: FleetEndpoint) -> dict[str, Any]:
    """Ask every node that lives; return their answers by name, and note who is silent."""
    others = others_of(context)

    async def ask(node: str) -> Any:
        return (await asked(context, endpoint, node, None))[0]

    answers, silent = await ask_nodes(sorted({others.name, *others.living()}), ask)
    context.silent.update(silent)
    return answers


# --- asking one of them ---------------------------------------------------------------------------


async def at_owner(context: FleetContext, endpoint: FleetEndpoint) -> Any:
    """Ask the node that has the one controller which is meant."""
    name = context.needed("name", "the name of a controller")
    everybody = await targets_of(replace(context, given={}))
    target = [one for one in everybody if one.name == name]
    # None where it is removed meanwhile.
    parts = await fan_out(context, endpoint, target) if target else []
    if not parts:
        raise no_such_name(name)
    return all_of(parts)[0]


async def at_holder(context: FleetContext, endpoint: FleetEndpoint) -> Any:
    """Ask the node that runs the job which is meant."""
    id = within_tenant(context.tenant, context.needed("id", "the id of a job"))

    async def ask(node: str) -> Any:
        return (await asked(context, endpoint, node, None))[0]

    return await ask_holder(context, id, ask, may_repeat=is_repeatable(endpoint))


async def ask_holder(
    context: FleetContext,
    id: str,
    ask: Callable[[str], Coroutine[Any, Any, Any]],
    *,
    may_repeat: bool,
) -> Any:
    """Ask the node that runs a job, also where another one takes it over in the meantime."""
    others = others_of(context)

    async def find(ids: list[str]) -> Located[str, str]:
        node = await others.holder_of(id)
        if node is None:
            shown = name_for_tenant(context.tenant, id)
            raise NoSuchJob(f"There is no job {shown[:40]!r}.", field="id")
        return [(id, node or None)]

    async def ask_node(node: str, ids: list[str]) -> list[Part[str]]:
        try:
            return [Part(node, ids, await ask(node))]
        except SilentNode as silent:
            is_open = may_repeat or not silent.has_taken_it
            return [Part(node, ids, refusal=silent, is_open=is_open)]
        except Refusal as refusal:
            # Who has just taken it over may still be reading it.
            is_open = refusal.status == NoSuchJob.status
            return [Part(node, ids, refusal=refusal, is_open=is_open)]

    hold_s, wait = DEADLINES["job"].hold_s, wait_for_news(others)
    located = await find([id])
    parts = await ask_owners(located, find, ask_node, wait, hold_s, no_owner=NoJobOwner)
    return all_of(parts)[0]
