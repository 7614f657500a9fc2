"""A blocking client of the HTTP API of a controller or node.

Use `asyncio.to_thread` to call it from an event loop. It uses no proxy and follows no redirect.
"""

import http.client
import ssl
from base64 import b64encode
from collections.abc import Mapping
from email.message import Message
from typing import NamedTuple
from urllib.parse import urlsplit

#: Name and password.
Credentials = tuple[str, str]
#: The exceptions that a request without an answer raises.
NO_ANSWER = (OSError, http.client.HTTPException)


class ApiReply(NamedTuple):
    status: int
    headers: Message
    body: bytes


class ApiClient:
    """Sends requests to one server, over a persistent connection or a new one for each request.

    `url` contains scheme, host and port. The certificate of the host is checked against `ca_file`,
    or by default against the certificate authorities of the machine. Several threads may share a
    client only if it has no persistent connection.
    """

    def __init__(
        self, url: str, ca_file: str | None = None, timeout_s: float = 30.0, *, keeps: bool = False
    ) -> None:
        parts = urlsplit(url)
        is_secure = parts.scheme == "https"
        self._context = ssl.create_default_context(cafile=ca_file) if is_secure else None
        self._host, self._port = parts.hostname or "", parts.port
        self._timeout_s = timeout_s
        self._kept = self._new_connection(timeout_s) if keeps else None
        self.is_closed = False

    def _new_connection(self, timeout_s: float) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=timeout_s, context=self._context
        )

    def request(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> ApiReply:
        """Return the reply; raise one of `NO_ANSWER` if there is none."""
        connection = self._kept or self._new_connection(timeout_s or self._timeout_s)
        is_whole = False
        try:
            connection.request(method, target, body, headers or {})
            reply = connection.getresponse()
            answer = ApiReply(reply.status, reply.headers, reply.read())
            is_whole = True
        finally:
            # A broken connection would also fail the next request.
            if connection is not self._kept or not is_whole:
                connection.close()
        return answer

    def close(self) -> None:
        self.is_closed = True
        if self._kept is not None:
            self._kept.close()


def sign_in_headers(account: Credentials | None) -> dict[str, str]:
    """Return the `Authorization` header of an account."""
    token = None if account is None else b64encode(":".join(account).encode()).decode()
    return {} if token is None else {"Authorization": f"Basic {token}"}
