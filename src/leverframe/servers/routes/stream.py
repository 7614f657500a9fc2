"""`/api/stream`: the live state as server-sent events, a full state first, then what changed.

A message without content, `settings`, reports a change of the settings.

Nothing is polled: the controller wakes a stream when something changed, and changes that come in
quick succession are sent together. A periodic comment shows both ends that the connection is alive.
The stream ends when its client signs out or loses the account. It then sends only that settings
have changed: a page that has just changed its own account continues with that.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import msgspec

from leverframe.commands.table.row import ADMIN
from leverframe.controller import Controller
from leverframe.servers.http.messages import NOT_KEPT, StreamReply
from leverframe.servers.routes.context import Context
from leverframe.servers.routes.state import state_of
from leverframe.servers.routes.stream_shares import StreamShare

EVENT_STREAM = "text/event-stream"
#: Real seconds between two messages of one stream at least, and at most.
GATHER_S = 0.1
STILL_HERE_S = 15.0
#: Values that are different whenever one looks, unless time is virtual; they come along with real
#: changes.
ALWAYS_MOVING = ("time", "uptime", "modbus_statistics")
#: Values that a message of its own is sent for.
SENT_SEPARATELY = ("settings_revision",)


def stream(context: Context) -> StreamReply:
    share = context.handlers.streams.share_of(context.account, context.request.peer)
    is_still_admitted = context.handlers.admission.watch(context.request)
    for_admin = context.account.role == ADMIN
    states = state_stream(context.controller, is_still_admitted, for_admin=for_admin)
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
    controller: Controller, is_still_admitted: Callable[[], bool], *, for_admin: bool
) -> AsyncGenerator[bytes, None]:
    changed = asyncio.Event()
    controller.watchers.add(changed.set)
    try:
        last, settings = state_of(controller, for_admin=for_admin), controller.engine.settings
        ignored = SENT_SEPARATELY if last["virtual_time"] else SENT_SEPARATELY + ALWAYS_MOVING
        yield message("state", last)
        while True:
            has_changed = await within(changed, STILL_HERE_S)
            is_admitted = is_still_admitted()
            if not is_admitted and controller.engine.settings is settings:
                return
            if not has_changed:
                yield b": still here\n\n"
                continue
            await asyncio.sleep(GATHER_S)
            changed.clear()
            new = state_of(controller, for_admin=for_admin) if is_admitted else last
            difference = {name: new[name] for name in new if new[name] != last.get(name)}
            last = new
            if any(name not in ignored for name in difference):
                yield message("change", difference)
            if controller.engine.settings is not settings:
                settings = controller.engine.settings
                yield message("settings", {})
    finally:
        controller.watchers.discard(changed.set)


async def within(changed: asyncio.Event, seconds: float) -> bool:
    # Not by wait_for, which on Python 3.11 ignores a cancellation at the moment of a change: the
    # stream would continue for a client that has left.
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return False
    return True


def message(kind: str, content: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(content))
