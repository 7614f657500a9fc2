"""All operations of a node, in the order of their description."""

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


@operation("/api/openapi.json", role=CONTROL, while_starting=True)
def openapi_of_node(context: FleetContext) -> dict[str, Any]:
    """Describe this interface as OpenAPI."""
    info = {
        "title": "Leverframe fleet",
        "version": __version__,
        "description": "A node with many controllers. Each controller has an interface of its own"
        " at its own name, described there at `/api/openapi.json`.",
    }
    return openapi_of_endpoints(info, OPERATIONS, {})


OPERATIONS: tuple[Operation[Any], ...] = (
    nodes.show_health,
    nodes.show_metrics,
    openapi_of_node,
    nodes.show_overview,
    nodes.list_nodes,
    nodes.drain_node,
    nodes.forget_node,
    nodes.move_controllers,
    controllers.list_controllers,
    controllers.show_owners,
    stream.stream_view,
    nodes.show_progress,
    controllers.show_controller,
    controllers.export_controllers,
    new_controllers.add_controllers,
    controllers.remove_controllers,
    controllers.rename_controller,
    controllers.place_controller,
    new_controllers.start_controllers,
    controllers.tag_controllers,
    commands.send_command,
    rollouts.list_rollouts,
    rollouts.show_rollout,
    rollouts.plan_rollout,
    rollouts.start_rollout,
    rollouts.stop_rollout,
    rollouts.resume_rollout,
    rollouts.retry_rollout,
    rollouts.undo_rollout,
    rollouts.remove_rollout,
    comparison.compare_controllers,
    comparison.list_changes,
    time.advance_time,
    snapshots.take_snapshot,
    snapshots.list_snapshots,
    snapshots.remove_snapshot,
    snapshots.restore_controllers,
    new_controllers.fork_controller,
    commands.set_faults,
    tenants.list_tenants,
    tenants.add_tenant,
    tenants.remove_tenant,
    tenants.give_controllers,
    tenants.list_accounts,
    tenants.add_account,
    tenants.protect_controllers,
    tenants.remove_account,
    tenants.make_password,
)
