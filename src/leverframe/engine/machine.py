"""The state that all features of the engine work on.

A feature (outputs, rules, schedule...) is a class with `start`, `adopt` and `on_timer`; it keeps
its own few variables and shares everything else through the one `Machine`: the settings, every
value by label, the deadlines, the effects asked for so far and the present moment.
`engine.py` alone decides in which order features are called.
"""

from collections.abc import Mapping
from datetime import tzinfo
from typing import Protocol

from leverframe.engine.effects import Effect, Notify
from leverframe.engine.facts import Fact
from leverframe.engine.journal import BY_START, OWN_CAUSES, Cause, Journal
from leverframe.engine.labels import LABELS, STATES
from leverframe.engine.moment import Moment
from leverframe.engine.samples import Samples
from leverframe.engine.settings import NO_ONEWIRE_ID, Settings
from leverframe.engine.texts import message_texts
from leverframe.engine.time_zone import zone_named
from leverframe.engine.timers import Key, Timers
from leverframe.engine.traces import MESSAGE_TRACE
from leverframe.profile import Profile

#: A reading or a state; None is absent.
Value = float | int | None
#: The kind and the detail of what the regulator causes.
BY_REGULATOR = "timer", "PID regulator"
_AS_STARTED = (0.0, BY_START, 0)


class Machine:
    __slots__ = (
        "absent_since",
        "at",
        "by_hand",
        "changed",
        "configured_timezone",
        "dsid",
        "effects",
        "journal",
        "persisted",
        "profile",
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
        #: For as long as the settings name none.
        self.configured_timezone = timezone
        self.use_timezone()
        #: What an earlier run stored by `Persist` effects.
        self.persisted = persisted
        self.at = Moment(0.0, 0.0)
        self.started = self.at
        self.timers = Timers()
        self.journal = Journal()
        self.effects: list[Effect] = []
        self.values: dict[str, Value] = dict.fromkeys(LABELS)
        self.values.update(dict.fromkeys(STATES, 0))
        #: Wall time since when a label is absent; labels never seen are not in it.
        self.absent_since: dict[str, float] = {}
        #: Every value that a label gets, for the history; None where nothing records them.
        self.samples: Samples | None = None
        #: Labels whose value changed and that rules have not seen yet.
        self.changed: set[str] = set()
        #: Labels that rules left unsettled, and until when no rule looks at them.
        self.resting: dict[str, float] = {}
        #: Grows with every change that a status file could show.
        self.version = 0
        self.restart_flag = False
        #: Who switched an output, PWM output or event variable last, or that a contact changed:
        #: wall time, cause, and the number of the entry in the journal.
        self.switched: dict[str, tuple[float, Cause, int]] = {}
        #: Those of them that the engine did not switch on its own.
        self.by_hand: set[str] = set()
        #: The same for PWM outputs that are on and whose duty the regulator moves.
        self.regulated: dict[str, tuple[float, Cause, int]] = {}
        #: What runs now of periodic switching and the regulator, by the rule action that starts it.
        self.running: set[str] = set()
        self.dsid = NO_ONEWIRE_ID

    def use_timezone(self) -> None:
        """Take the time zone that the settings name, where there is one and it is known here."""
        name = self.settings.timezone
        self.timezone = (name and zone_named(name)) or self.configured_timezone

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        """Leave out what another part records into; the user of the copy starts a new recording."""
        slots = {name: getattr(self, name) for name in self.__slots__}
        return None, slots | {"samples": None}

    def put(self, label: str, value: Value) -> bool:
        """Set the value of a label and return True if it changed."""
        old = self.values[label]
        if value == old and (value is None) == (old is None):
            return False
        if value is None:
            self.absent_since[label] = self.at.wall
        elif old is None:
            self.absent_since.pop(label, None)
        self.changed.add(label)
        self.publish(label, value)
        return True

    def publish(self, label: str, value: Value) -> None:
        """Set a value without marking it as changed for rules."""
        self.values[label] = value
        self.version += 1
        if self.samples is not None:
            self.samples.append((self.at.wall, label, value))

    def run(self, action: str, on: bool) -> None:
        """Note whether what a rule action starts is running."""
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
        """Ask for a message; its text has the values of now, whenever it is sent."""
        text, body = message_texts(channel, slot, active, self.settings, self.values, self.profile)
        sent = text or fallback
        message = Notify(channel, slot, active, reason, label, value, sent, body, cause)
        self.emit(message)
        if self.samples is not None and message.is_wanted:
            # Two alike are two: nothing holds in between.
            wall = self.at.wall
            self.samples += (wall, MESSAGE_TRACE, message), (wall, MESSAGE_TRACE, None)

    def log(self, cause: Cause, fact: Fact) -> int:
        """Add an entry to the journal and return its number."""
        return self.journal.add(self.at.wall, cause, fact)

    def log_switching(self, label: str, cause: Cause, fact: Fact) -> None:
        wall = self.at.wall
        self.switched[label] = wall, cause, self.journal.add(wall, cause, fact)
        if cause.kind in OWN_CAUSES:
            self.by_hand.discard(label)
        else:
            self.by_hand.add(label)
        if self.samples is not None:
            self.samples.add_cause(wall, label, cause)

    def log_regulation(self, label: str, fact: Fact) -> None:
        """Note that the regulator moves from now on what was switched on."""
        wall, cause = self.at.wall, Cause(*BY_REGULATOR, after=self.entry_of(label))
        self.regulated[label] = wall, cause, self.journal.add(wall, cause, fact)
        self._trace_cause(label)

    def end_regulation(self, label: str) -> None:
        if self.regulated.pop(label, None) is not None:
            self._trace_cause(label)

    def mover(self, label: str) -> Cause:
        """Return the last cause that switched it; the start if it was not switched since then."""
        _, cause, _ = self.regulated.get(label) or self.switched.get(label) or _AS_STARTED
        return cause

    def _trace_cause(self, label: str) -> None:
        if self.samples is not None:
            self.samples.add_cause(self.at.wall, label, self.mover(label))

    def entry_of(self, label: str) -> int:
        """Return the number of the entry about the last switching; 0 for none."""
        switched = self.switched.get(label)
        return 0 if switched is None else switched[2]


class Feature(Protocol):
    def start(self) -> None:
        """Restore remembered state and set the first deadlines when the controller starts."""

    def adopt(self, old: Settings) -> None:
        """Adopt `machine.settings`, the new tree; compare its branches to `old` by identity."""

    def on_timer(self, key: Key) -> None:
        """Serve a deadline of this feature that has come; it is no longer set."""
