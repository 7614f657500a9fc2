"""Recorded values as time series ("courses"), and lanes of the timeline with their causes."""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from math import isnan

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.engine import Engine
from leverframe.core.engine.journal import Cause
from leverframe.core.engine.live_rule import Condition
from leverframe.core.engine.machine import LiveState, Samples, Traced, Value, import_state
from leverframe.core.engine.rule_courses import conditions_of, turns_of
from leverframe.core.engine.timers import Moment
from leverframe.core.settings import Rule

# Courses: recorded values as time series, for trials of rules and for simulated futures.

#: Times in ascending order, each with the value from that time on.
Course = Collection[tuple[float, Value]]
_Change = tuple[float, str, Value]
#: A label with all or some of its times and values, as in the history; NaN means absent.
RecordedPiece = tuple[str, "array[float]", "array[float]"]


class PackedCourse(Collection[tuple[float, Value]]):
    """A course that needs 16 bytes per value, a tenth of the memory of a list of pairs."""

    def __init__(self, later_s: float = 0.0) -> None:
        """Shift the times of all values by `later_s`."""
        self.times = array("d")
        self.values = array("d")
        self._later_s = later_s

    def extend(self, times: "array[float]", values: "array[float]") -> None:
        self.times.extend(times)
        self.values.extend(values)

    def __iter__(self) -> Iterator[tuple[float, Value]]:
        for time, value in zip(self.times, self.values, strict=True):
            yield time + self._later_s, None if isnan(value) else value

    def __len__(self) -> int:
        return len(self.times)

    def __contains__(self, change: object) -> bool:
        return any(one == change for one in self)


def courses_from(
    pieces: Iterable[Iterable[RecordedPiece]], later_s: float = 0.0
) -> dict[str, PackedCourse]:
    """Join the pieces of each label in the order in which they were read."""
    courses: dict[str, PackedCourse] = {}
    for piece in pieces:
        for label, times, values in piece:
            courses.setdefault(label, PackedCourse(later_s)).extend(times, values)
    return courses


def changes_by_time(
    courses: Mapping[str, Course],
) -> Iterator[tuple[float, list[tuple[str, Value]]]]:
    """Yield all changes of the same moment together."""
    now: float | None = None
    together: list[tuple[str, Value]] = []
    for time, label, value in merge(
        *(_changes(label, course) for label, course in courses.items()),
        key=lambda change: change[0],
    ):
        if now is not None and time != now:
            yield now, together
            together = []
        now = time
        together.append((label, value))
    if now is not None:
        yield now, together


def _changes(label: str, course: Course) -> Iterator[_Change]:
    for time, value in course:
        yield time, label, value


# Lanes of the timeline: the states of outputs, rules and contacts as bars, with their causes.
#
# The bars of a lane cover the complete requested time without gaps: off and unknown states also
# have bars. A bar begins when the value or its cause changes, and names the cause of its beginning.

#: Bars that are shorter than this fraction of the displayed time are merged.
FINEST = 1 / 1000
#: Maximum number of engine steps for which the future is computed.
MAX_STEPS_AHEAD = 5000
#: Features whose deadlines are certain; everything else depends on future readings.
_PLANNING = frozenset(("outputs", "rules", "schedule"))

#: Times in ascending order, each with the cause of the switching; None if it is unknown.
Causes = Sequence[tuple[float, Cause | None]]


class Bar(Struct, frozen=True):
    begin: float
    end: float
    value: Value
    cause: Cause | None = None
    #: The number of bars merged into this one because each is too short to be visible.
    count: int = 1


class _Held(Struct, frozen=True):
    """A value and its cause, which apply from a moment on."""

    time: float
    value: Value
    cause: Cause | None


def bars_of(values: Course, causes: Causes, first: float, last: float) -> list[Bar]:
    """Return the bars of a lane between two moments."""
    held = list(_spans(values, causes, first, last))
    ends = [one.time for one in held[1:]] + [last]
    fine = [
        Bar(one.time, end, one.value, one.cause)
        for one, end in zip(held, ends, strict=True)
        if end > one.time
    ]
    return _drawable(fine, (last - first) * FINEST)


def _spans(values: Course, causes: Causes, first: float, last: float) -> Iterator[_Held]:
    """Yield the state at the beginning, then every change of the value or its cause."""
    held = _Held(first, None, None)
    for time, together in _by_time(values, causes):
        if time > last:
            break
        now = held
        for change in together:
            if isinstance(change, tuple):
                now = replace(now, value=change[0])
            else:
                now = replace(now, cause=change)
        if now.value is None:
            # An unknown value has no cause.
            now = replace(now, cause=None)
        if (now.value, now.cause) == (held.value, held.cause):
            continue
        if time > first:
            yield held
        held = replace(now, time=max(time, first))
    yield held


def _by_time(
    values: Course, causes: Causes
) -> Iterator[tuple[float, list[tuple[Value] | Cause | None]]]:
    """Yield the changes of each moment together; a value is wrapped in a tuple."""
    changes: Iterator[tuple[float, tuple[Value] | Cause | None]] = merge(
        ((time, (value,)) for time, value in values), causes, key=lambda change: change[0]
    )
    now: float | None = None
    together: list[tuple[Value] | Cause | None] = []
    for time, change in changes:
        if now is not None and time != now:
            yield now, together
            together = []
        now = time
        together.append(change)
    if now is not None:
        yield now, together


def _drawable(bars: Sequence[Bar], finest_s: float) -> list[Bar]:
    """Merge adjacent bars that are too short; a merged bar is on if any of them was."""
    drawn: list[Bar] = []
    waiting: list[Bar] = []
    for bar in bars:
        waiting.append(bar)
        if bar.end - waiting[0].begin >= finest_s:
            # A visible bar stays separate even if short bars precede it.
            drawn += _together(waiting, finest_s)
            waiting = []
    return drawn + _together(waiting, 0.0)


def _together(bars: Sequence[Bar], finest_s: float) -> list[Bar]:
    if len(bars) <= 1:
        return list(bars)
    *fine, last = bars
    if finest_s and last.end - last.begin >= finest_s:
        return [_one(fine), last]
    return [_one(bars)]


def _one(bars: Sequence[Bar]) -> Bar:
    shown = max(bars, key=lambda bar: (bool(bar.value), bar.value is not None))
    return Bar(
        bars[0].begin, bars[-1].end, shown.value, shown.cause, sum(bar.count for bar in bars)
    )


def foresee(state: LiveState[Engine], at: Moment, until: float) -> list[Traced]:
    """Return the future up to a wall time that is certain if no reading changes."""
    engine = import_state(state)
    machine = engine.machine
    ahead = machine.samples = Samples()
    machine.timers.cancel_others(_PLANNING)
    offset_s = at.wall - at.now
    for _ in range(MAX_STEPS_AHEAD):
        due = engine.next_deadline()
        if due is None or due + offset_s > until:
            break
        now = max(due, at.now)
        engine.tick(Moment(now, now + offset_s))
    return ahead


class LaneCondition(Struct, frozen=True):
    """A condition of a rule, with the thresholds at which it becomes true and false."""

    label: str
    compare: str
    reference: float
    ends: float


class LaneRule(Struct, frozen=True):
    """The parts of a rule that the timeline shows."""

    number: int
    name: str
    action: str
    value: int
    operator: str
    on_delay: int
    off_delay: int
    conditions: list[LaneCondition]


def lane_rule(number: int, rule: Rule) -> LaneRule:
    return LaneRule(
        number,
        rule.name,
        rule.action,
        rule.value,
        rule.operator,
        rule.on_delay,
        rule.off_delay,
        [_lane_condition(condition) for condition in conditions_of(rule)],
    )


def _lane_condition(condition: Condition) -> LaneCondition:
    begins, ends = turns_of(condition)
    return LaneCondition(condition.label, condition.compare, begins, ends)
