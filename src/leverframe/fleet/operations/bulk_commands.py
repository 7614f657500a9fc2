"""Operations that run commands or set faults on controllers."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from leverframe.fleet.bulk import BulkReport, not_done, report_of, send
from leverframe.fleet.controller_actions import set_fault
from leverframe.fleet.jobs.job_state import JobWork
from leverframe.fleet.jobs.jobs import ReportCall
from leverframe.fleet.operation import Operation, operation
from leverframe.fleet.operations.context import (
    CHOSEN,
    DRY_RUN,
    Command,
    CommandBody,
    FleetContext,
    Words,
)
from leverframe.fleet.operations.controllers import list_controllers
from leverframe.fleet.other_nodes import LocatedController, ask_node
from leverframe.fleet.owners import DEADLINES
from leverframe.fleet.records import JobTaken, within_tenant
from leverframe.fleet.scopes import (
    ask_job_owner,
    ask_parts,
    at_each,
    find_targets,
    merge_results,
    others_of,
    run_here,
    values_of,
)
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.table.command_text import parse_commands
from leverframe.interface.table.refusals import BadValue
from leverframe.interface.table.row import CONTROL

JOB_NAME = "1 to 40 letters, digits, dashes and underscores"
JOB_ID = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,40}$", max_length=40, description=JOB_NAME)]


async def _send_everywhere(context: FleetContext, operation: Operation[BulkReport]) -> BulkReport:
    """Run a command on controllers of all nodes as one job, or try it.

    With `all_or_none`, the command is first tried on all controllers. If this node has all of them,
    the command runs immediately after the trial. Otherwise another request may change a controller
    after the trial. The response then lists the controllers that rejected the command.
    """
    given, command = context.given, _command_of(context)
    if given.get("dry_run"):
        return await at_each(context, operation)
    parse_commands(command)
    work = JobWork((command,))
    targets = await find_chosen(context)
    if given.get("all_or_none"):
        numbers = [one.number for one in targets]
        if len(context.node.by_number(set(numbers))) == len(numbers):
            report: BulkReport = (await run_here(context, operation, numbers))[0]
            return report
        trying = replace(context, given={**given, "dry_run": True})
        tried = merge_results(context, await ask_parts(trying, operation, targets))
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
        call = ReportCall(id, work)
        report: BulkReport = await ask_node(
            others, context.node.calls, node, "job.told", call, BulkReport, seconds
        )
        return report

    report: BulkReport = await ask_job_owner(context, id, ask, may_repeat=True)
    return report


async def find_chosen(context: FleetContext) -> Sequence[LocatedController]:
    """Find the chosen controllers on all nodes, including those chosen by health or findings."""
    targets = await find_targets(context)
    if not context.is_looked_for:
        return targets
    # A node that refuses the search may have controllers that match, so its refusal is raised.
    reports = values_of((await ask_parts(context, list_controllers, targets)).parts)
    names = {one.name for some in reports for one in some}
    return [one for one in targets if one.name in names]


@operation(
    "send",
    QueryParameter("command", Command, "A command, such as `outs.cgi?out0=1`, percent-encoded."),
    *CHOSEN,
    DRY_RUN,
    QueryParameter("all_or_none", bool, "Change nothing if any controller rejects it."),
    QueryParameter(
        "id",
        JOB_ID,
        "ID of this change: requests repeated with the same ID carry it out only once.",
    ),
    changes=True,
    role=CONTROL,
    body=CommandBody,
    body_is_optional=True,
    scope=_send_everywhere,
)
async def send_command(context: FleetContext) -> BulkReport:
    """Carry out or try a command on the chosen controllers, with a result for each. Each controller
    applies the change exactly once; an interrupted change resumes when the node restarts."""
    given, command = context.given, _command_of(context)
    members = await context.find_chosen()
    dry_run, all_or_none = given.get("dry_run", False), given.get("all_or_none", False)
    if dry_run or all_or_none:
        source = context.request.peer
        return await send(
            members,
            command,
            source,
            dry_run=dry_run,
            all_or_none=all_or_none,
            requester=context.at_controllers,
        )
    parse_commands(command)
    work = JobWork((command,))
    return await context.jobs.send(members, work, context.requester, given.get("id"))


def _command_of(context: FleetContext) -> str:
    command = context.require("command", "a command such as outs.cgi?out0=1")
    if body := context.request.body:
        return f"{command} {_body_of_command(body)}"
    return command


def _body_of_command(body: bytes) -> str:
    text = body.decode("utf-8", "replace").strip()
    if not text.isprintable():
        raise BadValue("The body of the command has several lines.", allowed="one line of text")
    return text


@operation(
    "fault",
    QueryParameter("fault", Words, "A fault as `/sim.cgi` accepts it; `none` ends all faults."),
    QueryParameter(
        "seed", Annotated[int, Meta(ge=0)], "Random seed; each controller derives its own."
    ),
    *CHOSEN,
    changes=True,
    scope=at_each,
)
async def set_faults(context: FleetContext) -> BulkReport:
    """Set a fault on the chosen controllers, each with a seed of its own."""
    text = context.require("fault", "a fault such as slow*delay:5s, or none")
    return await set_fault(await context.find_chosen(), text, context.given.get("seed", 0))
