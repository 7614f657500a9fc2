"""Dispatch requests for any endpoint table: check access, await the answer, handle refusals.

A server defines its table and its permissions; a controller, a node and the watch of units are such
servers. The fast path is a command that switches an output on a controller without sign-in: it
awaits nothing and creates no task.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from contextlib import nullcontext
from types import CoroutineType
from typing import Any, Generic, TypeVar

import msgspec

from leverframe.interface.descriptions.openapi import EndpointDescription
from leverframe.interface.table.refusals import BadValue, Refusal, SignInRequired
from leverframe.server.http.limits import ends_with_client
from leverframe.server.http.messages import CONTINUE, Answer, AnyReply, Headers, Reply, Request
from leverframe.server.problems import CameTooLate, NotReadNow, WrongMethodForPath, reply_to_refusal
from leverframe.storage.store import StoreUnavailable

#: The latest time at which a request may be run, by the clock in the heartbeats of `/api/stream`.
#: Requests that a frozen controller finds when it wakes up are no longer wanted.
VALID_UNTIL = "x-valid-until"

#: An endpoint of the table, and the sender of the request.
Row = TypeVar("Row", bound=EndpointDescription)
Requester = TypeVar("Requester")


class Dispatcher(ABC, Generic[Row, Requester]):
    """The handler of all requests to a server."""

    #: The endpoints by path.
    table: Mapping[str, Row]
    #: The name that browsers show when they prompt for a password.
    realm = "Leverframe"
    #: Headers of answers that are encoded values.
    headers: Headers = ()

    def handle(
        self, request: Request, requester: Requester | None = None, only_head: bool = False
    ) -> Answer:
        """Answer a request; check its credentials unless a requester is passed."""
        try:
            endpoint = self.table.get(request.path) or self.find_other(request)
            if requester is None:
                requester = self.recognise(request, endpoint)
                if requester is None:
                    return self._with_password(request, only_head=only_head)
            if only_head:
                self.admit(request, endpoint, requester)
                return CONTINUE
            self.check(request, endpoint, requester)
            if (valid_until := request.headers.get(VALID_UNTIL)) is not None:
                check_time(valid_until)
            return self.call(request, endpoint, requester)
        except Refusal as refusal:
            return self.refuse(request, refusal)

    def admit_body(self, request: Request) -> Answer:
        """Decide by the head of a request whether its body is read: `CONTINUE`, or the refusal."""
        return self.handle(request, only_head=True)

    async def _with_password(self, request: Request, *, only_head: bool) -> AnyReply:
        """Check the password, which takes a while, then answer."""
        try:
            requester = await self.check_password(request)
        except Refusal as refusal:
            return self.refuse(request, refusal)
        answer = self.handle(request, requester, only_head)
        return answer if isinstance(answer, AnyReply) else await answer

    @abstractmethod
    def find_other(self, request: Request) -> Row:
        """Return the endpoint for a path that is not in the table, or refuse it."""

    @abstractmethod
    def recognise(self, request: Request, endpoint: Row) -> Requester | None:
        """Return the requester if known immediately; None if a password must be checked."""

    @abstractmethod
    async def check_password(self, request: Request) -> Requester:
        """Check the name and password, and return the requester; refuse wrong ones."""

    @abstractmethod
    def check(self, request: Request, endpoint: Row, requester: Requester) -> None:
        """Refuse a requester that may not use the endpoint."""

    def admit(self, request: Request, endpoint: Row, requester: Requester) -> None:
        """Refuse a request by its head, before its body is read."""
        self.check(request, endpoint, requester)

    @abstractmethod
    def call(self, request: Request, endpoint: Row, requester: Requester) -> Answer:
        """Call the function of the endpoint with its arguments, and pass its value to `answer`."""

    def answer(self, request: Request, endpoint: Row, value: Any) -> Answer:
        """Answer with a value, a complete reply, or a coroutine of either."""
        if isinstance(value, Reply):
            # Status files, which clients poll, return a reply.
            return value
        if isinstance(value, CoroutineType):
            return self._await(request, endpoint, value)
        return self._reply_with(value, endpoint)

    async def _await(
        self, request: Request, endpoint: Row, work: Coroutine[Any, Any, Any]
    ) -> AnyReply:
        """Await an answer; if it only reads, stop when the client leaves."""
        try:
            with ends_with_client() if endpoint.ends_with_client else nullcontext():
                return self._reply_with(await work, endpoint)
        except Refusal as refusal:
            return self.refuse(request, refusal)
        except StoreUnavailable as error:
            return self.refuse(request, self.refusal_of_store(endpoint, error))

    def _reply_with(self, value: Any, endpoint: Row) -> AnyReply:
        if isinstance(value, AnyReply):
            return value
        return Reply(200, endpoint.content_type, msgspec.json.encode(value), self.headers)

    def refusal_of_store(self, endpoint: Row, error: StoreUnavailable) -> Refusal:
        """Return the refusal of a read that is impossible now; changes have their own refusals."""
        return NotReadNow.because(error)

    def refuse(self, request: Request, refusal: Refusal) -> Reply:
        """Return the refusal as a reply; request HTTP Basic if credentials are missing."""
        reply = reply_to_refusal(refusal)
        if isinstance(refusal, SignInRequired):
            challenge = f'Basic realm="{self.realm}", charset="UTF-8"'
            reply.headers = (*reply.headers, ("WWW-Authenticate", challenge))
        return reply


def check_time(valid_until: str) -> None:
    """Refuse a request that arrived too late."""
    try:
        moment = float(valid_until)
    except ValueError:
        raise BadValue(
            f"X-Valid-Until: {valid_until[:40]!r} is not a time; write seconds since 1970."
        ) from None
    # The negation also refuses nan.
    if not time.time() <= moment:
        raise CameTooLate


def wrong_method(path: str, methods: tuple[str, ...]) -> WrongMethodForPath:
    return WrongMethodForPath(f"{path} accepts {methods[0]}.", allowed=", ".join(methods))
