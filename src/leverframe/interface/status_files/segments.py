"""Documents in segments: only segments whose inputs have changed are built again.

A segment names its inputs: labels, branches of the settings, and the parts of the engine that have
no label (`Machine.mark`). A `Document` stores the bytes of each segment until one of the segment's
inputs changes. Status files, `/api/state` and the stream are such documents.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Any, Generic, TypeVar

from msgspec import Struct

from leverframe.core.engine.calls import target_of
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.machine import PARTS, Machine
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.engine.timers import Moment
from leverframe.core.labels import LABELS
from leverframe.core.settings import RulePlaces, Settings, number_rules

#: Inputs that are not a label, a part of the engine, or a branch of the settings: the wall clock
#: and the time since the start, both in whole seconds.
CLOCK, UPTIME = "clock", "uptime"
#: An input whose changes are not reported; a segment with it is built every time.
ALWAYS = "always"

#: All inputs whose changes an engine reports.
_VISIBLE = PARTS.union(LABELS, DUTIES)

View = TypeVar("View")


class Segment(Struct, Generic[View], frozen=True):
    """A piece of a document."""

    inputs: Collection[str]
    build: Callable[[View], bytes]


class DocumentLayout(Generic[View]):
    """All segments of a document, and the bytes before, between and after them."""

    __slots__ = ("_places_by_input", "always", "end", "segments", "separator", "start")

    def __init__(
        self, start: bytes, separator: bytes, end: bytes, segments: Sequence[Segment[View]]
    ) -> None:
        self.start, self.separator, self.end = start, separator, end
        self.segments = tuple(segments)
        places: dict[str, tuple[int, ...]] = {}
        for place, segment in enumerate(self.segments):
            for name in segment.inputs:
                places[name] = (*places.get(name, ()), place)
        #: The places of segments that are built every time.
        self.always = places.pop(ALWAYS, ())
        self._places_by_input = places

    def places_of(self, *changes: Iterable[str]) -> Collection[int]:
        """Return the places of the segments that depend on changed inputs."""
        places_by_input = self._places_by_input
        found = [
            places_by_input[name] for names in changes for name in names if name in places_by_input
        ]
        return {*self.always}.union(*found) if found else self.always


# The changes of inputs.

_BRANCHES = Settings.__struct_fields__
_branches_of: Callable[[Settings], tuple[Any, ...]] = attrgetter(*_BRANCHES)


def list_changed_branches(old: Settings, new: Settings) -> list[str]:
    """Return the branches in which two trees differ, by identity."""
    pairs = zip(_BRANCHES, _branches_of(old), _branches_of(new), strict=True)
    return [name for name, before, after in pairs if before is not after]


def list_rule_labels(rules: RulePlaces) -> frozenset[str]:
    """Return the labels that rules watch or switch."""
    labels = (
        {rule.source, rule.source2, rule.action, target_of(rule.action)}
        for _, rule in number_rules(rules)
    )
    return frozenset[str]().union(*labels)


class ChangeFollower:
    """Detects changes of a controller's engine, which may be replaced by another engine."""

    __slots__ = (
        "_engine",
        "_rule_labels",
        "_rules_waited",
        "_settings",
        "_uptime",
        "_version",
        "_wall",
    )

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._settings: Settings | None = None
        self._version = self._wall = self._uptime = 0
        self._rule_labels: frozenset[str] = frozenset()
        self._rules_waited = False

    def changes(self, engine: Engine, at: Moment) -> AbstractSet[str] | None:
        """Return the inputs that changed since the last call; None for another engine."""
        machine = engine.machine
        wall, uptime = int(at.wall), int(at.now - machine.started.now)
        # The remaining time of a delay changes constantly until the delay ends.
        waited, self._rules_waited = self._rules_waited, engine.rules.is_waiting
        if engine is not self._engine:
            self._engine, self._settings = engine, machine.settings
            self._rule_labels = list_rule_labels(machine.settings.rules)
            # From this call on, the machine records changes.
            machine.changes_since(machine.version)
            changed = None
        elif machine.version != self._version:
            changed = self._list_engine_changes(machine)
        else:
            changed = set()
        if changed is not None:
            if waited or self._rules_waited:
                changed.add("rules")
            if wall != self._wall:
                changed.add(CLOCK)
            if uptime != self._uptime:
                changed.add(UPTIME)
        self._version, self._wall, self._uptime = machine.version, wall, uptime
        return changed

    def _list_engine_changes(self, machine: Machine) -> set[str]:
        named = machine.changes_since(self._version)
        changed = set(_VISIBLE) if named is None else named
        old, new = self._settings, machine.settings
        if old is not None and old is not new:
            self._settings = new
            changed.update(list_changed_branches(old, new))
            if old.rules is not new.rules:
                self._rule_labels = list_rule_labels(new.rules)
        if not self._rule_labels.isdisjoint(changed):
            changed.add("rules")
        return changed


class Document(Generic[View]):
    """A document of one controller."""

    __slots__ = ("_follower", "_layout", "parts")

    def __init__(self, layout: DocumentLayout[View]) -> None:
        self._layout = layout
        self._follower = ChangeFollower()
        #: The most recently built segments.
        self.parts = [b""] * len(layout.segments)

    def refresh(
        self, engine: Engine, at: Moment, look: Callable[[], View], others: Iterable[str] = ()
    ) -> Collection[int]:
        """Build the segments whose inputs changed, in the engine or elsewhere.

        Return their places. `look` is called only if there is a segment to build.
        """
        layout, parts = self._layout, self.parts
        segments, changes = layout.segments, self._follower.changes(engine, at)
        if changes is None:
            stale: Collection[int] = range(len(segments))
        elif changes or others:
            stale = layout.places_of(changes, others)
        else:
            stale = layout.always
        if not stale:
            return stale
        try:
            view = look()
            for place in stale:
                parts[place] = segments[place].build(view)
        except Exception:
            # After an error, segments that were not built must not count as up to date.
            self._follower = ChangeFollower()
            raise
        return stale

    def content(self) -> bytes:
        """Return the most recently built document."""
        layout = self._layout
        return b"%b%b%b" % (layout.start, layout.separator.join(self.parts), layout.end)
