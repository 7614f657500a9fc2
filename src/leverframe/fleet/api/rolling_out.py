"""Roll-outs and bulk changes of a node: planned, watched, and operated."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table.refusals import BadValue, Malformed
from leverframe.commands.table.stage import Stage
from leverframe.commands.table.written_commands import written_commands
from leverframe.controller import Controller
from leverframe.durations import BadDuration, seconds_from_text
from leverframe.fleet.api.acting import JOB_NAME
from leverframe.fleet.api.context import FleetContext
from leverframe.fleet.api.parameters import ShortText, list_of_texts
from leverframe.fleet.bulk import BulkReport, try_out
from leverframe.fleet.jobs.job import FleetJob
from leverframe.fleet.jobs.job_plan import ERRORS, GROUPS, MAX_GROUPS
from leverframe.fleet.jobs.job_state import JobReport, Operation
from leverframe.fleet.jobs.job_work import JobWork
from leverframe.fleet.jobs.jobs import JobTarget, RolloutPolicy, plan_of
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


def listed(context: FleetContext) -> list[JobReport]:
    return [report_for(context, job) for job in context.jobs.all(context.tenant)]


def shown(context: FleetContext) -> JobReport:
    return report_for(context, _job(context), with_results=True)


def report_for(context: FleetContext, job: FleetJob, *, with_results: bool = False) -> JobReport:
    report = job.report(with_results=with_results)
    return replace(report, id=name_for_tenant(context.tenant, report.id))


def _job(context: FleetContext) -> FleetJob:
    return context.jobs.find(context.needed("id", "the id of a job"), context.tenant)


async def planned(context: FleetContext) -> RolloutPlanned:
    """Plan a roll-out after it has been tried; nothing is changed."""
    work = await work_of(context)
    members = await context.chosen()
    tried = await try_out(members, partial(_perform, work))
    return await planned_for(context, members, work, tried)


async def planned_for(
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


async def work_of(context: FleetContext) -> JobWork:
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
    written_commands(text)
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


async def operated(operation: Operation, context: FleetContext) -> JobReport:
    job = _job(context)
    await job.operate(operation, context.account.name)
    context.notify_pages()
    return report_for(context, job)


async def forgotten(context: FleetContext) -> JobReport:
    job = _job(context)
    await context.jobs.remove(job)
    context.notify_pages()
    return report_for(context, job)
