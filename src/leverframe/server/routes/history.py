"""`/api/history` and `/api/history.csv`: recorded values, read and encoded off the event loop."""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from datetime import datetime
from math import isfinite
from re import sub
from typing import Annotated, NotRequired, TypedDict, TypeVar
from unicodedata import normalize
from urllib.parse import parse_qsl

from msgspec import Meta
from msgspec.structs import replace

from leverframe.core.engine.lanes import RecordedPiece
from leverframe.core.engine.schedule_times import zone_named
from leverframe.core.engine.timers import WallTime
from leverframe.core.settings import Settings
from leverframe.host.controller import Controller
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.descriptions.schemas import JSON
from leverframe.interface.names import name_of, unit_of
from leverframe.interface.table.refusals import Refusal
from leverframe.server.http.messages import NOT_KEPT, AnyReply, Reply, StreamReply
from leverframe.server.routes.context import Context, TooMuchWork
from leverframe.server.routes.headers import GZIP_HEADERS, accepts_gzip, compress_reply, gzip_pieces
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.queries import (
    FOR_PROGRAMS,
    RECORDED,
    CsvStyle,
    TimeSpan,
    TooManyValues,
    answer_pieces,
    csv_pieces,
    list_recorded_labels,
    raw_pieces,
    values_to_read,
)
from leverframe.storage.store import StoreUnavailable

CSV = "text/csv; charset=utf-8"
#: The maximum number of recorded values read for one request; they need 32 MB.
MAX_VALUES = 2_000_000
#: Replies with more values are sent in pieces; other requests have their turn in between.
MAX_SHORT = 150_000
#: The maximum number of points that can be requested for a label.
MAX_POINTS = 100_000
USUAL_POINTS = 600
USUAL_SPAN_S = 3600.0
#: The end of the year 9999, the latest time that a clock can be set to.
LATEST_SECOND = 253_402_300_799

Second = Annotated[float, Meta(ge=0, le=LATEST_SECOND)]
PARAMETERS = (
    QueryParameter(
        "labels",
        str,
        "Labels as in `/api/state`, joined by commas; default: all recorded labels.",
    ),
    QueryParameter("from", Second, "Seconds since 1970; default: an hour before `to`."),
    QueryParameter("to", Second, "Seconds since 1970; default: now."),
    QueryParameter(
        "points",
        Annotated[int, Meta(ge=1, le=MAX_POINTS)],
        f"The maximum number of points for each label; default: {USUAL_POINTS}, in CSV "
        f"{MAX_POINTS}.",
    ),
)
CSV_PARAMETERS = (
    *PARAMETERS,
    QueryParameter(
        "zone",
        str,
        "A time zone such as Europe/Berlin: times are local to it, and the columns are headed by "
        "names and units instead of labels.",
    ),
    QueryParameter(
        "names",
        str,
        "With `zone`: names for `labels`, joined by commas; each is used if the label has no "
        "configured name.",
    ),
)
#: The maximum number of columns named in a file name.
MAX_NAMED = 3
T = TypeVar("T")


class Series(TypedDict):
    """The values of a label: as recorded, or reduced to intervals."""

    times: NotRequired[list[float]]
    values: NotRequired[list[float | None]]
    min: NotRequired[list[float | None]]
    mean: NotRequired[list[float | None]]
    max: NotRequired[list[float | None]]


_RAW_OR_REDUCED = Meta(
    extra_json_schema={
        "anyOf": [{"required": ["times", "values"]}, {"required": ["min", "mean", "max"]}]
    }
)
History = TypedDict(
    "History",
    {
        "from": WallTime,
        "to": WallTime,
        "now": WallTime,
        "since": Annotated[float | None, Meta(description="The moment of the first known value.")],
        "step": Annotated[
            int, Meta(description="Width of an interval in seconds; 0 for raw values.")
        ],
        "times": Annotated[
            list[float], Meta(description="The start times of the intervals; empty for raw values.")
        ],
        "series": dict[str, Annotated[Series, _RAW_OR_REDUCED]],
    },
)


class BadHistoryQuery(Refusal):
    title = "Malformed query of the history"


class HistoryUnreadable(Refusal):
    status = 503
    title = "The history cannot be read"


async def ask_history(controller: Controller, work: Callable[[Compactor], T]) -> T:
    """Run work on the history's thread; refuse if the history cannot be read."""
    assert controller.history is not None
    try:
        return await controller.history.ask(work)
    except StoreUnavailable as error:
        raise HistoryUnreadable(str(error)) from error


async def in_slices(
    controller: Controller, begin: Callable[[Compactor], Iterator[T]]
) -> AsyncGenerator[T, None]:
    """Read piece by piece on the history's thread; other requests have their turn in between."""
    pieces = await ask_history(controller, begin)
    while (piece := await ask_history(controller, lambda _: next(pieces, None))) is not None:
        yield piece


async def read_pieces(
    controller: Controller, span: TimeSpan
) -> AsyncGenerator[list[RecordedPiece], None]:
    """Read recorded values for work in another process, up to the maximum for one request."""

    def begin(compactor: Compactor) -> Iterator[list[RecordedPiece]]:
        return raw_pieces(compactor, span, MAX_VALUES)

    try:
        async for piece in in_slices(controller, begin):
            yield piece
    except TooManyValues as error:
        raise TooMuchWork(str(error)) from None


async def history_json(context: Context) -> AnyReply:
    span, _ = _parse_query(context, USUAL_POINTS, PARAMETERS)
    request = context.request

    def work(compactor: Compactor) -> Reply | TimeSpan:
        filled = _fill_labels(compactor, span)
        if values_to_read(compactor, filled) > MAX_SHORT:
            return filled
        body = b"".join(answer_pieces(compactor, filled))
        return compress_reply(request, JSON, body, (NOT_KEPT,))

    found = await ask_history(context.controller, work)
    if isinstance(found, Reply):
        return found
    is_packed = accepts_gzip(request)

    def begin(compactor: Compactor) -> Iterator[bytes]:
        pieces = answer_pieces(compactor, found)
        return gzip_pieces(pieces) if is_packed else pieces

    headers = (NOT_KEPT, *(GZIP_HEADERS if is_packed else ()))
    return StreamReply(200, JSON, await _long_answer(context, begin), headers)


async def history_csv(context: Context) -> AnyReply:
    span, given = _parse_query(context, MAX_POINTS, CSV_PARAMETERS)
    controller = context.controller
    settings = controller.engine.settings
    names = _names(given, span.labels, settings)

    def work(compactor: Compactor) -> tuple[TimeSpan, CsvStyle, str]:
        style = FOR_PROGRAMS if "zone" not in given else _for_people(names, settings, given["zone"])
        filled = _fill_labels(compactor, span)
        return filled, style, _file_name(filled, style, settings.name, names)

    filled, style, name = await ask_history(controller, work)
    pieces = await _long_answer(context, lambda one: csv_pieces(one, filled, style))
    headers = (NOT_KEPT, ("Content-Disposition", f'attachment; filename="{name}"'))
    return StreamReply(200, CSV, pieces, headers)


async def _long_answer(
    context: Context, begin: Callable[[Compactor], Iterator[bytes]]
) -> AsyncGenerator[bytes, None]:
    """Wait until the controller sends no other long answer; return the pieces of this one."""
    pieces = in_slices(context.controller, begin)
    return await context.handlers.work.hold(pieces)


def _names(fields: dict[str, str], labels: Sequence[str], settings: Settings) -> dict[str, str]:
    """Name each label as configured, else as in the query, else use the label itself."""
    names = fields["names"].split(",") if "names" in fields else labels
    if len(names) != len(labels):
        raise BadHistoryQuery(
            "The numbers of names and labels differ.",
            field="names",
            value=fields["names"][:40],
            allowed="a name for each of `labels`, joined by commas",
        )
    called = dict(zip(labels, names, strict=True))
    return {label: name_of(label, settings) or called.get(label, label) for label in RECORDED}


def _for_people(names: dict[str, str], settings: Settings, zone: str) -> CsvStyle:
    """Use names and units as titles; runs off the event loop, as it reads the zone from a file."""
    found = zone_named(zone)
    if found is None:
        raise BadHistoryQuery(
            f"There is no time zone {zone[:40]!r}.",
            field="zone",
            value=zone[:40],
            allowed="names of time zones such as Europe/Berlin",
        )
    titles = {label: _title(name, unit_of(label, settings)) for label, name in names.items()}
    return CsvStyle(titles, found)


def _title(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def _file_name(span: TimeSpan, style: CsvStyle, controller: str, names: dict[str, str]) -> str:
    """Name the file after the controller, the values and the time span, in ASCII letters."""
    if style.zone is None:
        return f"history-{span.first:.0f}-{span.last:.0f}.csv"
    named = [names[label] for label in span.labels[:MAX_NAMED]]
    more = len(span.labels) - len(named)
    days = [datetime.fromtimestamp(at, style.zone) for at in (span.first, span.known)]
    dates = [f"{day:%Y-%m-%d-%H%M}" for day in days]
    parts = [controller, *named, *([f"and {more} more"] if more else []), "_to_".join(dates)]
    plain = (normalize("NFKD", part).encode("ascii", "ignore").decode() for part in parts)
    words = (sub(r"[^\w-]+", "-", part).strip("-") for part in plain)
    return "_".join(word for word in words if word) + ".csv"


def _fill_labels(compactor: Compactor, span: TimeSpan) -> TimeSpan:
    """Select all recorded labels if the query names none."""
    return span if span.labels else replace(span, labels=list_recorded_labels(compactor))


# --- the query ------------------------------------------------------------------------------------


def _parse_query(
    context: Context, usual_points: int, parameters: Sequence[QueryParameter]
) -> tuple[TimeSpan, dict[str, str]]:
    """Return the span to read and all fields; refuse a bad query before reading."""
    query = context.request.query or ""
    span = span_of(query, context.controller.clock.read().wall, usual_points, parameters)
    return span, fields_of(query, parameters)


def span_of(
    query: str,
    now: float,
    usual_points: int,
    parameters: Sequence[QueryParameter] = PARAMETERS,
) -> TimeSpan:
    given = fields_of(query, parameters)
    last = second_of(given, "to", now)
    first = second_of(given, "from", max(0.0, last - USUAL_SPAN_S))
    if first > last:
        raise BadHistoryQuery("`from` is later than `to`.", field="from", value=given.get("from"))
    return TimeSpan(_labels(given), first, last, _points(given, usual_points), now)


def fields_of(query: str, parameters: Sequence[QueryParameter]) -> dict[str, str]:
    """Return the fields of a query by name; refuse one that is not among the parameters."""
    names = [parameter.name for parameter in parameters]
    allowed = ", ".join(names)
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise BadHistoryQuery(
            "The query does not consist of name=value pairs.", allowed=allowed
        ) from None
    given = dict(pairs)
    unknown = [name for name in given if name not in names]
    if unknown or len(given) < len(pairs):
        wrong = f"There is no field {unknown[0][:40]}." if unknown else "A field appears twice."
        raise BadHistoryQuery(wrong, allowed=allowed)
    return given


def _labels(fields: dict[str, str]) -> tuple[str, ...]:
    if "labels" not in fields:
        return ()
    labels = tuple(dict.fromkeys(fields["labels"].split(",")))
    for label in labels:
        if label not in RECORDED:
            raise BadHistoryQuery(
                f"There is no label {label[:40]!r}.",
                field="labels",
                value=label[:40],
                allowed="labels as /api/state has them, such as DS1,OUT0,PWM0.duty",
            )
    return labels


def second_of(fields: dict[str, str], name: str, usual: float) -> float:
    if name not in fields:
        return usual
    try:
        second = float(fields[name])
    except ValueError:
        second = -1.0
    if not isfinite(second) or not 0 <= second <= LATEST_SECOND:
        raise BadHistoryQuery(
            f"{fields[name][:40]!r} is not a time.",
            field=name,
            value=fields[name][:40],
            allowed=f"seconds since 1970, 0 to {LATEST_SECOND}",
        )
    return second


def _points(fields: dict[str, str], usual: int) -> int:
    text = fields.get("points", str(usual))
    if text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= MAX_POINTS:
        return int(text)
    raise BadHistoryQuery(
        f"{text[:40]!r} is not a number of points.",
        field="points",
        value=text[:40],
        allowed=f"1 to {MAX_POINTS}",
    )
