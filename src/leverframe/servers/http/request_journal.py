"""The journal of requests: what clients asked for and what they were told, the newest few thousand.

It stands before the handler of a server, so it costs those servers nothing that have none; twins
have one. Queries that may hold a secret are kept without their values.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from leverframe.servers.descriptors import lacks_descriptors
from leverframe.servers.http.messages import (
    PROBLEM_TYPE,
    Answer,
    AnyReply,
    Handler,
    Reply,
    Request,
    SentReply,
)

KEPT_REQUESTS = 2000
#: With this header a request is one of the test itself, as through a bench beside the network, or
#: has been noted before.
BENCH_HEADER = "x-test-bench"


class JournalRequest(Struct):
    """One request, and how it was answered."""

    number: Annotated[int, Meta(description="Counts all requests since the start.")]
    time: Annotated[float, Meta(description="Seconds since 1970, by the controller's clock.")]
    method: Annotated[str, Meta(description="Empty where the bytes were no request.")]
    path: str
    query: str | None
    source: Annotated[str, Meta(description="The address of the client.")]
    status: Annotated[
        int | None, Meta(description="Null as long as there is no answer, or where none came.")
    ] = None
    problem: Annotated[
        str | None, Meta(description="Why it was refused, as the client was told.")
    ] = None


class RequestJournal:
    def __init__(self, wall: Callable[[], float], without_secrets: Callable[[str], str]) -> None:
        self._wall = wall
        self._without_secrets = without_secrets
        self._kept: deque[JournalRequest] = deque(maxlen=KEPT_REQUESTS)
        #: Requests since the start, kept or not.
        self.count = 0

    def before(self, handler: Handler) -> Handler:
        """Return a handler that notes each request and its answer."""

        def handle(request: Request) -> Answer:
            if BENCH_HEADER in request.headers:
                return handler(request)
            entry = self.note(request)
            try:
                answer = handler(request)
            except Exception as error:
                entry.status = _status_of(error)
                raise
            if isinstance(answer, Coroutine):
                return self._awaited(entry, answer)
            note_answer(entry, answer)
            return answer

        return handle

    def before_refusals(self, problem: Callable[[int, str], Reply]) -> Callable[[int, str], Reply]:
        """Return a maker of refusals that notes bytes which are no request that is taken."""

        def refuse(status: int, detail: str) -> Reply:
            # A fault of the handler is noted with its request.
            if status != 500:
                self.count += 1
                self._kept.append(
                    JournalRequest(self.count, self._wall(), "", "", None, "", status, detail)
                )
            return problem(status, detail)

        return refuse

    def note(self, request: Request) -> JournalRequest:
        query = request.query
        self.count += 1
        entry = JournalRequest(
            self.count,
            self._wall(),
            request.method,
            request.path,
            query and self._without_secrets(query),
            request.peer,
        )
        self._kept.append(entry)
        return entry

    async def _awaited(
        self, entry: JournalRequest, answer: Coroutine[Any, Any, AnyReply]
    ) -> AnyReply:
        try:
            reply = await answer
        except Exception as error:
            entry.status = _status_of(error)
            raise
        note_answer(entry, reply)
        return reply

    def entries(self) -> list[JournalRequest]:
        """List what is kept, oldest first."""
        return list(self._kept)

    def clear(self) -> None:
        self._kept.clear()


def _status_of(error: Exception) -> int:
    """Return what the connection answers for a handler that failed."""
    return 503 if lacks_descriptors(error) else 500


def note_answer(entry: JournalRequest, reply: SentReply) -> None:
    """Note how a request was answered, and why it was refused."""
    entry.status = reply.status
    if isinstance(reply, Reply) and reply.content_type == PROBLEM_TYPE:
        entry.problem = msgspec.json.decode(reply.body).get("detail")
