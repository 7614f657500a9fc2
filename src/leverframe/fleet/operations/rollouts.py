"""Operations on roll-outs: plan, list, show and operate them."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Literal, cast

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.core.durations import BadDuration, BadMoment, seconds_from_text, wall_of
from leverframe.core.tree import MISSING, difference, is_confidential
from leverframe.fleet.bulk import DONE, BulkReport, CommandEffect, try_out
from leverframe.fleet.change_groups import FleetChange, group_changes, newness
from leverframe.fleet.jobs.job import FleetJob
from leverframe.fleet.jobs.job_state import (
    ERRORS,
    GROUPS,
    MAX_GROUPS,
    JobAction,
    JobReport,
    JobWork,
    with_template,
)
from leverframe.fleet.jobs.jobs import JobTarget, RolloutPolicy, plan_of
from leverframe.fleet.member import Member
from leverframe.fleet.operation import Operation, operation
from leverframe.fleet.operations.bulk_commands import JOB_ID, JOB_NAME, find_chosen
from leverframe.fleet.operations.context import (
    CHOSEN,
    DRY_RUN,
    Command,
    CommandsOrTemplate,
    FleetContext,
    Name,
    ShortText,
    Template,
    list_of_texts,
)
from leverframe.fleet.operations.controllers import count_each
from leverframe.fleet.other_nodes import LocatedController, SilentNode
from leverframe.fleet.records import name_for_tenant
from leverframe.fleet.scopes import (
    Parts,
    ask_parts,
    at_each,
    at_every_node,
    at_job,
    merge_bulk,
    refusal_for,
    rows_of,
    values_of,
)
from leverframe.host.controller import Controller
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.table.command_text import parse_commands
from leverframe.interface.table.refusals import BadValue, Malformed, Refusal
from leverframe.interface.table.stage import Stage
from leverframe.storage.audit import AuditEntry
from leverframe.storage.backup import BackupFile, BackupRefused, content_of

ID = QueryParameter(
    "id",
    Annotated[
        str,
        Meta(
            pattern=r"^([a-z0-9-]{1,31}:)?[A-Za-z0-9_-]{1,40}$", max_length=72, description=JOB_NAME
        ),
    ],
    "The id of the job; for the operator, a tenant's job has the id `tenant:id`.",
)
CAREFULNESS = (
    QueryParameter(
        "groups",
        list_of_texts(MAX_GROUPS, 8 * MAX_GROUPS),
        f"Sizes of the groups: {GROUPS}. By default, one group of all controllers.",
    ),
    QueryParameter(
        "success",
        Annotated[float, Meta(ge=0, le=100)],
        "Percentage of a group that must succeed before the next group starts; 100 by default.",
    ),
    QueryParameter(
        "errors",
        ShortText,
        f"Number of failures that stops the roll-out: {ERRORS}, or none; 10% by default.",
    ),
    QueryParameter("pause", ShortText, "Pause after each group, such as `10m`."),
    QueryParameter(
        "check_health", bool, "Count a new finding of a controller as a failure; on by default."
    ),
    QueryParameter(
        "snapshot",
        bool,
        "Take a snapshot of each group before its change, for undo; on by default.",
    ),
)
WHAT = QueryParameter(
    "what",
    Literal["commands", "template"],
    "Kind of the body: commands, one per line, or a template.",
)
USUAL_ERRORS = "10%"


class RolloutPlanned(Struct, frozen=True):
    """A planned roll-out, with the expected result of each controller."""

    job: Annotated[JobReport | None, Meta(description="Null for a dry run.")]
    groups: Annotated[list[int], Meta(description="The sizes of the groups.")]
    tried: BulkReport


def _merge_rollouts(_: FleetContext, reports: dict[str, list[JobReport]]) -> list[JobReport]:
    found = [one for jobs in reports.values() for one in jobs]
    return sorted(found, key=lambda one: -one.made)


@operation("rollouts", scope=at_every_node, merge=_merge_rollouts)
def list_rollouts(context: FleetContext) -> list[JobReport]:
    """List roll-outs and bulk changes, newest first."""
    return [report_for(context, job) for job in context.jobs.all(context.tenant)]


@operation("rollout", ID, scope=at_job)
def show_rollout(context: FleetContext) -> JobReport:
    """Show a roll-out with the result of every controller that has answered."""
    return report_for(context, _job(context), with_results=True)


def report_for(context: FleetContext, job: FleetJob, *, with_results: bool = False) -> JobReport:
    report = job.report(with_results=with_results)
    return replace(report, id=name_for_tenant(context.tenant, report.id))


def _job(context: FleetContext) -> FleetJob:
    return context.jobs.find(context.require("id", "the id of a job"), context.tenant)


async def _plan_everywhere(
    context: FleetContext, operation: Operation[RolloutPlanned]
) -> RolloutPlanned:
    """Try a roll-out on the controllers of every node, and plan it for all of them."""
    work = await _work_of(context)
    targets = await find_chosen(context)
    trying = replace(context, given={**context.given, "dry_run": True})
    found = await ask_parts(trying, operation, targets) if targets else Parts([], [])
    tried = merge_bulk(found, lambda planned: cast(BulkReport, planned.tried))
    return await _plan_for(context, targets, work, tried)


@operation(
    "rollout/plan",
    QueryParameter(
        "command", Command, "A command; without it, the body holds the commands or a template."
    ),
    WHAT,
    QueryParameter("id", JOB_ID, "ID of the roll-out; generated by default."),
    *CHOSEN,
    *CAREFULNESS,
    DRY_RUN,
    changes=True,
    body=CommandsOrTemplate,
    body_is_optional=True,
    scope=_plan_everywhere,
)
async def plan_rollout(context: FleetContext) -> RolloutPlanned:
    """Plan a roll-out in groups for the chosen controllers, and show the expected result of each.
    Nothing is changed until it is started."""
    work = await _work_of(context)
    members = await context.find_chosen()
    tried = await try_out(members, partial(_perform, work))
    return await _plan_for(context, members, work, tried)


async def _plan_for(
    context: FleetContext, targets: Sequence[JobTarget], work: JobWork, tried: BulkReport
) -> RolloutPlanned:
    """Plan a roll-out for these controllers of any node, which have already tried it."""
    how = _policy(context)
    plan = plan_of("rollout", targets, work, context.requester, how)
    job = None
    if not context.given.get("dry_run"):
        id = context.given.get("id")
        made = await context.jobs.plan(targets, work, context.requester, how, id)
        job = report_for(context, made)
        context.notify_pages()
    return RolloutPlanned(job, [len(group) for group in plan.groups], tried)


def _perform(work: JobWork, controller: Controller, stage: Stage) -> None:
    for call, body in work.calls(controller):
        call.perform(stage, body)


async def _work_of(context: FleetContext) -> JobWork:
    """Read the work of a roll-out: a command in the query, or the body."""
    given, body = context.given, context.request.body
    if "command" in given:
        if body:
            raise Malformed(
                "The request has both a command and a body.", allowed="either a command or a body"
            )
        return _commands(given["command"])
    if not body:
        raise Malformed(
            "The request has neither a command nor a body.", allowed="either a command or a body"
        )
    if given.get("what") == "template":
        return JobWork(template=await template_of(context))
    return _commands(body.decode("utf-8", "replace"))


def _commands(text: str) -> JobWork:
    parse_commands(text)
    lines = (line.strip() for line in text.splitlines())
    return JobWork(tuple(line for line in lines if line and not line.startswith("#")))


async def template_of(context: FleetContext) -> BackupFile:
    template = await context.templates.read(context.request.body)
    try:
        content_of(template, None)
    except BackupRefused as error:
        raise BadValue(str(error), field="template") from None
    # The other parts of a backup are not stored with a job.
    return BackupFile(template.hw, template.sw, template.settings, edition=template.edition)


def _policy(context: FleetContext) -> RolloutPolicy:
    given = context.given
    try:
        pause_s = seconds_from_text(given.get("pause", "0s"))
    except BadDuration as error:
        raise BadValue(str(error), field="pause") from None
    return RolloutPolicy(
        given.get("groups", "rest"),
        given.get("success", 100.0),
        given.get("errors", USUAL_ERRORS),
        pause_s,
        given.get("check_health", True),
        given.get("snapshot", True),
    )


async def _operate(context: FleetContext, what: JobAction) -> JobReport:
    job = _job(context)
    await job.operate(what, context.account.name)
    context.notify_pages()
    return report_for(context, job)


@operation("rollout/start", ID, changes=True, scope=at_job)
async def start_rollout(context: FleetContext) -> JobReport:
    """Start a roll-out that was planned."""
    return await _operate(context, "start")


@operation("rollout/stop", ID, changes=True, scope=at_job)
async def stop_rollout(context: FleetContext) -> JobReport:
    """Stop a roll-out after the requests under way."""
    return await _operate(context, "stop")


@operation("rollout/resume", ID, changes=True, scope=at_job)
async def resume_rollout(context: FleetContext) -> JobReport:
    """Resume a stopped roll-out, or end its pause."""
    return await _operate(context, "resume")


@operation("rollout/retry", ID, changes=True, scope=at_job)
async def retry_rollout(context: FleetContext) -> JobReport:
    """Retry only the failed controllers."""
    return await _operate(context, "retry")


@operation("rollout/undo", ID, changes=True, scope=at_job)
async def undo_rollout(context: FleetContext) -> JobReport:
    """Restore the previous settings of the changed controllers."""
    return await _operate(context, "undo")


@operation("rollout/remove", ID, changes=True, scope=at_job)
async def remove_rollout(context: FleetContext) -> JobReport:
    """Delete a roll-out, and its snapshots."""
    job = _job(context)
    await context.jobs.remove(job)
    context.notify_pages()
    return report_for(context, job)


# The drift of controllers from a template, and the changes of controllers with their authors.

#: Maximum number of different settings that are listed per controller.
MAX_NAMED = 50
MAX_CHANGES = 1000
#: The number of changes, the newest of each node, among which equal ones are grouped.
GROUPED_CHANGES = 20_000
USUAL_CHANGES = 200
CHANGES_OF = (
    QueryParameter("by", Name, "The account that made the changes, or `fleet`."),
    QueryParameter("since", ShortText, "A duration such as `24h`, or a moment `2026-03-29T03:00`."),
    QueryParameter(
        "count",
        Annotated[int, Meta(ge=1, le=MAX_CHANGES)],
        f"Maximum number of changes, the newest ones; {USUAL_CHANGES} by default.",
    ),
    QueryParameter("grouped", bool, "Join equal changes of several controllers."),
)


class MemberDrift(Struct, frozen=True, omit_defaults=True):
    """The difference between a controller and a template."""

    name: str
    status: Annotated[
        int, Meta(description="200, or a status that says why the controller cannot be compared.")
    ]
    differs: Annotated[int, Meta(description="Number of different settings.")] = 0
    settings: Annotated[
        list[CommandEffect],
        Meta(description=("Present and expected values of the first different settings.")),
    ] = []
    detail: str | None = None


def _not_compared(target: LocatedController, why: Refusal) -> MemberDrift:
    refused = refusal_for(target, why)
    return MemberDrift(refused.name, refused.status, detail=refused.detail)


@operation(
    "drift",
    *CHOSEN,
    is_question=True,
    body=Template,
    scope=at_each,
    merge=lambda _, found: rows_of(found, _not_compared),
)
async def compare_controllers(context: FleetContext) -> list[MemberDrift]:
    """Show how the chosen controllers differ from a template; nothing is changed."""
    template = await template_of(context)
    members = await context.find_chosen()
    return [_drift(member, template) async for member in count_each(members)]


def _drift(member: Member, template: BackupFile) -> MemberDrift:
    controller = member.controller
    present = controller.engine.settings
    try:
        wanted = with_template(template, controller.profile, present)
    except Refusal as refusal:
        return MemberDrift(member.name, refusal.status, detail=refusal.detail)
    leaves = [leaf for leaf in difference(present, wanted) if not is_confidential(leaf[0])]
    named = [
        CommandEffect(path, None if old is MISSING else old, None if new is MISSING else new)
        for path, old, new in leaves[:MAX_NAMED]
    ]
    return MemberDrift(member.name, DONE, len(leaves), named)


def _merge_changes(context: FleetContext, found: Parts) -> list[FleetChange]:
    """List the changes of all nodes except silent ones.

    An unreadable history, unlike a silent node, is an error.
    """
    reports = values_of(part for part in found.parts if not isinstance(part.refusal, SilentNode))
    changes = (one for some in reports for one in some)
    return _newest_of(context, changes)


@operation("changes", *CHOSEN, *CHANGES_OF, scope=at_each, merge=_merge_changes)
async def list_changes(context: FleetContext) -> list[FleetChange]:
    """List changes and switching actions on the chosen controllers with their authors, newest
    first.
    """
    given = context.given
    by, since, url_of = given.get("by"), _since(context), context.node.door.url_of
    most = GROUPED_CHANGES if given.get("grouped") else given.get("count", USUAL_CHANGES)
    newest: list[FleetChange] = []
    async for member in count_each(await context.find_chosen()):
        for raw in (await member.controller.audit_entries()).values():
            entry = msgspec.json.decode(raw, type=AuditEntry)
            if entry.time >= since and by in (None, entry.account):
                newest.append(FleetChange(member.name, entry, url_of(member.name)))
        if len(newest) > 2 * most:
            newest = sorted(newest, key=newness)[:most]
    # Grouping thousands of changes would delay the controllers.
    return await asyncio.to_thread(_newest_of, context, newest)


def _newest_of(context: FleetContext, changes: Iterable[FleetChange]) -> list[FleetChange]:
    grouped, count = context.given.get("grouped"), context.given.get("count", USUAL_CHANGES)
    found = group_changes(changes) if grouped else sorted(changes, key=newness)
    return found[:count]


def _since(context: FleetContext) -> float:
    text = context.given.get("since")
    if text is None:
        return 0.0
    try:
        return context.node.clock.wall() - seconds_from_text(text)
    except BadDuration:
        pass
    try:
        return wall_of(text, context.node.options.timezone)
    except BadMoment:
        raise BadValue(
            f"{text[:40]!r} is not a time.", field="since", allowed="24h, or 2026-03-29T03:00"
        ) from None
