"""The channels HTTP1-HTTP4: one request each, to an address that the settings hold.

The path and the body are those of the moment of the effect; server and login are the present ones,
so that correcting them helps what waits. Redirects are not followed. An answer below 300 is a
delivery. What the server refuses in a way that trying again cannot change is given up; a refused
login, a busy or a broken server is tried again.
"""

import asyncio
import contextlib
import logging
from collections.abc import Generator
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from leverframe.engine.effects import Notify
from leverframe.engine.settings import HttpClient, Settings
from leverframe.notify.channel import CannotSend, Draft, Limits
from leverframe.notify.message import Message
from leverframe.notify.targets import checked_addresses
from leverframe.notify.troubles import sentence
from leverframe.notify.trust import Trust

if TYPE_CHECKING:
    import httpx

DEFAULT_PORTS = {"http": 80, "https": 443}
CONNECT_S = 5.0
ANSWER_S = 15.0
#: Statuses of which a later attempt may get rid.
PASSING = frozenset({401, 403, 407, 408, 421, 425, 429}) | frozenset(range(500, 600))


class HttpCalls:
    """One of HTTP1-HTTP4."""

    limits = Limits(expires_s=3_600.0, per_s=50.0, burst=50, timeout_s=25.0)

    def __init__(
        self, slot: int, trust: Trust, *, allow_local: bool, answer_s: float = ANSWER_S
    ) -> None:
        self._slot = slot
        self._trust = trust
        self._allow_local = allow_local
        self._answer_s = answer_s
        self._client: httpx.AsyncClient | None = None

    def compose(self, effect: Notify, settings: Settings) -> list[Draft]:
        if not effect.text:
            raise CannotSend(f"HTTP{self._slot} has no address; set one with http{self._slot}=...")
        origin, path = _split(effect.text)
        content: dict[str, str] = {"path": path}
        if settings.http[self._slot - 1].post:
            content["body"] = effect.body
        return [Draft(origin + path.partition("?")[0], content)]

    def configuration(self, settings: Settings) -> HttpClient:
        return settings.http[self._slot - 1]

    async def deliver(self, message: Message, settings: Settings) -> str:
        call = settings.http[self._slot - 1]
        if not call.url:
            raise CannotSend(f"HTTP{self._slot} has no address any more.", final=True)
        try:
            server = _Server.of(call.url)
        except (ValueError, KeyError) as error:
            raise CannotSend(
                f"HTTP{self._slot} has no usable address; set one with http{self._slot}=...",
                final=True,
            ) from error
        try:
            addresses = await checked_addresses(
                server.host, server.port, allow_local=self._allow_local
            )
        except (OSError, UnicodeError) as error:
            raise CannotSend(sentence(error, server.host, server.port)) from error
        client = await self._ready_client()
        return _judged(await _request_any(client, addresses, server, call, message), server)

    async def _ready_client(self) -> "httpx.AsyncClient":
        if self._client is None:
            # Loading the library and the authorities takes longer than a relay may wait.
            self._client = await asyncio.to_thread(self._new_client)
        return self._client

    def _new_client(self) -> "httpx.AsyncClient":
        # Loaded with the first request: most controllers never make one.
        import httpx

        # Its own log would show addresses with their queries, and headers with the login.
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        return httpx.AsyncClient(
            verify=self._trust.context,
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(self._answer_s, connect=CONNECT_S),
            headers={"User-Agent": "leverframe"},
        )

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


@dataclass(frozen=True, slots=True)
class _Server:
    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> "_Server":
        origin = urlsplit(_split(url)[0])
        return cls(
            origin.scheme, origin.hostname or "", origin.port or DEFAULT_PORTS[origin.scheme]
        )

    @property
    def host_header(self) -> str:
        return self.host if self.port == DEFAULT_PORTS[self.scheme] else str(self)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def _split(url: str) -> tuple[str, str]:
    """`https://host:port` and `/path?query`; without a scheme it is http."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "http", url
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash + path or "/"


async def _request_any(
    client: "httpx.AsyncClient",
    addresses: list[str],
    server: _Server,
    call: HttpClient,
    message: Message,
) -> int:
    """The status that the first address answers which takes the connection."""
    import httpx

    for number, address in enumerate(addresses, start=1):
        try:
            return await _request(client, address, server, call, message)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            if number == len(addresses):
                raise CannotSend(sentence(error, server.host, server.port)) from error
        except httpx.TimeoutException as error:
            raise CannotSend(f"{server} took the request but does not answer.") from error
        except httpx.RemoteProtocolError as error:
            raise CannotSend(f"{server} did not answer as an HTTP server does.") from error
        except httpx.HTTPError as error:
            raise CannotSend(sentence(error, server.host, server.port)) from error
        except httpx.InvalidURL as error:
            raise CannotSend(
                f"The path that the codes made is none: {error}.", final=True
            ) from error
    raise CannotSend(f"The name {server.host} has no address.")


async def _request(
    client: "httpx.AsyncClient", address: str, server: _Server, call: HttpClient, message: Message
) -> int:
    headers = {"Host": server.host_header}
    body = message.content.get("body")
    if body is not None:
        headers["Content-Type"] = _content_type(body)
    place = f"[{address}]" if ":" in address else address
    request = client.build_request(
        "GET" if body is None else "POST",
        f"{server.scheme}://{place}:{server.port}{message.content['path']}",
        headers=headers,
        content=body,
        extensions={"sni_hostname": server.host},
    )
    login = _login(call.username, call.password)
    response = await client.send(request, stream=True, auth=login)
    # What stands in the answer is of no use to anybody.
    await response.aclose()
    return response.status_code


def _content_type(body: str) -> str:
    with contextlib.suppress(msgspec.DecodeError):
        if isinstance(msgspec.json.decode(body), dict | list):
            return "application/json"
    return "text/plain; charset=utf-8"


def _judged(status: int, place: _Server) -> str:
    """The answer in words, or why it is none."""
    try:
        answer = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        answer = str(status)
    if status < 300:
        return answer
    if status < 400:
        raise CannotSend(
            f"{place} answered {answer}: it wants another address. Redirects are not followed; "
            f"set the address it leads to.",
            final=True,
        )
    if status == 401:
        raise CannotSend(f"{place} answered {answer}: user name or password is wrong or missing.")
    raise CannotSend(f"{place} answered {answer}.", final=status not in PASSING)


def _login(username: str, password: str) -> "httpx.Auth | None":
    """Shows the login only to a server that asks for it, and by Digest where it takes that."""
    if not username:
        return None
    import httpx

    class Login(httpx.Auth):
        def auth_flow(
            self, request: httpx.Request
        ) -> Generator[httpx.Request, httpx.Response, None]:
            response = yield request
            challenges = response.headers.get_list("www-authenticate")
            schemes = {text.partition(" ")[0].lower() for text in challenges}
            if response.status_code == 401 and "digest" in schemes:
                digest = httpx.DigestAuth(username, password).auth_flow(request)
                next(digest)
                with contextlib.suppress(StopIteration):
                    yield digest.send(response)
            elif response.status_code == 401 and "basic" in schemes:
                yield next(httpx.BasicAuth(username, password).auth_flow(request))

    return Login()
