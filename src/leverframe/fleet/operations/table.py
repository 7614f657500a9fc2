"""The table of all operations of a node."""

from typing import Any

from leverframe import __version__
from leverframe.commands.describe.openapi import openapi_of_endpoints
from leverframe.commands.table.row import CONTROL
from leverframe.fleet.operation import Operation, operation
from leverframe.fleet.operations import (
    commands,
    comparison,
    controllers,
    new_controllers,
    nodes,
    rollouts,
    snapshots,
    stream,
    tenants,
    time,
)
from leverframe.fleet.operations.context import FleetContext

MODULES = (
    nodes,
    controllers,
    new_controllers,
    commands,
    time,
    snapshots,
    rollouts,
    comparison,
    tenants,
    stream,
)


@operation("/api/openapi.json", role=CONTROL, while_starting=True)
def openapi_of_node(context: FleetContext) -> dict[str, Any]:
    """Describe this interface as OpenAPI."""
    info = {
        "title": "Leverframe fleet",
        "version": __version__,
        "description": "Each controller has an interface of its own at its own name, described"
        " there at `/api/openapi.json`.",
    }
    return openapi_of_endpoints(info, OPERATIONS, {})


_DECLARED = [one for module in MODULES for one in vars(module).values()]
#: Modules import operations of each other; each is here once.
OPERATIONS: tuple[Operation[Any], ...] = tuple(
    {one.path: one for one in (*_DECLARED, openapi_of_node) if isinstance(one, Operation)}.values()
)
