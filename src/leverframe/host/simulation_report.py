"""The output of a simulated run: its timeline, its readings, and its summary."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TextIO
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import asdict
from rich.console import Console
from rich.table import Table
from rich.text import Text

from leverframe.core.durations import text_from_seconds
from leverframe.core.engine.calls import Notify
from leverframe.core.engine.machine import Value
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.errors import print_json
from leverframe.core.labels import OUTPUTS, PWMS
from leverframe.host.controller import Controller

_CAUSE_COLOUR = {"rule": "cyan", "schedule": "green", "watchdog": "magenta", "timer": "blue"}


class TimelineLine(Struct, frozen=True):
    """A line of the timeline."""

    at: str
    what: str
    why: str
    kind: str


class Timeline:
    """Prints every journal entry and every message with its time and its cause."""

    def __init__(
        self,
        controller: Controller,
        timezone: ZoneInfo,
        console: Console,
        *,
        as_json: bool = False,
    ) -> None:
        self._as_json = as_json
        self._controller = controller
        self._timezone = timezone
        self._console = console
        self._number = 0
        self._day = ""
        self._controller.on_notify = self._notify

    def observe(self, elapsed_s: float) -> None:
        for entry in self._controller.engine.machine.journal.since(self._number):
            self._number = entry.number
            self._print(entry.wall, entry.text, str(entry.cause), entry.cause.kind)

    def step(self, elapsed_s: float) -> None:
        """Do nothing: only recorders need steps."""

    def _notify(self, message: Notify) -> None:
        wall = self._controller.clock.read().wall
        slot = f" {message.slot}" if message.slot else ""
        about = "" if message.label is None else f", {message.label} is {message.value}"
        begins = "begins" if message.active else "ends"
        self._print(
            wall, f"sends {message.channel}{slot} ({begins}{about})", message.reason, "message"
        )

    def _print(self, wall: float, what: str, why: str, kind: str) -> None:
        local = datetime.fromtimestamp(wall, self._timezone)
        if self._as_json:
            print_json(asdict(TimelineLine(local.isoformat(), what, why, kind)))
            return
        day = f"{local:%a %d %b %Y}"
        if day != self._day:
            self._day = day
            self._console.print(Text(day, style="bold"))
        line = Text(f"  {local:%H:%M:%S}  {what:<44}  ")
        line.append(why, style=_CAUSE_COLOUR.get(kind, "yellow"))
        self._console.print(line, soft_wrap=True)


class RunRecorder:
    """Writes values to a CSV file: at every step, or without steps at every change."""

    def __init__(
        self,
        controller: Controller,
        timezone: ZoneInfo,
        file: TextIO,
        labels: Sequence[str],
        *,
        on_change: bool,
    ) -> None:
        self._controller = controller
        self._timezone = timezone
        self._labels = labels
        self._on_change = on_change
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(["time", "seconds", *labels])
        self._version = _Version()
        self._last: list[Value] | None = None

    def observe(self, elapsed_s: float) -> None:
        if self._on_change and self._version.is_new(self._controller):
            values = self._values()
            if values != self._last:
                self._last = values
                self._write(elapsed_s, values)

    def step(self, elapsed_s: float) -> None:
        if not self._on_change:
            self._write(elapsed_s, self._values())

    def _values(self) -> list[Value]:
        known = self._controller.engine.values
        return [known[label] for label in self._labels]

    def _write(self, elapsed_s: float, values: Iterable[Value]) -> None:
        at = self._controller.clock.read()
        local = datetime.fromtimestamp(at.wall, self._timezone)
        cells = ("" if value is None else f"{value:.10g}" for value in values)
        self._writer.writerow([local.isoformat(), f"{elapsed_s:.12g}", *cells])


class _Version:
    """Detects that values may have changed."""

    def __init__(self) -> None:
        self._seen: tuple[object, int] | None = None

    def is_new(self, controller: Controller) -> bool:
        now = (controller.engine, controller.engine.machine.version)
        if now == self._seen:
            return False
        self._seen = now
        return True


class _Track:
    """The statistics of a value over time: its range, its mean while present, its changes."""

    def __init__(self) -> None:
        self.value: Value = None
        self.low: float | None = None
        self.high: float | None = None
        self.changes = 0
        self._since = 0.0
        self._sum = 0.0
        self._known_s = 0.0

    def put(self, value: Value, elapsed_s: float) -> None:
        if value == self.value and (value is None) == (self.value is None):
            return
        self.live_until(elapsed_s)
        self.changes += self.value is not None
        self.value = value
        if value is not None:
            self.low = value if self.low is None else min(self.low, value)
            self.high = value if self.high is None else max(self.high, value)

    def live_until(self, elapsed_s: float) -> None:
        if self.value is not None:
            self._sum += self.value * (elapsed_s - self._since)
            self._known_s += elapsed_s - self._since
        self._since = elapsed_s

    @property
    def seconds(self) -> float:
        """Return how long a state was 1."""
        return self._sum

    @property
    def mean(self) -> float | None:
        return self._sum / self._known_s if self._known_s else self.value


class RunFigures(Struct, frozen=True):
    """The statistics of one label over a run."""

    label: str
    at_end: Value
    least: float | None
    mean: float | None
    greatest: float | None
    changes: int
    #: How long an output was on, in seconds.
    on_s: float | None


class Summary:
    """Prints one line for each output that was switched and each reading that was recorded."""

    def __init__(self, controller: Controller, labels: Sequence[str]) -> None:
        self._controller = controller
        self._version = _Version()
        readings = [label for label in labels if label not in OUTPUTS]
        self._tracks = {label: _Track() for label in (*OUTPUTS, *PWMS, *DUTIES, *readings)}
        self._recorded = set(readings)
        self._elapsed_s = 0.0

    def observe(self, elapsed_s: float) -> None:
        self._elapsed_s = elapsed_s
        if self._version.is_new(self._controller):
            values = self._controller.engine.values
            for label, track in self._tracks.items():
                track.put(values[label], elapsed_s)

    def step(self, elapsed_s: float) -> None:
        """Do nothing: only recorders need steps."""

    def track(self, label: str) -> _Track:
        """Return the statistics of a label up to now."""
        track = self._tracks[label]
        track.live_until(self._elapsed_s)
        return track

    def figures(self) -> Iterator[RunFigures]:
        """Yield the statistics of labels that were recorded or changed."""
        for label in self._tracks:
            track = self.track(label)
            if track.changes or label in self._recorded:
                on_s = track.seconds if label in (*OUTPUTS, *PWMS) else None
                yield RunFigures(
                    label, track.value, track.low, track.mean, track.high, track.changes, on_s
                )

    def print(self, console: Console, *, as_json: bool) -> None:
        if as_json:
            for one in self.figures():
                print_json(asdict(one))
        else:
            console.print(self._table())

    def _table(self) -> Table:
        table = Table("label", "at the end", "least", "mean", "greatest", "changes", "time on")
        for one in self.figures():
            numbers = [one.at_end, one.least, one.mean, one.greatest]
            shown = ["absent" if number is None else f"{number:.4g}" for number in numbers]
            on = "" if one.on_s is None else text_from_seconds(one.on_s)
            table.add_row(one.label, *shown, str(one.changes), on)
        return table
