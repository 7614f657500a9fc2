"""`/api/journal`: what happened, also before the last start, read off the event loop."""

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta

from leverframe.commands.describe.media_types import JSON
from leverframe.commands.describe.openapi import QueryParameter
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.compressed import packed
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

PARAMETERS = (
    QueryParameter("from", Second, "Seconds since 1970; the oldest entry without it."),
    QueryParameter("to", Second, "Seconds since 1970; the newest entry without it."),
    QueryParameter(
        "after", Annotated[int, Meta(ge=0)], "Only entries after the one with this number."
    ),
    QueryParameter("which", str, "Only entries about this label, such as `OUT0`."),
    QueryParameter("cause", str, "Only entries of this kind of cause, such as `rule`."),
    QueryParameter(
        "limit",
        Annotated[int, Meta(ge=1, le=MAX_ENTRIES)],
        f"The most entries, the newest of them; {USUAL_ENTRIES} without it.",
    ),
)


async def journal_json(context: Context) -> Reply:
    recorder = context.controller.journal_recorder
    assert recorder is not None
    question = question_of(context.request.query or "")
    try:
        entries = await recorder.ask(question)
    except StoreUnavailable as error:
        raise HistoryUnreadable(str(error)) from error

    def work() -> Reply:
        body = msgspec.json.encode([msgspec.Raw(entry) for entry in entries])
        return packed(context.request, JSON, body, (NOT_KEPT,))

    return await asyncio.to_thread(work)


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


def _whole(given: dict[str, str], name: str, usual: int, lowest: int, highest: int) -> int:
    text = given.get(name)
    if text is None:
        return usual
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 17 else -1
    if not lowest <= number <= highest:
        raise BadHistoryQuery(
            f"{text[:40]!r} is no number of entries.",
            field=name,
            value=text[:40],
            allowed=f"{lowest} to {highest}",
        )
    return number
