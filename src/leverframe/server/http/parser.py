"""The parser of one connection: bytes in, requests out. It has no socket and no clock.

llhttp, through httptools and in its strict mode, distinguishes well-formed requests from others; no
leniency is switched on. This file adds the limits and the few rules that llhttp leaves to its user.

A client mostly repeats the headers of its previous request. So llhttp parses a header block only
once: if a plain request line is followed by the same bytes as the previous request line on this
connection, only the line is parsed. That saves half of the time for a request with one header, and
more for the ten headers of a browser. Nothing is shared with other connections.
"""

import logging
import re
from collections import Counter
from enum import Enum

from leverframe.server.fair_shares import FairShares, source_of
from leverframe.server.http.limits import KIB, MIB, HttpLimits, NamedProxies
from leverframe.server.http.messages import Headers, Request

try:
    from httptools import HttpRequestParser
    from httptools.parser.errors import (
        HttpParserCallbackError,
        HttpParserError,
        HttpParserInvalidMethodError,
        HttpParserUpgrade,
    )
except ModuleNotFoundError:
    # httptools is a compiled extension, which is not available for every system. Without it, for
    # example in a browser, a twin serves only its own test.
    HAS_LLHTTP = False
else:
    HAS_LLHTTP = True

logger = logging.getLogger(__name__)

#: The maximum number of bytes per call: more could contain more requests than may wait, or exceed
#: the limit of a head.
MAX_FEED_BYTES = 4 * KIB

#: OPTIONS is accepted because browsers send it before a request from a page of another site.
METHODS = {b"GET": "GET", b"HEAD": "HEAD", b"POST": "POST", b"OPTIONS": "OPTIONS"}
ALLOW: Headers = (("Allow", "GET, HEAD, POST"),)
RETRY: Headers = (("Retry-After", "5"),)

#: Characters of a target that need no decoding; llhttp checks all others.
_PLAIN = rb"A-Za-z0-9_~!$%&'()*+,\-./:;=@"
#: The request line of nearly all requests.
_PLAIN_LINE = re.compile(rb"(GET|HEAD) (/[%b]*+)(?:\?([%b?]*+))? HTTP/1\.1\r\n" % (_PLAIN, _PLAIN))
_UNKNOWN_METHOD = re.compile(rb"([A-Z]{1,32}) ")
_ADDRESS = re.compile(r"https?://(?:[^/?#@]*@)?([^/?#]+)(.*)", re.IGNORECASE)
#: A DNS name has at most 253 letters; an IPv6 address is in brackets.
_MAX_HOST_BYTES = 255
_MAX_PORT = 65535
_HOST = re.compile(rf"(?:[^\[\]:]{{0,{_MAX_HOST_BYTES}}}|\[[^\[\]]{{1,64}}\])(?::([0-9]{{1,5}}))?")
#: Room for `http://host:port` in front of a path.
_AUTHORITY_BYTES = 512


class BadRequest(Exception):
    """A request that is refused: it gets this status, and the connection ends."""

    def __init__(self, status: int, detail: str, headers: Headers = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


#: The part of a request that a parser is reading.
Reading = Enum("Reading", "NOTHING HEAD BODY")
# These are read for every request. Reading a name of this module takes a tenth of the time of
# reading a member of an enumeration (Python 3.11).
NOTHING, HEAD, BODY = Reading


#: Stands for the current request while there is none.
_NO_REQUEST = Request("GET", "/", None, {})
#: A single address may use half of the budget for bodies.
BODIES_PER_FREE = 1.0


class BodyBudget:
    """The bytes of bodies that are being read or unanswered, over all connections of a server."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._large = FairShares(limits.bodies_bytes, BODIES_PER_FREE)
        self._small = FairShares(limits.small_bodies_bytes, BODIES_PER_FREE)
        self._by_owner: Counter[str] = Counter()

    @property
    def used(self) -> int:
        return self._large.used + self._small.used

    def room_for(self, max_body: int) -> FairShares:
        """Return the budget to which a body of at most this size is charged."""
        return self._small if max_body <= self._limits.small_body_bytes else self._large

    @property
    def too_much_of_owner(self) -> str:
        mebibytes = self._limits.bodies_of_owner_bytes // MIB
        return (
            f"Too many uploads of this tenant are under way: at most {mebibytes} MiB together."
            " Try again in a few seconds."
        )

    def bytes_of_owner(self, owner: str) -> int:
        return self._by_owner[owner]

    def take_for_owner(self, request: Request, count: int) -> bool:
        """Charge bytes of a body to its owner, if it has one; return False if they are too many."""
        owner = request.owner
        if not owner:
            return True
        if self._by_owner[owner] + count > self._limits.bodies_of_owner_bytes:
            return False
        self._by_owner[owner] += count
        request.owned_bytes += count
        return True

    def release_owner(self, request: Request) -> None:
        if request.owned_bytes:
            self._by_owner[request.owner] -= request.owned_bytes
            if not self._by_owner[request.owner]:
                del self._by_owner[request.owner]
            request.owned_bytes = 0

    def give_back(self, request: Request) -> None:
        """Release the budget of a request's body: the request was answered, or never will be."""
        self.release_owner(request)
        if request.body:
            limit = self._limits.body_limit(request.method, request.path, request.query)
            self.room_for(limit).give_back(source_of(request.peer), len(request.body))


class RequestParser:
    """Parses a client's bytes into requests; a bad request is the last one.

    The body of a request stays charged to the budget until the receiver of the request releases it.
    """

    def __init__(
        self,
        limits: HttpLimits,
        budget: BodyBudget,
        peer: str = "",
        proxies: NamedProxies | None = None,
    ) -> None:
        """Create the parser; `proxies` is set if the peer is one of the configured proxies."""
        self.reading = NOTHING
        #: The client waits for a go-ahead before it sends the body.
        self.wants_continue = False
        #: Nothing more is parsed: the last request was found, or none will follow.
        self.is_done = False

        self._limits = limits
        self._peer = peer
        self._proxies = proxies
        self._client = peer  # the client that the peer forwards for, else the peer itself
        self._budget = budget
        if HAS_LLHTTP:
            self._http = HttpRequestParser(self)
        self._found: list[Request | BadRequest] = []
        self._request = _NO_REQUEST
        self._unfinished = 0  # bytes since the last complete request or piece of a body
        self._max_target = limits.path_bytes + limits.query_bytes + _AUTHORITY_BYTES
        self._max_line = min(limits.path_bytes, limits.query_bytes)  # of a plain request line

        self._target = b""
        self._raw_headers: list[bytes] = []  # name, value, name, value ...
        #: The block of headers after the last plain request line, if all of it came with the line;
        #: and the headers in it.
        self._last_block: bytes | None = None
        self._last_headers: dict[str, str] = {}
        self._has_host = False
        self._names_connection = True  # the headers control whether the connection stays open
        self._is_framed = False  # a body follows the headers
        self._is_last = False  # the connection ends with this request
        self._body = bytearray()
        self._max_body = 0
        self._room = budget.room_for(0)  # the budget of the body, and the address charged
        self._source = ""

    @property
    def body_bytes(self) -> int:
        return len(self._body)

    @property
    def head(self) -> Request:
        """The request whose body is being read, without that body."""
        return self._request

    def feed(self, data: bytes) -> list[Request | BadRequest]:
        """Return the requests that these bytes, at most MAX_FEED_BYTES, complete."""
        if self.is_done:
            return []
        if self.reading is not NOTHING:
            return self._feed_llhttp(data)
        line = _PLAIN_LINE.match(data)
        if line is None or line.end() > self._max_line:
            return self._feed_llhttp(data)
        block = data[line.end() :]
        if block == self._last_block:
            method, path, query = line.groups()
            text = None if query is None else query.decode()
            headers = self._last_headers
            return [Request(METHODS[method], path.decode(), text, headers, b"", self._client)]
        found = self._feed_llhttp(data)
        if self.reading is NOTHING and len(found) == 1 and not self._is_framed:
            self._last_block = block
        return found

    def _feed_llhttp(self, data: bytes) -> list[Request | BadRequest]:
        self._last_block = None
        if not HAS_LLHTTP:
            self.end()
            return [BadRequest(501, "Requests cannot be read: httptools is not installed.")]
        if self.reading is NOTHING:
            self.reading = HEAD
        try:
            self._http.feed_data(data)
            if self.reading is not NOTHING:
                self._check_unfinished(data)
        except HttpParserUpgrade:
            pass  # handled like any other request, as the last one: no other protocol is supported
        except HttpParserError as error:
            self._refuse(_bad_request(error, data))
        except BadRequest as bad:
            self._refuse(bad)
        found, self._found = self._found, []
        return found

    def end(self) -> None:
        """Stop parsing; discard the part of a body that was read."""
        self.is_done = True
        if self._body:
            self._room.give_back(self._source, len(self._body))
            self._budget.release_owner(self._request)
            self._body = bytearray()

    def close(self) -> None:
        """Stop parsing for good; breaking the reference cycle frees the memory now."""
        self.end()
        if HAS_LLHTTP:
            del self._http

    def _refuse(self, bad: BadRequest) -> None:
        if not self.is_done:
            self.end()
            self._found.append(bad)

    def _check_unfinished(self, data: bytes) -> None:
        """Limit what llhttp discards silently: a long header, a trailer, empty lines."""
        if len(self._target) > self._max_target:
            raise self._target_too_long()
        self._unfinished += len(data)
        if self._unfinished > self._limits.header_bytes + self._max_target + MAX_FEED_BYTES:
            raise self._headers_too_large()
        if self.reading is HEAD and self._target:
            version = self._http.get_http_version()
            if version == "0.9" or (version == "0.0" and data[-1:] == b"\n"):
                raise _no_version()

    # Callbacks of llhttp, in the order of their calls

    def on_url(self, part: bytes) -> None:
        self.reading = HEAD
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        raw = self._raw_headers
        raw.append(name)
        raw.append(value)

    def on_headers_complete(self) -> None:
        if self.is_done:
            raise BadRequest(400, "Bytes follow the last request of the connection.")
        raw, self._raw_headers = self._raw_headers, []
        self._last_headers = self._read_headers(raw)
        self._request = request = self._read_head(self._last_headers)
        if self._is_framed:
            self._begin_body(request)
        elif request.method == "POST" and self._limits.needs_length(request.path, request.query):
            raise BadRequest(411, "This request needs a body: send it with a Content-Length.")

    def on_body(self, part: bytes) -> None:
        self.wants_continue = False
        self._unfinished = 0
        if not self._room.take(self._source, len(part)):
            detail = "Too many uploads are in progress. Retry in a few seconds."
            raise BadRequest(503, detail, RETRY)
        self._body += part
        if not self._budget.take_for_owner(self._request, len(part)):
            raise BadRequest(429, self._budget.too_much_of_owner, RETRY)
        if len(self._body) > self._max_body:
            raise self._body_too_large()

    def on_message_complete(self) -> None:
        # The request is not kept until the next one: its body may be large.
        request, self._request = self._request, _NO_REQUEST
        if self.reading is BODY:
            request.body = bytes(self._body)
            self._body = bytearray()
            self._raw_headers = []  # the bytes after a body are not kept
            self.wants_continue = False
        self.reading = NOTHING
        self._target = b""
        self._unfinished = 0
        self.is_done = self._is_last
        self._found.append(request)

    # Rules that llhttp leaves to its user

    def _read_headers(self, raw: list[bytes]) -> dict[str, str]:
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
                raise BadRequest(400, "The request has more than one Host header.")
            else:
                headers[name] += f", {value}"
        if self._proxies is not None:
            forwarded_for = headers.get("x-forwarded-for", "")
            self._client = self._proxies.client_of(self._peer, forwarded_for)
        self._has_host = "host" in headers
        if self._has_host:
            _check_host(headers["host"])
        self._names_connection = "connection" in headers or not self._has_host
        self._is_framed = "content-length" in headers or "transfer-encoding" in headers
        return headers

    def _read_head(self, headers: dict[str, str]) -> Request:
        verb = self._http.get_method()
        method = METHODS.get(verb)
        if method is None:
            raise _method_not_allowed(verb)
        target = self._target.decode("ascii")
        if not target.startswith("/") and (target, method) != ("*", "OPTIONS"):
            target, host = _split_address(target)
            # The address in the request line takes precedence over the Host header.
            headers = {**headers, "host": host}
        path, mark, query = target.partition("?")
        if len(path) > self._limits.path_bytes or len(query) > self._limits.query_bytes:
            raise self._target_too_long()
        self._is_last = not self._http.should_keep_alive()
        # The version matters only if the connection ends here, or if a header, or the lack of one,
        # decides whether it does.
        is_http10 = (self._is_last or self._names_connection) and self._is_http10()
        return Request(method, path, query if mark else None, headers, b"", self._client, is_http10)

    def _is_http10(self) -> bool:
        """Set whether the connection ends with this request; return whether it is HTTP/1.0."""
        version = self._http.get_http_version()
        if version == "1.1":
            # A client without the Host header that HTTP/1.1 requires gets an answer; then it is
            # disconnected.
            self._is_last = self._is_last or self._http.should_upgrade() or not self._has_host
        elif version == "1.0":
            self._is_last = True
        elif version == "0.9":
            raise _no_version()
        else:
            raise BadRequest(505, f"HTTP/{version} is not supported: use HTTP/1.1.")
        return version == "1.0"

    def _begin_body(self, request: Request) -> None:
        """Accept or refuse a body before any of it is read."""
        headers = request.headers
        coding = headers.get("transfer-encoding")
        if coding is not None and coding.lower() != "chunked":
            raise BadRequest(501, "The only supported transfer coding is chunked.")
        if coding is not None and request.is_http10:
            raise BadRequest(400, "A chunked body needs HTTP/1.1.")
        if self._http.should_upgrade():
            raise BadRequest(400, "A request to switch protocols cannot have a body.")
        self._max_body = self._limits.body_limit(request.method, request.path, request.query)
        if int(headers.get("content-length", 0)) > self._max_body:
            raise self._body_too_large()
        self._room = self._budget.room_for(self._max_body)
        self._source = source_of(self._client)
        self.reading = BODY
        self._unfinished = 0
        expected = headers.get("expect", "").lower()
        self.wants_continue = expected == "100-continue" and not request.is_http10

    def _target_too_long(self) -> BadRequest:
        path, query = self._limits.path_bytes, self._limits.query_bytes
        detail = f"a path may have {path} bytes and a query {query}."
        return BadRequest(414, f"The request target is too long: {detail}")

    def _headers_too_large(self) -> BadRequest:
        count, size = self._limits.header_count, self._limits.header_bytes
        return BadRequest(
            431, f"The headers are too large: at most {count} lines and {size} bytes."
        )

    def _body_too_large(self) -> BadRequest:
        return BadRequest(
            413, f"The body is too large: at most {self._max_body} bytes are accepted here."
        )


def _split_address(target: str) -> tuple[str, str]:
    """Split `http://host/path?query` into the part after the host, and the host."""
    address = _ADDRESS.fullmatch(target)
    if address is None:
        raise BadRequest(400, "The request target is neither a path nor an http address.")
    host, rest = address.groups()
    _check_host(host)
    return rest if rest.startswith("/") else f"/{rest}", host


def _check_host(host: str) -> None:
    """Refuse a Host that is not a host name, before it is looked up, compared or kept anywhere."""
    parts = _HOST.fullmatch(host)
    if parts is None or int(parts[1] or 0) > _MAX_PORT:
        raise BadRequest(
            400,
            f"The Host header is malformed. Send a name of at most {_MAX_HOST_BYTES} letters or an"
            f" address, with or without a port from 0 to {_MAX_PORT}.",
        )


def _no_version() -> BadRequest:
    return BadRequest(400, "The request line has no HTTP version.")


def _method_not_allowed(verb: bytes) -> BadRequest:
    allowed = ALLOW[0][1]
    return BadRequest(
        405, f"The method {verb.decode()} is not supported here; allowed are {allowed}.", ALLOW
    )


def _bad_request(error: "HttpParserError", data: bytes) -> BadRequest:
    """Return the refusal for bytes at which llhttp has stopped, or a callback has raised."""
    if isinstance(error, HttpParserCallbackError):
        cause = error.__context__
        if isinstance(cause, BadRequest):
            return cause
        logger.error("Reading a request failed.", exc_info=cause)
        return BadRequest(500, "The request could not be read because of an internal error.")
    if isinstance(error, HttpParserInvalidMethodError):
        # The bytes may begin with an earlier request, or in the middle of a method, which is then
        # unknown.
        line = _UNKNOWN_METHOD.match(data)
        if line and line[1] not in METHODS:
            return _method_not_allowed(line[1])
    if str(error) == "Invalid HTTP version":
        return BadRequest(505, "This version of HTTP is not supported: use HTTP/1.1.")
    if " in url" in str(error) and not data.isascii():
        return BadRequest(400, "Percent-encode letters beyond ASCII in a URL: ł becomes %C5%82.")
    return BadRequest(400, f"The request is not well-formed HTTP: {error}.")
