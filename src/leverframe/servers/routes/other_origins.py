"""CORS: lets pages of other sites that the configuration names read answers.

The page reads answers and sends commands as any program does: it signs in with HTTP Basic of its
own. A visitor's open session is of no use to it: browsers may send the cookie along, since sites at
another port count as the same to them, but it is taken off before anything looks at it.
"""

from leverframe.servers.http.messages import Answer, Handler, Headers, Reply, Request
from leverframe.servers.routes.added_headers import with_headers

_PREFLIGHT: Headers = (
    ("Access-Control-Allow-Methods", "GET, HEAD, POST"),
    ("Access-Control-Allow-Headers", "Authorization, Backup-Passphrase, Content-Type"),
    ("Access-Control-Max-Age", "600"),
)


def open_to(origins: frozenset[str], handler: Handler) -> Handler:
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
