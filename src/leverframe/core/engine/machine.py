"""The state that all features of the engine share.

A feature (outputs, rules, schedule...) is a class with `start`, `adopt` and `on_timer`; it has a
few variables of its own and shares everything else through the `Machine`: the settings, every value
by label, the deadlines, the effects requested so far and the current moment. Only `engine.py`
decides in which order features are called.
"""

import io
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timezone, tzinfo
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar
from zoneinfo import ZoneInfo

from msgspec import Struct

from leverframe.core import settings as tree_classes
from leverframe.core.engine.calls import Effect, Notify, Persist
from leverframe.core.engine.journal import BY_START, Cause, Fact, Journal
from leverframe.core.engine.schedule_times import zone_named
from leverframe.core.engine.texts import message_texts
from leverframe.core.engine.timers import Key, Moment, Timers
from leverframe.core.labels import EVENT_VARIABLES, LABELS, LIGHTING, OUTPUTS, PWMS, STATES
from leverframe.core.profile import Profile
from leverframe.core.settings import MAX_RULES, NO_ONEWIRE_ID, Node, Settings

# What the history records in addition to readings and states: causes, rules and messages.
#
# They are recorded as separate series, under labels of their own. An entry of a series applies
# until the next entry, so the value of an output and its cause can be looked up for the same
# moment.

#: An explanation of a value: the cause of a switching action, or the message that was sent.
Reason = Cause | Notify

#: By label of a switched target: the series of its causes.
CAUSE_TRACES = {label: f"{label}.cause" for label in (*OUTPUTS, *PWMS, *EVENT_VARIABLES)}
#: By the place of a rule: 1 while it is met, else 0.
RULE_TRACES = tuple(f"rule.{number}" for number in range(1, MAX_RULES + 1))
#: Marks in the series of a rule that earlier entries are about another rule at this place.
ANOTHER_RULE = -1
#: The series of all requested messages.
MESSAGE_TRACE = "messages"
#: Series that contain reasons; all others contain values.
REASONS = frozenset({*CAUSE_TRACES.values(), MESSAGE_TRACE})
TRACES = REASONS | {*RULE_TRACES}


# The samples for the history: every change of a value, with its cause.

#: An entry of a series: wall time, label, and a value or its reason.
Traced = tuple[float, str, float | int | Reason | None]
#: A value that no sample has.
_NOTHING = object()
#: Samples of one moment: the wall time, the labels and the values.
_Columns = tuple[float, tuple[str, ...], tuple[float | int | Reason | None, ...]]


class Samples(list[Traced]):
    """The samples that the history has not received yet.

    A cause that several consecutive changes share is recorded only once per batch, which saves 1.7
    us of the 53 us for switching. It is recorded again in the next batch, so if a batch is lost,
    the recorded causes are wrong only for a short time.

    The first values of an engine are stored as columns, which saves 3 KB for each controller that
    has been idle since its start.
    """

    __slots__ = ("_causes", "_columns", "_rows_before")

    def __init__(self) -> None:
        super().__init__()
        self._causes: dict[str, Cause] = {}
        self._columns: tuple[_Columns, ...] = ()
        #: The number of samples that were added before the columns.
        self._rows_before = 0

    def add_first(
        self, wall: float, values: Mapping[str, "Value"], mover: Callable[[str], Cause]
    ) -> None:
        """Add the values that an engine starts with, and the cause of each state."""
        if self._columns:
            self += self.take()
        self._causes.clear()
        causes = {trace: mover(label) for label, trace in CAUSE_TRACES.items()}
        self._columns = _columns_of(wall, values), _columns_of(wall, causes)
        self[:] = _without_repeated(self, wall, {**values, **causes})
        self._rows_before = len(self)

    @property
    def waiting(self) -> int:
        """The number of samples to hand over."""
        if not self._columns:
            return len(self)
        return len(self) + sum(len(labels) for _, labels, _ in self._columns)

    def take(self) -> list[Traced]:
        """Remove and return all samples, in their order."""
        taken, before = list(self), self._rows_before
        taken[before:before] = _rows(self._columns)
        self.clear()
        return taken

    def add_cause(self, wall: float, label: str, cause: Cause) -> None:
        """Add the cause of a change, unless it is the last cause added for this label."""
        if self._causes.get(label) is not cause:
            self._causes[label] = cause
            self.append((wall, CAUSE_TRACES[label], cause))

    def clear(self) -> None:
        super().clear()
        self._causes.clear()
        self._columns = ()
        self._rows_before = 0


def _without_repeated(
    rows: Sequence[Traced], wall: float, repeated: Mapping[str, float | int | Reason | None]
) -> list[Traced]:
    """Remove the last rows of a label if they are recorded again for the same moment."""
    kept: list[Traced] = []
    differing: set[str] = set()
    for row in reversed(rows):
        at, label, value = row
        if label in differing or at != wall or repeated.get(label, _NOTHING) != value:
            differing.add(label)
            kept.append(row)
    return kept[::-1]


def _columns_of(wall: float, samples: Mapping[str, Any]) -> _Columns:
    return wall, _reuse_labels(tuple(samples)), tuple(samples.values())


@lru_cache
def _reuse_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return an equal tuple from memory: many controllers start with the same labels."""
    return labels


def _rows(columns: Iterable[_Columns]) -> list[Traced]:
    return [
        (wall, label, value)
        for wall, labels, values in columns
        for label, value in zip(labels, values, strict=True)
    ]


# Live state as data: everything that an engine, or another object such as a plant, needs to resume.
#
# `export_state` creates an immutable snapshot. `import_state` creates any number of copies from it,
# which continue exactly as the original would have. Both functions share immutable objects that are
# compared by identity, such as the settings, and copy everything else. A snapshot contains pickled
# bytes, so it must come from this process or its parent, never from outside.
#
# The tests fail if the engine contains an object that cannot be copied, such as a lambda.

Part = TypeVar("Part")

#: Types of immutable objects, which copies share; their subclasses are not included.
_SHARED = frozenset(
    {Cause, MappingProxyType, Profile, ZoneInfo, timezone}
    | {
        node
        for node in vars(tree_classes).values()
        if isinstance(node, type) and issubclass(node, Node)
    }
)


class LiveState(Struct, Generic[Part], frozen=True):
    """The snapshot of an object, from which it can be restored."""

    picture: bytes
    #: The shared objects, to which `picture` refers by position.
    shared: tuple[Any, ...]


class _Exporter(pickle.Pickler):
    def __init__(self, picture: io.BytesIO) -> None:
        super().__init__(picture, pickle.HIGHEST_PROTOCOL)
        self.shared: list[Any] = []
        self._positions: dict[int, int] = {}

    def persistent_id(self, part: Any) -> int | None:
        if type(part) in _SHARED:
            position = self._positions.setdefault(id(part), len(self.shared))
            if position == len(self.shared):
                self.shared.append(part)
            return position
        if type(part) is Journal:
            # The entries are immutable, so it is enough to copy the list.
            self.shared.append(part.copy())
            return len(self.shared) - 1
        return None


class _Importer(pickle.Unpickler):
    def __init__(self, state: LiveState[Any]) -> None:
        super().__init__(io.BytesIO(state.picture))
        self._shared = state.shared

    def persistent_load(self, position: int) -> Any:
        part = self._shared[position]
        return part.copy() if type(part) is Journal else part


def export_state(part: Part) -> LiveState[Part]:
    """Create a snapshot of an engine, or of another object with plain state."""
    picture = io.BytesIO()
    exporter = _Exporter(picture)
    exporter.dump(part)
    return LiveState(picture.getvalue(), tuple(exporter.shared))


def import_state(state: LiveState[Part]) -> Part:
    """Create a copy that continues exactly as the original did from the moment of the snapshot."""
    copy: Part = _Importer(state).load()
    return copy


#: A reading or a state; None is absent.
Value = float | int | None
#: Kind and detail of the cause of changes by the regulator.
BY_REGULATOR = "timer", "PID regulator"
_AS_STARTED = (0.0, BY_START, 0)
#: The names that `Machine.mark` accepts in addition to labels: readings of the lighting module, all
#: readings of a module, texts, and states of features.
PARTS = frozenset(
    {*LIGHTING, "slot1", "slot2", "slot3", "i2c", "barcode", "dsid", "impulses", "restart"}
    | {"settings", "name", "clock", "display", "findings", "modbus writes"}
    | {"pid", "rules", "schedule", "watchdog"}
)
#: The number of newest changes whose names are stored.
KEPT_CHANGES = 64


def presence_name(label: str) -> str:
    """Return the name under which it is stored that a sensor has answered."""
    return f"answered.{label}"


class Machine:
    __slots__ = (
        "absent_since",
        "at",
        "changed",
        "configured_timezone",
        "dsid",
        "effects",
        "journal",
        "persisted",
        "profile",
        "recent",
        "regulated",
        "restart_flag",
        "resting",
        "running",
        "settings",
        "started",
        "switched",
        "timers",
        "timezone",
        "samples",
        "values",
        "version",
    )

    def __init__(
        self,
        profile: Profile,
        settings: Settings,
        timezone: tzinfo,
        persisted: Mapping[str, bool | int | float | None],
    ) -> None:
        self.profile = profile
        self.settings = settings
        #: Used if the settings name no time zone.
        self.configured_timezone = timezone
        self.use_timezone()
        #: State that an earlier run stored by `Persist` effects.
        self.persisted = persisted
        self.at = Moment(0.0, 0.0)
        self.started = self.at
        self.timers = Timers()
        self.journal = Journal()
        self.effects: list[Effect] = []
        self.values: dict[str, Value] = dict.fromkeys(LABELS)
        self.values.update(dict.fromkeys(STATES, 0))
        #: Wall time since when a label has been absent; labels that never had a value are not
        #: included.
        self.absent_since: dict[str, float] = {}
        #: All new values of labels, for the history; None if there is no history.
        self.samples: Samples | None = None
        #: Labels whose value has changed and that rules have not evaluated yet.
        self.changed: set[str] = set()
        #: Labels of rule loops, and the time until which no rule evaluates them.
        self.resting: dict[str, float] = {}
        #: Increases with every change that a status file could show.
        self.version = 0
        #: Labels and parts of the newest of these changes; None until `changes_since` is called.
        self.recent: deque[str] | None = None
        self.restart_flag = False
        #: The last switching of an output, PWM output or event variable, or the last change of a
        #: contact: wall time, cause, and the number of the journal entry.
        self.switched: dict[str, tuple[float, Cause, int]] = {}
        #: The same as `switched` for PWM outputs that are on and whose duty the regulator controls.
        self.regulated: dict[str, tuple[float, Cause, int]] = {}
        #: Names of rule actions (`AutoSwitch OUT0`, `ENABLE PID`) whose function is running.
        self.running: set[str] = set()
        self.dsid = NO_ONEWIRE_ID

    def use_timezone(self) -> None:
        """Use the time zone in the settings, if it is set and this machine has it."""
        name = self.settings.timezone
        self.timezone = (name and zone_named(name)) or self.configured_timezone

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        """Omit the samples and the recent changes, which belong to users of the original."""
        slots = {name: getattr(self, name) for name in self.__slots__}
        return None, slots | {"samples": None, "recent": None}

    def put(self, label: str, value: Value) -> bool:
        """Set the value of a label and return True if it changed."""
        old = self.values[label]
        if value == old:
            return False
        if value is None:
            self.absent_since[label] = self.at.wall
        elif old is None:
            self.absent_since.pop(label, None)
        self.changed.add(label)
        self.publish(label, value)
        return True

    def has_had_value(self, label: str) -> bool:
        """Return whether a sensor has ever answered, also before the start."""
        return self.values.get(label) is not None or bool(self.persisted.get(presence_name(label)))

    def forget_presence(self, label: str) -> None:
        """Forget that a sensor has answered, because it is another one now."""
        if self.persisted.get(presence_name(label)):
            self.emit(Persist(presence_name(label), None))

    def keep_presence(self, label: str) -> None:
        """Store that a sensor has answered, so that a later start can report that it is lost."""
        if not self.persisted.get(presence_name(label)):
            self.emit(Persist(presence_name(label), True))

    def publish(self, label: str, value: Value) -> None:
        """Set a value without marking it as changed for rules."""
        self.values[label] = value
        # The same as `mark`, inlined because readings are by far the most frequent changes.
        self.version += 1
        if self.recent is not None:
            self.recent.append(label)
        if self.samples is not None:
            self.samples.append((self.at.wall, label, value))

    def mark(self, part: str) -> None:
        """Record that a part has changed, or something about a label other than its value."""
        self.version += 1
        if self.recent is not None:
            self.recent.append(part)

    def changes_since(self, version: int) -> set[str] | None:
        """Return the labels and parts changed since a version; None if they are no longer known."""
        if self.recent is None:
            self.recent = deque(maxlen=KEPT_CHANGES)
        count = self.version - version
        if count > len(self.recent):
            return None
        return set(islice(reversed(self.recent), count))

    def run(self, action: str, on: bool) -> None:
        """Record whether the function that a rule action starts is running."""
        if on:
            self.running.add(action)
        else:
            self.running.discard(action)

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def notify(
        self,
        channel: str,
        slot: int,
        active: bool,
        reason: str,
        label: str | None = None,
        value: Value = None,
        *,
        fallback: str = "",
        cause: Cause | None = None,
    ) -> None:
        """Request a message; its text has the current values, even if it is sent later."""
        text, body = message_texts(channel, slot, active, self.settings, self.values, self.profile)
        sent = text or fallback
        message = Notify(channel, slot, active, reason, label, value, sent, body, cause)
        self.emit(message)
        if self.samples is not None and message.is_wanted:
            # None ends the entry, so that two equal messages are recorded as two entries.
            wall = self.at.wall
            self.samples += (wall, MESSAGE_TRACE, message), (wall, MESSAGE_TRACE, None)

    def log(self, cause: Cause, fact: Fact) -> int:
        """Add an entry to the journal and return its number."""
        return self.journal.add(self.at.wall, cause, fact)

    def note_switching(self, label: str, cause: Cause, fact: Fact) -> None:
        """Add an entry to the journal, and record it as the last cause of a value."""
        wall = self.at.wall
        self.switched[label] = wall, cause, self.journal.add(wall, cause, fact)
        self.mark(label)

    def log_switching(self, label: str, cause: Cause, fact: Fact) -> None:
        self.note_switching(label, cause, fact)
        if self.samples is not None:
            self.samples.add_cause(self.at.wall, label, cause)

    def log_regulation(self, label: str, fact: Fact) -> None:
        """Record that the regulator now controls the duty of an output that is on."""
        wall, cause = self.at.wall, Cause(*BY_REGULATOR, after=self.entry_of(label))
        self.regulated[label] = wall, cause, self.journal.add(wall, cause, fact)
        self.mark(label)
        self._trace_cause(label)

    def end_regulation(self, label: str) -> None:
        if self.regulated.pop(label, None) is not None:
            self.mark(label)
            self._trace_cause(label)

    def mover(self, label: str) -> Cause:
        """Return the cause of the last switching action; the start if there was none since then."""
        _, cause, _ = self.regulated.get(label) or self.switched.get(label) or _AS_STARTED
        return cause

    def _trace_cause(self, label: str) -> None:
        if self.samples is not None:
            self.samples.add_cause(self.at.wall, label, self.mover(label))

    def entry_of(self, label: str) -> int:
        """Return the number of the journal entry about the last switching; 0 if it has none."""
        switched = self.switched.get(label)
        return 0 if switched is None else switched[2]


class Feature(Protocol):
    def start(self) -> None:
        """Restore remembered state and set the first deadlines when the controller starts."""

    def adopt(self, old: Settings) -> None:
        """Adopt the new tree `machine.settings`; compare its branches to those of `old` by
        identity.
        """

    def on_timer(self, key: Key) -> None:
        """Serve a deadline of this feature that is due; it is no longer set."""
