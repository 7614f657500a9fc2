"""`/api/journal`: what happened, also before the last start, read off the event loop."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from leverframe.commands.describe.media_types import JSON
from leverframe.commands.describe.openapi import QueryParameter
from leverframe.servers.http.messages import NOT_KEPT, AnyReply, Reply, StreamReply
from leverframe.servers.routes.compressed import (
    GZIP_HEADERS,
    accepts_gzip,
    compress_reply,
    gzip_pieces,
)
from leverframe.servers.routes.context import Context
from leverframe.servers.routes.history import (
    LATEST_SECOND,
    BadHistoryQuery,
    HistoryUnreadable,
    Second,
    fields_of,
    second_of,
)
from leverframe.storage.history.entries import MAX_ENTRIES, EntryQuestion
from leverframe.storage.store import StoreUnavailable

USUAL_ENTRIES = 500
#: More entries are a long answer: one of a controller at a time, in pieces.
MAX_SHORT = 2000
PER_PIECE = 500

PARAMETERS = (
    QueryParameter("from", Second, "Seconds since 1970; default: the oldest entry."),
    QueryParameter("to", Second, "Seconds since 1970; default: the newest entry."),
    QueryParameter(
        "after", Annotated[int, Meta(ge=0)], "Only entries after the one with this number."
    ),
    QueryParameter("which", str, "Only entries about this label, such as `OUT0`."),
    QueryParameter("cause", str, "Only entries of this kind of cause, such as `rule`."),
    QueryParameter(
        "limit",
        Annotated[int, Meta(ge=1, le=MAX_ENTRIES)],
        f"The maximum number of entries, the newest are kept; default: {USUAL_ENTRIES}.",
    ),
)


async def journal_json(context: Context) -> AnyReply:
    question = question_of(context.request.query or "")
    if question.most > MAX_SHORT:
        is_packed = accepts_gzip(context.request)
        pieces = await context.handlers.work.hold(_pieces(context, question, is_packed))
        headers = (NOT_KEPT, *(GZIP_HEADERS if is_packed else ()))
        return StreamReply(200, JSON, pieces, headers)
    entries = await _entries(context, question)

    def work() -> Reply:
        return compress_reply(context.request, JSON, b"".join(_encode(entries)), (NOT_KEPT,))

    return await asyncio.to_thread(work)


async def _entries(context: Context, question: EntryQuestion) -> list[bytes]:
    recorder = context.controller.journal_recorder
    assert recorder is not None
    try:
        return await recorder.ask(question)
    except StoreUnavailable as error:
        raise HistoryUnreadable(str(error)) from error


async def _pieces(
    context: Context, question: EntryQuestion, is_packed: bool
) -> AsyncGenerator[bytes, None]:
    """Read the entries, and send them at the pace of the client."""
    encoded = _encode(await _entries(context, question))
    pieces = gzip_pieces(encoded) if is_packed else encoded
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


def _encode(entries: Sequence[bytes]) -> Iterator[bytes]:
    """Join entries, which are JSON already, to a list, some of them in each piece."""
    yield b"["
    for begin in range(0, len(entries), PER_PIECE):
        yield (b"," if begin else b"") + b",".join(entries[begin : begin + PER_PIECE])
    yield b"]"


def question_of(query: str) -> EntryQuestion:
    given = fields_of(query, PARAMETERS)
    return EntryQuestion(
        second_of(given, "from", 0.0),
        second_of(given, "to", LATEST_SECOND),
        _whole(given, "after", 0, 0, 2**53),
        given.get("which"),
        given.get("cause"),
        _whole(given, "limit", USUAL_ENTRIES, 1, MAX_ENTRIES),
    )


def _whole(fields: dict[str, str], name: str, usual: int, lowest: int, highest: int) -> int:
    text = fields.get(name)
    if text is None:
        return usual
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 17 else -1
    if not lowest <= number <= highest:
        raise BadHistoryQuery(
            f"{text[:40]!r} is not a number of entries.",
            field=name,
            value=text[:40],
            allowed=f"{lowest} to {highest}",
        )
    return number
