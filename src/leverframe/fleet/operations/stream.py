"""The operation that streams the contents of a node's page."""

from collections.abc import AsyncGenerator
from functools import partial
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from leverframe.fleet.health_index import Order
from leverframe.fleet.jobs.job_state import JobReport
from leverframe.fleet.operation import Operation, operation
from leverframe.fleet.operations.context import LOOKED_FOR, TAGS, FleetContext
from leverframe.fleet.operations.nodes import show_overview
from leverframe.fleet.operations.rollouts import list_rollouts
from leverframe.fleet.page_view import (
    MAX_ROWS,
    USUAL_ROWS,
    FleetView,
    NodeSummary,
    ViewPlace,
    fleet_stream,
    view_of_all,
    view_stream,
)
from leverframe.fleet.scopes import others_of
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.table.row import ADMIN, CONTROL
from leverframe.server.http.messages import NOT_KEPT, StreamReply
from leverframe.server.routes.state import EVENT_STREAM, within_share

#: Number of roll-outs that a page shows, the newest ones.
SHOWN_ROLLOUTS = 10
PLACE = (
    QueryParameter("order", Order, "`worst` first, or by `name`."),
    QueryParameter(
        "first", Annotated[int, Meta(ge=0)], "Number of controllers to skip before those in view."
    ),
    QueryParameter(
        "count",
        Annotated[int, Meta(ge=1, le=MAX_ROWS)],
        f"Number of controllers in view; {USUAL_ROWS} by default.",
    ),
)


def _stream_everywhere(context: FleetContext, _: Operation[StreamReply]) -> StreamReply:
    """Stream the controllers in view from all nodes."""
    place, others = _place(context), others_of(context)

    async def look() -> FleetView:
        context.silent.clear()
        about = await show_overview.run_everywhere(context)
        view = await view_of_all(context.node, others, place, about)
        if not _is_admin(context):
            return view
        jobs = await list_rollouts.run_everywhere(context)
        # Only the operator sees the nodes; `lease_s` is cleared, because it changes all the time.
        report = replace(others.report(), lease_s=0.0) if context.tenant is None else None
        return replace(view, rollouts=_choose_jobs(jobs), cluster=report)

    return _stream(context, fleet_stream(look, context.accounts.watch(context.asking)))


@operation(
    "stream",
    TAGS,
    *LOOKED_FOR,
    *PLACE,
    role=CONTROL,
    reply=str,
    content_type=EVENT_STREAM,
    while_starting=True,
    scope=_stream_everywhere,
)
def stream_view(context: FleetContext) -> StreamReply:
    """Stream the contents of a page as server-sent events: `view` with the controllers in view,
    then `change` with the differences."""
    place = _place(context)
    views = view_stream(
        context.node,
        context.index,
        place,
        partial(_node_summary, context),
        context.accounts.watch(context.asking),
    )
    return _stream(context, views)


def _place(context: FleetContext) -> ViewPlace:
    given = context.given
    return ViewPlace(context.read_search(), given.get("first", 0), given.get("count", USUAL_ROWS))


def _stream(context: FleetContext, views: AsyncGenerator[bytes, None]) -> StreamReply:
    share = context.streams.share_of(context.account, context.request.peer)
    return StreamReply(200, EVENT_STREAM, within_share(share, views), (NOT_KEPT,))


def _is_admin(context: FleetContext) -> bool:
    return context.account.role == ADMIN


def _node_summary(context: FleetContext) -> NodeSummary:
    jobs = list_rollouts.run(context) if _is_admin(context) else []
    return NodeSummary(show_overview.run(context), _choose_jobs(jobs))


def _choose_jobs(jobs: list[JobReport]) -> list[JobReport]:
    return [one for one in jobs if one.kind == "rollout"][:SHOWN_ROLLOUTS]
