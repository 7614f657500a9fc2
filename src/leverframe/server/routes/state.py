"""`/api/state` and `/api/stream`: every live value by label, once or as server-sent events."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from leverframe.host.controller import Controller
from leverframe.interface.table.row import ADMIN
from leverframe.server.http.messages import NOT_KEPT, Reply, StreamReply
from leverframe.server.routes.context import Context, StreamShare
from leverframe.server.routes.state_document import StateDocuments


def state(context: Context) -> Reply:
    for_admin = context.account.role == ADMIN
    return Reply(200, "application/json", context.handlers.state.build(for_admin=for_admin))


# `/api/stream`: the live state as server-sent events: first the full state, then the changes.
#
# A message without content, `settings`, reports a change of the settings.
#
# Nothing is polled: the controller wakes a stream when something changed, and changes that come in
# quick succession are sent together. A heartbeat every two seconds shows that the controller is
# alive. It contains the controller's own clock, to which `X-Valid-Until` of a request refers. The
# stream ends when its client signs out or loses the account. If the settings have changed, it first
# reports only this: a page that has just changed its own account continues with that message.

EVENT_STREAM = "text/event-stream"
#: Minimum number of real seconds between two changes of one stream.
GATHER_S = 0.1
#: Real seconds between two heartbeats.
HEARTBEAT_S = 2.0
#: Values that change all the time, unless time is virtual. They are sent only together with other
#: changes.
ALWAYS_MOVING = ("time", "uptime", "modbus_statistics")
#: Values that are reported by a separate message.
SENT_SEPARATELY = ("settings_revision",)


def stream(context: Context) -> StreamReply:
    share = context.handlers.streams.share_of(context.account, context.request.peer)
    is_still_admitted = context.handlers.admission.watch(context.request)
    for_admin = context.account.role == ADMIN
    live = context.handlers.state
    states = state_stream(context.controller, live, is_still_admitted, for_admin=for_admin)
    chunks = within_share(share, states)
    return StreamReply(200, EVENT_STREAM, chunks, (NOT_KEPT,))


async def within_share(
    share: StreamShare, chunks: AsyncGenerator[bytes, None]
) -> AsyncIterator[bytes]:
    if not share.take():
        return
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk
    finally:
        share.give_back()


async def state_stream(
    controller: Controller,
    live: StateDocuments,
    is_still_admitted: Callable[[], bool],
    *,
    for_admin: bool,
) -> AsyncGenerator[bytes, None]:
    changed = asyncio.Event()
    controller.watchers.add(changed.set)
    try:
        last, settings = live.members(for_admin=for_admin), controller.engine.settings
        is_virtual = controller.clock.is_virtual
        ignored = SENT_SEPARATELY if is_virtual else SENT_SEPARATELY + ALWAYS_MOVING
        yield _members_message("state", last)
        clock = asyncio.get_running_loop().time
        next_beat = clock()
        while True:
            has_changed = await within(changed, max(0.0, next_beat - clock()))
            is_admitted = is_still_admitted()
            if not is_admitted and controller.engine.settings is settings:
                return
            if clock() >= next_beat:
                yield heartbeat()
                next_beat = clock() + HEARTBEAT_S
            if not has_changed:
                continue
            await asyncio.sleep(GATHER_S)
            changed.clear()
            new = live.members(for_admin=for_admin) if is_admitted else last
            places = [at for at, one in enumerate(new) if at >= len(last) or one != last[at]]
            last = new
            if any(live.name_of(place) not in ignored for place in places):
                yield _members_message("change", [new[place] for place in places])
            if controller.engine.settings is not settings:
                settings = controller.engine.settings
                yield message("settings", {})
    finally:
        controller.watchers.discard(changed.set)


async def within(changed: asyncio.Event, seconds: float) -> bool:
    # This does not use wait_for, which on Python 3.11 ignores a cancellation at the moment of a
    # change: the stream would continue for a client that has left.
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return False
    return True


def heartbeat() -> bytes:
    return message("heartbeat", {"clock": time.time()})


def message(kind: str, content: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(content))


def _members_message(kind: str, members: Sequence[bytes]) -> bytes:
    return message(kind, msgspec.Raw(b"{%b}" % b",".join(members)))
