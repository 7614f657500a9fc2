"""The messages of an HTTP connection: requests, replies, streams.

They are plain values without sockets: a handler is a function from `Request` to a reply and can be
tested without a port. All replies are encoded here, so that a header with a line break in it can
never reach the wire.

They are msgspec structs, because these take a quarter of the time of ordinary objects to create,
and every request needs one of each.
"""

import re
from collections.abc import AsyncIterator, Callable, Coroutine
from enum import Enum
from typing import Any

import msgspec

# The reason phrases of HTTP statuses, from the current standard.
#
# Some of the phrases in `http.HTTPStatus` are outdated, and importing that class adds 2 ms to every
# start.

PHRASES = {
    100: "Continue",
    101: "Switching Protocols",
    102: "Processing",
    103: "Early Hints",
    200: "OK",
    201: "Created",
    202: "Accepted",
    203: "Non-Authoritative Information",
    204: "No Content",
    205: "Reset Content",
    206: "Partial Content",
    207: "Multi-Status",
    208: "Already Reported",
    226: "IM Used",
    300: "Multiple Choices",
    301: "Moved Permanently",
    302: "Found",
    303: "See Other",
    304: "Not Modified",
    305: "Use Proxy",
    307: "Temporary Redirect",
    308: "Permanent Redirect",
    400: "Bad Request",
    401: "Unauthorized",
    402: "Payment Required",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    407: "Proxy Authentication Required",
    408: "Request Timeout",
    409: "Conflict",
    410: "Gone",
    411: "Length Required",
    412: "Precondition Failed",
    413: "Content Too Large",
    414: "URI Too Long",
    415: "Unsupported Media Type",
    416: "Requested Range Not Satisfiable",
    417: "Expectation Failed",
    418: "I'm a Teapot",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    423: "Locked",
    424: "Failed Dependency",
    425: "Too Early",
    426: "Upgrade Required",
    428: "Precondition Required",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    451: "Unavailable For Legal Reasons",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
    505: "HTTP Version Not Supported",
    506: "Variant Also Negotiates",
    507: "Insufficient Storage",
    508: "Loop Detected",
    510: "Not Extended",
    511: "Network Authentication Required",
}


Headers = tuple[tuple[str, str], ...]

PROBLEM_TYPE = "application/problem+json"

#: Browsers must not guess the content type: text with markup in it must not become a page.
NOT_GUESSED = ("X-Content-Type-Options", "nosniff")

#: Replies that may change at any moment, or are for one user only, must not be cached.
NOT_KEPT = ("Cache-Control", "no-store")

#: Browsers that have used TLS once use nothing else for a year.
BY_TLS_ONLY: Headers = (("Strict-Transport-Security", "max-age=31536000"),)

#: Replies that end with their head: they have neither a body nor a length.
_WITHOUT_BODY = {100, 204, 304}

_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")


class Request(msgspec.Struct, gc=False, eq=False):
    """One request as received, still percent-encoded. HEAD is a GET without the reply's body."""

    method: str
    path: str
    #: The text after the first `?`; None if there is no `?`.
    query: str | None = None
    #: Lower-case names; repeated headers are joined with ", ".
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: bytes = b""
    #: The client's address, without its port.
    peer: str = ""
    #: Whether it is from an HTTP/1.0 client, which does not know chunked replies.
    is_http10: bool = False
    #: The entrance that it is for, if it came through a node's front door.
    meant: Any = None
    #: The tenant to which the body and the unread reply are charged, if known, and the bytes of the
    #: body charged to it.
    owner: str = ""
    owned_bytes: int = 0

    def __repr__(self) -> str:
        # Queries, headers and bodies carry passwords, and a repr ends up in logs.
        return f"<Request {self.method} {self.path} from {self.peer}>"


class Reply(msgspec.Struct, gc=False):
    """A complete reply."""

    status: int
    #: Sent unchanged; if empty, the header is omitted.
    content_type: str
    body: bytes
    headers: Headers = ()

    def encode(self, close: bool = False, head_only: bool = False) -> bytes:
        """Return the bytes to send: `head_only` for HEAD, `close` if the connection then ends."""
        status, body, headers = self.status, self.body, self.headers
        if status == 200 and not (close or head_only) and (not headers or headers is BY_TLS_ONLY):
            head = (_OK_HEADS_BY_TLS if headers else _OK_HEADS).get(self.content_type)
            if head:
                return b"%b%d\r\n\r\n%b" % (head, len(body), body)
        if close:
            headers = (*headers, _CLOSE)
        if status not in _WITHOUT_BODY:
            headers = (*headers, ("Content-Length", str(len(body))))
        elif body:
            raise ValueError(f"A reply with status {status} cannot have a body.")
        head = _head(status, self.content_type, headers)
        return head if head_only else head + body


class StreamCut(Exception):
    """A stream cannot continue; the message says why. To the client it must not look complete."""


class StreamReply(msgspec.Struct):
    """An answer without a known end, such as server-sent events.

    `chunks` is closed (with `aclose`, if it has one) when the client leaves or the server stops. It
    raises StreamCut if it cannot continue.
    """

    status: int
    content_type: str
    chunks: AsyncIterator[bytes]
    headers: Headers = ()

    def encode_head(self, *, chunked: bool, close: bool) -> bytes:
        framing: Headers = (("Transfer-Encoding", "chunked"),) if chunked else ()
        closing: Headers = (_CLOSE,) if close else ()
        return _head(self.status, self.content_type, self.headers + framing + closing)


class Ending(Enum):
    CONTINUE = "continue"
    CLOSE = "close"
    RESET = "reset"
    HANG = "hang"


class RawReply(msgspec.Struct):
    """A reply given byte by byte, to test how clients handle faulty replies.

    `pieces` are written as they come. Then the connection continues, or is closed, reset, or left
    open silently.
    """

    status: int
    pieces: AsyncIterator[bytes]
    end: Ending


AnyReply = Reply | StreamReply
#: A handler answers synchronously, or returns a coroutine that the connection runs as one task.
Answer = AnyReply | Coroutine[Any, Any, AnyReply]
Handler = Callable[[Request], Answer]
#: The replies that a connection sends: replies of handlers, and faulty ones.
SentReply = AnyReply | RawReply
SentAnswer = SentReply | Coroutine[Any, Any, SentReply]

_CLOSE = ("Connection", "close")


#: The interim response to a client that announces a body and may send it.
CONTINUE = Reply(100, "", b"")


def problem_reply(status: int, detail: str) -> Reply:
    """Create a refusal in the form of RFC 9457; it contains no more than the reason."""
    problem = {
        "type": "about:blank",
        "title": PHRASES.get(status, "Refused"),
        "status": status,
        "detail": detail,
    }
    return Reply(status, PROBLEM_TYPE, msgspec.json.encode(problem))


def _head(status: int, content_type: str, headers: Headers) -> bytes:
    lines = [f"HTTP/1.1 {status} {PHRASES.get(status, '')}"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
        if NOT_GUESSED not in headers:
            lines.append(": ".join(NOT_GUESSED))
    lines.extend(f"{name}: {value}" for name, value in headers)
    if _CONTROL_CHARACTER.search("".join(lines)):
        raise ValueError("A line of a reply's head contains a line break or control character.")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _ok_heads(headers: Headers) -> dict[str, bytes]:
    return {
        content_type: _head(200, content_type, headers).removesuffix(b"\r\n") + b"Content-Length: "
        for content_type in ("text/xml", "application/json", "text/plain")
    }


#: Prepared heads, except for the length, for polling and switching: formatting a head takes 3 us.
_OK_HEADS = _ok_heads(())
_OK_HEADS_BY_TLS = _ok_heads(BY_TLS_ONLY)


async def complete_answer(answer: Answer) -> AnyReply:
    """Return the reply of a handler; await it if it is not ready yet."""
    return answer if isinstance(answer, AnyReply) else await answer
