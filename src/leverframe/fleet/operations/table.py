"""The table of all operations of a node."""

from typing import Any

from leverframe import __version__
from leverframe.fleet.operation import Operation, operation
from leverframe.fleet.operations import (
    bulk_commands,
    controllers,
    new_controllers,
    nodes,
    rollouts,
    stream,
    tenants,
    time,
)
from leverframe.fleet.operations import rollouts as comparison
from leverframe.fleet.operations import time as snapshots
from leverframe.fleet.operations.context import FleetContext
from leverframe.interface.descriptions.openapi import openapi_of_endpoints
from leverframe.interface.table.row import CONTROL

MODULES = (
    nodes,
    controllers,
    new_controllers,
    bulk_commands,
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
#: Modules import operations from each other, so duplicates are removed here.
OPERATIONS: tuple[Operation[Any], ...] = tuple(
    {one.path: one for one in (*_DECLARED, openapi_of_node) if isinstance(one, Operation)}.values()
)
