"""What each endpoint does where several nodes share a database: parts put together."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from leverframe.commands.table.refusals import Conflict, Refusal
from leverframe.commands.table.row import ADMIN, CONTROL
from leverframe.commands.table.written_commands import written_commands
from leverframe.fleet.api import acting, reading, rolling_out
from leverframe.fleet.api.acting import command_of, label_of
from leverframe.fleet.api.comparing import USUAL_CHANGES, FleetChange, MemberDrift, newness
from leverframe.fleet.api.context import CHOSEN, FleetContext, FleetEndpoint
from leverframe.fleet.api.fan_out import (
    all_of,
    ask_holder,
    asked,
    bulk_of,
    done_here,
    each_node,
    fan_out,
    fan_out_bulk,
    others_of,
    refused_for,
    rows_of,
    targets_of,
)
from leverframe.fleet.api.making import MadeReport
from leverframe.fleet.api.reading import (
    AdvanceReport,
    ExportedController,
    MemberReport,
    NodeReport,
)
from leverframe.fleet.api.rolling_out import RolloutPlanned
from leverframe.fleet.bulk import BulkReport, MemberResult, not_done, report_of
from leverframe.fleet.group_snapshots import KeptSnapshot, no_such_snapshot
from leverframe.fleet.jobs.job_state import JobReport
from leverframe.fleet.jobs.job_work import JobWork
from leverframe.fleet.jobs.jobs import TellCall
from leverframe.fleet.other_nodes import LocatedController, SilentNode, ask_node
from leverframe.fleet.owners import DEADLINES, NoOwner
from leverframe.fleet.records import JobTaken
from leverframe.fleet.tenants import within_tenant
from leverframe.storage.store import StoreUnavailable

# --- reading --------------------------------------------------------------------------------------


async def overview(context: FleetContext, endpoint: FleetEndpoint) -> NodeReport:
    """Add the nodes up; troubles are told with the node that has them."""
    reports: dict[str, NodeReport] = await each_node(context, endpoint)
    # This one always answers.
    own = reports[others_of(context).name]
    troubles = [f"{node}: {text}" for node, one in reports.items() for text in one.troubles]
    not_started = [f"{node}: {text}" for node, one in reports.items() for text in one.not_started]
    troubles += [f"{node}: It does not answer." for node in sorted(context.silent)]
    return replace(
        own,
        controllers=sum(one.controllers for one in reports.values()),
        degraded=sum(one.degraded for one in reports.values()),
        tags=_added(one.tags for one in reports.values()),
        versions=_added(one.versions for one in reports.values()),
        tenants=_added(one.tenants for one in reports.values()),
        snapshots=list(dict.fromkeys(label for one in reports.values() for label in one.snapshots)),
        troubles=troubles,
        not_started=not_started,
        can_start=list(dict.fromkeys(name for one in reports.values() for name in one.can_start)),
    )


def _added(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    sums = Counter[str]()
    for one in counts:
        sums.update(one)
    return dict(sorted(sums.items()))


async def listed(context: FleetContext, endpoint: FleetEndpoint) -> list[MemberReport]:
    """List controllers of all nodes; those of silent ones as unknown, unless looked for by it."""
    targets = await targets_of(context)
    parts = await fan_out(context, endpoint, targets)
    if context.is_looked_for:
        parts = [part for part in parts if part.refusal is None]
    return rows_of(parts, targets, partial(_unknown, context))


def _unknown(context: FleetContext, target: LocatedController, why: Refusal) -> MemberReport:
    record = target.record
    return MemberReport(
        record.name,
        record.tags,
        record.tenant,
        record.hw or "",
        record.sw or "",
        "unknown",
        [why.detail],
        None,
        context.node.door.url_of(record.name),
        record.address,
        record.port,
        target.node,
    )


async def exported(context: FleetContext, endpoint: FleetEndpoint) -> list[ExportedController]:
    """Export controllers of all nodes, or refuse it: one that is missing would not be noticed."""
    targets = await targets_of(context)
    reports = all_of(await fan_out(context, endpoint, targets))
    found: list[ExportedController] = [one for some in reports for one in some]
    places = {one.name: place for place, one in enumerate(targets)}
    return sorted(found, key=lambda one: places.get(one.record.name, len(places)))


async def drift(context: FleetContext, endpoint: FleetEndpoint) -> list[MemberDrift]:
    targets = await targets_of(context)
    if not targets:
        found: list[MemberDrift] = (await done_here(context, endpoint, []))[0]
        return found
    return rows_of(await fan_out(context, endpoint, targets), targets, _not_compared)


def _not_compared(target: LocatedController, why: Refusal) -> MemberDrift:
    refused = refused_for(target, why)
    return MemberDrift(refused.name, refused.status, detail=refused.detail)


async def changes(context: FleetContext, endpoint: FleetEndpoint) -> list[FleetChange]:
    """List changes of all nodes but silent ones; what one cannot read would not be noticed."""
    parts = await fan_out(context, endpoint, await targets_of(context))
    reports = all_of(part for part in parts if not isinstance(part.refusal, SilentNode))
    newest = sorted((one for some in reports for one in some), key=newness)
    return newest[: context.given.get("count", USUAL_CHANGES)]


# --- making ---------------------------------------------------------------------------------------


async def added(context: FleetContext, endpoint: FleetEndpoint) -> MadeReport:
    """Make controllers at this node, from where they are shared out."""
    like = context.given.get("like")
    if like is not None and like not in context.members and not context.request.body:
        template = await _settings_of(context, like)
        given = {name: value for name, value in context.given.items() if name != "like"}
        request = replace(context.request, body=msgspec.json.encode(template))
        context = replace(context, given=given, request=request)
    trying = replace(context, given={**context.given, "dry_run": True})
    would: MadeReport = await endpoint.function(trying)
    known = {one.name for one in await others_of(context).locate()}
    for name in would.names:
        if name in known:
            raise Conflict(f"There is a controller {name} already.", field="name")
    if context.given.get("dry_run"):
        return would
    made: MadeReport = await endpoint.function(context)
    return made


async def _settings_of(context: FleetContext, name: str) -> Any:
    looking = replace(context, given={"name": name})
    (found,) = await exported(looking, EXPORT)
    return found.settings


async def started(context: FleetContext, endpoint: FleetEndpoint) -> BulkReport:
    """Have every node try what did not start there: all of it, or those that are named."""
    told: dict[str, NodeReport] = await each_node(replace(context, given={}), OVERVIEW)
    where: dict[str, str | None] = {
        name: node for node, one in told.items() for name in one.can_start
    }
    names = list(dict.fromkeys(context.texts("name"))) or list(where)
    if not where.keys() >= set(names):
        where = {one.name: one.node for one in await others_of(context).locate()} | where
    for name in names:
        if name not in where:
            raise context.node.not_started.refusal_of(name, context.tenant)
    by_node: dict[str | None, list[str]] = {}
    for name in names:
        by_node.setdefault(where[name], []).append(name)
    parts = await asyncio.gather(
        *(_started_at(context, endpoint, node, some) for node, some in by_node.items())
    )
    results = {one.name: one for part in parts for one in part}
    return report_of([results[name] for name in names])


async def _started_at(
    context: FleetContext, endpoint: FleetEndpoint, node: str | None, names: Sequence[str]
) -> list[MemberResult]:
    part = replace(context, given={"name": ",".join(names)})
    try:
        if node is None:
            raise NoOwner
        report: BulkReport = (await asked(part, endpoint, node, None))[0]
        return report.results
    except StoreUnavailable as error:
        refusal = endpoint.refusal(error)
    except Refusal as error:
        refusal = error
        if isinstance(error, SilentNode) and node is not None:
            context.silent.add(node)
    return [MemberResult(name, refusal.status, refusal.detail) for name in names]


# --- changing -------------------------------------------------------------------------------------


async def advanced(context: FleetContext, endpoint: FleetEndpoint) -> AdvanceReport:
    """Move the time of controllers at every node that has some, and of these nodes."""
    targets = await targets_of(context)
    parts = await fan_out(context, endpoint, targets, others_of(context).living())
    reports: list[AdvanceReport] = all_of(parts)
    due = [one.due for one in reports if one.due is not None]
    return AdvanceReport(
        **asdict(await overview(context, OVERVIEW)),
        moved=sum(one.moved for one in reports),
        moved_s=max((one.moved_s for one in reports), default=0.0),
        earliest=min((one.earliest for one in reports if one.earliest is not None), default=None),
        latest=max((one.latest for one in reports if one.latest is not None), default=None),
        due=sum(due) if due else None,
    )


async def snapshot_taken(context: FleetContext, endpoint: FleetEndpoint) -> BulkReport:
    """Replace what every node has under this label, also one that has nothing to add."""
    targets = await targets_of(context)
    parts = await fan_out(context, endpoint, targets, others_of(context).living())
    return bulk_of(parts, targets)


async def snapshots(context: FleetContext, endpoint: FleetEndpoint) -> list[KeptSnapshot]:
    reports: dict[str, list[KeptSnapshot]] = await each_node(context, endpoint)
    return _joined(one for found in reports.values() for one in found)


def _joined(parts: Iterable[KeptSnapshot]) -> list[KeptSnapshot]:
    """Put the parts together that nodes have of snapshots, the oldest of these first."""
    whole: dict[str, KeptSnapshot] = {}
    for part in parts:
        known = whole.get(part.label, KeptSnapshot(part.label, part.at, 0))
        count = known.controllers + part.controllers
        whole[part.label] = KeptSnapshot(part.label, max(known.at, part.at), count)
    return sorted(whole.values(), key=lambda one: one.at)


async def snapshot_removed(context: FleetContext, endpoint: FleetEndpoint) -> KeptSnapshot:
    """Remove the part of every node; refuse it where one may still have some."""
    label, silent = label_of(context), set[str]()
    reports = await each_node(replace(context, given={}, silent=silent), SNAPSHOTS)
    holders = [node for node, found in reports.items() if any(one.label == label for one in found)]
    removed = [(await asked(context, endpoint, node, None))[0] for node in holders]
    # Pages of this node show the labels of all.
    context.notify_pages()
    for node in sorted(silent):
        raise SilentNode(node)
    if not removed:
        known = _joined(one for found in reports.values() for one in found)
        raise no_such_snapshot(label, [one.label for one in known])
    return _joined(removed)[0]


async def sent(context: FleetContext, endpoint: FleetEndpoint) -> BulkReport:
    """Carry out a command on controllers of all nodes as one job, or try it.

    All or none: it is tried on all of them first. Where they are all here, it is carried out in the
    same moment; else others may change something between the two, and that is told.
    """
    given, command = context.given, command_of(context)
    if given.get("dry_run"):
        return await fan_out_bulk(context, endpoint)
    written_commands(command)
    work = JobWork((command,))
    targets = await chosen_targets(context)
    if given.get("all_or_none"):
        numbers = [one.number for one in targets]
        if len(context.node.by_number(set(numbers))) == len(numbers):
            report: BulkReport = (await done_here(context, endpoint, numbers))[0]
            return report
        trying = replace(context, given={**given, "dry_run": True})
        tried = bulk_of(await fan_out(trying, endpoint, targets), targets)
        if tried.refused:
            return report_of(not_done(tried.results))
    id = given.get("id")
    try:
        return await context.jobs.send(targets, work, context.requester, id)
    except JobTaken:
        assert id is not None
        return await _report_again(context, within_tenant(context.tenant, id), work)


async def _report_again(context: FleetContext, id: str, work: JobWork) -> BulkReport:
    others, seconds = others_of(context), DEADLINES["job"].answer_s

    async def ask(node: str) -> BulkReport:
        call = TellCall(id, work)
        report: BulkReport = await ask_node(
            others, context.node.calls, node, "job.told", call, BulkReport, seconds
        )
        return report

    report: BulkReport = await ask_holder(context, id, ask, may_repeat=True)
    return report


async def chosen_targets(context: FleetContext) -> Sequence[LocatedController]:
    """Find the chosen controllers wherever they are, by their health and findings too."""
    targets = await targets_of(context)
    if not context.is_looked_for:
        return targets
    # Where a node refuses it, it cannot be told whether its controllers are meant.
    reports = all_of(await fan_out(context, LIST, targets))
    names = {one.name for some in reports for one in some}
    return [one for one in targets if one.name in names]


# --- roll-outs ------------------------------------------------------------------------------------


async def rollouts(context: FleetContext, endpoint: FleetEndpoint) -> list[JobReport]:
    reports: dict[str, list[JobReport]] = await each_node(context, endpoint)
    found = [one for jobs in reports.values() for one in jobs]
    return sorted(found, key=lambda one: -one.made)


async def planned(context: FleetContext, endpoint: FleetEndpoint) -> RolloutPlanned:
    """Try it on the controllers of every node, and plan it for all of them."""
    work = await rolling_out.work_of(context)
    targets = await chosen_targets(context)
    trying = replace(context, given={**context.given, "dry_run": True})
    parts = await fan_out(trying, endpoint, targets) if targets else []
    tried = bulk_of(
        [one if one.refusal else replace(one, value=one.value.tried) for one in parts], targets
    )
    return await rolling_out.planned_for(context, targets, work, tried)


# --- endpoints that others are made of ------------------------------------------------------------

OVERVIEW = FleetEndpoint(
    "/api/fleet",
    role=CONTROL,
    for_tenants=True,
    while_starting=True,
    function=reading.node_report,
    across=overview,
    doc="Show the node: how many controllers, their tags, the common time, the snapshots; added up "
    "where several nodes share a database.",
)
LIST = FleetEndpoint(
    "/api/fleet/list",
    role=CONTROL,
    for_tenants=True,
    query=CHOSEN,
    function=reading.listed,
    across=listed,
    doc="List the chosen controllers: version, tags, health, time and where they answer.",
)
EXPORT = FleetEndpoint(
    "/api/fleet/export",
    role=ADMIN,
    for_tenants=True,
    query=CHOSEN,
    function=reading.exported,
    across=exported,
    doc="Give the chosen controllers as a fleet file and settings files describe them, without "
    "secrets.",
)
ROLLOUTS = FleetEndpoint(
    "/api/fleet/rollouts",
    role=ADMIN,
    for_tenants=True,
    function=rolling_out.listed,
    across=rollouts,
    doc="List roll-outs and bulk changes, newest first.",
)
SNAPSHOTS = FleetEndpoint(
    "/api/fleet/snapshots",
    role=ADMIN,
    for_tenants=True,
    function=acting.snapshots_listed,
    across=snapshots,
    doc="List snapshots by label: when they were taken, and of how many controllers; the oldest "
    "first.",
)
