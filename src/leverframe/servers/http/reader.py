"""The reading half of an HTTP connection: bytes in, complete requests out, or a refusal.

llhttp, through httptools and in its strict mode, tells well-formed requests from others; no
leniency is switched on. This file adds the limits and the few rules that the parser leaves to its
user. There is no socket and no clock here: what comes of the bytes goes to `take` and `refuse`,
which the answering half has, and the time is that of the tally all connections of a server share.

Clients repeat themselves. The headers are mostly those of the request before, and are then not read
anew. Clients that poll or switch send the very same bytes again and again: the parser is only asked
the first time what they mean, and for the rest of that second all connections know it. That is safe
where the bytes are one whole GET request, no more, and the parser was between two requests before
and after them.
"""

import logging
import re
from abc import ABC, abstractmethod
from typing import Final

from httptools import HttpRequestParser
from httptools.parser.errors import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserInvalidMethodError,
    HttpParserUpgrade,
)

from leverframe.servers.http.limits import HttpLimits
from leverframe.servers.http.messages import Headers, Request

logger = logging.getLogger(__name__)

#: What stands in the request line -> what the handler sees.
METHODS = {b"GET": "GET", b"HEAD": "HEAD", b"POST": "POST", b"OPTIONS": "OPTIONS"}
#: OPTIONS is understood for the sake of browsers that ask on behalf of a page of another site.
ALLOW: Headers = (("Allow", "GET, HEAD, POST"),)
RETRY: Headers = (("Retry-After", "5"),)

_UNKNOWN_METHOD = re.compile(rb"[A-Z]{1,32} ")
_ADDRESS = re.compile(r"https?://(?:[^/?#@]*@)?([^/?#]+)(.*)", re.IGNORECASE)
#: Room for `http://host:port` in front of a path.
_AUTHORITY_BYTES = 512

# What the reader is in the middle of.
IDLE: Final = 0
HEAD: Final = 1
BODY: Final = 2

# What happens after an answer. CLOSE_OLD is HTTP/1.0: closed as well, and chunks are unknown to it.
KEEP: Final = 0
CLOSE: Final = 1
CLOSE_OLD: Final = 2

#: What a plain GET asks for: its path, its query and its headers.
Plain = tuple[str, str | None, dict[str, str]]
#: So many of them are known at a time.
MAX_KNOWN = 256

#: A request, whether its answer goes without the body, and what happens after the answer.
Turn = tuple[Request, bool, int]


class Refused(Exception):
    """The request being read is answered with this, and the connection ends."""

    def __init__(self, status: int, detail: str, headers: Headers = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


class ServerState:
    """What the connections of one server have in common."""

    __slots__ = ("answers", "bodies_bytes", "known", "lag_s", "longest_lag_s", "now")

    def __init__(self) -> None:
        #: Seconds, no finer than the server's sweep: good enough for time-outs, and free.
        self.now = 0.0
        #: Bytes of bodies that are being read, or belong to requests that are not answered yet.
        self.bodies_bytes = 0
        #: How many answers were given, by status.
        self.answers: dict[int, int] = {}
        #: How late the last sweep was, and the latest one.
        self.lag_s = 0.0
        self.longest_lag_s = 0.0
        #: Plain requests by their bytes, forgotten at every sweep: they may hold passwords.
        self.known: dict[bytes, Plain] = {}

    def count(self, status: int) -> None:
        self.answers[status] = self.answers.get(status, 0) + 1


class RequestReader(ABC):
    """Feed it with `data_received`. It calls `take` for every request, `refuse` at most once."""

    __slots__ = (
        *("phase", "since", "ignore_input", "holding", "wants_continue", "peer"),
        *("_limits", "_tally", "_parser", "_slice_bytes", "_target_bytes", "_held", "_unfinished"),
        *("_is_between", "_target", "_path", "_query"),
        *("_raw_headers", "_known_headers", "_headers", "_framed", "_plain"),
        *("_turn", "_body", "_room"),
    )

    def __init__(self, limits: HttpLimits, tally: ServerState) -> None:
        #: IDLE, HEAD or BODY. A new connection is expected to begin a head at once.
        self.phase = HEAD
        #: When that phase began.
        self.since = tally.now
        #: What comes is thrown away: nothing after a refusal or a last request counts.
        self.ignore_input = False
        #: What comes is kept for `read_held`: enough requests wait.
        self.holding = False
        #: The client waits for a go-ahead before it sends the body.
        self.wants_continue = False
        self.peer = ""

        self._limits = limits
        self._tally = tally
        # Larger reads are parsed in pieces, so that a burst of requests cannot outrun the limits.
        self._slice_bytes = min(4 * 1024, limits.header_bytes)
        self._target_bytes = limits.path_bytes + limits.query_bytes + _AUTHORITY_BYTES
        self._held = b""
        self._unfinished = 0

        self._is_between = True  # the parser waits for the first byte of a plain request

        self._target = b""
        self._path = ""
        self._query: str | None = None
        self._raw_headers: list[bytes] = []  # name, value, name, value ...
        self._known_headers: list[bytes] | None = None  # those that the headers are of
        self._headers: dict[str, str] = {}
        self._framed = False  # a body follows
        self._plain = False  # no body, and the connection stays open
        self._turn: Turn | None = None
        self._body = bytearray()
        self._room = 0
        self._parser = HttpRequestParser(self)

    @abstractmethod
    def take(self, request: Request, head_only: bool, ending: int) -> None:
        """A request is complete. To be released when it is answered, or never will be."""

    @abstractmethod
    def refuse(self, refused: Refused) -> None:
        """The bytes are no request that is taken here; nothing is read any more."""

    @abstractmethod
    def invite_body(self) -> None:
        """The client wants to know whether it should send the body."""

    @abstractmethod
    def yield_to_loop(self) -> None:
        """See to it that `read_held` is called, though not at once."""

    @property
    def body_bytes(self) -> int:
        return len(self._body)

    def drop_body(self) -> None:
        """What was read of a body is not needed any more."""
        self._tally.bodies_bytes -= len(self._body)
        self._body = bytearray()

    def release(self, request: Request) -> None:
        """A request that was taken is answered, or never will be: its body makes room."""
        self._tally.bodies_bytes -= len(request.body)

    def data_received(self, data: bytes) -> None:
        if self._is_between and not self.ignore_input:
            plain = self._tally.known.get(data)
            if plain is not None:
                path, query, headers = plain
                self.phase = IDLE
                self.take(Request("GET", path, query, headers, b"", self.peer), False, KEEP)
                return
        if self.ignore_input or len(data) > self._slice_bytes:
            self._receive_in_slices(data)
            return
        if self.phase == IDLE:
            self.phase = HEAD
            self.since = self._tally.now
            self._unfinished = 0
        try:
            self._parser.feed_data(data)
            if self.phase == IDLE:
                # One head, and nothing after it: the parser waits for the next request.
                is_between = data.find(b"\r\n\r\n") == len(data) - 4
                if is_between and self._is_between:
                    self._get_to_know(data)
                self._is_between = is_between
            else:
                self._check_unfinished(data)
        except HttpParserUpgrade:
            pass  # taken like any other request, as the last one: no other protocol is spoken
        except HttpParserError as error:
            self._give_up(_refusal(error, data))
        except Refused as refused:
            self._give_up(refused)

    def _get_to_know(self, data: bytes) -> None:
        known = self._tally.known
        if len(known) >= MAX_KNOWN:
            known.clear()
        known[data] = (self._path, self._query, self._headers)

    def read_held(self) -> None:
        """Go on with what came while too many requests waited."""
        self.holding = False
        held, self._held = self._held, b""
        self._receive_in_slices(held)

    def _receive_in_slices(self, data: bytes) -> None:
        for start in range(0, len(data), self._slice_bytes):
            if self.ignore_input:
                return
            if self.holding:
                self._held = data[start:]
                return
            end = start + self._slice_bytes
            self.data_received(data[start:end])
            if end < len(data) and self.phase != BODY and not (self.ignore_input or self.holding):
                # A burst of requests has its turn, then others have theirs.
                self._held = data[end:]
                self.holding = True
                self.yield_to_loop()
                return

    def _give_up(self, refused: Refused) -> None:
        if not self.ignore_input:
            self.ignore_input = True
            self.drop_body()
            self.refuse(refused)

    def _check_unfinished(self, data: bytes) -> None:
        """Bound what the parser swallows without a word: a long header, a trailer, empty lines."""
        self._is_between = False
        if len(self._target) > self._target_bytes:
            raise self._target_too_long()
        self._unfinished += len(data)
        allowed = self._limits.header_bytes + self._target_bytes + self._slice_bytes
        if self._unfinished > allowed:
            raise self._headers_too_large()
        if self.phase == HEAD and self._target:
            version = self._parser.get_http_version()
            if version == "0.9" or (version == "0.0" and data.endswith(b"\n")):
                raise _no_version()
        if self.wants_continue:
            self.invite_body()

    # What the parser calls, in this order

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        raw = self._raw_headers
        raw.append(name)
        raw.append(value)

    def on_headers_complete(self) -> None:
        raw = self._raw_headers
        self._raw_headers = []
        if raw != self._known_headers:
            self._learn_headers(raw)
        if self._framed:
            self._begin_body()

    def on_body(self, part: bytes) -> None:
        self.wants_continue = False
        self._unfinished = 0
        self._body += part
        self._tally.bodies_bytes += len(part)
        if len(self._body) > self._room:
            raise self._body_too_large()
        if self._tally.bodies_bytes > self._limits.bodies_bytes:
            detail = "Too many uploads are under way. Try again in a few seconds."
            raise Refused(503, detail, RETRY)

    def on_message_complete(self) -> None:
        if (
            self._parser.get_method() == b"GET"
            and self._parser.should_keep_alive()
            and self._plain
            and self._target.startswith(b"/")
        ):
            self._split(self._target.decode("ascii"))
            self.phase = IDLE
            self._target = b""
            request = Request("GET", self._path, self._query, self._headers, b"", self.peer)
            self.take(request, False, KEEP)
            return
        request, head_only, ending = self._turn or self._read_head()
        if self._turn:
            request.body = bytes(self._body)
            self._body = bytearray()
            self._turn = None
            self._raw_headers = []  # what follows a body is not kept
            self.wants_continue = False
        else:
            self._check_length_given(request)
        if ending:
            self.ignore_input = True
        self._is_between = False  # not to be repeated without the parser
        self.phase = IDLE
        self._target = b""
        self.take(request, head_only, ending)

    # What the parser leaves to us

    def _learn_headers(self, raw: list[bytes]) -> None:
        limits = self._limits
        lines = len(raw) // 2
        if lines > limits.header_count or sum(map(len, raw)) + 4 * lines > limits.header_bytes:
            raise self._headers_too_large()
        headers: dict[str, str] = {}
        for raw_name, raw_value in zip(raw[::2], raw[1::2], strict=True):
            name = raw_name.decode("latin-1").lower()
            value = raw_value.rstrip().decode("latin-1")
            if name not in headers:
                headers[name] = value
            elif name == "host":
                raise Refused(400, "The request has more than one Host header.")
            else:
                headers[name] += f", {value}"
        self._headers = headers
        self._known_headers = raw
        self._framed = "content-length" in headers or "transfer-encoding" in headers
        self._plain = not self._framed and self._ending() == KEEP

    def _split(self, target: str) -> None:
        self._path, mark, query = target.partition("?")
        self._query = query if mark else None
        if len(self._path) > self._limits.path_bytes or len(query) > self._limits.query_bytes:
            raise self._target_too_long()

    def _read_head(self) -> Turn:
        """Whatever is not a plain GET."""
        verb = self._parser.get_method()
        method = METHODS.get(verb)
        if method is None:
            raise _method_not_allowed(verb)
        target, headers = self._target.decode("ascii"), self._headers
        if not target.startswith("/") and (target, method) != ("*", "OPTIONS"):
            target, host = _split_address(target)
            # The address in the request line outweighs the Host header.
            headers = {**headers, "host": host}
        self._split(target)
        request = Request(method, self._path, self._query, headers, b"", self.peer)
        return request, verb == b"HEAD", self._ending()

    def _ending(self) -> int:
        version = self._parser.get_http_version()
        if version == "1.1":
            stays = self._parser.should_keep_alive() and not self._parser.should_upgrade()
            return KEEP if stays else CLOSE
        if version == "1.0":
            return CLOSE_OLD
        if version == "0.9":
            raise _no_version()
        raise Refused(505, f"HTTP/{version} is not spoken here: use HTTP/1.1.")

    def _check_length_given(self, request: Request) -> None:
        if request.method == "POST" and self._limits.needs_length(request.path, request.query):
            raise Refused(411, "This request takes a body: send it with a Content-Length.")

    def _begin_body(self) -> None:
        """Decide about a body before any of it is read."""
        self._turn = request, _, ending = self._read_head()
        headers = request.headers
        coding = headers.get("transfer-encoding")
        if coding is not None and coding.lower() != "chunked":
            raise Refused(501, "The only transfer coding understood here is chunked.")
        if coding is not None and ending == CLOSE_OLD:
            raise Refused(400, "A chunked body needs HTTP/1.1.")
        if self._parser.should_upgrade():
            raise Refused(400, "A request to change the protocol cannot have a body.")
        self._room = self._limits.body_limit(request.method, request.path, request.query)
        if int(headers.get("content-length", 0)) > self._room:
            raise self._body_too_large()
        self.phase = BODY
        self.since = self._tally.now
        self._unfinished = 0
        expected = headers.get("expect", "").lower()
        self.wants_continue = expected == "100-continue" and ending != CLOSE_OLD

    def _target_too_long(self) -> Refused:
        path, query = self._limits.path_bytes, self._limits.query_bytes
        detail = f"a path may have {path} bytes and a query {query}."
        return Refused(414, f"The request target is too long: {detail}")

    def _headers_too_large(self) -> Refused:
        count, size = self._limits.header_count, self._limits.header_bytes
        return Refused(431, f"The headers are too large: at most {count} lines and {size} bytes.")

    def _body_too_large(self) -> Refused:
        return Refused(413, f"The body is too large: at most {self._room} bytes are taken here.")


def _split_address(target: str) -> tuple[str, str]:
    """`http://host/path?query` -> what follows the host, and the host."""
    address = _ADDRESS.fullmatch(target)
    if address is None:
        raise Refused(400, "The request target is neither a path nor an http address.")
    host, rest = address.groups()
    return rest if rest.startswith("/") else f"/{rest}", host


def _no_version() -> Refused:
    return Refused(400, "The request line names no HTTP version.")


def _method_not_allowed(verb: bytes) -> Refused:
    allowed = ALLOW[0][1]
    return Refused(405, f"The method {verb.decode()} is not served here, only {allowed}.", ALLOW)


def _refusal(error: HttpParserError, data: bytes) -> Refused:
    """What to answer when the parser has stopped, be it by itself or because we raised."""
    if isinstance(error, HttpParserCallbackError):
        cause = error.__context__
        if isinstance(cause, Refused):
            return cause
        logger.error("Reading a request failed.", exc_info=cause)
        return Refused(500, "The request could not be read because of a fault in this program.")
    if isinstance(error, HttpParserInvalidMethodError) and (line := _UNKNOWN_METHOD.match(data)):
        return _method_not_allowed(line[0].rstrip())
    if str(error) == "Invalid HTTP version":
        return Refused(505, "This version of HTTP is not spoken here: use HTTP/1.1.")
    return Refused(400, f"The request is not well-formed HTTP: {error}.")
