"""One HTTP request of a message, written down: its server, method, address, headers and body.

It is light, so that a captured request can be shown without what it takes to make one.
"""

import contextlib
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

DEFAULT_PORTS = {"http": 80, "https": 443}


class RemoteServer(Struct, frozen=True):
    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> "RemoteServer":
        origin = urlsplit(text)
        return cls(
            origin.scheme, origin.hostname or "", origin.port or DEFAULT_PORTS[origin.scheme]
        )

    @property
    def host_header(self) -> str:
        return self.host if self.port == DEFAULT_PORTS[self.scheme] else str(self)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class OutgoingRequest(Struct, frozen=True):
    path: str
    #: Makes it a POST.
    body: str | None
    username: str
    password: str

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"

    def headers(self, server: RemoteServer) -> dict[str, str]:
        """List all headers, so that no library adds any but the login that a server asks for."""
        headers = {
            "Host": server.host_header,
            "User-Agent": "leverframe",
            "Accept": "*/*",
            # The answer is not read, or it is short.
            "Accept-Encoding": "identity",
            "Connection": "keep-alive",
        }
        if self.body is not None:
            headers["Content-Type"] = _content_type(self.body)
            headers["Content-Length"] = str(len(self.body.encode()))
        return headers


def _content_type(body: str) -> str:
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        if isinstance(msgspec.json.decode(body), dict | list):
            return "application/json"
    return "text/plain; charset=utf-8"
