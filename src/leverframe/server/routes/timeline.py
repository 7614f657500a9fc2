"""`/api/journal` and `/api/timeline`: what happened, what was switched, and what is planned."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.core.engine.calls import Notify
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.journal import Cause
from leverframe.core.engine.lanes import (
    Bar,
    Causes,
    Course,
    LaneRule,
    PackedCourse,
    RecordedPiece,
    bars_of,
    courses_from,
    foresee,
    lane_rule,
)
from leverframe.core.engine.machine import (
    ANOTHER_RULE,
    CAUSE_TRACES,
    MESSAGE_TRACE,
    RULE_TRACES,
    LiveState,
    Reason,
    Value,
    export_state,
)
from leverframe.core.engine.timers import Moment, WallTime
from leverframe.core.labels import DIGITAL_INPUTS, EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.core.settings import RulePlaces, number_rules
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.descriptions.schemas import JSON
from leverframe.interface.table.row import ADMIN
from leverframe.server.http.messages import NOT_KEPT, AnyReply, Reply, StreamReply
from leverframe.server.routes.context import Context
from leverframe.server.routes.headers import GZIP_HEADERS, accepts_gzip, compress_reply, gzip_pieces
from leverframe.server.routes.history import (
    LATEST_SECOND,
    MAX_SHORT,
    BadHistoryQuery,
    HistoryUnreadable,
    Second,
    ask_history,
    fields_of,
    read_pieces,
    second_of,
    span_of,
)
from leverframe.server.routes.history import PARAMETERS as HISTORY_PARAMETERS
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.queries import raw_pieces
from leverframe.storage.history.rows import MAX_ENTRIES, RAW, EntryQuestion, reason_from
from leverframe.storage.store import StoreUnavailable

# `/api/journal`: past events, including those before the last start, read off the event loop.

USUAL_ENTRIES = 500
#: An answer with more entries is long: it is sent in pieces, and a controller sends one at a time.
MAX_SHORT_JOURNAL = 2000
PER_PIECE = 500

JOURNAL_PARAMETERS = (
    QueryParameter("from", Second, "Seconds since 1970; default: the oldest entry."),
    QueryParameter("to", Second, "Seconds since 1970; default: the newest entry."),
    QueryParameter(
        "after", Annotated[int, Meta(ge=0)], "Only entries after the one with this number."
    ),
    QueryParameter("which", str, "Only entries about this label, such as `OUT0`."),
    QueryParameter("cause", str, "Only entries with this kind of cause, such as `rule`."),
    QueryParameter(
        "limit",
        Annotated[int, Meta(ge=1, le=MAX_ENTRIES)],
        f"The maximum number of entries, the newest are kept; default: {USUAL_ENTRIES}.",
    ),
)


async def journal_json(context: Context) -> AnyReply:
    question = question_of(context.request.query or "")
    if question.most > MAX_SHORT_JOURNAL:
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
    """Join entries, which are already JSON, into a list; yield several entries per piece."""
    yield b"["
    for begin in range(0, len(entries), PER_PIECE):
        yield (b"," if begin else b"") + b",".join(entries[begin : begin + PER_PIECE])
    yield b"]"


def question_of(query: str) -> EntryQuestion:
    given = fields_of(query, JOURNAL_PARAMETERS)
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


# The lanes of `/api/timeline`, built from recorded values, possibly in another process.
#
# This module has few imports, because they delay every answer from such a process.

_NOTHING = PackedCourse()
#: Maximum number of messages in a reply: a rule that chatters would fill it.
MAX_MESSAGES = 500
KINDS = {
    **dict.fromkeys(OUTPUTS, "output"),
    **dict.fromkeys(PWMS, "pwm"),
    **dict.fromkeys(EVENT_VARIABLES, "variable"),
    **dict.fromkeys(DIGITAL_INPUTS, "input"),
}


class LaneCause(Struct, frozen=True, omit_defaults=True):
    """A cause: a kind such as `command`, `rule` or `timer`, and its number or name."""

    kind: str
    detail: str = ""
    account: str = ""
    number: Annotated[int, Meta(description="The number of the rule or entry, from 1.")] = 0
    name: str = ""
    seconds: Annotated[float, Meta(description="The duration of the timer.")] = 0


class LaneBar(Struct, frozen=True, omit_defaults=True):
    """A state over a period: 1 on, met or closed, 0 the opposite, null unknown."""

    begin: WallTime
    end: WallTime
    value: Value
    cause: LaneCause | None = None
    count: Annotated[
        int, Meta(description="The number of bars that are too short to be listed individually.")
    ] = 1
    planned: Annotated[bool, Meta(description="Whether the bar is in the future.")] = False
    readings: Annotated[
        dict[str, Value],
        Meta(description="The values of a rule's sources at the beginning of the bar."),
    ] = {}


class TimelineLane(Struct, frozen=True):
    label: Annotated[str, Meta(description="The label as in `/api/state`, or `rule.1` and so on.")]
    kind: Annotated[str, Meta(description="output, pwm, variable, input or rule")]
    bars: Annotated[list[LaneBar], Meta(description="The bars in order, without a gap, up to now.")]


class TimelineMessage(Struct, frozen=True):
    time: WallTime
    channel: str
    slot: int
    active: bool
    reason: Annotated[str, Meta(description="The cause as one text, such as `rule 3`.")]


class LeverTimeline(Struct, frozen=True, rename={"first": "from", "last": "to"}):
    first: WallTime
    last: WallTime
    now: WallTime
    since: Annotated[
        float | None,
        Meta(description="The moment from which every change is recorded with its cause."),
    ]
    lanes: list[TimelineLane]
    messages: list[TimelineMessage]
    rules: Annotated[list[LaneRule], Meta(description="The present rules.")]


class TimelineQuestion(Struct, frozen=True):
    """The period to show, and all data needed for it except recorded values."""

    first: float
    last: float
    #: The current time, and the values and rules at that time.
    at: Moment
    values: dict[str, Value]
    rules: RulePlaces
    #: The state of the engine if part of the period is in the future, else None.
    state: LiveState[Engine] | None
    is_admin: bool
    #: The time from which every change is recorded, and the texts of reasons.
    since: float | None = None
    reasons: dict[int, str] = {}

    @property
    def labels(self) -> tuple[str, ...]:
        """Return all labels whose recorded values are needed."""
        rules = [lane_rule(number, rule) for number, rule in number_rules(self.rules)]
        return (
            *KINDS,
            *CAUSE_TRACES.values(),
            *(RULE_TRACES[rule.number - 1] for rule in rules),
            *sorted({one.label for rule in rules for one in rule.conditions} - KINDS.keys()),
            MESSAGE_TRACE,
        )


def encode_timeline(
    question: TimelineQuestion, recorded: Iterable[Iterable[RecordedPiece]]
) -> bytes:
    return msgspec.json.encode(_Lanes(question, courses_from(recorded)).timeline())


class _Lanes:
    """Builds the lanes for one question."""

    def __init__(self, question: TimelineQuestion, courses: Mapping[str, PackedCourse]) -> None:
        self._question = question
        #: The end of the known period: nothing is known after now.
        self._known = min(question.last, question.at.wall)
        self._courses = courses
        self._reasons = {number: reason_from(text) for number, text in question.reasons.items()}
        self._ahead: dict[str, list[tuple[float, Value | Reason]]] = {}
        if question.state is not None:
            for time, label, value in foresee(question.state, question.at, question.last):
                self._ahead.setdefault(label, []).append((time, value))

    def timeline(self) -> LeverTimeline:
        asked = self._question
        described = [lane_rule(number, rule) for number, rule in number_rules(asked.rules)]
        lanes = [self._lane(label, kind, asked.values) for label, kind in KINDS.items()]
        lanes += [self._rule_lane(rule) for rule in described]
        return LeverTimeline(
            *(asked.first, asked.last, asked.at.wall, asked.since),
            lanes,
            self._messages(),
            described,
        )

    def _lane(self, label: str, kind: str, now: Mapping[str, Value]) -> TimelineLane:
        trace = CAUSE_TRACES.get(label, "")
        bars = self._bars(self._course(label), self._causes(trace))
        bars += self._bars_ahead(label, trace, now.get(label))
        return TimelineLane(label, kind, bars)

    def _bars(self, course: Course, causes: Causes) -> list[LaneBar]:
        bars = bars_of(course, causes, self._question.first, self._known)
        return [self._lane_bar(bar) for bar in bars]

    def _lane_bar(self, bar: Bar, *, is_planned: bool = False) -> LaneBar:
        cause = None if bar.cause is None else self._cause(bar.cause)
        return LaneBar(bar.begin, bar.end, bar.value, cause, bar.count, is_planned)

    def _cause(self, cause: Cause) -> LaneCause:
        # Only administrators may see addresses.
        detail = cause.detail if self._question.is_admin or not cause.source else ""
        number, name, seconds = cause.number, cause.name, cause.seconds
        return LaneCause(cause.kind, detail, cause.account, number, name, seconds)

    def _course_of(self, label: str) -> PackedCourse:
        return self._courses.get(label, _NOTHING)

    def _course(self, label: str) -> list[tuple[float, Value]]:
        """Return the changes of a label; before the first recorded change its state is unknown."""
        since = self._question.since
        begins = self._question.at.wall if since is None else since
        return [(max(time, begins), value) for time, value in self._course_of(label)]

    def _causes(self, trace: str) -> Causes:
        if not trace:
            return []
        found = ((time, self._reason(number)) for time, number in self._course_of(trace))
        return [(time, reason if isinstance(reason, Cause) else None) for time, reason in found]

    def _reason(self, number: Value) -> Reason | None:
        return None if number is None else self._reasons.get(int(number))

    def _bars_ahead(self, label: str, trace: str, present: Value) -> list[LaneBar]:
        ahead = self._ahead.get(label)
        if not ahead:
            return []
        now = self._question.at.wall
        course: list[tuple[float, Value]] = [(now, present)]
        course += [(time, value) for time, value in ahead if isinstance(value, float | int)]
        causes = [
            (time, reason)
            for time, reason in self._ahead.get(trace, ())
            if isinstance(reason, Cause)
        ]
        bars = bars_of(course, causes, now, self._question.last)
        return [self._lane_bar(bar, is_planned=True) for bar in bars]

    def _rule_lane(self, rule: LaneRule) -> TimelineLane:
        label = RULE_TRACES[rule.number - 1]
        course = self._course(label)
        moved = [place for place, (_, value) in enumerate(course) if value == ANOTHER_RULE]
        own = course[moved[-1] + 1 :] if moved else course
        bars = [self._with_readings(bar, rule) for bar in self._bars(own, ())]
        return TimelineLane(label, "rule", bars)

    def _with_readings(self, bar: LaneBar, rule: LaneRule) -> LaneBar:
        if bar.value is None:
            return bar
        readings = {
            condition.label: self._value_at(condition.label, bar.begin)
            for condition in rule.conditions
        }
        return msgspec.structs.replace(bar, readings=readings)

    def _value_at(self, label: str, time: float) -> Value:
        course = self._course_of(label)
        place = bisect_right(course.times, time) - 1
        return None if place < 0 or isnan(course.values[place]) else course.values[place]

    def _messages(self) -> list[TimelineMessage]:
        messages = [
            TimelineMessage(time, one.channel, one.slot, one.active, one.reason)
            for time, number in self._course_of(MESSAGE_TRACE)
            if isinstance(one := self._reason(number), Notify)
        ]
        return messages[-MAX_MESSAGES:]


# `/api/timeline`: what was on, met or open, and why, and what is planned.

TIMELINE_PARAMETERS = tuple(one for one in HISTORY_PARAMETERS if one.name in ("from", "to"))


async def timeline(context: Context) -> Reply:
    """Show all lanes; if much was recorded, build them in a separate process."""
    controller = context.controller
    at = controller.clock.read()
    span = span_of(context.request.query or "", at.wall, 1, TIMELINE_PARAMETERS)
    engine = controller.engine
    question = TimelineQuestion(
        span.first,
        span.last,
        at,
        dict(engine.values),
        engine.settings.rules,
        export_state(engine) if span.last > at.wall else None,
        context.account.role == ADMIN,
    )
    span = replace(span, labels=question.labels)

    def work(compactor: Compactor) -> bytes | TimelineQuestion:
        store = compactor.chunk_store
        filled = replace(question, since=store.since(RAW), reasons=dict(store.reason_texts()))
        counts = store.counts(RAW, span.first, span.known)
        if sum(counts.get(label, 0) for label in span.labels) > MAX_SHORT:
            return filled
        return encode_timeline(filled, raw_pieces(compactor, span))

    found = await ask_history(controller, work)
    if not isinstance(found, bytes):
        found = await context.handlers.work.run(
            encode_timeline,
            found,
            fed=read_pieces(controller, span),
            instead="a shorter time between `from` and `to`",
        )
    return await asyncio.to_thread(compress_reply, context.request, JSON, found, (NOT_KEPT,))
