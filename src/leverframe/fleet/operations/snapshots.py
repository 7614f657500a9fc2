"""Operations on snapshots of controllers, which nodes keep under labels."""

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from leverframe.commands.describe.openapi import QueryParameter
from leverframe.fleet.bulk import BulkReport
from leverframe.fleet.group_snapshots import KeptSnapshot, no_such_snapshot
from leverframe.fleet.operation import Operation, operation
from leverframe.fleet.operations.context import CHOSEN, FleetContext
from leverframe.fleet.other_nodes import SilentNode
from leverframe.fleet.scopes import (
    ask_every_node,
    ask_node_for,
    at_each,
    at_each_and_all,
    at_every_node,
)

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
    """Take a snapshot of the chosen controllers: settings and remembered state, on virtual time
    also their live state while the process runs; up to 20 labels."""
    # Every node replaces what it has under this label, also a node that has nothing to add.
    label = context.require("label", "a name for it")
    report = await context.snapshots.take(await context.find_chosen(), label, context.tenant)
    context.notify_pages()
    return report


def _merge_lists(_: FleetContext, reports: dict[str, list[KeptSnapshot]]) -> list[KeptSnapshot]:
    return _merge_snapshots(one for found in reports.values() for one in found)


def _merge_snapshots(parts: Iterable[KeptSnapshot]) -> list[KeptSnapshot]:
    """Merge the nodes' parts of snapshots, the oldest snapshot first."""
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
    """Remove the part of every node; refuse it if one may still have some."""
    label, silent = _label_of(context), set[str]()
    reports = await ask_every_node(replace(context, given={}, silent=silent), list_snapshots)
    holders = [node for node, found in reports.items() if any(one.label == label for one in found)]
    removed = [(await ask_node_for(context, operation, node))[0] for node in holders]
    # Pages of this node show the labels of all.
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
