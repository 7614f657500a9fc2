"""An HTTP client for units that sends every byte exactly as a client does.

Every request has its own connection: a connection that the unit is about to close cannot swallow a
command, and no command is ever sent twice.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx

from leverframe.core.engine.secret_servers import url_host
from leverframe.core.errors import ErrorForPeople, printable
from leverframe.notify.channel import CannotSend, RemoteServer, Trust, sentence
from leverframe.notify.http_request import new_client

#: The time limit for the head of an answer, between two parts of its body, and for a whole answer.
ANSWER_S = 30.0
_LATE = "accepted the request but did not answer in time."


class BadAddress(ErrorForPeople):
    """The address does not name a unit; the message is one sentence."""


class UnitError(ErrorForPeople):
    """A problem of a unit in one printable line, because the text may come from the unit."""

    def __init__(self, sentence: str) -> None:
        super().__init__(printable(sentence))


class UnitSilent(UnitError):
    """Why a unit gave no answer, in a sentence; `status` is the status that a proxy returns."""

    def __init__(self, sentence: str, status: int = 502) -> None:
        super().__init__(sentence)
        self.status = status


def unit_at(address: str) -> RemoteServer:
    """Return the unit of an address such as http://192.168.1.10, or reject the address."""
    try:
        parts = urlsplit(address)
        unit = RemoteServer.of(address)
    except (ValueError, KeyError):
        raise BadAddress(
            "The address of the unit is not valid; write it like http://192.168.1.10:8080."
        ) from None
    if not unit.host or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise BadAddress(
            "The address of the unit must not contain a path; write it like"
            " http://192.168.1.10:8080."
        )
    if "@" in parts.netloc:
        raise BadAddress(
            "The address must not contain user or password: other users can read the command"
            " line. Use --user."
        )
    return unit


class UnitClient:
    def __init__(
        self, unit: RemoteServer, client: httpx.AsyncClient, answer_s: float = ANSWER_S
    ) -> None:
        self.unit = unit
        self._client = client
        self._answer_s = answer_s

    @property
    def origin(self) -> str:
        return f"{self.unit.scheme}://{self.unit.host_header}"

    async def begin(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> httpx.Response:
        """Send a request; return its answer after reading only the head."""
        sent = {"Host": self.unit.host_header, **headers, "Connection": "close"}
        if body or method == "POST":
            sent["Content-Length"] = str(len(body))
        request = httpx.Request(
            method,
            f"{self.unit.scheme}://{url_host(self.unit.host)}:{self.unit.port}/",
            headers=[(_bytes(name), _bytes(value)) for name, value in sent.items()],
            content=body or None,
            # Send the target exactly as written; the library would encode it differently.
            extensions={
                "target": target.encode(),
                "timeout": self._client.timeout.as_dict(),
            },
        )
        try:
            return await self._client.send(request, stream=True)
        except httpx.HTTPError as error:
            raise self._in_words(error) from error

    async def whole(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, max_bytes: int
    ) -> tuple[httpx.Response, bytes, int]:
        """Send a request; return its answer, the beginning of its body, and its length.

        Reading ends with the part that exceeds the limit. The answer must arrive within the time
        limit, however steadily it trickles.
        """
        read = bytearray()
        try:
            async with asyncio.timeout(self._answer_s):
                response = await self.begin(method, target, headers, body)
                try:
                    async for part in response.aiter_raw():
                        read += part
                        if len(read) > max_bytes:
                            break
                finally:
                    await response.aclose()
        except httpx.HTTPError as error:
            raise self._in_words(error) from error
        except TimeoutError:
            raise UnitSilent(f"{self.unit} {_LATE}", 504) from None
        return response, bytes(read[:max_bytes]), len(read)

    def _in_words(self, error: httpx.HTTPError) -> UnitSilent:
        unit = self.unit
        if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout | httpx.PoolTimeout):
            return UnitSilent(f"{unit} {_LATE}", 504)
        if isinstance(error, httpx.ConnectTimeout):
            return UnitSilent(sentence(error, unit.host, unit.port), 504)
        if isinstance(error, httpx.RemoteProtocolError):
            return UnitSilent(
                f"{unit} did not answer like an HTTP server; check the address and port."
            )
        return UnitSilent(sentence(error, unit.host, unit.port))


def _bytes(text: str) -> bytes:
    """Return a part of a header as received; replace characters that cannot be encoded by `?`."""
    return text.encode("latin-1", "replace")


@asynccontextmanager
async def unit_client(
    address: str, ca_file: str | None, answer_s: float = ANSWER_S
) -> AsyncIterator[UnitClient]:
    """Open a client for the unit at an address."""
    unit = unit_at(address)
    # Certificates are slow to load, and plain HTTP does not need them.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if unit.scheme == "https":
        try:
            context = await Trust(ca_file).ready()
        except CannotSend as error:
            raise BadAddress(str(error)) from error
    async with new_client(context, answer_s) as client:
        yield UnitClient(unit, client, answer_s)
