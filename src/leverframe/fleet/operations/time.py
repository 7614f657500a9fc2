"""The operation that moves virtual time."""

from collections.abc import Sequence

from msgspec.structs import asdict

from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table.refusals import BadValue, Malformed, NotAllowed
from leverframe.durations import BadDuration, seconds_from_text
from leverframe.fleet.member import Member
from leverframe.fleet.operation import operation
from leverframe.fleet.operations.context import CHOSEN, FleetContext
from leverframe.fleet.operations.nodes import show_overview
from leverframe.fleet.operations.parameters import ShortText
from leverframe.fleet.operations.reports import AdvanceReport
from leverframe.fleet.scopes import Parts, at_each_and_all, values_of
from leverframe.moments import BadMoment, wall_of
from leverframe.servers.http.client_presence import ends_with_client


async def _merge_moves(context: FleetContext, found: Parts) -> AdvanceReport:
    """Report on controllers at every node that has some, and on these nodes."""
    reports: list[AdvanceReport] = values_of(found.parts)
    due = [one.due for one in reports if one.due is not None]
    return AdvanceReport(
        **asdict(await show_overview.run_everywhere(context)),
        moved=sum(one.moved for one in reports),
        moved_s=max((one.moved_s for one in reports), default=0.0),
        earliest=min((one.earliest for one in reports if one.earliest is not None), default=None),
        latest=max((one.latest for one in reports if one.latest is not None), default=None),
        due=sum(due) if due else None,
    )


@operation(
    "advance",
    *CHOSEN,
    QueryParameter("for", ShortText, "A duration such as `1h30m`."),
    QueryParameter("to", ShortText, "A moment such as `2026-03-29T03:00`, by the time zone."),
    QueryParameter("step", bool, "Move to the next moment at which something is due."),
    QueryParameter(
        "rate", float, "Let time run at this rate, in seconds per second; 0 freezes it."
    ),
    changes=True,
    scope=at_each_and_all,
    merge=_merge_moves,
)
async def advance_time(context: FleetContext) -> AdvanceReport:
    """Move virtual time of the chosen controllers together, or each to one moment; due tasks run on
    the way."""
    given, members = context.given, await context.find_chosen()
    asked = [name for name in ("for", "to", "step", "rate") if name in given]
    if len(asked) != 1:
        raise Malformed(
            "Exactly one way to move time must be set.", allowed="one of for, to, step and rate"
        )
    if "rate" in given and context.tenant is not None:
        raise NotAllowed(
            "This moves the time of all tenants: only the operator of the fleet may do this."
        )
    clocks = [member.controller.clock for member in members]
    before = [clock.now() for clock in clocks]
    with ends_with_client():
        due = await _move(context, members, of_all=context.tenant is None)
    if "rate" in given:
        clocks, before = [], []
    return AdvanceReport(
        **asdict(show_overview.run(context)),
        moved=len(clocks),
        moved_s=max((one.now() - was for one, was in zip(clocks, before, strict=True)), default=0),
        earliest=min((clock.wall() for clock in clocks), default=None),
        latest=max((clock.wall() for clock in clocks), default=None),
        due=due,
    )


async def _move(context: FleetContext, members: Sequence[Member], *, of_all: bool) -> int | None:
    """Move time as a request says; after a step, return for how many something was due."""
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
