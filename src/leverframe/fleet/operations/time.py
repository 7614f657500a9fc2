"""Operations on the virtual time of controllers, and on snapshots of them."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Meta
from msgspec.structs import asdict, replace

from leverframe.core.durations import BadDuration, BadMoment, seconds_from_text, wall_of
from leverframe.fleet.bulk import BulkReport
from leverframe.fleet.groups import KeptSnapshot, no_such_snapshot
from leverframe.fleet.member import Member
from leverframe.fleet.operation import Operation, operation
from leverframe.fleet.operations.context import CHOSEN, FleetContext, ShortText
from leverframe.fleet.operations.nodes import AdvanceReport, show_overview
from leverframe.fleet.other_nodes import SilentNode
from leverframe.fleet.scopes import (
    Parts,
    ask_every_node,
    ask_node_for,
    at_each,
    at_each_and_all,
    at_every_node,
    values_of,
)
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.table.refusals import BadValue, Malformed, NotAllowed
from leverframe.server.http.limits import ends_with_client

# The operation that advances virtual time.


async def _merge_moves(context: FleetContext, found: Parts) -> AdvanceReport:
    """Merge the reports of all nodes that have some of the controllers."""
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
        "rate", float, "Let time run at this rate, in virtual seconds per second; 0 freezes it."
    ),
    changes=True,
    scope=at_each_and_all,
    merge=_merge_moves,
)
async def advance_time(context: FleetContext) -> AdvanceReport:
    """Advance the virtual time of the chosen controllers by the same duration, or to the same
    moment; everything that becomes due happens."""
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
    """Advance time as requested; after a step, return the number of controllers with a due task."""
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


# Operations on snapshots of controllers, which nodes store under labels.

LABEL = "1 to 40 letters, digits, spaces, dots, dashes and underscores"
SNAPSHOT_LABEL = QueryParameter(
    "label",
    Annotated[str, Meta(pattern=r"^[\w. -]{1,40}$", max_length=40, description=LABEL)],
    "The label of the snapshot.",
)
KEPT_LABEL = QueryParameter(
    "label",
    Annotated[
        str, Meta(pattern=r"^([a-z0-9-]{1,31}:)?[\w. -]{1,40}$", max_length=72, description=LABEL)
    ],
    "The label of the snapshot; for the operator, tenants' labels look like `tenant:label`.",
)


@operation("snapshot", SNAPSHOT_LABEL, *CHOSEN, changes=True, scope=at_each_and_all)
async def take_snapshot(context: FleetContext) -> BulkReport:
    """Take a snapshot of the chosen controllers: settings and remembered state, in virtual time
    also their live state while the process runs; up to 20 labels."""
    # Every node replaces its part of this label, even a node without any chosen controller.
    label = context.require("label", "a name for the snapshot")
    report = await context.snapshots.take(await context.find_chosen(), label, context.tenant)
    context.notify_pages()
    return report


def _merge_lists(_: FleetContext, reports: dict[str, list[KeptSnapshot]]) -> list[KeptSnapshot]:
    return _merge_snapshots(one for found in reports.values() for one in found)


def _merge_snapshots(parts: Iterable[KeptSnapshot]) -> list[KeptSnapshot]:
    """Merge the nodes' parts of each snapshot, the oldest snapshot first."""
    whole: dict[str, KeptSnapshot] = {}
    for part in parts:
        known = whole.get(part.label, KeptSnapshot(part.label, part.at, 0))
        count = known.controllers + part.controllers
        whole[part.label] = KeptSnapshot(part.label, max(known.at, part.at), count)
    return sorted(whole.values(), key=lambda one: one.at)


@operation("snapshots", scope=at_every_node, merge=_merge_lists)
def list_snapshots(context: FleetContext) -> list[KeptSnapshot]:
    """List snapshots with label, time and number of controllers, oldest first."""
    return sorted(context.snapshots.list_kept(context.tenant), key=lambda one: one.at)


async def _remove_everywhere(
    context: FleetContext, operation: Operation[KeptSnapshot]
) -> KeptSnapshot:
    """Remove the snapshot on all nodes; raise an error if a silent node may still have a part."""
    label, silent = _label_of(context), set[str]()
    reports = await ask_every_node(replace(context, given={}, silent=silent), list_snapshots)
    holders = [node for node, found in reports.items() if any(one.label == label for one in found)]
    removed = [(await ask_node_for(context, operation, node))[0] for node in holders]
    # Pages of this node show the labels of all nodes.
    context.notify_pages()
    for node in sorted(silent):
        raise SilentNode(node)
    if not removed:
        known = _merge_snapshots(one for found in reports.values() for one in found)
        raise no_such_snapshot(label, [one.label for one in known])
    return _merge_snapshots(removed)[0]


@operation("snapshot/remove", KEPT_LABEL, changes=True, scope=_remove_everywhere)
async def remove_snapshot(context: FleetContext) -> KeptSnapshot:
    """Remove a snapshot, and free its label."""
    removed = await context.snapshots.remove(_label_of(context), context.tenant)
    context.notify_pages()
    return removed


@operation("restore", KEPT_LABEL, *CHOSEN, changes=True, scope=at_each)
async def restore_controllers(context: FleetContext) -> BulkReport:
    """Restore the chosen controllers from a snapshot."""
    label = _label_of(context)
    return await context.snapshots.restore(await context.find_chosen(), label, context.tenant)


def _label_of(context: FleetContext) -> str:
    return context.require("label", "the name of a snapshot")
