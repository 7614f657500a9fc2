"""Recordings as files, and recorded answers to requests that a version does not support."""

import os
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from copy import copy
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec

from leverframe.host.controller import Controller
from leverframe.interface.exchange import (
    FORMAT,
    MAX_LINE_BYTES,
    Exchange,
    RecordedAnswer,
    RecordingHead,
    exchanges_in,
    head_in,
    line_of,
    mask_request,
)
from leverframe.server.http.messages import Answer, AnyReply, Handler, Headers, Reply, Request
from leverframe.storage.private_files import create_private

# A recording as a file, written and read line by line.


class RecordingFile:
    """A new recording; `add` passes a line to the operating system before it returns."""

    def __init__(self, path: Path, unit: str) -> None:
        self.exchanges = 0
        self.masked = 0
        # Private, because even without secrets it contains the requests of other users.
        self._descriptor = create_private(path)
        self._write(line_of(RecordingHead(FORMAT, unit, datetime.now(UTC))))

    def add(self, exchange: Exchange) -> None:
        self._write(line_of(exchange))
        self.exchanges += 1
        self.masked += exchange.masked

    def _write(self, line: bytes) -> None:
        # Unbuffered: a line that cannot be written now must not be written again at the end.
        while line:
            line = line[os.write(self._descriptor, line) :]

    def close(self) -> None:
        os.close(self._descriptor)


def read_recording(path: Path) -> Iterator[Exchange]:
    """Yield the exchanges of a recording, or raise `NoRecording`."""
    with path.open("rb") as file:
        head_in(file.readline(MAX_LINE_BYTES), str(path))
        lines = takewhile(bool, iter(lambda: file.readline(MAX_LINE_BYTES), None))
        yield from exchanges_in(lines, str(path))


# Recorded answers. Equal requests get their recorded answers one after the other, and then the last
# answer repeatedly.

#: The identity of a request: method, path, query and body, without secrets.
RequestKey = tuple[str, str, str | None, str]


class RecordedAnswers:
    live_name: ClassVar[str] = "answers"
    live_type: ClassVar[Any] = dict[RequestKey, int]

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._by_request: dict[RequestKey, list[RecordedAnswer]] = {}
        #: The number of answers given to each request.
        self._given = Counter[RequestKey]()
        #: Equal answers are kept once: clients repeat the same requests.
        alike: dict[bytes, RecordedAnswer] = {}
        for one in exchanges:
            if one.answer.status and not one.answer.body.left_out:
                answer = alike.setdefault(msgspec.json.encode(one.answer), one.answer)
                key = (one.method, one.path, one.query, one.body.text)
                self._by_request.setdefault(key, []).append(answer)

    def __len__(self) -> int:
        return len(self._by_request)

    def from_the_first(self) -> Self:
        """Return the same answers, beginning with the first."""
        other = copy(self)
        other._given = Counter()
        return other

    def live_state(self) -> Mapping[RequestKey, int]:
        return dict(self._given)

    def resume_from(self, state: Mapping[RequestKey, int]) -> None:
        self._given = Counter(state)

    def answer(
        self, method: str, path: str, query: str | None, content_type: str, body: bytes
    ) -> RecordedAnswer | None:
        """Return the next answer that was recorded for this request, or None."""
        request = mask_request(path, query, content_type, body)
        method = "GET" if method == "HEAD" else method
        key = (method, request.path, request.query, request.body.text)
        answers = self._by_request.get(key)
        if answers is None:
            return None
        self._given[key] += 1
        return answers[min(self._given[key], len(answers)) - 1]


# Recorded answers for requests that the version does not support.
#
# A twin can thus replace a unit that supports more than the interface document describes, or
# another server at the same address. Only requests rejected as unknown are looked up; errors of
# sign-in and rights are reported first.

#: The statuses of paths and commands that this version does not have.
UNKNOWN = (404, 410)
#: Marks an answer as recorded, for testers.
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
