"""`/api/timeline`: what was on, met or open, with its causes, and what is planned."""

import asyncio

from msgspec.structs import replace

from leverframe.commands.describe.media_types import JSON
from leverframe.commands.table.row import ADMIN
from leverframe.engine.live_state import export_state
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.compressed import compress_reply
from leverframe.servers.routes.context import Context
from leverframe.servers.routes.history import MAX_SHORT, ask_history, read_pieces, span_of
from leverframe.servers.routes.history import PARAMETERS as HISTORY_PARAMETERS
from leverframe.servers.routes.timeline_lanes import TimelineQuestion, encode_timeline
from leverframe.storage.history.columns import RAW
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.reading import raw_pieces

PARAMETERS = tuple(one for one in HISTORY_PARAMETERS if one.name in ("from", "to"))


async def timeline(context: Context) -> Reply:
    """Show all lanes; where much was recorded, they are built in a process of its own."""
    controller = context.controller
    at = controller.clock.read()
    span = span_of(context.request.query or "", at.wall, 1, PARAMETERS)
    engine = controller.engine
    question = TimelineQuestion(
        span.first,
        span.last,
        at,
        dict(engine.values),
        engine.settings.rules,
        export_state(engine) if span.last > at.wall else None,
        context.account.role == ADMIN,
    )
    span = replace(span, labels=question.labels)

    def work(compactor: Compactor) -> bytes | TimelineQuestion:
        store = compactor.chunk_store
        filled = replace(question, since=store.since(RAW), reasons=dict(store.reason_texts()))
        counts = store.counts(RAW, span.first, span.known)
        if sum(counts.get(label, 0) for label in span.labels) > MAX_SHORT:
            return filled
        return encode_timeline(filled, raw_pieces(compactor, span))

    found = await ask_history(controller, work)
    if not isinstance(found, bytes):
        found = await context.handlers.work.run(
            encode_timeline,
            found,
            fed=read_pieces(controller, span),
            instead="a shorter time between `from` and `to`",
        )
    return await asyncio.to_thread(compress_reply, context.request, JSON, found, (NOT_KEPT,))
