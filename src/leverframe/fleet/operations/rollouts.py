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
    "The id of the job; the operator finds those of tenants as `tenant:id`.",
)
CAREFULNESS = (
    QueryParameter(
        "groups",
        list_of_texts(MAX_GROUPS, 8 * MAX_GROUPS),
        f"Sizes of the groups: {GROUPS}. All together if not given.",
    ),
    QueryParameter(
        "success",
        Annotated[float, Meta(ge=0, le=100)],
        "Percentage of a group that must have done it for the next one to begin, 100.",
    ),
    QueryParameter(
        "errors", ShortText, f"The number of failures that stops it: {ERRORS}, or none; 10%."
    ),
    QueryParameter("pause", ShortText, "How long to wait after each group, such as `10m`."),
    QueryParameter("check_health", bool, "Count a new finding of a controller as a failure; yes."),
    QueryParameter("snapshot", bool, "Take a snapshot of each group before, to go back to; yes."),
)
WHAT = QueryParameter(
    "what",
    Literal["commands", "template"],
    "What the body is: commands, one in a line, or a template.",
)
USUAL_ERRORS = "10%"


class RolloutPlanned(Struct, frozen=True):
    """A roll-out that was planned, with what each controller would say to it."""

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
    return context.jobs.find(context.needed("id", "the id of a job"), context.tenant)


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
    QueryParameter("command", Command, "A command; else the body says what to do."),
    WHAT,
    QueryParameter("id", JOB_ID, "An id for it; one is made if not given."),
    *CHOSEN,
    *CAREFULNESS,
    DRY_RUN,
    changes=True,
    body=CommandsOrTemplate,
    body_is_optional=True,
    scope=_plan_everywhere,
)
async def plan_rollout(context: FleetContext) -> RolloutPlanned:
    """Plan a roll-out in groups for the chosen controllers, and tell what each would say to
    it. Nothing is changed before it is started."""
    work = await _work_of(context)
    members = await context.chosen()
    tried = await try_out(members, partial(_perform, work))
    return await _plan_for(context, members, work, tried)


async def _plan_for(
    context: FleetContext, targets: Sequence[JobTarget], work: JobWork, tried: BulkReport
) -> RolloutPlanned:
    """Plan a roll-out for controllers, wherever they are, that have tried it."""
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
    """Read what is to be done: a command, or the body."""
    given, body = context.given, context.request.body
    if "command" in given:
        if body:
            raise Malformed("There is a command and a body.", allowed="one of them")
        return _commands(given["command"])
    if not body:
        raise Malformed("It is not said what to do.", allowed="command, or a body")
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
    # What a backup has beside settings is not kept with a job.
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
    """Stop a roll-out after the controllers that are being asked."""
    return await _operate(context, "stop")


@operation("rollout/resume", ID, changes=True, scope=at_job)
async def resume_rollout(context: FleetContext) -> JobReport:
    """Go on with a roll-out that has stopped, or end its pause."""
    return await _operate(context, "resume")


@operation("rollout/retry", ID, changes=True, scope=at_job)
async def retry_rollout(context: FleetContext) -> JobReport:
    """Try those again that have failed, and only those."""
    return await _operate(context, "retry")


@operation("rollout/undo", ID, changes=True, scope=at_job)
async def undo_rollout(context: FleetContext) -> JobReport:
    """Take the settings back that those had which were changed."""
    return await _operate(context, "undo")


@operation("rollout/remove", ID, changes=True, scope=at_job)
async def remove_rollout(context: FleetContext) -> JobReport:
    """Forget a roll-out, and the snapshots it could go back to."""
    job = _job(context)
    await context.jobs.remove(job)
    context.notify_pages()
    return report_for(context, job)
