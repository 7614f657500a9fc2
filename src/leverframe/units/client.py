"""A rate-limited client of one unit: one request at a time, a few per second.

Real units have a small network stack. Only reads are repeated. A command is sent once; its caller
reads the settings back to learn the outcome.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import httpx

from leverframe.testing.recordings.replay import UnitLogin
from leverframe.testing.recordings.unit_client import UnitClient, UnitError, UnitSilent, unit_client

#: The maximum number of requests per second to a real unit.
MAX_REQUESTS_PER_S = 4
#: Time limit for one whole answer, however slowly it arrives.
ANSWER_S = 10.0
#: The longest status file has a few kilobytes; the settings of Leverframe have a few hundred.
MAX_ANSWER_BYTES = 1024 * 1024
#: Delay before a read is repeated: a restarting unit is back after some seconds.
RETRY_WAITS_S = (0.5, 2.0, 5.0)
_REDIRECTS = (301, 302, 303, 307, 308)
_BUSY = (429, 500, 502, 503, 504)
_WANTS_LOGIN = (401, 403)
_MAX_LOCATION_LETTERS = 200


class SignInNeeded(UnitError):
    """The unit requires a login, or another login; the message is one sentence."""


class UnusableAnswer(UnitError):
    """The unit sent an unusable answer; the message is one sentence."""


class UnitAnswer(NamedTuple):
    status: int
    content_type: str
    body: bytes

    @property
    def is_ok(self) -> bool:
        return self.status == 200


class PacedClient:
    """Sends requests to one unit; `paced` may be off only for Leverframe."""

    def __init__(
        self,
        client: UnitClient,
        login: UnitLogin | None = None,
        *,
        paced: bool = True,
        retry_waits_s: tuple[float, ...] = RETRY_WAITS_S,
    ) -> None:
        self.paced = paced
        self._client = client
        self._login = login
        #: The login is sent only if the unit requires it.
        self._is_asked_for_login = False
        self._retry_waits_s = retry_waits_s
        #: Requests without an answer: the unit may have restarted since.
        self.unanswered = 0
        self._turn = asyncio.Lock()
        self._earliest = 0.0

    @property
    def address(self) -> str:
        return self._client.origin

    @property
    def login(self) -> UnitLogin | None:
        return self._login

    def sign_in_as(self, login: UnitLogin) -> None:
        """Continue with another login: a step has changed the account of the unit."""
        self._login = login

    async def read(self, target: str) -> UnitAnswer:
        """Send a read request; repeat it while the unit is silent or busy."""
        for wait_s in self._retry_waits_s:
            try:
                answer = await self._send(target)
            except UnitSilent:
                pass
            else:
                if answer.status not in _BUSY:
                    return answer
            await asyncio.sleep(wait_s)
        return await self._send(target)

    async def command(self, target: str, body: bytes | None = None) -> UnitAnswer:
        """Send a command once; `UnitSilent` does not say whether the unit carried it out."""
        return await self._send(target, body)

    async def _send(self, target: str, body: bytes | None = None) -> UnitAnswer:
        async with self._turn:
            answer, response = await self._exchange(target, body)
            if (
                answer.status in _WANTS_LOGIN
                and self._login is not None
                and not self._is_asked_for_login
            ):
                self._is_asked_for_login = True
                answer, response = await self._exchange(target, body)
        if answer.status == 401:
            raise SignInNeeded(self._why_no_sign_in())
        if answer.status in _REDIRECTS:
            # Redirects are never followed: the login is for this unit only.
            where = response.headers.get("location", "")[:_MAX_LOCATION_LETTERS]
            raise UnusableAnswer(
                f"{self._client.unit} redirects its clients to {where or 'another address'}; use"
                " that address for the unit."
            )
        return answer

    def _why_no_sign_in(self) -> str:
        if self._login is None:
            return f"{self._client.unit} requires a login; add --user NAME."
        return (
            f"{self._client.unit} rejects the login of {self._login.name}; check name and password."
        )

    async def _exchange(self, target: str, body: bytes | None) -> tuple[UnitAnswer, httpx.Response]:
        await self._wait_for_turn()
        headers = {"User-Agent": "leverframe", "Accept": "*/*", "Accept-Encoding": "identity"}
        if body is not None:
            # The same form as in the maker's own client.
            headers["Content-Type"] = "application/x-www-form-urlencoded; charset=UTF-8"
        if self._login is not None and self._is_asked_for_login:
            headers["Authorization"] = self._login.header()
        method = "GET" if body is None else "POST"
        try:
            response, read, size = await self._client.whole(
                method, target, headers, body or b"", MAX_ANSWER_BYTES
            )
        except UnitSilent:
            self.unanswered += 1
            raise
        if size > MAX_ANSWER_BYTES:
            raise UnusableAnswer(
                f"{self._client.unit} answers with more than {MAX_ANSWER_BYTES:,} bytes."
            )
        kind = response.headers.get("content-type", "")
        return UnitAnswer(response.status_code, kind, read), response

    async def _wait_for_turn(self) -> None:
        if not self.paced:
            return
        now = asyncio.get_running_loop().time()
        if (wait_s := self._earliest - now) > 0:
            await asyncio.sleep(wait_s)
        self._earliest = max(now, self._earliest) + 1 / MAX_REQUESTS_PER_S


def address_and_login(url: str) -> tuple[str, UnitLogin | None]:
    """Separate a URL such as http://NAME:PASSWORD@192.168.1.10 into address and login."""
    parts = urlsplit(url)
    account, mark, host = parts.netloc.rpartition("@")
    if not mark:
        return url, None
    name, _, password = account.partition(":")
    return parts._replace(netloc=host).geturl(), UnitLogin(unquote(name), unquote(password))


@asynccontextmanager
async def open_paced_client(
    address: str,
    login: UnitLogin | None = None,
    ca_file: str | None = None,
    *,
    paced: bool = True,
    answer_s: float = ANSWER_S,
    retry_waits_s: tuple[float, ...] = RETRY_WAITS_S,
) -> AsyncIterator[PacedClient]:
    """Open a client of the unit at an address such as http://192.168.1.10."""
    async with unit_client(address, ca_file, answer_s) as client:
        yield PacedClient(client, login, paced=paced, retry_waits_s=retry_waits_s)
