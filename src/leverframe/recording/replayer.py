"""Replay a recording against another unit or the same, and compare the answers.

Requests are sent one after the other, in their recorded order. Requests that contained a secret,
and endless streams, are not sent; both are listed.
"""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from leverframe.durations import MAX_ADVANCE_S
from leverframe.errors import ErrorForPeople
from leverframe.exchanges.comparison import ComparisonRules, Difference, differences
from leverframe.exchanges.exchange import MAX_TEXT_BYTES, Exchange, RecordedAnswer
from leverframe.exchanges.masking import (
    EVENT_STREAM,
    mask_request,
    media_type,
    record_answer,
)
from leverframe.process.asked_secret import ask_secret
from leverframe.recording.unit_client import UnitClient, UnitSilent

#: Without pauses, with the recorded pauses, or advancing virtual time by them.
Pace = Literal["fast", "recorded", "virtual"]
#: Give up a unit after this number of unanswered requests in a row.
MAX_SILENT = 3
#: The masked header that a login of the replay replaces.
LOGIN_HEADERS = ("authorization", "cookie")


class ReplayFailed(ErrorForPeople):
    """The replay could not be completed: one sentence."""


class UnitLogin(NamedTuple):
    name: str
    password: str

    def header(self) -> str:
        return "Basic " + b64encode(f"{self.name}:{self.password}".encode()).decode()


class ReplayedExchange(Struct, frozen=True):
    #: From 1, in the order of sending.
    number: int
    exchange: Exchange
    #: Why it was not sent; empty if it was.
    not_sent: str = ""
    differences: tuple[Difference, ...] = ()


class Replayer:
    def __init__(
        self,
        client: UnitClient,
        rules: ComparisonRules | None = None,
        pace: Pace = "fast",
        login: UnitLogin | None = None,
    ) -> None:
        self._client = client
        self._rules = rules or ComparisonRules()
        self._pace = pace
        self._login = login
        self._silent = 0

    async def replay(self, exchanges: Sequence[Exchange]) -> AsyncIterator[ReplayedExchange]:
        """Replay every exchange; yield each outcome."""
        in_order = sorted(exchanges, key=lambda exchange: exchange.at)
        before = in_order[0].at if in_order else None
        for number, exchange in enumerate(in_order, start=1):
            assert before is not None
            await self._wait((exchange.at - before).total_seconds())
            before = exchange.at
            if why := _why_not_sent(exchange):
                yield ReplayedExchange(number, exchange, why)
                continue
            answer = await self._answer(exchange)
            self._count_silence(answer, number, len(in_order))
            found = differences(exchange.answer, answer, self._rules)
            yield ReplayedExchange(number, exchange, differences=tuple(found))

    async def _wait(self, seconds: float) -> None:
        if self._pace == "recorded":
            await asyncio.sleep(seconds)
        elif self._pace == "virtual":
            while seconds > 0:
                await self._advance(min(seconds, MAX_ADVANCE_S))
                seconds -= MAX_ADVANCE_S

    async def _advance(self, seconds: float) -> None:
        """Advance the virtual time of the twin, at most by the limit of one request."""
        target = f"/sim.cgi?advance={seconds:.6f}"
        try:
            response, *_ = await self._client.whole("GET", target, self._headers({}), b"", 0)
        except UnitSilent as failure:
            raise ReplayFailed(str(failure)) from failure
        if response.status_code != 200:
            raise ReplayFailed(
                f"{self._client.unit} cannot advance its time (status {response.status_code});"
                " run the twin with --virtual-time."
            )

    def _headers(self, recorded: dict[str, str]) -> dict[str, str]:
        headers = {name: value for name, value in recorded.items() if name not in LOGIN_HEADERS}
        headers["accept-encoding"] = "identity"
        if self._login is not None and (self._pace == "virtual" or _had_login(recorded)):
            headers["authorization"] = self._login.header()
        return headers

    async def _answer(self, exchange: Exchange) -> RecordedAnswer:
        """Send a request again; return the answer in the form of a recording."""
        try:
            response, body, size = await self._client.whole(
                exchange.method,
                exchange.target,
                self._headers(exchange.headers),
                exchange.body.content(),
                MAX_TEXT_BYTES,
            )
        except UnitSilent as failure:
            return RecordedAnswer(0, problem=str(failure))
        hidden = mask_request(exchange.path, exchange.query, "", b"").hidden
        status, headers = response.status_code, response.headers
        return record_answer(exchange.path, status, headers, body, hidden, size=size)

    def _count_silence(self, answer: RecordedAnswer, number: int, total: int) -> None:
        self._silent = 0 if answer.status else self._silent + 1
        if answer.status == 0 and (number == 1 or self._silent >= MAX_SILENT):
            raise ReplayFailed(f"{answer.problem} This was request {number} of {total}.")


def _had_login(headers: dict[str, str]) -> bool:
    return any(name in headers for name in LOGIN_HEADERS)


def needs_login(exchanges: Sequence[Exchange]) -> bool:
    """Return whether any request was sent with a login, which is not in the recording."""
    return any(_had_login(exchange.headers) for exchange in exchanges)


def _why_not_sent(exchange: Exchange) -> str:
    if exchange.masked or "backup-passphrase" in exchange.headers:
        return "the recording does not contain their secret or file"
    if media_type(exchange.answer.headers.get("content-type", "")) == EVENT_STREAM:
        return "their answer is an endless stream"
    return ""


def ask_login(user: str | None) -> UnitLogin | None:
    """Prompt for the password of an account, or read it from standard input."""
    return None if user is None else UnitLogin(user, ask_secret(f"Password of {user}"))
