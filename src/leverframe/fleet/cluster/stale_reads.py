"""Answers of and about controllers that another node may have by now: they say they may be old."""

from leverframe.fleet.answer_headers import STALE
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.servers.http.messages import Answer, Handler, Request
from leverframe.servers.routes.added_headers import with_headers


def marked_when_stale(handler: Handler, lease: NodeLease) -> Handler:
    """Return a handler whose answers are marked while the lease is in doubt."""

    def handle(request: Request) -> Answer:
        answer = handler(request)
        return with_headers(answer, (STALE,)) if lease.is_in_doubt else answer

    return handle
