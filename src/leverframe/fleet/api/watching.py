"""The stream that the page of a node listens to."""

from functools import partial
from typing import Annotated

from msgspec import Meta

from leverframe.commands.describe.openapi import QueryParameter
from leverframe.fleet.api.context import FleetContext
from leverframe.fleet.api.reading import node_report
from leverframe.fleet.health_index import Order
from leverframe.fleet.page_stream import MAX_ROWS, USUAL_ROWS, ViewPlace, view_stream
from leverframe.servers.http.messages import NOT_KEPT, StreamReply
from leverframe.servers.routes.stream import EVENT_STREAM, within_share

PLACE = (
    QueryParameter("order", Order, "`worst` first, or by `name`."),
    QueryParameter("first", Annotated[int, Meta(ge=0)], "How many are before those in view."),
    QueryParameter(
        "count",
        Annotated[int, Meta(ge=1, le=MAX_ROWS)],
        f"How many are in view, {USUAL_ROWS} if not given.",
    ),
)


def streamed(context: FleetContext) -> StreamReply:
    given = context.given
    share = context.streams.share_of(context.account, context.request.peer)
    place = ViewPlace(context.wanted(), given.get("first", 0), given.get("count", USUAL_ROWS))
    views = view_stream(
        context.node,
        context.index,
        place,
        partial(node_report, context),
        context.accounts.watch(context.asking),
    )
    return StreamReply(200, EVENT_STREAM, within_share(share, views), (NOT_KEPT,))
