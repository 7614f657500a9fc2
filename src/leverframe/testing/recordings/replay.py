"""`leverframe replay`: send a recording to another unit and print the differences."""

import asyncio
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct

from leverframe.core.durations import MAX_ADVANCE_S
from leverframe.core.errors import DONE, NO, ErrorForPeople, print_json, print_line, print_warnings
from leverframe.host.recordings import read_recording
from leverframe.host.terminal import ask_secret, progress_bar
from leverframe.interface.exchange import (
    EVENT_STREAM,
    MAX_TEXT_BYTES,
    Exchange,
    RecordedAnswer,
    mask_request,
    media_type,
    record_answer,
)
from leverframe.interface.exchange_comparison import (
    VARYING,
    ComparisonRules,
    Difference,
    Tolerance,
    differences,
)
from leverframe.testing.recordings.unit_client import UnitClient, UnitSilent, unit_client

# Replay a recording against the same or another unit, and compare the answers.
#
# Requests are sent one after the other, in their recorded order. Requests that contained a
# secret, and endless streams, are not sent; both are listed.

#: Send without pauses, with the recorded pauses, or after advancing virtual time by these pauses.
Pace = Literal["fast", "recorded", "virtual"]
#: Give up a unit after this number of unanswered requests in a row.
MAX_SILENT = 3
#: The masked header that a login of the replay replaces.
LOGIN_HEADERS = ("authorization", "cookie")


class ReplayFailed(ErrorForPeople):
    """The replay could not be completed; the message is one sentence."""


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
    """Return whether any request was sent with a login; the login itself is not recorded."""
    return any(_had_login(exchange.headers) for exchange in exchanges)


def _why_not_sent(exchange: Exchange) -> str:
    if exchange.masked or "backup-passphrase" in exchange.headers:
        return "the secret or file was not recorded"
    if media_type(exchange.answer.headers.get("content-type", "")) == EVENT_STREAM:
        return "the answer is an endless stream"
    return ""


def ask_login(user: str | None) -> UnitLogin | None:
    """Prompt for the password of an account, or read it from standard input."""
    return None if user is None else UnitLogin(user, ask_secret(f"Password of {user}"))


async def replay(
    recording: Path,
    against: str,
    exclude: list[str],
    strict: bool,
    tolerance: str,
    pace: Pace,
    user: str | None,
    ca_file: str | None,
    as_json: bool,
) -> int:
    """Replay a recording; return 1 if an answer differs."""
    allowed = Tolerance.of(tolerance)
    exchanges = list(read_recording(recording))
    named = {key.strip().lower() for keys in exclude for key in keys.split(",") if key.strip()}
    rules = ComparisonRules(allowed, frozenset(named | (set() if strict else VARYING)))
    login = ask_login(user)
    report = JsonReport() if as_json else Report()
    async with unit_client(against, ca_file) as client:
        with progress_bar("replaying", len(exchanges)) as advance:
            async for replayed in Replayer(client, rules, pace, login).replay(exchanges):
                report.add(replayed)
                advance(1)
    report.close()
    if login is None and report.differing and needs_login(exchanges):
        print_warnings(["The recorded client was signed in; sign in with --user NAME."])
    return NO if report.differing else DONE


class Report:
    """Reports differences as text: each once, with its count, after all requests."""

    def __init__(self) -> None:
        self.sent = 0
        #: Exchanges with a difference that counts.
        self.differing = 0
        self._not_sent: Counter[str] = Counter()
        self._varying: Counter[str] = Counter()
        self._found: dict[tuple[str, str], tuple[ReplayedExchange, Difference]] = {}
        self._times: Counter[tuple[str, str]] = Counter()

    def add(self, replayed: ReplayedExchange) -> None:
        if replayed.not_sent:
            self._not_sent[replayed.not_sent] += 1
            return
        self.sent += 1
        counted = [difference for difference in replayed.differences if not difference.varies]
        self.differing += bool(counted)
        self._varying.update(
            difference.key for difference in replayed.differences if difference.varies
        )
        for difference in counted:
            place = replayed.exchange.request, difference.key
            self._found.setdefault(place, (replayed, difference))
            self._times[place] += 1

    def close(self) -> None:
        for (request, key), (replayed, difference) in self._found.items():
            times = self._times[request, key]
            often = f" (first of {times})" if times > 1 else ""
            print_line(
                f"{replayed.number}. {request}: {key} was"
                f" {difference.recorded}, is {difference.now}{often}"
            )
        for why, count in self._not_sent.items():
            print_line(f"Not sent: {count}, because {why}.")
        if self._varying:
            print_line(f"Not counted because they always differ: {_list_keys(self._varying)}.")
        print_line(self._summary())

    def _summary(self) -> str:
        if not self.differing:
            return f"All {self.sent} requests got the recorded answers."
        return f"{self.differing} of {self.sent} requests got different answers."


class JsonReport(Report):
    """Reports as JSON Lines: an object for every difference, then the totals."""

    def add(self, replayed: ReplayedExchange) -> None:
        super().add(replayed)
        request = {"number": replayed.number, "request": replayed.exchange.request}
        if replayed.not_sent:
            print_json({"event": "not sent", **request, "why": replayed.not_sent})
        for difference in replayed.differences:
            print_json(
                {
                    "event": "difference",
                    **request,
                    "key": difference.key,
                    "recorded": difference.recorded,
                    "now": difference.now,
                    "counted": not difference.varies,
                }
            )

    def close(self) -> None:
        sums = {"sent": self.sent, "differing": self.differing}
        print_json({"event": "done", **sums, "not_sent": self._not_sent.total()})


def _list_keys(counted: Counter[str]) -> str:
    return ", ".join(sorted(counted))
