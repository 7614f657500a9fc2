"""Documents of a controller in segments: only those are built again whose inputs changed.

A segment names its inputs: labels, branches of the settings, and the parts of the engine that have
no label (`Machine.mark`). `ChangeFollower` says which inputs changed since it was last asked, and a
`Document` keeps the bytes of its segments until one of their inputs did. Status files, `/api/state`
and the stream are such documents.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Any, Generic, TypeVar

from msgspec import Struct

from leverframe.core.engine.engine import Engine
from leverframe.core.engine.machine import PARTS, Machine
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.engine.timers import Moment
from leverframe.core.labels import LABELS
from leverframe.core.settings import Settings

#: Inputs that are neither a label, nor a part of the engine, nor a branch of the settings.
#: The wall clock and the seconds since the start, in whole seconds.
CLOCK, UPTIME = "clock", "uptime"
#: Whatever changes in the engine.
ANY_CHANGE = "any change"
#: What no one reports: such a segment is built every time.
ALWAYS = "always"

#: All that an engine reports as changed.
_VISIBLE = PARTS.union(LABELS, DUTIES)
_NOTHING: frozenset[str] = frozenset()

View = TypeVar("View")


class Segment(Struct, Generic[View], frozen=True):
    """A piece of a document."""

    inputs: Collection[str]
    build: Callable[[View], bytes]


class DocumentLayout(Generic[View]):
    """All segments of a document, and the bytes before, between and behind them."""

    __slots__ = ("always", "end", "places_by_input", "segments", "separator", "start")

    def __init__(
        self, start: bytes, separator: bytes, end: bytes, segments: Sequence[Segment[View]]
    ) -> None:
        self.start, self.separator, self.end = start, separator, end
        self.segments = tuple(segments)
        places: dict[str, tuple[int, ...]] = {}
        for place, segment in enumerate(self.segments):
            for name in segment.inputs:
                places[name] = (*places.get(name, ()), place)
        #: The places of the segments that are built every time.
        self.always = places.pop(ALWAYS, ())
        self.places_by_input = places


class Document(Generic[View]):
    """A document of one controller."""

    __slots__ = ("_layout", "parts", "stale")

    def __init__(self, layout: DocumentLayout[View]) -> None:
        self._layout = layout
        count = len(layout.segments)
        #: The segments as they were last built.
        self.parts = [b""] * count
        #: The places of those that have to be built again.
        self.stale = set(range(count))

    def note_changes(self, inputs: Iterable[str]) -> None:
        stale, places_by_input = self.stale, self._layout.places_by_input
        for name in inputs:
            if name in places_by_input:
                stale.update(places_by_input[name])

    def update(self, view: View) -> list[bytes]:
        """Build the segments whose inputs changed; return all of them."""
        layout, parts, stale = self._layout, self.parts, self.stale
        segments = layout.segments
        for place in stale.union(layout.always):
            parts[place] = segments[place].build(view)
        stale.clear()
        return parts

    def build(self, view: View) -> bytes:
        layout = self._layout
        return b"%b%b%b" % (layout.start, layout.separator.join(self.update(view)), layout.end)


# Which inputs changed.

_BRANCHES = Settings.__struct_fields__
_branches_of: Callable[[Settings], tuple[Any, ...]] = attrgetter(*_BRANCHES)


def list_changed_branches(old: Settings, new: Settings) -> list[str]:
    """Return the branches in which two trees differ, by identity."""
    pairs = zip(_BRANCHES, _branches_of(old), _branches_of(new), strict=True)
    return [name for name, before, after in pairs if before is not after]


class ChangeFollower:
    """Follows the engine of a controller, which may be replaced by another one."""

    __slots__ = ("_engine", "_settings", "_uptime", "_version", "_wall")

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._settings: Settings | None = None
        self._version = self._wall = self._uptime = 0

    def changes(self, engine: Engine, at: Moment) -> AbstractSet[str] | None:
        """Return the inputs that changed since the last call; None for another engine."""
        machine = engine.machine
        wall, uptime = int(at.wall), int(engine.uptime(at))
        changed: AbstractSet[str] | None = _NOTHING
        if engine is not self._engine:
            changed = None
            # From now on it remembers what changes.
            machine.changes_since(machine.version)
        elif (machine.version, wall, uptime) != (self._version, self._wall, self._uptime):
            changed = self._changes_of(machine, wall, uptime)
        self._engine, self._settings = engine, machine.settings
        self._version, self._wall, self._uptime = machine.version, wall, uptime
        return changed

    def _changes_of(self, machine: Machine, wall: int, uptime: int) -> set[str]:
        changed = set()
        if machine.version != self._version:
            changed.add(ANY_CHANGE)
            named = machine.changes_since(self._version)
            changed |= _VISIBLE if named is None else named
            if self._settings is not None and self._settings is not machine.settings:
                changed.update(list_changed_branches(self._settings, machine.settings))
        if wall != self._wall:
            changed.add(CLOCK)
        if uptime != self._uptime:
            changed.add(UPTIME)
        return changed
