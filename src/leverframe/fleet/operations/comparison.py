"""Drift of controllers from a template, and the changes of controllers with their authors."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table.refusals import BadValue, Refusal
from leverframe.durations import BadDuration, seconds_from_text
from leverframe.engine.tree import MISSING, difference, is_confidential
from leverframe.fleet.bulk import DONE, CommandEffect
from leverframe.fleet.jobs.job_work import with_template
from leverframe.fleet.member import Member
from leverframe.fleet.operation import operation
from leverframe.fleet.operations.context import CHOSEN, FleetContext
from leverframe.fleet.operations.controllers import count_each
from leverframe.fleet.operations.parameters import Name, ShortText, Template
from leverframe.fleet.operations.rollouts import template_of
from leverframe.fleet.other_nodes import LocatedController, SilentNode
from leverframe.fleet.scopes import Parts, at_each, refusal_for, rows_of, values_of
from leverframe.moments import BadMoment, wall_of
from leverframe.storage.audit import AuditEntry
from leverframe.storage.backup import BackupFile

#: Number of different settings that are listed per controller.
MAX_NAMED = 50
MAX_CHANGES = 1000
USUAL_CHANGES = 200
CHANGES_OF = (
    QueryParameter("by", Name, "The account that made them, or `fleet`."),
    QueryParameter("since", ShortText, "A duration such as `24h`, or a moment `2026-03-29T03:00`."),
    QueryParameter(
        "count",
        Annotated[int, Meta(ge=1, le=MAX_CHANGES)],
        f"Maximum number of changes, the newest ones; {USUAL_CHANGES} by default.",
    ),
)


class MemberDrift(Struct, frozen=True, omit_defaults=True):
    """The difference between a controller and a template."""

    name: str
    status: Annotated[int, Meta(description="200, or why it cannot be compared.")]
    differs: Annotated[int, Meta(description="Number of different settings.")] = 0
    settings: Annotated[
        list[CommandEffect],
        Meta(description=("Present and expected values of the first different settings.")),
    ] = []
    detail: str | None = None


class FleetChange(Struct, frozen=True):
    """A change of one controller of a node."""

    name: str
    entry: AuditEntry
    # Nodes of older versions do not report it.
    url: Annotated[str, Meta(description="The URL of its pages and commands.")] = ""


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
    """List changes of all nodes but silent ones; an unreadable node must not hide the others."""
    reports = values_of(part for part in found.parts if not isinstance(part.refusal, SilentNode))
    newest = sorted((one for some in reports for one in some), key=_newness)
    return newest[: context.given.get("count", USUAL_CHANGES)]


@operation("changes", *CHOSEN, *CHANGES_OF, scope=at_each, merge=_merge_changes)
async def list_changes(context: FleetContext) -> list[FleetChange]:
    """List changes and switching actions on the chosen controllers with their authors, newest
    first.
    """
    given = context.given
    by, since, url_of = given.get("by"), _since(context), context.node.door.url_of
    count = given.get("count", USUAL_CHANGES)
    newest: list[FleetChange] = []
    async for member in count_each(await context.find_chosen()):
        for raw in (await member.controller.audit_entries()).values():
            entry = msgspec.json.decode(raw, type=AuditEntry)
            if entry.time >= since and by in (None, entry.account):
                newest.append(FleetChange(member.name, entry, url_of(member.name)))
        newest = sorted(newest, key=_newness)[:count]
    return newest


def _newness(change: FleetChange) -> tuple[float, int]:
    """Put the newest first; of one moment, which virtual time has many of, the last one."""
    return -change.entry.time, -change.entry.number


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
