"""Operations on roll-outs: plan, list, show and operate them."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal, cast

from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table.refusals import BadValue, Malformed
from leverframe.commands.table.stage import Stage
from leverframe.commands.table.written_commands import parse_commands
from leverframe.controller import Controller
from leverframe.durations import BadDuration, seconds_from_text
from leverframe.fleet.bulk import BulkReport, try_out
from leverframe.fleet.jobs.job import FleetJob
from leverframe.fleet.jobs.job_plan import ERRORS, GROUPS, MAX_GROUPS
from leverframe.fleet.jobs.job_state import JobAction, JobReport
from leverframe.fleet.jobs.job_work import JobWork
from leverframe.fleet.jobs.jobs import JobTarget, RolloutPolicy, plan_of
from leverframe.fleet.operation import Operation, operation
from leverframe.fleet.operations.commands import JOB_ID, JOB_NAME, find_chosen
from leverframe.fleet.operations.context import CHOSEN, FleetContext
from leverframe.fleet.operations.parameters import (
    DRY_RUN,
    Command,
    CommandsOrTemplate,
    ShortText,
    list_of_texts,
)
from leverframe.fleet.scopes import Parts, ask_parts, at_every_node, at_job, merge_bulk
from leverframe.fleet.tenants import name_for_tenant
from leverframe.storage.backup import BackupFile, BackupRefused, content_of

ID = QueryParameter(
    "id",
    Annotated[
        str,
        Meta(
            pattern=r"^([a-z0-9-]{1,31}:)?[A-Za-z0-9_-]{1,40}$", max_length=72, description=JOB_NAME
        ),
    ],
    "The id of the job; for the operator, jobs of tenants have ids such as `tenant:id`.",
)
CAREFULNESS = (
    QueryParameter(
        "groups",
        list_of_texts(MAX_GROUPS, 8 * MAX_GROUPS),
        f"Sizes of the groups: {GROUPS}. One group of all by default.",
    ),
    QueryParameter(
        "success",
        Annotated[float, Meta(ge=0, le=100)],
        "Percentage of a group that must succeed before the next group starts; 100 by default.",
    ),
    QueryParameter(
        "errors", ShortText, f"Number of failures that stops it: {ERRORS}, or none; 10% by default."
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
    """Try it on the controllers of every node, and plan it for all of them."""
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
    QueryParameter("id", JOB_ID, "An id for it; generated by default."),
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
    """Plan a roll-out for controllers of any node that have tried it."""
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
    """Read the task: a command, or the body."""
    given, body = context.given, context.request.body
    if "command" in given:
        if body:
            raise Malformed(
                "There are both a command and a body.", allowed="either a command or a body"
            )
        return _commands(given["command"])
    if not body:
        raise Malformed(
            "There is neither a command nor a body.", allowed="either a command or a body"
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
    # Parts of a backup other than settings are not kept with a job.
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
