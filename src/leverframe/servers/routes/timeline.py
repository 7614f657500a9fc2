"""`/api/timeline`: what was switched, met or open, who caused it, and what is to come."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from math import isnan
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from leverframe.commands.describe.media_types import JSON
from leverframe.commands.table.row import ADMIN
from leverframe.engine.effects import Notify
from leverframe.engine.journal import Cause
from leverframe.engine.labels import DIGITAL_INPUTS, EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.engine.lanes import Bar, Causes, LaneRule, bars_of, lane_rule, planned
from leverframe.engine.live_state import exported
from leverframe.engine.machine import Value
from leverframe.engine.samples import Traced
from leverframe.engine.settings import RulePlaces, numbered_rules
from leverframe.engine.timeline import Course
from leverframe.engine.traces import ANOTHER_RULE, CAUSE_TRACES, MESSAGE_TRACE, RULE_TRACES, Reason
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.compressed import packed
from leverframe.servers.routes.context import Context
from leverframe.servers.routes.history import PARAMETERS as HISTORY_PARAMETERS
from leverframe.servers.routes.history import ask_history, span_of
from leverframe.servers.routes.state import WallTime
from leverframe.storage.history.columns import RAW
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.reading import TimeSpan, raw
from leverframe.storage.history.reason_texts import reason_from

#: More is never read, and a rule that chatters would fill the reply.
MAX_MESSAGES = 500
PARAMETERS = tuple(one for one in HISTORY_PARAMETERS if one.name in ("from", "to"))
KINDS = {
    **dict.fromkeys(OUTPUTS, "output"),
    **dict.fromkeys(PWMS, "pwm"),
    **dict.fromkeys(EVENT_VARIABLES, "variable"),
    **dict.fromkeys(DIGITAL_INPUTS, "input"),
}


class LaneCause(Struct, frozen=True, omit_defaults=True):
    """Who or what caused something: a kind such as `command`, `rule` or `timer`, and which one."""

    kind: str
    detail: str = ""
    account: str = ""
    number: Annotated[int, Meta(description="Of a rule or an entry, from 1.")] = 0
    name: str = ""
    seconds: Annotated[float, Meta(description="How long a timer waited.")] = 0


class LaneBar(Struct, frozen=True, omit_defaults=True):
    """What held for a while: 1 on, met or closed, 0 the opposite, null unknown."""

    begin: WallTime
    end: WallTime
    value: Value
    cause: LaneCause | None = None
    count: Annotated[int, Meta(description="Bars that are too fine to be told one by one.")] = 1
    planned: Annotated[bool, Meta(description="It is to come.")] = False
    readings: Annotated[
        dict[str, Value], Meta(description="Of a rule: what its sources were at the beginning.")
    ] = {}


class TimelineLane(Struct, frozen=True):
    label: Annotated[str, Meta(description="As `/api/state` has it, or `rule.1` and so on.")]
    kind: Annotated[str, Meta(description="output, pwm, variable, input or rule")]
    bars: Annotated[
        list[LaneBar], Meta(description="One after the other, without a gap, up to now.")
    ]


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
        float | None, Meta(description="Since when every change is kept with its cause.")
    ]
    lanes: list[TimelineLane]
    messages: list[TimelineMessage]
    rules: Annotated[list[LaneRule], Meta(description="What the rules are now.")]


async def timeline(context: Context) -> Reply:
    controller = context.controller
    at = controller.clock.read()
    span = span_of(context.request.query or "", at.wall, 1, PARAMETERS)
    engine = controller.engine
    values, rules = dict(engine.values), engine.settings.rules
    state = exported(engine) if span.last > at.wall else None
    is_admin = context.account.role == ADMIN

    def work(compactor: Compactor) -> Reply:
        ahead = [] if state is None else planned(state, at, span.last)
        reader = _TimelineReader(compactor, span, ahead, is_admin=is_admin)
        body = msgspec.json.encode(reader.timeline(values, rules))
        return packed(context.request, JSON, body, (NOT_KEPT,))

    return await ask_history(controller, work)


class _TimelineReader:
    """One question, answered on the thread of the history."""

    def __init__(
        self, compactor: Compactor, span: TimeSpan, ahead: Iterable[Traced], *, is_admin: bool
    ) -> None:
        self._compactor = compactor
        self._span = span
        self._is_admin = is_admin
        self._since = compactor.chunk_store.since(RAW)
        self._reasons = {
            number: reason_from(text)
            for number, text in compactor.chunk_store.reason_texts().items()
        }
        self._ahead: dict[str, list[tuple[float, Value | Reason]]] = {}
        for time, label, value in ahead:
            self._ahead.setdefault(label, []).append((time, value))
        #: Readings of the past by label, read when a rule looks at them.
        self._courses: dict[str, tuple[list[float], list[float]]] = {}

    def timeline(self, values: Mapping[str, Value], rules: RulePlaces) -> LeverTimeline:
        span = self._span
        described = [lane_rule(number, rule) for number, rule in numbered_rules(rules)]
        lanes = [self._lane(label, kind, values) for label, kind in KINDS.items()]
        lanes += [self._rule_lane(rule) for rule in described]
        return LeverTimeline(
            span.first, span.last, span.now, self._since, lanes, self._messages(), described
        )

    def _lane(self, label: str, kind: str, now: Mapping[str, Value]) -> TimelineLane:
        trace = CAUSE_TRACES.get(label, "")
        bars = self._bars(self._course(label), self._causes(trace))
        bars += self._planned(label, trace, now.get(label))
        return TimelineLane(label, kind, bars)

    def _bars(self, course: Course, causes: Causes) -> list[LaneBar]:
        first, last = self._span.first, self._span.known
        return [self._lane_bar(bar) for bar in bars_of(course, causes, first, last)]

    def _lane_bar(self, bar: Bar, *, is_planned: bool = False) -> LaneBar:
        cause = None if bar.cause is None else self._cause(bar.cause)
        return LaneBar(bar.begin, bar.end, bar.value, cause, bar.count, is_planned)

    def _cause(self, cause: Cause) -> LaneCause:
        # Addresses are the administrator's business.
        detail = cause.detail if self._is_admin or not cause.source else ""
        number, name, seconds = cause.number, cause.name, cause.seconds
        return LaneCause(cause.kind, detail, cause.account, number, name, seconds)

    def _raw(self, label: str) -> tuple[list[float], list[float]]:
        if label not in self._courses:
            self._courses[label] = raw(self._compactor, self._span, label)
        return self._courses[label]

    def _course(self, label: str) -> list[tuple[float, Value]]:
        """Read what held; before every change is kept, nothing is known."""
        begins = self._span.now if self._since is None else self._since
        times, values = self._raw(label)
        return [
            (max(time, begins), None if isnan(value) else value)
            for time, value in zip(times, values, strict=True)
        ]

    def _causes(self, trace: str) -> Causes:
        if not trace:
            return []
        times, numbers = self._raw(trace)
        found = (None if isnan(number) else self._reasons.get(int(number)) for number in numbers)
        return [
            (time, reason if isinstance(reason, Cause) else None)
            for time, reason in zip(times, found, strict=True)
        ]

    def _planned(self, label: str, trace: str, present: Value) -> list[LaneBar]:
        ahead = self._ahead.get(label)
        if not ahead:
            return []
        now = self._span.now
        course: list[tuple[float, Value]] = [(now, present)]
        course += [(time, value) for time, value in ahead if isinstance(value, float | int)]
        causes = [
            (time, reason)
            for time, reason in self._ahead.get(trace, ())
            if isinstance(reason, Cause)
        ]
        bars = bars_of(course, causes, now, self._span.last)
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
        times, values = self._raw(label)
        place = bisect_right(times, time) - 1
        return None if place < 0 or isnan(values[place]) else values[place]

    def _messages(self) -> list[TimelineMessage]:
        times, numbers = self._raw(MESSAGE_TRACE)
        reasons = (None if isnan(number) else self._reasons.get(int(number)) for number in numbers)
        messages = [
            TimelineMessage(time, one.channel, one.slot, one.active, one.reason)
            for time, one in zip(times, reasons, strict=True)
            if isinstance(one, Notify)
        ]
        return messages[-MAX_MESSAGES:]
