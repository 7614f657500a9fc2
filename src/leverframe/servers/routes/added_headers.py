"""Headers that are added to every reply of a handler, whatever it answers."""

from collections.abc import Coroutine
from typing import Any

from leverframe.servers.http.messages import (
    BY_TLS_ONLY,
    Answer,
    AnyReply,
    Handler,
    Headers,
    Reply,
    Request,
    StreamReply,
)


def by_tls_only(handler: Handler) -> Handler:
    """Add to each reply that the controller is there by TLS only, for browsers."""

    def handle(request: Request) -> Answer:
        return with_headers(handler(request), BY_TLS_ONLY)

    return handle


def with_headers(answer: Answer, headers: Headers) -> Answer:
    """Add headers to a reply, also to one that is still to come."""
    if isinstance(answer, Coroutine):
        return _add_later(answer, headers)
    return _add(answer, headers)


async def _add_later(answer: Coroutine[Any, Any, AnyReply], headers: Headers) -> AnyReply:
    return _add(await answer, headers)


def _add(reply: AnyReply, headers: Headers) -> AnyReply:
    if reply.headers:
        headers = (*reply.headers, *headers)
    if isinstance(reply, StreamReply):
        return StreamReply(reply.status, reply.content_type, reply.chunks, headers)
    return Reply(reply.status, reply.content_type, reply.body, headers)
