"""Requests that the version does not know, answered as they were in a recording.

So a twin stands in for a unit that has more than the interface document says, or for another server
at the same address. Only what was refused as unknown is looked up: whoever has not signed in, or
may not do something, is told that first.
"""

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from leverframe.controller import Controller
from leverframe.exchanges.recorded_answers import RecordedAnswers
from leverframe.servers.http.messages import Answer, AnyReply, Handler, Headers, Reply, Request
from leverframe.storage.recording_file import read_recording

#: There is no such path or command, not yet, or not any more.
UNKNOWN = (404, 410)
#: Tells whoever tests with it that it is not the version that answers.
RECORDED: Headers = (("Leverframe-Recorded", "yes"),)
#: Headers of a recorded answer that are sent again; `set-cookie` is masked.
_SENT_AGAIN = ("allow", "content-disposition", "location", "retry-after")


def read_answers(recording: Path) -> RecordedAnswers:
    return RecordedAnswers(read_recording(recording))


def with_recorded_answers(
    controller: Controller, handler: Handler, answers: RecordedAnswers
) -> Handler:
    """Return the handler with answers to what it does not know; snapshots say which come next."""
    controller.live_parts.append(answers)
    return RecordedUnit(handler, answers).handle


class RecordedUnit:
    """A handler that answers from a recording what the given one does not know."""

    def __init__(self, handler: Handler, answers: RecordedAnswers) -> None:
        self._handler = handler
        self._answers = answers

    def handle(self, request: Request) -> Answer:
        answer = self._handler(request)
        if isinstance(answer, Coroutine):
            return self._later(request, answer)
        return self._known(request, answer)

    async def _later(self, request: Request, answer: Coroutine[Any, Any, AnyReply]) -> AnyReply:
        return self._known(request, await answer)

    def _known(self, request: Request, reply: AnyReply) -> AnyReply:
        if reply.status not in UNKNOWN:
            return reply
        kind = request.headers.get("content-type", "")
        found = self._answers.answer(
            request.method, request.path, request.query, kind, request.body
        )
        if found is None:
            return reply
        headers = tuple(
            (name.title(), found.headers[name]) for name in _SENT_AGAIN if name in found.headers
        )
        body = b"" if found.status in (204, 304) else found.body.content()
        return Reply(found.status, found.headers.get("content-type", ""), body, headers + RECORDED)
