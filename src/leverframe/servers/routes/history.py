"""`/api/history` and `/api/history.csv`: what was. Read and written as text off the event loop."""

from collections.abc import AsyncIterator, Awaitable, Iterator
from math import isfinite
from urllib.parse import parse_qsl

import msgspec

from leverframe.commands.describe.endpoints import (
    CSV,
    JSON,
    LATEST_SECOND,
    MAX_POINTS,
    USUAL_POINTS,
)
from leverframe.commands.table.refusals import Refusal
from leverframe.controller import Controller
from leverframe.servers.http.messages import NOT_KEPT, AnyReply, Reply, Request, StreamReply
from leverframe.servers.problems import reply_to_refusal
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.csv_text import csv_pieces
from leverframe.storage.history.reading import RECORDED, TimeSpan, answer, recorded_labels
from leverframe.storage.history.recorder import HistoryRecorder
from leverframe.storage.store import StoreUnavailable

JSON_PATH, CSV_PATH = "/api/history", "/api/history.csv"
HISTORY_PATHS = (JSON_PATH, CSV_PATH)
FIELDS = ("labels", "from", "to", "points")
USUAL_SPAN_S = 3600.0


class BadHistoryQuery(Refusal):
    title = "The query of the history is not well formed"


class HistoryUnreadable(Refusal):
    status = 503
    title = "The history cannot be read"


def history_reply(controller: Controller, request: Request) -> Awaitable[AnyReply]:
    """Raises BadHistoryQuery before anything is read."""
    assert controller.history is not None
    is_csv = request.path == CSV_PATH
    now = controller.clock.read().wall
    span = span_of(request.query or "", now, MAX_POINTS if is_csv else USUAL_POINTS)
    return (_csv if is_csv else _json)(controller.history, span)


async def _json(history: HistoryRecorder, span: TimeSpan) -> Reply:
    try:
        body = await history.ask(lambda compactor: _encoded(compactor, span))
    except StoreUnavailable as error:
        return reply_to_refusal(HistoryUnreadable(str(error)))
    return Reply(200, JSON, body, (NOT_KEPT,))


def _encoded(compactor: Compactor, span: TimeSpan) -> bytes:
    return msgspec.json.encode(answer(compactor, _filled(compactor, span)))


async def _csv(history: HistoryRecorder, span: TimeSpan) -> AnyReply:
    try:
        pieces = await history.ask(
            lambda compactor: csv_pieces(compactor, _filled(compactor, span))
        )
        first = await history.ask(lambda _: next(pieces))
    except StoreUnavailable as error:
        return reply_to_refusal(HistoryUnreadable(str(error)))
    name = f"history-{span.first:.0f}-{span.last:.0f}.csv"
    headers = (NOT_KEPT, ("Content-Disposition", f'attachment; filename="{name}"'))
    return StreamReply(200, CSV, _streamed(history, first, pieces), headers)


async def _streamed(
    history: HistoryRecorder, first: bytes, pieces: Iterator[bytes]
) -> AsyncIterator[bytes]:
    piece: bytes | None = first
    while piece is not None:
        if piece:
            yield piece
        piece = await history.ask(lambda _: next(pieces, None))


def _filled(compactor: Compactor, span: TimeSpan) -> TimeSpan:
    """Without labels all that were recorded are meant."""
    return span if span.labels else span._replace(labels=recorded_labels(compactor))


# --- the query ------------------------------------------------------------------------------------


def span_of(query: str, now: float, usual_points: int) -> TimeSpan:
    given = _fields(query)
    last = _second(given, "to", now)
    first = _second(given, "from", max(0.0, last - USUAL_SPAN_S))
    if first > last:
        raise BadHistoryQuery("`from` is later than `to`.", field="from", value=given.get("from"))
    return TimeSpan(_labels(given), first, last, _points(given, usual_points), now)


def _fields(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise BadHistoryQuery(
            "The query is not made of name=value.", allowed=", ".join(FIELDS)
        ) from None
    given = dict(pairs)
    unknown = [name for name in given if name not in FIELDS]
    if unknown or len(given) < len(pairs):
        wrong = f"There is no field {unknown[0][:40]}." if unknown else "A field is there twice."
        raise BadHistoryQuery(wrong, allowed=", ".join(FIELDS))
    return given


def _labels(given: dict[str, str]) -> tuple[str, ...]:
    if "labels" not in given:
        return ()
    labels = tuple(dict.fromkeys(given["labels"].split(",")))
    for label in labels:
        if label not in RECORDED:
            raise BadHistoryQuery(
                f"There is no label {label[:40]!r}.",
                field="labels",
                value=label[:40],
                allowed="labels as /api/state has them, such as DS1,OUT0,PWM0.duty",
            )
    return labels


def _second(given: dict[str, str], name: str, usual: float) -> float:
    if name not in given:
        return usual
    try:
        second = float(given[name])
    except ValueError:
        second = -1.0
    if not isfinite(second) or not 0 <= second <= LATEST_SECOND:
        raise BadHistoryQuery(
            f"{given[name][:40]!r} is no time.",
            field=name,
            value=given[name][:40],
            allowed=f"seconds since 1970, 0 to {LATEST_SECOND}",
        )
    return second


def _points(given: dict[str, str], usual: int) -> int:
    text = given.get("points", str(usual))
    if text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= MAX_POINTS:
        return int(text)
    raise BadHistoryQuery(
        f"{text[:40]!r} is no number of points.",
        field="points",
        value=text[:40],
        allowed=f"1 to {MAX_POINTS}",
    )
