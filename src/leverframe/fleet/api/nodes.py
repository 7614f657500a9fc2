"""Other nodes on the same database: seen, emptied, forgotten, and given controllers."""

from leverframe.commands.table.refusals import Conflict
from leverframe.fleet.api.context import FleetContext
from leverframe.fleet.other_nodes import ClusterReport, OtherNodes


def reported(context: FleetContext) -> ClusterReport:
    return _others(context).report()


async def drained(context: FleetContext) -> ClusterReport:
    others = _others(context)
    name = context.needed("node", "the name of a node")
    await others.drain(name, undo=context.given.get("undo", False))
    return others.report()


async def forgotten(context: FleetContext) -> ClusterReport:
    others = _others(context)
    await others.forget(context.needed("node", "the name of a node"))
    return others.report()


async def moved(context: FleetContext) -> ClusterReport:
    others = _others(context)
    context.needed("name", "the name of a controller")
    await others.move(context.texts("name"), context.given.get("node"))
    return others.report()


def _others(context: FleetContext) -> OtherNodes:
    if context.node.cluster is None:
        raise Conflict("This node shares no database with others; start it with --database.")
    return context.node.cluster
