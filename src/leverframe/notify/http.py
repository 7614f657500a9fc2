"""The channels HTTP1-HTTP4: one request each, to an address from the settings.

Server, path and body are fixed at the moment of the effect; the login is the one at the moment of
delivery, so that a corrected login helps waiting requests. A request is given up if the settings no
longer name its server, because its path and body may contain tokens of that server. Redirects are
not followed. A status below 300 means delivered. A refusal that a retry cannot change is final;
after a refused login, or if the server is busy or failing, the request is retried.
"""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

from leverframe.core.engine.calls import Notify
from leverframe.core.engine.secret_servers import server_of, split_address
from leverframe.core.runtime.outgoing import ForbiddenTarget, OutgoingChannel
from leverframe.core.settings import HttpClient
from leverframe.notify.channel import (
    CannotSend,
    ChannelLimits,
    Channels,
    Draft,
    Message,
    OutgoingRequest,
    RemoteServer,
    Trust,
    WhyHeld,
    sentence,
)

if TYPE_CHECKING:
    import httpx

ANSWER_S = 15.0
#: Statuses that may change, so that a retry makes sense.
PASSING = frozenset({401, 403, 407, 408, 421, 425, 429}) | frozenset(range(500, 600))


class HttpCalls:
    """The channel of one of HTTP1-HTTP4."""

    limits = ChannelLimits(expires_s=3_600.0, per_s=50.0, burst=50, timeout_s=25.0)

    def __init__(
        self,
        slot: int,
        trust: Trust,
        way_out: OutgoingChannel,
        *,
        answer_s: float = ANSWER_S,
        why_held: WhyHeld = lambda: None,
    ) -> None:
        """Send nothing as long as `why_held` returns a reason, even if an attempt has begun."""
        self._why_held = why_held
        self._slot = slot
        self._trust = trust
        self._way_out = way_out
        self._answer_s = answer_s
        self._client: httpx.AsyncClient | None = None

    def compose(self, effect: Notify, channels: Channels) -> list[Draft]:
        if not effect.text:
            raise CannotSend(f"HTTP{self._slot} has no address; set one with http{self._slot}=...")
        origin, path = split_address(effect.text)
        content: dict[str, str] = {"path": path}
        if channels.http[self._slot - 1].post:
            content["body"] = effect.body
        # Show only the host: the path of a web hook often contains its secret.
        return [Draft(origin, content)]

    def configuration(self, channels: Channels) -> HttpClient:
        return channels.http[self._slot - 1]

    async def deliver(self, message: Message, channels: Channels) -> str:
        # Imported with the first request, because most controllers never send one, and in a thread,
        # because the import takes longer than a relay may wait.
        await asyncio.to_thread(import_module, "leverframe.notify.http_request")
        from leverframe.notify.http_request import new_client, status_of

        call = channels.http[self._slot - 1]
        if not call.url:
            raise CannotSend(f"HTTP{self._slot} no longer has an address.", final=True)
        server = self._server(split_address(call.url)[0])
        if server_of(message.target) != server_of(call.url):
            raise CannotSend(
                f"HTTP{self._slot} has a new server; this request was for {message.target}.",
                final=True,
            )
        addresses = await self._addresses(server.host, server.port)
        if self._client is None:
            self._client = new_client(await self._trust.ready(), self._answer_s, of_controller=True)
        request = _request(message, call)
        status = await status_of(self._client, server, addresses, request, self._why_held)
        return _judge(status, str(server))

    def in_full(self, message: Message, channels: Channels) -> dict[str, Any]:
        server = self._server(message.target)
        request = _request(message, channels.http[self._slot - 1])
        return {
            "method": request.method,
            "url": f"{message.target}{request.path}",
            "headers": request.headers(server),
            "body": request.body or "",
        }

    def _server(self, origin: str) -> RemoteServer:
        try:
            return RemoteServer.of(origin)
        except (ValueError, KeyError) as error:
            raise CannotSend(
                f"HTTP{self._slot} has no usable address; set one with http{self._slot}=...",
                final=True,
            ) from error

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            return await self._way_out.resolve(host, port)
        except ForbiddenTarget as error:
            raise CannotSend(str(error), final=True) from error
        except OSError as error:
            raise CannotSend(sentence(error, host, port)) from error

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def _request(message: Message, call: HttpClient) -> OutgoingRequest:
    content = message.content
    return OutgoingRequest(content["path"], content.get("body"), call.username, call.password)


def _judge(status: int, place: str) -> str:
    """Return the answer in words, or raise `CannotSend` if it is not a success."""
    # Imported here: the code that sent the request has already loaded it.
    from http import HTTPStatus

    try:
        answer = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        answer = str(status)
    if status < 300:
        return answer
    if status < 400:
        raise CannotSend(
            f"{place} answered {answer}: this is a redirect. Redirects are not followed; set the "
            "address that it names.",
            final=True,
        )
    if status == 401:
        raise CannotSend(f"{place} answered {answer}: user name or password is wrong or missing.")
    raise CannotSend(f"{place} answered {answer}.", final=status not in PASSING)
