"""Replies that stay the same for long: compressed once, and not sent to a browser that has them."""

import gzip
from hashlib import sha256

from leverframe.servers.http.messages import Headers, Reply, Request


class CompressedReply:
    """One reply in three forms: plain, compressed by gzip, and "not modified".

    Where hardly anybody wants the plain form, it need not be kept: it is made for whoever asks.
    """

    __slots__ = ("_compressed", "_content_type", "_kept", "_not_modified", "_plain", "_tag")

    def __init__(
        self, content_type: str, body: bytes, headers: Headers = (), *, keeps_plain: bool = True
    ) -> None:
        self._tag = f'W/"{sha256(body).hexdigest()[:16]}"'
        # Browsers ask every time whether what they keep is still right; mostly it is.
        kept: Headers = (
            *headers,
            ("Cache-Control", "no-cache"),
            ("ETag", self._tag),
            ("Vary", "Accept-Encoding"),
        )
        compressed = gzip.compress(body, mtime=0)
        self._content_type, self._kept = content_type, kept
        self._plain = Reply(200, content_type, body, kept) if keeps_plain else None
        self._compressed = Reply(
            200, content_type, compressed, (*kept, ("Content-Encoding", "gzip"))
        )
        self._not_modified = Reply(304, "", b"", kept)

    def reply_to(self, request: Request) -> Reply:
        """Choose the form that the client can read and does not have yet."""
        if self._tag in request.headers.get("if-none-match", ""):
            return self._not_modified
        if _accepts_gzip(request):
            return self._compressed
        return self._plain or Reply(
            200, self._content_type, gzip.decompress(self._compressed.body), self._kept
        )


def _accepts_gzip(request: Request) -> bool:
    """Tell whether the client decompresses gzip; `gzip;q=0` says that it does not."""
    for item in request.headers.get("accept-encoding", "").split(","):
        coding, _, quality = item.partition(";")
        if coding.strip().lower() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
