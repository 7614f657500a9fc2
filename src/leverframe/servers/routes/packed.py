"""Replies that stay the same for long: kept packed, and not sent to a browser that has them."""

import gzip
from hashlib import sha256

from leverframe.servers.http.messages import Headers, Reply, Request


class Packed:
    """One reply in three forms: as it is, packed by gzip, and "unchanged"."""

    __slots__ = ("_packed", "_plain", "_tag", "_unchanged")

    def __init__(self, content_type: str, body: bytes, headers: Headers = ()) -> None:
        self._tag = f'W/"{sha256(body).hexdigest()[:16]}"'
        # Browsers ask every time whether what they keep is still right; mostly it is.
        kept: Headers = (
            *headers,
            ("Cache-Control", "no-cache"),
            ("ETag", self._tag),
            ("Vary", "Accept-Encoding"),
        )
        packed = gzip.compress(body, mtime=0)
        self._plain = Reply(200, content_type, body, kept)
        self._packed = Reply(200, content_type, packed, (*kept, ("Content-Encoding", "gzip")))
        self._unchanged = Reply(304, "", b"", kept)

    def answer(self, request: Request) -> Reply:
        if self._tag in request.headers.get("if-none-match", ""):
            return self._unchanged
        return self._packed if _takes_gzip(request) else self._plain


def _takes_gzip(request: Request) -> bool:
    """Whether gzip is among what the client unpacks; `gzip;q=0` says that it is not."""
    for item in request.headers.get("accept-encoding", "").split(","):
        coding, _, quality = item.partition(";")
        if coding.strip().lower() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
