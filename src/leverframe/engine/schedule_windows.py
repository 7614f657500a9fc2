"""Time windows: event variables that the schedule alone switches on and off, by the week.

A variable is a window if active entries on weekdays switch it both on and off and nothing else
switches it, neither a rule nor an entry of another kind. Its state is then a matter of the clock:
after a start, after its entries changed and after the clock was set it is what the last of its
entries made it, as if the controller had been there.
"""

from collections.abc import Iterator
from datetime import tzinfo

from msgspec import Struct

from leverframe.engine.actions import OFF, ON
from leverframe.engine.journal import Cause
from leverframe.engine.labels import EVENT_VARIABLES
from leverframe.engine.schedule_times import next_run
from leverframe.engine.settings import ScheduleEntry, Settings

#: Within these days every entry on weekdays runs at least once.
_LOOKED_BACK_S = 8 * 86400.0


class WindowEdge(Struct, frozen=True):
    """An entry that opens or closes a window, with its place in the schedule."""

    place: int
    entry: ScheduleEntry


Edges = tuple[WindowEdge, ...]


class EdgeRun(Struct, frozen=True):
    time: float
    edge: WindowEdge


def schedule_cause(index: int, entry: ScheduleEntry) -> Cause:
    return Cause("schedule", entry.name or str(index + 1), number=index + 1, name=entry.name)


def windows_of(settings: Settings) -> dict[str, Edges]:
    """Return the edges of every window, by the variable."""
    found: dict[str, list[WindowEdge]] = {}
    for index, entry in enumerate(settings.schedule):
        if entry is not None and entry.active and entry.action in EVENT_VARIABLES:
            found.setdefault(entry.action, []).append(WindowEdge(index, entry))
    switched = {rule.action for rule in settings.rules}
    return {
        label: tuple(edges)
        for label, edges in found.items()
        if label not in switched and _is_window([edge.entry for edge in edges])
    }


def _is_window(entries: list[ScheduleEntry]) -> bool:
    weekly = all(entry.days and not entry.periodic and entry.date is None for entry in entries)
    return weekly and {entry.value for entry in entries} == {OFF, ON}


def last_edge(edges: Edges, wall: float, timezone: tzinfo) -> WindowEdge:
    """Return the edge that ran last at a moment."""
    *_, last = edge_runs(edges, wall - _LOOKED_BACK_S, wall, timezone)
    return last.edge


def edge_runs(edges: Edges, first: float, last: float, timezone: tzinfo) -> list[EdgeRun]:
    """List the runs behind one moment and up to another, in the order in which they happen."""
    runs = (run for edge in edges for run in _runs(edge, first, last, timezone))
    return sorted(runs, key=lambda run: (run.time, run.edge.place))


def _runs(edge: WindowEdge, first: float, last: float, timezone: tzinfo) -> Iterator[EdgeRun]:
    run = next_run(edge.entry, first, timezone)
    while run is not None and run <= last:
        yield EdgeRun(run, edge)
        run = next_run(edge.entry, run, timezone)


def course_of_window(
    edges: Edges, first: float, last: float, timezone: tzinfo
) -> list[tuple[float, int]]:
    """Return the states of a window between two moments, from what it is at the first."""
    begin = (first, last_edge(edges, first, timezone).entry.value)
    runs = edge_runs(edges, first, last, timezone)
    return [begin, *((run.time, run.edge.entry.value) for run in runs)]
