"""Compressed replies. Those that stay the same for long are compressed once, and not sent to a
browser that has them."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from hashlib import sha256
from typing import Any

import msgspec

from leverframe.profile import Profile
from leverframe.servers.http.messages import Headers, Reply, Request

#: Browsers ask every time whether what they keep is still right; mostly it is.
_ASKED_AGAIN = ("Cache-Control", "no-cache")
#: No proxy keeps it: a page is shown only after sign-in.
_FOR_GOOD = ("Cache-Control", "private, max-age=31536000, immutable")
_VARY = ("Vary", "Accept-Encoding")
_GZIP = ("Content-Encoding", "gzip")
GZIP_HEADERS: Headers = (_GZIP, _VARY)
#: Less than this is sent as it is.
_SMALL = 1000
#: Makes zlib write and read the frame of gzip; the module `gzip` would bring classes for files.
_AS_GZIP = 16 + zlib.MAX_WBITS


class CompressedReply:
    """One reply in three forms: plain, compressed by gzip, and "not modified".

    If few clients need the plain form, it need not be kept: it is created on request.
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
        """Return the same under an address whose content never changes."""
        reply = copy(self)
        reply._how = _FOR_GOOD
        return reply

    def plain(self) -> bytes:
        """Return what is compressed."""
        return self._plain or zlib.decompress(self._compressed, _AS_GZIP)

    def reply_to(self, request: Request) -> Reply:
        """Choose the form that the client can read and does not have yet."""
        kept: Headers = (*self._headers, self._how, ("ETag", self._tag), _VARY)
        if self._tag in request.headers.get("if-none-match", ""):
            return Reply(304, "", b"", kept)
        if accepts_gzip(request):
            return Reply(200, self._content_type, self._compressed, (*kept, _GZIP))
        return Reply(200, self._content_type, self.plain(), kept)


def accepts_gzip(request: Request) -> bool:
    """Return whether the client decompresses gzip; `gzip;q=0` says that it does not."""
    for item in request.headers.get("accept-encoding", "").split(","):
        coding, _, quality = item.partition(";")
        if coding.strip().lower() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def gzip_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Compress a long answer piece by piece; some of them come out empty."""
    compressor = zlib.compressobj(zlib.Z_BEST_SPEED, zlib.DEFLATED, _AS_GZIP)
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()


def compress_reply(
    request: Request, content_type: str, body: bytes, headers: Headers = ()
) -> Reply:
    """Compress a large reply that is different each time: 0.4 ms for 32 kB, which become 5 kB."""
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
        """Return a document; making one takes 20 to 55 ms, sending it 0.04 ms."""
        if (profile, path) not in self._replies:
            body = msgspec.json.encode(make())
            self._replies[profile, path] = CompressedReply(content_type, body)
        return self._replies[profile, path]
