"""CORS: lets pages of other sites that the configuration names read answers.

The page reads answers and sends commands as any program does: it signs in with HTTP Basic of its
own. A visitor's open session is of no use to it: browsers may send the cookie along, since sites at
another port count as the same to them, but it is taken off before anything looks at it.
"""

from collections.abc import Coroutine
from typing import Any

from leverframe.servers.http.messages import (
    Answer,
    AnyReply,
    Handler,
    Headers,
    Reply,
    Request,
    StreamReply,
)

_PREFLIGHT: Headers = (
    ("Access-Control-Allow-Methods", "GET, HEAD, POST"),
    ("Access-Control-Allow-Headers", "Authorization, Backup-Passphrase, Content-Type"),
    ("Access-Control-Max-Age", "600"),
)


def opened_to(origins: frozenset[str], handler: Handler) -> Handler:
    """Open a handler to pages of these sites; return it unchanged where there are none."""
    return OtherOrigins(handler, origins).handle if origins else handler


class OtherOrigins:
    """A handler that adds headers to replies to pages of these origins and passes on the rest."""

    def __init__(self, handler: Handler, origins: frozenset[str]) -> None:
        self._handler = handler
        self._origins = origins

    def handle(self, request: Request) -> Answer:
        origin = request.headers.get("origin", "")
        if origin not in self._origins:
            return self._handler(request)
        opened: Headers = (("Access-Control-Allow-Origin", origin), ("Vary", "Origin"))
        if request.method == "OPTIONS" and "access-control-request-method" in request.headers:
            return Reply(204, "", b"", (*opened, *_PREFLIGHT))
        request.headers.pop("cookie", None)
        answer = self._handler(request)
        return with_headers(answer, opened)


def with_headers(answer: Answer, headers: Headers) -> Answer:
    """Add headers to a reply, also to one that is still to come."""
    if isinstance(answer, Coroutine):
        return _added_later(answer, headers)
    return _added(answer, headers)


async def _added_later(answer: Coroutine[Any, Any, AnyReply], headers: Headers) -> AnyReply:
    return _added(await answer, headers)


def _added(reply: AnyReply, headers: Headers) -> AnyReply:
    headers = (*reply.headers, *headers)
    if isinstance(reply, StreamReply):
        return StreamReply(reply.status, reply.content_type, reply.chunks, headers)
    return Reply(reply.status, reply.content_type, reply.body, headers)
