"""The request journal: the newest requests and their answers.

It wraps the handler of a server, so servers without a journal pay nothing; twins have one. Possible
secrets are masked before anything is kept. The number and the size of the entries are limited.
"""

from collections.abc import Callable, Coroutine
from time import perf_counter
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from leverframe.server.fair_shares import lacks_descriptors
from leverframe.server.http.messages import (
    PROBLEM_TYPE,
    Answer,
    AnyReply,
    Handler,
    Reply,
    Request,
    SentReply,
)

KEPT_REQUESTS = 2000
#: Maximum total of characters kept; the oldest requests are dropped first.
KEPT_CHARACTERS = 4 << 20
#: A longer body is not kept.
KEPT_BODY = 16 << 10
#: Marks a request of the test itself, which is not recorded, or a request that has already been
#: recorded.
BENCH_HEADER = "x-test-bench"


class OpenRequest(Struct, frozen=True):
    """The parts of a request that may be kept; secrets are masked."""

    path: str
    query: str | None
    headers: dict[str, str]
    body: str | None
    #: Why the body is not kept.
    body_left_out: str = ""


class JournalRequest(Struct):
    """One request, and how it was answered."""

    number: Annotated[int, Meta(description="Number of the request, counted from the start.")]
    time: Annotated[float, Meta(description="Seconds since 1970, by the controller's clock.")]
    method: Annotated[str, Meta(description="Empty if the bytes were not a request.")]
    path: str
    query: str | None
    source: Annotated[str, Meta(description="The address of the client.")]
    status: Annotated[int | None, Meta(description="Null until a response is sent.")] = None
    problem: Annotated[
        str | None, Meta(description="The reason of a refusal, as sent to the client.")
    ] = None
    headers: Annotated[
        dict[str, str], Meta(description="By lower-case name; possible secrets read `***`.")
    ] = {}
    body: Annotated[
        str | None, Meta(description="As text, with secrets masked; null without a body.")
    ] = None
    body_left_out: Annotated[
        str, Meta(description="Why the body is not kept: `secret`, `file` or `large`.")
    ] = ""
    duration: Annotated[
        float | None, Meta(description="Seconds of real time from the request to its response.")
    ] = None
    fault: Annotated[
        str | None,
        Meta(description="The faults that affected the request, as `/sim.cgi?fault=` writes them."),
    ] = None

    @property
    def size(self) -> int:
        """The number of characters kept."""
        fields = sum(len(name) + len(value) for name, value in self.headers.items())
        return len(self.path) + len(self.query or "") + len(self.body or "") + fields


class RequestJournal:
    def __init__(
        self, wall: Callable[[], float], without_secrets: Callable[[Request], OpenRequest]
    ) -> None:
        self._wall = wall
        self._without_secrets = without_secrets
        self._kept: list[JournalRequest] = []
        self._size = 0
        #: Requests since the start, kept or not.
        self.count = 0

    def before(self, handler: Handler) -> Handler:
        """Return a handler that records each request and its reply."""

        def handle(request: Request) -> Answer:
            if BENCH_HEADER in request.headers:
                return handler(request)
            entry, began = self.note(request), perf_counter()
            try:
                answer = handler(request)
            except Exception as error:
                entry.status = _status_of(error)
                raise
            if isinstance(answer, Coroutine):
                return self._await_reply(entry, answer, began)
            note_answer(entry, answer, began)
            return answer

        return handle

    def before_refusals(self, problem: Callable[[int, str], Reply]) -> Callable[[int, str], Reply]:
        """Return a function that also records refusals of bytes that are no valid request."""

        def refuse(status: int, detail: str) -> Reply:
            # An error of the handler is recorded with its request.
            if status != 500:
                self.count += 1
                self._keep(
                    JournalRequest(self.count, self._wall(), "", "", None, "", status, detail)
                )
            return problem(status, detail)

        return refuse

    def note(self, request: Request) -> JournalRequest:
        shown = self._without_secrets(request)
        before = self._kept[-1].headers if self._kept else {}
        self.count += 1
        entry = JournalRequest(
            self.count,
            self._wall(),
            request.method,
            shown.path,
            shown.query,
            request.peer,
            # A client repeats its headers; they are kept once.
            headers=before if before == shown.headers else shown.headers,
            body=shown.body,
            body_left_out=shown.body_left_out,
        )
        self._keep(entry)
        return entry

    def _keep(self, entry: JournalRequest) -> None:
        self._kept.append(entry)
        self._size += entry.size
        while len(self._kept) > KEPT_REQUESTS or self._size > KEPT_CHARACTERS:
            self._size -= self._kept.pop(0).size

    async def _await_reply(
        self, entry: JournalRequest, answer: Coroutine[Any, Any, AnyReply], began: float
    ) -> AnyReply:
        try:
            reply = await answer
        except Exception as error:
            entry.status = _status_of(error)
            raise
        note_answer(entry, reply, began)
        return reply

    def entries(self) -> list[JournalRequest]:
        """List the recorded requests, oldest first."""
        return list(self._kept)

    def clear(self) -> None:
        self._kept.clear()
        self._size = 0


def _status_of(error: Exception) -> int:
    """Return the status that the connection sends if the handler failed."""
    return 503 if lacks_descriptors(error) else 500


def note_answer(entry: JournalRequest, reply: SentReply, began: float) -> None:
    """Record the reply to a request, the reason of a refusal, and the duration."""
    entry.status = reply.status
    entry.duration = perf_counter() - began
    if isinstance(reply, Reply) and reply.content_type == PROBLEM_TYPE:
        entry.problem = msgspec.json.decode(reply.body).get("detail")
