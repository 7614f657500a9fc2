"""The HTTP request of a message: to the checked address, with a login if the server requests it.

`http.py` loads this module only with the first request, in a thread. It handles servers and
statuses, and knows neither slots nor settings.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Generator
from importlib import import_module
from typing import Any

import httpcore
import httpx
from anyio.abc import SocketStream
from httpcore._backends.anyio import AnyIOStream

from leverframe.core.engine.secret_servers import url_host
from leverframe.core.runtime.outgoing import connect_socket
from leverframe.notify.channel import (
    CannotSend,
    OutgoingRequest,
    RemoteServer,
    WhyHeld,
    sentence,
)

CONNECT_S = 5.0
#: The number of idle connections that are kept for further requests, and the time for which they
#: are kept.
MAX_IDLE = 20
IDLE_S = 5.0

#: The library would otherwise import this on the event loop, at its first connection.
import_module("anyio._backends._asyncio")


class RecognisableConnections(httpcore.AnyIOBackend):
    """Creates connections that this process recognises if they lead back to itself."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (as the library calls it)
        local_address: str | None = None,
        socket_options: object = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                connected = await connect_socket(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        return AnyIOStream(await SocketStream.from_socket(connected))


def _transport_of_controller(context: ssl.SSLContext) -> httpx.AsyncHTTPTransport:
    transport = httpx.AsyncHTTPTransport(trust_env=False, verify=False)
    transport._pool = httpcore.AsyncConnectionPool(
        ssl_context=context,
        max_keepalive_connections=MAX_IDLE,
        keepalive_expiry=IDLE_S,
        network_backend=RecognisableConnections(),
    )
    return transport


def new_client(
    context: ssl.SSLContext, answer_s: float, *, of_controller: bool = False
) -> httpx.AsyncClient:
    # The library's log would show addresses with their queries, and headers with the login.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return httpx.AsyncClient(
        verify=context,
        transport=_transport_of_controller(context) if of_controller else None,
        trust_env=False,
        follow_redirects=False,
        timeout=httpx.Timeout(answer_s, connect=CONNECT_S),
    )


async def status_of(
    client: httpx.AsyncClient,
    server: RemoteServer,
    addresses: list[str],
    request: OutgoingRequest,
    why_held: WhyHeld = lambda: None,
) -> int:
    """Return the status of the server's answer, and ignore the rest."""
    status, _ = await answer_of(client, server, addresses, request, why_held=why_held)
    return status


async def answer_of(
    client: httpx.AsyncClient,
    server: RemoteServer,
    addresses: list[str],
    request: OutgoingRequest,
    max_bytes: int = 0,
    why_held: WhyHeld = lambda: None,
) -> tuple[int, bytes]:
    """Return the answer of the first address that accepts the connection, up to a maximum size."""
    for number, address in enumerate(addresses, start=1):
        try:
            return await _ask(client, server, address, request, max_bytes, why_held)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            if number == len(addresses):
                raise CannotSend(sentence(error, server.host, server.port)) from error
        except httpx.TimeoutException as error:
            raise CannotSend(f"{server} accepted the request but does not answer.") from error
        except httpx.RemoteProtocolError as error:
            raise CannotSend(f"{server} did not send an HTTP response.") from error
        except httpx.HTTPError as error:
            raise CannotSend(sentence(error, server.host, server.port)) from error
        except httpx.InvalidURL as error:
            # Omit the library's message: it quotes the path, which may contain a token.
            raise CannotSend(
                "The path is not valid after its reading codes were replaced.", final=True
            ) from error
    raise CannotSend(f"The name {server.host} has no address.")


async def _ask(
    client: httpx.AsyncClient,
    server: RemoteServer,
    address: str,
    request: OutgoingRequest,
    max_bytes: int,
    why_held: WhyHeld,
) -> tuple[int, bytes]:
    async def check(event: str, _: dict[str, Any]) -> None:
        # The process may have been paused since the attempt began, for longer than its lease.
        if event.endswith("send_request_headers.started") and (held := why_held()) is not None:
            raise CannotSend(held)

    built = client.build_request(
        request.method,
        f"{server.scheme}://{url_host(address)}:{server.port}{request.path}",
        headers=request.headers(server),
        content=request.body,
        extensions={"sni_hostname": server.host, "trace": check},
    )
    login = Login(request.username, request.password) if request.username else None
    response = await client.send(built, stream=True, auth=login)
    try:
        return response.status_code, await _beginning(response, max_bytes)
    finally:
        await response.aclose()


async def _beginning(response: httpx.Response, max_bytes: int) -> bytes:
    read = b""
    if max_bytes:
        async for part in response.aiter_bytes():
            read += part
            if len(read) >= max_bytes:
                break
    return read[:max_bytes]


class Login(httpx.Auth):
    """The login, sent only to a server that requests it; by Digest if the server supports that."""

    def __init__(self, username: str, password: str) -> None:
        self._username = username
        self._password = password

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        response = yield request
        challenges = response.headers.get_list("www-authenticate")
        schemes = {text.partition(" ")[0].lower() for text in challenges}
        if response.status_code == 401 and "digest" in schemes:
            digest = httpx.DigestAuth(self._username, self._password).auth_flow(request)
            next(digest)
            with contextlib.suppress(StopIteration):
                yield digest.send(response)
        elif response.status_code == 401 and "basic" in schemes:
            yield next(httpx.BasicAuth(self._username, self._password).auth_flow(request))
