"""One exchange, a request and its answer, and a recording: a line about it, and one per exchange.

Each line is JSON and stands for itself, so that what was recorded can be read after the recorder
was killed; a last line that was cut is left out.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from leverframe.errors import ErrorForPeople

#: The first line of every recording says that it is one.
FORMAT = "leverframe recording 1"
#: More of a body is not written down.
MAX_TEXT_BYTES = 256 * 1024
#: A text of that size as JSON: every byte may become six.
MAX_LINE_BYTES = 16 * MAX_TEXT_BYTES

#: Why a body is not in the recording.
LeftOut = Literal["", "secret", "file", "large", "stream", "cut"]


class NoRecording(ErrorForPeople):
    """A file that is no recording, or a line of one that is not right: one sentence."""


class RecordedBody(Struct, frozen=True, omit_defaults=True):
    """A body as text, or the reason why it was left out."""

    text: str = ""
    left_out: LeftOut = ""
    #: Its length as it was sent, where it was left out.
    size: int = 0
    encoding: Literal["utf-8", "latin-1"] = "utf-8"

    def content(self) -> bytes:
        return self.text.encode(self.encoding)


NO_BODY = RecordedBody()


class RecordedAnswer(Struct, frozen=True, omit_defaults=True):
    """What a unit answered; status 0 where it did not, and `problem` says why."""

    status: int
    headers: dict[str, str] = {}
    body: RecordedBody = NO_BODY
    problem: str = ""


class Exchange(Struct, frozen=True, omit_defaults=True):
    at: Annotated[datetime, Meta(tz=True)]
    took_s: float
    method: str
    path: str
    #: As it was sent, percent-encoded; None where there was no `?`.
    query: str | None
    answer: RecordedAnswer
    headers: dict[str, str] = {}
    body: RecordedBody = NO_BODY
    #: A secret was left out of the path, the query or the body: it cannot be sent again.
    masked: bool = False

    @property
    def target(self) -> str:
        return self.path if self.query is None else f"{self.path}?{self.query}"

    @property
    def request(self) -> str:
        """The request as people write it."""
        return f"{self.method} {self.target}"


class RecordingHead(Struct, frozen=True):
    format: str
    unit: str
    began: datetime


def line_of(said: Exchange | RecordingHead) -> bytes:
    return msgspec.json.encode(said) + b"\n"


def head_in(line: bytes, name: str) -> RecordingHead:
    """Return the first line of a recording, or refuse a file that is none."""
    try:
        head = msgspec.json.decode(line, type=RecordingHead)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        head = None
    if head is None or head.format != FORMAT:
        raise NoRecording(
            f"{name} is not a recording; create one with `leverframe record`."
        ) from None
    return head


def exchanges_in(lines: Iterable[bytes], name: str) -> Iterator[Exchange]:
    """Yield the exchanges of a recording whose first line was read; refuse a damaged line."""
    for number, line in enumerate(lines, start=2):
        if not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
            # The recorder was killed while it wrote this one.
            return
        try:
            yield msgspec.json.decode(line, type=Exchange)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise NoRecording(
                f"Line {number} of {name} is no exchange ({error}); remove it, or record again."
            ) from None
