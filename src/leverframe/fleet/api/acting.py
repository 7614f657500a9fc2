"""What controllers of a node are made to do: commands, time, snapshots and faults."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, structs

from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table.refusals import BadValue, Malformed, NotAllowed
from leverframe.commands.table.written_commands import written_commands
from leverframe.durations import BadDuration, seconds_from_text
from leverframe.fleet.api.context import FleetContext
from leverframe.fleet.api.reading import AdvanceReport, node_report
from leverframe.fleet.bulk import BulkReport, send
from leverframe.fleet.group_snapshots import KeptSnapshot
from leverframe.fleet.jobs.job_work import JobWork
from leverframe.fleet.live import set_fault
from leverframe.fleet.members import Member
from leverframe.moments import BadMoment, wall_of
from leverframe.servers.http.client_presence import ends_with_client

LABEL = "1 to 40 letters, digits, spaces, dots, dashes and underscores"
SNAPSHOT_LABEL = QueryParameter(
    "label",
    Annotated[str, Meta(pattern=r"^[\w. -]{1,40}$", max_length=40, description=LABEL)],
    "What the snapshot is called.",
)
KEPT_LABEL = QueryParameter(
    "label",
    Annotated[
        str, Meta(pattern=r"^([a-z0-9-]{1,31}:)?[\w. -]{1,40}$", max_length=72, description=LABEL)
    ],
    "What the snapshot is called; the operator finds those of tenants as `tenant:label`.",
)

JOB_NAME = "1 to 40 letters, digits, dashes and underscores"
JOB_ID = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,40}$", max_length=40, description=JOB_NAME)]


async def sent(context: FleetContext) -> BulkReport:
    given, command = context.given, command_of(context)
    members = await context.chosen()
    dry_run, all_or_none = given.get("dry_run", False), given.get("all_or_none", False)
    if dry_run or all_or_none:
        source = context.request.peer
        return await send(
            members,
            command,
            source,
            dry_run=dry_run,
            all_or_none=all_or_none,
            by=context.at_controllers,
        )
    written_commands(command)
    work = JobWork((command,))
    return await context.jobs.send(members, work, context.requester, given.get("id"))


def command_of(context: FleetContext) -> str:
    command = context.needed("command", "a command such as outs.cgi?out0=1")
    if body := context.request.body:
        return f"{command} {_body_of_command(body)}"
    return command


def _body_of_command(body: bytes) -> str:
    text = body.decode("utf-8", "replace").strip()
    if not text.isprintable():
        raise BadValue("The body of the command has several lines.", allowed="one line of text")
    return text


async def moved(context: FleetContext) -> AdvanceReport:
    given, members = context.given, await context.chosen()
    asked = [name for name in ("for", "to", "step", "rate") if name in given]
    if len(asked) != 1:
        raise Malformed(
            "It is not clear how time is to move.", allowed="one of for, to, step and rate"
        )
    if "rate" in given and context.tenant is not None:
        raise NotAllowed("Time runs for all: only the operator of the fleet may do this.")
    clocks = [member.controller.clock for member in members]
    before = [clock.now() for clock in clocks]
    with ends_with_client():
        due = await _move(context, members, of_all=context.tenant is None)
    if "rate" in given:
        clocks, before = [], []
    return AdvanceReport(
        **structs.asdict(node_report(context)),
        moved=len(clocks),
        moved_s=max((one.now() - was for one, was in zip(clocks, before, strict=True)), default=0),
        earliest=min((clock.wall() for clock in clocks), default=None),
        latest=max((clock.wall() for clock in clocks), default=None),
        due=due,
    )


async def _move(context: FleetContext, members: Sequence[Member], *, of_all: bool) -> int | None:
    """Move time as a request says; return for how many something was due, after a step."""
    given, time = context.given, context.time
    if "for" in given:
        try:
            seconds = seconds_from_text(given["for"])
        except BadDuration as error:
            raise BadValue(str(error), field="for") from None
        await time.advance(members, seconds, of_all=of_all)
    elif "to" in given:
        await time.advance_to(members, _moment(context), of_all=of_all)
    elif "step" in given:
        return await time.step(members, of_all=of_all)
    else:
        await time.run_at(given["rate"])
    return None


def _moment(context: FleetContext) -> float:
    try:
        return wall_of(context.given["to"], context.node.options.timezone)
    except BadMoment as error:
        raise BadValue(str(error), field="to") from None


async def snapshot_taken(context: FleetContext) -> BulkReport:
    label = context.needed("label", "a name for it")
    report = await context.snapshots.take(await context.chosen(), label, context.tenant)
    context.notify_pages()
    return report


def snapshots_listed(context: FleetContext) -> list[KeptSnapshot]:
    return sorted(context.snapshots.kept(context.tenant), key=lambda one: one.at)


async def snapshot_removed(context: FleetContext) -> KeptSnapshot:
    removed = await context.snapshots.remove(label_of(context), context.tenant)
    context.notify_pages()
    return removed


async def restored(context: FleetContext) -> BulkReport:
    label = label_of(context)
    return await context.snapshots.restore(await context.chosen(), label, context.tenant)


def label_of(context: FleetContext) -> str:
    return context.needed("label", "the name of a snapshot")


async def fault_set(context: FleetContext) -> BulkReport:
    text = context.needed("fault", "a fault such as slow*delay:5s, or none")
    return await set_fault(await context.chosen(), text, context.given.get("seed", 0))
