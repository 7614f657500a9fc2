"""What-if: simulates an engine with and without a change, and reports the differences.

Both futures begin as copies of the same engine and get the same readings: recorded readings,
shifted into the future, or readings of simulated plants that depend on the outputs. Pings are
answered, messages are counted but not sent, and restarts are carried out. Recorded readings are
values after conversion, so a changed sensor conversion does not affect them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta, Struct, field

from leverframe.core.engine import calls
from leverframe.core.engine.calls import Action, Effect
from leverframe.core.engine.engine import NOTHING_SENSED, Engine
from leverframe.core.engine.journal import Cause, Entry, EntryReport, report_of
from leverframe.core.engine.lanes import Course, RecordedPiece, changes_by_time, courses_from
from leverframe.core.engine.machine import LiveState, import_state
from leverframe.core.engine.timers import Moment, WallTime
from leverframe.core.labels import DIFFERENTIALS, ENERGIES, EVENT_VARIABLES, OUTPUTS, POWERS, PWMS
from leverframe.core.settings import Settings

#: The maximum number of differing entries in the report; further ones are only counted.
MAX_LISTED = 500
#: The number of times that the futures are compared during the simulation.
STOPS = 256
#: The simulated response time of a ping.
ANSWER_MS = 1.0
#: Labels that the engine itself sets or computes; recorded readings of these are not used.
MADE_HERE = frozenset(
    {*OUTPUTS, *PWMS, *EVENT_VARIABLES, *DIFFERENTIALS, *POWERS, *ENERGIES, "DEWPOINT", "MQTT"}
)
BY_CHANGE = Cause("what-if")
BEFORE: Literal["without"] = "without"
AFTER: Literal["with"] = "with"
_SIDES: tuple[Literal["without", "with"], ...] = (BEFORE, AFTER)


class World(Protocol):
    """Simulated plants, which convert states of outputs to readings."""

    next_due: float | None

    def put(self, label: str, value: float, now: float) -> None: ...

    def tick(self, now: float) -> Mapping[str, float]: ...


class TriedChange(Struct, frozen=True):
    """The change to be tried: settings, and then actions, as in a request."""

    settings: Settings
    actions: Sequence[Action] = ()


class DifferingEntry(Struct, frozen=True):
    time: WallTime
    cause: str
    text: str
    only: Annotated[
        Literal["without", "with"],
        Meta(description="Whether it happens with or without the change."),
    ]
    entry: Annotated[
        EntryReport | None, Meta(description="The entry as in the journal; absent for a message.")
    ] = None


class OutputUse(Struct):
    """The use of an output in one future."""

    changes: int = 0
    on_s: Annotated[float, Meta(description="Number of seconds for which the output is on.")] = 0.0


class WhatIf(Struct, frozen=True):
    """Two futures compared; times are seconds since 1970."""

    first: float
    last: float
    #: The number of journal entries and messages that both futures have.
    same: int
    differing: list[DifferingEntry]
    not_listed: Annotated[int, Meta(description="Number of differing entries beyond those listed.")]
    without: Annotated[dict[str, OutputUse], Meta(description="Outputs without the change.")]
    with_: Annotated[dict[str, OutputUse], Meta(description="Outputs with the change.")] = field(
        name="with"
    )


_Entry = tuple[float, str, str]


class _Future:
    """A copy of the engine that is simulated separately."""

    def __init__(self, engine: Engine, at: Moment, world: World | None) -> None:
        self.engine = engine
        #: Events since the last comparison, each with its journal entry unless it is a message.
        self.noted: list[tuple[_Entry, Entry | None]] = []
        self.uses = {label: OutputUse() for label in (*OUTPUTS, *PWMS)}
        self._world = world
        self._now = at.now
        self._offset_s = at.wall - at.now
        self._number = engine.machine.journal.count
        self._remembered = dict(engine.machine.persisted)
        self._on_since = {label: at.now for label in self.uses if engine.values[label]}

    @property
    def at(self) -> Moment:
        return Moment(self._now, self._now + self._offset_s)

    def apply(self, change: TriedChange) -> None:
        self._take(self.engine.apply(change.settings, change.actions, self.at, BY_CHANGE))

    def live_until(self, now: float) -> None:
        """Serve all deadlines up to a moment, each at its own time."""
        while (due := self._due()) is not None and due <= now:
            self._now = max(due, self._now)
            if self._world is not None:
                self.sense(self._world.tick(self._now))
            self._take(self.engine.tick(self.at))
        self._now = now

    def sense(self, readings: Mapping[str, float]) -> None:
        """Pass readings of plants to the engine, and to plants that depend on them."""
        for label, value in readings.items():
            self._show(label, value)
        if readings:
            self._take(self.engine.sense(readings, self.at))

    def give(self, readings: Iterable[tuple[str, float | int | None]]) -> None:
        """Set readings to their recorded values."""
        for label, value in readings:
            self.engine.machine.put(label, value)
            if value is not None:
                self._show(label, value)
        self._take(self.engine.sense({}, self.at))

    def _show(self, label: str, value: float) -> None:
        if self._world is not None:
            self._world.put(label, value, self._now)

    def end(self) -> None:
        for label, since in self._on_since.items():
            self.uses[label].on_s += self._now - since

    def _due(self) -> float | None:
        own = self.engine.next_deadline()
        of_world = None if self._world is None else self._world.next_due
        if own is None or of_world is None:
            return of_world if own is None else own
        return min(own, of_world)

    def _take(self, emitted: list[Effect]) -> None:
        waiting = list(emitted)
        while waiting:
            waiting += self._carry_out(waiting.pop(0))
        self._note_entries()
        self._note_outputs()

    def _carry_out(self, effect: Effect) -> list[Effect]:
        match effect:
            case calls.DriveOutput(index, on) if self._world is not None:
                self._world.put(OUTPUTS[index], float(on), self._now)
            case calls.DrivePwm(index, level) if self._world is not None:
                self._world.put(PWMS[index], level, self._now)
            case calls.Persist(name, value):
                self._remembered[name] = value
            case calls.Notify(channel, slot, active):
                number = f" {slot}" if slot else ""
                what = "begins" if active else "ends"
                self._add(effect.reason, f"sends {channel}{number} ({what})")
            case calls.PingHost(entry):
                return self.engine.ping_answered(entry, ANSWER_MS, self.at)
            case calls.SetClock(wall):
                self._offset_s = wall - self._now
                return self.engine.clock_changed(self.at)
            case calls.RestartController() | calls.EnterBootloader():
                return self._restart()
        return []

    def _restart(self) -> list[Effect]:
        """Start a new engine with the current readings, as after a power failure."""
        self._note_entries()
        old = self.engine
        machine = old.machine
        zone = machine.configured_timezone
        self.engine = Engine(machine.profile, old.settings, zone, self._remembered)
        self._number = 0
        started = self.engine.start(self.at)
        for label, value in old.values.items():
            if label not in MADE_HERE and label in self.engine.values:
                self.engine.machine.put(label, value)
        return started + self.engine.sense({}, self.at)

    def _note_entries(self) -> None:
        for entry in self.engine.machine.journal.since(self._number):
            self._number = entry.number
            self.noted.append(((entry.wall, str(entry.cause), entry.text), entry))

    def _add(self, cause: str, text: str) -> None:
        self._note_entries()
        self.noted.append(((self.at.wall, cause, text), None))

    def _note_outputs(self) -> None:
        values = self.engine.values
        for label, use in self.uses.items():
            since = self._on_since.get(label)
            if bool(values[label]) is (since is not None):
                continue
            use.changes += 1
            if since is None:
                self._on_since[label] = self._now
            else:
                use.on_s += self._now - since
                del self._on_since[label]


def labels_needed(state: LiveState[Engine], change: TriedChange) -> set[str]:
    """Return the labels whose readings affect either future."""
    engine = import_state(state)
    settings = (engine.settings, change.settings)
    needed = engine.listened_to | {one.pid.source for one in settings}
    engine.apply(change.settings, (), engine.machine.at, BY_CHANGE)
    return set((needed | engine.listened_to) - MADE_HERE)


def what_if(
    state: LiveState[Engine],
    at: Moment,
    for_s: float,
    change: TriedChange,
    courses: Mapping[str, Course],
    worlds: tuple[World | None, World | None] = (None, None),
    first: Mapping[str, float] = NOTHING_SENSED,
) -> WhatIf:
    """Simulate two futures of an engine and compare them; the times in `courses` are wall times.

    `first` are readings of the simulated plants that the engine has not received yet.
    """
    futures = [_Future(import_state(state), at, world) for world in worlds]
    for future in futures:
        future.sense(first)
    futures[1].apply(change)
    comparison = _Comparison(futures[0], futures[1])
    stops = [at.now + for_s * number / STOPS for number in range(1, STOPS + 1)]
    lives = [_run_future(future, _within(courses, at, for_s), stops) for future in futures]
    # Run both in parallel, so that entries common to both need not be stored until the end.
    for _ in zip(*lives, strict=True):
        comparison.advance()
    for future in futures:
        future.end()
    return comparison.result(at, for_s)


def encode_what_if(
    state: LiveState[Engine],
    at: Moment,
    for_s: float,
    change: TriedChange,
    plants: "LiveState[World] | None",
    recorded: Iterable[Iterable[RecordedPiece]],
) -> bytes:
    """Compare both futures, with past readings repeated; return the result as JSON."""
    worlds = (None, None) if plants is None else (import_state(plants), import_state(plants))
    courses = courses_from(recorded, for_s)
    return msgspec.json.encode(what_if(state, at, for_s, change, courses, worlds))


def _within(
    courses: Mapping[str, Course], at: Moment, for_s: float
) -> Iterator[tuple[float, list[tuple[str, float | int | None]]]]:
    for time, readings in changes_by_time(courses):
        now = max(time - at.wall, 0.0) + at.now
        if now <= at.now + for_s:
            yield now, readings


def _run_future(
    future: _Future,
    changes: Iterable[tuple[float, list[tuple[str, float | int | None]]]],
    stops: Sequence[float],
) -> Iterator[None]:
    """Simulate a future with its readings; yield at each of the stops."""
    waiting = iter(changes)
    following = next(waiting, None)
    for stop in stops:
        while following is not None and following[0] <= stop:
            now, readings = following
            future.live_until(now)
            future.give(readings)
            following = next(waiting, None)
        future.live_until(stop)
        yield


class _Differing:
    """The events of one future that the other future does not have."""

    def __init__(self) -> None:
        self.counts: Counter[_Entry] = Counter()
        self._entries: dict[_Entry, Entry] = {}

    def add(self, noted: _Entry, entry: Entry | None) -> None:
        self.counts[noted] += 1
        if entry is not None:
            self._entries[noted] = entry

    def remove(self, noted: _Entry) -> bool:
        """Remove one of these entries; return whether there was one."""
        count = self.counts.get(noted, 0)
        if count > 1:
            self.counts[noted] -= 1
        elif count:
            del self.counts[noted]
            self._entries.pop(noted, None)
        return count > 0

    def report(self, noted: _Entry, only: Literal["without", "with"]) -> DifferingEntry:
        entry = self._entries.get(noted)
        return DifferingEntry(*noted, only, None if entry is None else report_of(entry))


class _Comparison:
    """The differences between two futures so far; common events are only counted."""

    def __init__(self, without: _Future, with_: _Future) -> None:
        self._futures = (without, with_)
        self._differing = (_Differing(), _Differing())
        self._same = 0

    def advance(self) -> None:
        """Compare the entries since the last comparison."""
        for future, own, other in zip(
            self._futures, self._differing, reversed(self._differing), strict=True
        ):
            for noted, entry in future.noted:
                if other.remove(noted):
                    self._same += 1
                else:
                    own.add(noted, entry)
            future.noted.clear()

    def result(self, at: Moment, for_s: float) -> WhatIf:
        without, with_ = self._futures
        sides = zip(self._differing, _SIDES, strict=True)
        noted = [(one, side, name) for side, name in sides for one in side.counts.elements()]
        noted.sort(key=lambda found: found[0][0])
        differing = [side.report(one, name) for one, side, name in noted[:MAX_LISTED]]
        used = [
            label
            for label in without.uses
            if any(one.uses[label] != OutputUse() for one in self._futures)
        ]
        return WhatIf(
            first=at.wall,
            last=at.wall + for_s,
            same=self._same,
            differing=differing,
            not_listed=len(noted) - len(differing),
            without={label: without.uses[label] for label in used},
            with_={label: with_.uses[label] for label in used},
        )
