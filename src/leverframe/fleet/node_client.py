"""A client of the API of a node: one request, and what a refusal is to people."""

import getpass
import http.client
import ssl
import sys
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from leverframe.commands.describe.media_types import FORM
from leverframe.errors import ErrorForPeople
from leverframe.fleet.answer_headers import SILENT_NODES

#: How long a node may take: thousands of controllers can be concerned.
ANSWER_S = 3600.0
PATHS = "/api/fleet"


class NodeRefused(ErrorForPeople):
    """The node refused a request, or cannot be reached: one sentence."""


class NodeClient:
    """Asks one node, with an account where one is given."""

    def __init__(self, url: str, user: str | None = None, ca_file: str | None = None) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = None
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise NodeRefused(
                f"{url!r} is no address of a node; write it like http://127.0.0.1:8080."
            )
        self._url = url
        self._headers = {} if user is None else _signed(user)
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=ca_file)
            self._connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.hostname, port, timeout=ANSWER_S, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(parts.hostname, port, timeout=ANSWER_S)

    def get(self, what: str, given: Mapping[str, Any]) -> Any:
        return self._ask("GET", what, given, None)

    def post(self, what: str, given: Mapping[str, Any], body: bytes | None = None) -> Any:
        return self._ask("POST", what, given, body)

    def _ask(self, method: str, what: str, given: Mapping[str, Any], body: bytes | None) -> Any:
        query = "&".join(
            f"{name}={quote(_text(value), safe='')}"
            for name, value in given.items()
            # A number that is 0 has to be said.
            if value is not False and value not in (None, [], "")
        )
        target, headers = f"{PATHS}/{what}".rstrip("/"), self._headers
        if method == "POST" and body is None:
            # The names of thousands have no room in a query.
            body, headers = query.encode(), {**headers, "Content-Type": FORM}
        elif query:
            target += f"?{query}"
        try:
            self._connection.request(method, target, body, headers)
            reply = self._connection.getresponse()
            answer = reply.read()
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise NodeRefused(
                f"{self._url} does not answer: {why}. `leverframe fleet run` starts a node, and"
                " --node says where one is."
            ) from error
        try:
            told = msgspec.json.decode(answer)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise NodeRefused(f"{self._url} is no node: it answers something else.") from None
        if reply.status >= 400:
            raise NodeRefused(f"{told['detail']}")
        if silent := reply.headers.get(SILENT_NODES):
            print(
                f"leverframe: their part is missing, since they do not answer: {silent}",
                file=sys.stderr,
            )
        return told

    def close(self) -> None:
        self._connection.close()


def _text(value: Any) -> str:
    if value is True:
        return "1"
    return ",".join(value) if isinstance(value, list) else str(value)


def _signed(user: str) -> dict[str, str]:
    password = getpass.getpass(f"Password of {user}: ")
    token = b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {token}"}
