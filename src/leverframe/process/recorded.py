"""Recorded answers for requests that the version does not support.

A twin can thus replace a unit that has more than the interface document, or another server at the
same address. Only requests rejected as unknown are looked up: a missing sign-in or missing rights
are reported first.
"""

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from leverframe.controller import Controller
from leverframe.exchanges.recorded_answers import RecordedAnswers
from leverframe.servers.http.messages import Answer, AnyReply, Handler, Headers, Reply, Request
from leverframe.storage.recording_file import read_recording

#: Status of a path or command that this version does not have.
UNKNOWN = (404, 410)
#: Header that shows testers that the answer is recorded and not from the version.
RECORDED: Headers = (("Leverframe-Recorded", "yes"),)
#: Headers of a recorded answer that are sent; `set-cookie` is masked.
_SENT_AGAIN = ("allow", "content-disposition", "location", "retry-after")


def read_answers(recording: Path) -> RecordedAnswers:
    return RecordedAnswers(read_recording(recording))


def with_recorded_answers(
    controller: Controller, handler: Handler, answers: RecordedAnswers
) -> Handler:
    """Return the handler with recorded answers; snapshots store their positions."""
    controller.live_parts.append(answers)
    return RecordedUnit(handler, answers).handle


class RecordedUnit:
    """A handler that uses recorded answers for requests that its inner handler does not support."""

    def __init__(self, handler: Handler, answers: RecordedAnswers) -> None:
        self._handler = handler
        self._answers = answers

    def handle(self, request: Request) -> Answer:
        answer = self._handler(request)
        if isinstance(answer, Coroutine):
            return self._later(request, answer)
        return self._answer_unknown(request, answer)

    async def _later(self, request: Request, answer: Coroutine[Any, Any, AnyReply]) -> AnyReply:
        return self._answer_unknown(request, await answer)

    def _answer_unknown(self, request: Request, reply: AnyReply) -> AnyReply:
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
