"""Headers of replies and pages, CORS, and compression."""

import zlib
from collections.abc import Callable, Coroutine, Iterable, Iterator
from copy import copy
from hashlib import sha256
from typing import Any

import msgspec

from leverframe.core.profile import Profile
from leverframe.server.http.messages import (
    BY_TLS_ONLY,
    Answer,
    AnyReply,
    Handler,
    Headers,
    Reply,
    Request,
    StreamReply,
)

# Headers that are added to every reply of a handler.


def by_tls_only(handler: Handler) -> Handler:
    """Add to each reply the header that makes browsers use only TLS for the controller."""

    def handle(request: Request) -> Answer:
        return with_headers(handler(request), BY_TLS_ONLY)

    return handle


def with_headers(answer: Answer, headers: Headers) -> Answer:
    """Add headers to a reply, or to one that is still awaited."""
    if isinstance(answer, Coroutine):
        return _add_later(answer, headers)
    return add_headers(answer, headers)


async def _add_later(answer: Coroutine[Any, Any, AnyReply], headers: Headers) -> AnyReply:
    return add_headers(await answer, headers)


def add_headers(reply: AnyReply, headers: Headers) -> AnyReply:
    if reply.headers:
        headers = (*reply.headers, *headers)
    if isinstance(reply, StreamReply):
        return StreamReply(reply.status, reply.content_type, reply.chunks, headers)
    return Reply(reply.status, reply.content_type, reply.body, headers)


# CORS: pages of configured other sites may read answers.
#
# These pages read answers and send commands as any program does: they sign in with their own HTTP
# Basic credentials. They cannot use a visitor's open session. Browsers may send the cookie, because
# they treat a site at another port as the same site, but the cookie is removed before anything
# reads it.

_PREFLIGHT: Headers = (
    ("Access-Control-Allow-Methods", "GET, HEAD, POST"),
    ("Access-Control-Allow-Headers", "Authorization, Backup-Passphrase, Content-Type"),
    ("Access-Control-Max-Age", "600"),
)


def open_to(origins: frozenset[str], handler: Handler) -> Handler:
    """Open a handler to pages of these sites; return it unchanged if there are none."""
    return OtherOrigins(handler, origins).handle if origins else handler


class OtherOrigins:
    """A handler that adds headers to replies to pages of these origins, and to no others."""

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


# Headers of every page: they limit what the browser lets the page do.
#
# Pages contain no inline scripts, may not be framed, and load nothing from elsewhere. Pages of an
# uploaded site also have no origin: the browser gives them no access to the built-in pages, their
# cookies or their rights.

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; manifest-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_ANY_PAGE: Headers = (("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"))

#: Sent with every built-in page.
PAGE_HEADERS: Headers = (
    ("Content-Security-Policy", _POLICY),
    *_ANY_PAGE,
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)


def headers_with_style(digest: str) -> Headers:
    """Return the headers of a page with an inline style, which the policy allows by its digest."""
    policy = _POLICY.replace("style-src 'self'", f"style-src 'sha256-{digest}'")
    return (("Content-Security-Policy", policy), *PAGE_HEADERS[1:])


#: Sent with scripts and styles. A script that is opened directly is plain text to a browser and
#: does not run. Everything that a browser shows as a document gets the headers of a page.
PART_HEADERS: Headers = _ANY_PAGE
#: Sent with every uploaded file.
UPLOADED_HEADERS: Headers = (
    (
        "Content-Security-Policy",
        f"{_POLICY}; media-src 'self'; "
        "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads",
    ),
    *_ANY_PAGE,
    # The page's address may contain the key to a session.
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-cache"),
)


# Compressed replies. Replies that rarely change are compressed once, and are not sent to a browser
# that already has them.

#: Browsers ask each time whether their copy is still current; mostly it is.
_ASKED_AGAIN = ("Cache-Control", "no-cache")
#: Proxies must not store it: a page is shown only after sign-in.
_FOR_GOOD = ("Cache-Control", "private, max-age=31536000, immutable")
_VARY = ("Vary", "Accept-Encoding")
_GZIP = ("Content-Encoding", "gzip")
GZIP_HEADERS: Headers = (_GZIP, _VARY)
#: Smaller replies are sent uncompressed.
_SMALL = 1000
#: Makes zlib read and write the gzip format; the module `gzip` would import classes for files.
_AS_GZIP = 16 + zlib.MAX_WBITS


class CompressedReply:
    """One reply in three forms: plain, compressed by gzip, and "not modified".

    The plain form need not be kept if few clients need it; it is then created on request.
    """

    __slots__ = ("_compressed", "_content_type", "_headers", "_how", "_plain", "_tag")

    def __init__(
        self, content_type: str, body: bytes, headers: Headers = (), *, keeps_plain: bool = True
    ) -> None:
        self._tag = f'W/"{sha256(body).hexdigest()[:16]}"'
        self._content_type = content_type
        self._headers = headers
        self._how = _ASKED_AGAIN
        self._compressed = zlib.compress(body, zlib.Z_BEST_COMPRESSION, _AS_GZIP)
        self._plain = body if keeps_plain else None

    def with_lasting_address(self) -> "CompressedReply":
        """Return the same reply for an address whose content never changes."""
        reply = copy(self)
        reply._how = _FOR_GOOD
        return reply

    def plain(self) -> bytes:
        """Return the uncompressed content."""
        return self._plain or zlib.decompress(self._compressed, _AS_GZIP)

    def reply_to(self, request: Request) -> Reply:
        """Choose the form that the client can read, or "not modified" if it has the content."""
        kept: Headers = (*self._headers, self._how, ("ETag", self._tag), _VARY)
        if self._tag in request.headers.get("if-none-match", ""):
            return Reply(304, "", b"", kept)
        if accepts_gzip(request):
            return Reply(200, self._content_type, self._compressed, (*kept, _GZIP))
        return Reply(200, self._content_type, self.plain(), kept)


def accepts_gzip(request: Request) -> bool:
    """Return whether the client accepts gzip; `gzip;q=0` means that it does not."""
    for item in request.headers.get("accept-encoding", "").split(","):
        coding, _, quality = item.partition(";")
        if coding.strip().lower() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def gzip_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Compress a long answer piece by piece; some compressed pieces are empty."""
    compressor = zlib.compressobj(zlib.Z_BEST_SPEED, zlib.DEFLATED, _AS_GZIP)
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()


def compress_reply(
    request: Request, content_type: str, body: bytes, headers: Headers = ()
) -> Reply:
    """Compress a large reply that is different each time: 32 kB become 5 kB in 0.4 ms."""
    if len(body) < _SMALL or not accepts_gzip(request):
        return Reply(200, content_type, body, headers)
    headers = (*headers, *GZIP_HEADERS)
    return Reply(200, content_type, zlib.compress(body, zlib.Z_BEST_SPEED, _AS_GZIP), headers)


class VersionDocuments:
    """Documents of the API that are the same for all controllers of a version."""

    def __init__(self) -> None:
        self._replies: dict[tuple[Profile, str], CompressedReply] = {}

    def reply(
        self, profile: Profile, path: str, content_type: str, make: Callable[[], Any]
    ) -> CompressedReply:
        """Return a document; creating it takes 20 to 55 ms, sending it 0.04 ms."""
        if (profile, path) not in self._replies:
            body = msgspec.json.encode(make())
            self._replies[profile, path] = CompressedReply(content_type, body)
        return self._replies[profile, path]
